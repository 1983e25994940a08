/* A model as one safetensors file, made as it is read: eight bytes with the header's length, the
 * header in JSON, spaces up to a multiple of 4096, and the tensors' bytes.
 *
 * Which tensors, and in which order, is export.h's. */
#pragma once

#include "view/export.h"
#include "view/text.h"

/* The header of an export whose quantized tensors are in this form: for the step of a text. */
int safetensors_header_step(const text_job *job, tensor_form form, text_state *state,
                            text_sink *sink);

/* As the callbacks of a view. header is the text of the same form. */
bool safetensors_is_sized(const view_model *model, tensor_form form, const text_maker *header);
int safetensors_size(view_model *model, tensor_form form, const text_maker *header,
                     view_scratch *scratch, uint64_t *size);
int safetensors_read(view_model *model, tensor_form form, const text_maker *header, uint64_t offset,
                     void *buffer, size_t len, view_scratch *scratch, view_piece *piece);
bool safetensors_is_cut(const view_model *model, tensor_form form);
