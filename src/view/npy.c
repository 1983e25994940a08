/* tensors/npy: a tensor as a NumPy file (format version 1.0): a header, then the elements. Types
 * that NumPy has are kept, all others are float32. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "view/model.h"
#include "view/tensor.h"

/* The data start at a multiple of 64, for those who map the file. */
enum { MAGIC_SIZE = 10, ALIGNMENT = 64, HEADER_MAX = 320 };

static const struct {
    pn_gguf_quant type;
    const char *descr;
} kept[] = {
    {PN_GGUF_F16, "<f2"}, {PN_GGUF_F32, "<f4"}, {PN_GGUF_F64, "<f8"}, {PN_GGUF_I8, "|i1"},
    {PN_GGUF_I16, "<i2"}, {PN_GGUF_I32, "<i4"}, {PN_GGUF_I64, "<i8"},
};

static tensor_form form_of(const pn_gguf_tensor *tensor, const char **descr)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kept); i++) {
        if (tensor->type_id == kept[i].type && tensor_has_form(tensor, TENSOR_OWN)) {
            *descr = kept[i].descr;
            return TENSOR_OWN;
        }
    }
    *descr = "<f4";
    return TENSOR_F32;
}

/* The shape as Python writes a tuple: "()", "(3,)", "(2, 3)". */
static size_t put_shape(char *out, size_t size, const pn_gguf_tensor *tensor)
{
    size_t n = 0;
    for (uint32_t i = tensor->n_dims; i-- > 0;)
        n += (size_t)snprintf(out + n, size - n, "%" PRIu64 "%s", tensor->ne[i],
                              tensor->n_dims == 1 ? ","
                              : i > 0             ? ", "
                                                  : "");
    return n;
}

static size_t put_header(char header[HEADER_MAX], const pn_gguf_tensor *tensor, tensor_form *form)
{
    const char *descr;
    *form = form_of(tensor, &descr);

    size_t n = MAGIC_SIZE;
    n += (size_t)snprintf(header + n, HEADER_MAX - n,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    n += put_shape(header + n, HEADER_MAX - n, tensor);
    n += (size_t)snprintf(header + n, HEADER_MAX - n, "), }");

    size_t size = (n + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(header + n, ' ', size - n);
    header[size - 1] = '\n';

    size_t rest = size - MAGIC_SIZE;
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)(rest & 0xff);
    header[9] = (char)(rest >> 8);
    return size;
}

static bool npy_has(const view_model *model, uint64_t index)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(view_model_gguf(model), index);
    const char *descr;
    return tensor_has_form(&tensor, form_of(&tensor, &descr));
}

static int npy_size(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(view_model_gguf(model), index);
    char header[HEADER_MAX];
    tensor_form form;

    *size = put_header(header, &tensor, &form);
    *size += tensor_form_size(&tensor, form);
    return 0;
}

static int npy_read(view_model *model, uint64_t index, uint64_t offset, void *buffer, size_t len,
                    view_scratch *scratch, view_piece *piece)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(view_model_gguf(model), index);
    char header[HEADER_MAX];
    tensor_form form;
    size_t size = put_header(header, &tensor, &form);

    if (offset >= size)
        return tensor_read(&tensor, form, offset - size, buffer, len, scratch, piece);
    *piece = (view_piece){.len = MIN(len, size - offset)};
    memcpy(buffer, header + offset, piece->len);
    return 0;
}

const view view_npy = {
    .path = "tensors/npy",
    .scope = VIEW_TENSOR,
    .suffix = ".npy",
    .has = npy_has,
    .size = npy_size,
    .read = npy_read,
    .is_cut = tensor_view_is_cut,
};
