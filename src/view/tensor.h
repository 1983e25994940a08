/* Tensors as streams of elements, and how a tensor is written down. What a view of a tensor shows
 * is one form of its elements, with or without a header in front.
 *
 * Knows nothing of which views there are. */
#pragma once

#include "view/view.h"

typedef enum {
    TENSOR_F32,  /* float32 */
    TENSOR_F16,  /* float16, narrowed from the float32 value unless the tensor is F16 already */
    TENSOR_BF16, /* bfloat16, likewise */
    TENSOR_OWN,  /* as stored, but in host byte order */
} tensor_form;

/* Whether the tensor can be shown as elements in this form: in its own where a block is one
 * element. The bytes of one element in it, and of all. */
bool tensor_has_form(const pn_gguf_tensor *tensor, tensor_form form);
unsigned tensor_elem_size(const pn_gguf_tensor *tensor, tensor_form form);
uint64_t tensor_form_size(const pn_gguf_tensor *tensor, tensor_form form);

/* As view.read, on a tensor that has the form, or in its own form, on one that is little-endian or
 * whose blocks can be swapped: up to len bytes from any offset. What whole blocks give can be read
 * to the byte, even of a tensor that is cut off; EIO past it. */
int tensor_read(const pn_gguf_tensor *tensor, tensor_form form, uint64_t offset, void *buffer,
                size_t len, view_scratch *scratch, view_piece *piece);

/* The bytes as stored; EIO past what is there. */
int tensor_read_raw(const pn_gguf_tensor *tensor, uint64_t offset, size_t len, view_piece *piece);

/* Less than this is copied, so that many small tensors make one piece: tensor_add_part adds a part
 * to those in the buffer. False for bytes of another source file, which cannot be added. */
enum { TENSOR_MIN_DIRECT = 64 * 1024 };
bool tensor_add_part(uint8_t *buffer, const view_piece *part, view_piece *piece);

/* Whether the end of the file cuts it off. */
bool tensor_is_cut(const pn_gguf_tensor *tensor);

/* The same for the callbacks of a view that shows tensor `index` of the model in one form. */
bool tensor_view_has(const view_model *model, uint64_t index, tensor_form form);
int tensor_view_size(const view_model *model, uint64_t index, tensor_form form, uint64_t *size);
int tensor_view_read(const view_model *model, uint64_t index, tensor_form form, uint64_t offset,
                     void *buffer, size_t len, view_scratch *scratch, view_piece *piece);
bool tensor_view_is_cut(const view_model *model, uint64_t index);

/* Its type's name, "type 139" for an unknown id; its dimensions as "[2,3]": in the file's order
 * (ne) or row-major (shape), "[]" for none. With a NUL. */
enum { TENSOR_TYPE_MAX = 24, TENSOR_DIMS_MAX = PN_GGUF_MAX_DIMS * 21 + 3 };
void tensor_type_text(char out[TENSOR_TYPE_MAX], const pn_gguf_tensor *tensor);
void tensor_ne_text(char out[TENSOR_DIMS_MAX], const pn_gguf_tensor *tensor);
void tensor_shape_text(char out[TENSOR_DIMS_MAX], const pn_gguf_tensor *tensor);
