/* Reading a tensor's elements in one form or another, at any offset. Knows nothing of files beyond
 * the bytes of the tensor, and leaves the numbers themselves to pn_dequantize. */
#include "view/tensor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "view/model.h"
#include "view/scratch.h"

_Static_assert(G_BYTE_ORDER == G_LITTLE_ENDIAN, "stored elements are shown where they stand");

enum {
    FETCH = 1024, /* bytes: the next of them are called for while so many are converted */
    CACHE_LINE = 64,
};

/* Whether the form's elements are the stored ones, but for the byte order. */
static bool is_own(const pn_gguf_tensor *tensor, tensor_form form)
{
    switch (form) {
    case TENSOR_F32:
        return tensor->type_id == PN_GGUF_F32;
    case TENSOR_F16:
        return tensor->type_id == PN_GGUF_F16;
    case TENSOR_BF16:
        return tensor->type_id == PN_GGUF_BF16;
    case TENSOR_OWN:
        break;
    }
    return true;
}

bool tensor_has_form(const pn_gguf_tensor *tensor, tensor_form form)
{
    if (form == TENSOR_OWN)
        return tensor->traits && tensor->traits->block_elems == 1 &&
               (!tensor->big_endian || tensor->traits->be_defined);
    return tensor->has_f32;
}

unsigned tensor_elem_size(const pn_gguf_tensor *tensor, tensor_form form)
{
    switch (form) {
    case TENSOR_F32:
        return sizeof(float);
    case TENSOR_F16:
    case TENSOR_BF16:
        return sizeof(uint16_t);
    case TENSOR_OWN:
        break;
    }
    return tensor->traits->block_bytes;
}

uint64_t tensor_form_size(const pn_gguf_tensor *tensor, tensor_form form)
{
    return tensor->n_elems * tensor_elem_size(tensor, form);
}

bool tensor_is_cut(const pn_gguf_tensor *tensor)
{
    return tensor->available < tensor->nbytes;
}

static unsigned block_size(const pn_gguf_tensor *tensor, tensor_form form)
{
    if (form == TENSOR_OWN)
        return tensor->traits->block_bytes;
    return tensor->traits->block_elems * tensor_elem_size(tensor, form);
}

/* Float32 on its way to half the width, as many blocks at a time as the scratch holds. */
static void narrow(const pn_gguf_tensor *tensor, tensor_form form, const uint8_t *src, uint8_t *dst,
                   size_t n_blocks, view_scratch *scratch)
{
    const pn_quant_traits *traits = tensor->traits;
    size_t at_once = VIEW_SCRATCH_ELEMS / traits->block_elems;

    while (n_blocks > 0) {
        size_t n = MIN(n_blocks, at_once), n_elems = n * traits->block_elems;
        pn_dequantize(traits->id, tensor->big_endian, src, scratch->elems, n);
        if (form == TENSOR_F16)
            pn_f32_to_f16(scratch->elems, (void *)dst, n_elems);
        else
            pn_f32_to_bf16(scratch->elems, (void *)dst, n_elems);
        src += n * traits->block_bytes;
        dst += n_elems * sizeof(uint16_t);
        n_blocks -= n;
    }
}

/* Calls for memory that is read soon. The processor does so by itself within a page, but the pages
 * of a file lie anywhere. */
static void fetch(const uint8_t *from, size_t len)
{
    for (size_t i = 0; i < len; i += CACHE_LINE)
        __builtin_prefetch(from + i);
}

static void convert(const pn_gguf_tensor *tensor, tensor_form form, const uint8_t *src,
                    uint8_t *dst, size_t n_blocks, view_scratch *scratch)
{
    pn_gguf_quant type = tensor->traits->id;
    size_t in = tensor->traits->block_bytes, out = block_size(tensor, form);
    size_t at_once = MAX(FETCH / in, 1);

    fetch(src, MIN(n_blocks, at_once) * in);
    while (n_blocks > 0) {
        size_t n = MIN(n_blocks, at_once);
        n_blocks -= n;
        fetch(src + n * in, MIN(n_blocks, at_once) * in);
        if (is_own(tensor, form))
            pn_quant_swap(type, src, dst, n);
        else if (form == TENSOR_F32)
            pn_dequantize(type, tensor->big_endian, src, (void *)dst, n);
        else
            narrow(tensor, form, src, dst, n, scratch);
        src += n * in;
        dst += n * out;
    }
}

/* len bytes from offset, all of which stand in blocks that are there: whole blocks go straight to
 * the buffer, the parts at both ends by way of the scratch. */
