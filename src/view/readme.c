/* README.txt: what lies where, on one screen. */
#include <string.h>

#include "view/view.h"

static const char readme[] =
    "This folder is a GGUF model file, shown by mount.gguf. It is read-only, and\n"
    "nothing is unpacked: what is read is made from the model file at that moment.\n"
    "\n"
    "summary.txt          the model at a glance\n"
    "problems.txt         what is wrong or odd with the file; empty when it is sound\n"
    "metadata/KEY         the value of a key as text, an array one element a line\n"
    "                     (line breaks and backslashes in it as \\n and \\\\)\n"
    "metadata.raw/KEY     the bytes of the value: numbers packed in the machine's\n"
    "                     byte order, strings of an array each followed by NUL\n"
    "metadata.json        all keys and values\n"
    "tensors.tsv, .json   all tensors: a table with a header line; for programs\n"
    "tensors/raw/NAME     a tensor's bytes as stored\n"
    "tensors/f32/NAME     its elements as float32, without a header:\n"
    "                     numpy.fromfile(path, 'f4').reshape(shape)\n"
    "tensors/f16, bf16    the same as float16 and bfloat16, rounded to nearest even\n"
    "tensors/npy/NAME.npy the same as a NumPy file, for numpy.load\n"
    "tensors/info/NAME    its type, shape, size and place in the file\n"
    "layers/N/VIEW/REST   links to the tensors of layer N\n"
    "export/model.*       the whole model as one file, of the kind its name says\n"
    "\n"
    "shape is row-major, outermost dimension first; ne is the file's order.\n"
    "In file names '/', '%' and bytes that cannot be shown are written %XX; a name\n"
    "with %~ at its end is a duplicate, or too long. The true name is in the\n"
    "extended attribute user.gguf.name:  getfattr -n user.gguf.name FILE\n";

static int readme_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    *size = sizeof readme - 1;
    return 0;
}

static int readme_read(view_model *model, uint64_t index, uint64_t offset, void *buffer, size_t len,
                       view_scratch *scratch, view_piece *piece)
{
    *piece = (view_piece){0};
    if (offset >= sizeof readme - 1)
        return 0;
    piece->len = MIN(len, sizeof readme - 1 - offset);
    memcpy(buffer, readme + offset, piece->len);
    return 0;
}

const view view_readme = {
    .path = "README.txt",
    .scope = VIEW_MODEL,
    .size = readme_size,
    .read = readme_read,
};