static void convert_range(const pn_gguf_tensor *tensor, tensor_form form, uint64_t offset,
                          uint8_t *buffer, size_t len, view_scratch *scratch)
{
    size_t in = tensor->traits->block_bytes;
    size_t out = block_size(tensor, form);
    const uint8_t *src = tensor->data + offset / out * in;
    size_t skip = offset % out;

    while (len > 0) {
        size_t n_blocks = len / out, done = n_blocks * out;
        if (skip > 0 || n_blocks == 0) {
            n_blocks = 1;
            done = MIN(len, out - skip);
            convert(tensor, form, src, (void *)scratch->block, 1, scratch);
            memcpy(buffer, (uint8_t *)scratch->block + skip, done);
            skip = 0;
        } else {
            convert(tensor, form, src, buffer, n_blocks, scratch);
        }
        src += n_blocks * in;
        buffer += done;
        len -= done;
    }
}

int tensor_read(const pn_gguf_tensor *tensor, tensor_form form, uint64_t offset, void *buffer,
                size_t len, view_scratch *scratch, view_piece *piece)
{
    if (is_own(tensor, form) && !tensor->big_endian)
        return tensor_read_raw(tensor, offset, len, piece);

    *piece = (view_piece){.shard = tensor->shard};
    const pn_quant_traits *traits = tensor->traits;
    uint64_t out = block_size(tensor, form);
    if (offset >= tensor->n_elems / traits->block_elems * out)
        return 0;

    uint64_t there = tensor->available / traits->block_bytes * out;
    if (offset >= there)
        return EIO;

    piece->len = MIN(len, there - offset);
    uint64_t last_block = (offset + piece->len - 1) / out;
    piece->source_end = tensor->offset + (last_block + 1) * traits->block_bytes;
    convert_range(tensor, form, offset, buffer, piece->len, scratch);
    return 0;
}

int tensor_read_raw(const pn_gguf_tensor *tensor, uint64_t offset, size_t len, view_piece *piece)
{
    *piece = (view_piece){.shard = tensor->shard};
    if (offset >= tensor->nbytes)
        return 0;
    if (offset >= tensor->available)
        return EIO;

    piece->direct = tensor->data + offset;
    piece->len = MIN(len, tensor->available - offset);
    piece->source_end = tensor->offset + offset + piece->len;
    return 0;
}

bool tensor_add_part(uint8_t *buffer, const view_piece *part, view_piece *piece)
{
    if (piece->source_end > 0 && part->shard != piece->shard)
        return false;
    if (part->direct)
        memcpy(buffer + piece->len, part->direct, part->len);
    piece->len += part->len;
    piece->shard = part->shard;
    piece->source_end = MAX(piece->source_end, part->source_end);
    return true;
}

bool tensor_view_has(const view_model *model, uint64_t index, tensor_form form)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(view_model_gguf(model), index);
    return tensor_has_form(&tensor, form);
}

int tensor_view_size(const view_model *model, uint64_t index, tensor_form form, uint64_t *size)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(view_model_gguf(model), index);
    *size = tensor_form_size(&tensor, form);
    return 0;
}

int tensor_view_read(const view_model *model, uint64_t index, tensor_form form, uint64_t offset,
                     void *buffer, size_t len, view_scratch *scratch, view_piece *piece)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(view_model_gguf(model), index);
    return tensor_read(&tensor, form, offset, buffer, len, scratch, piece);
}

bool tensor_view_is_cut(const view_model *model, uint64_t index)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(view_model_gguf(model), index);
    return tensor_is_cut(&tensor);
}

void tensor_type_text(char out[TENSOR_TYPE_MAX], const pn_gguf_tensor *tensor)
{
    const pn_quant_traits *traits = pn_quant_traits_of(tensor->type_id);

    if (traits)
        g_strlcpy(out, traits->name, TENSOR_TYPE_MAX);
    else
        snprintf(out, TENSOR_TYPE_MAX, "type %" PRIu32, tensor->type_id);
}

static void dims_text(char *out, const pn_gguf_tensor *tensor, bool row_major)
{
    size_t n = 0;

    out[n++] = '[';
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        uint64_t dim = tensor->ne[row_major ? tensor->n_dims - 1 - i : i];
        n += (size_t)snprintf(out + n, TENSOR_DIMS_MAX - n, "%s%" PRIu64, i > 0 ? "," : "", dim);
    }
    out[n++] = ']';
    out[n] = '\0';
}

void tensor_ne_text(char out[TENSOR_DIMS_MAX], const pn_gguf_tensor *tensor)
{
    dims_text(out, tensor, false);
}

void tensor_shape_text(char out[TENSOR_DIMS_MAX], const pn_gguf_tensor *tensor)
{
    dims_text(out, tensor, true);
}
