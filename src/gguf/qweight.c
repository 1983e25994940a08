/* A tensor as the matrices it holds. */
#include "gguf/escape.h"

#include <pantheon/gguf.h>

#include <limits.h>

static bool refuse(const pn_gguf_tensor *t, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static bool refuse(const pn_gguf_tensor *t, GError **error, const char *format, ...)
{
    g_autoptr(GString) text = g_string_new("tensor ");
    pn_escape_brief(text, t->name, t->name_len);
    g_string_append(text, " ");
    va_list args;
    va_start(args, format);
    g_string_append_vprintf(text, format, args);
    va_end(args);
    g_set_error_literal(error, PN_GGUF_ERROR, PN_GGUF_ERROR_INVALID, text->str);
    return false;
}

bool pn_gguf_qweight(const pn_gguf_file *file, uint64_t i, uint64_t expert, pn_qweight *out,
                     GError **error)
{
    pn_gguf_tensor t = pn_gguf_tensor_at(file, i);
    uint64_t cols = t.ne[0], rows = t.ne[1], n_experts = t.ne[2];

    if (t.traits == NULL || !t.has_f32)
        return refuse(&t, error, "is of type %u (%s), which cannot be dequantized", t.type_id,
                      t.traits != NULL ? t.traits->name : "unknown");
    if (t.big_endian)
        return refuse(&t, error, "is big-endian; a matrix is used as it stands in the file");
    if (t.n_dims > 3)
        return refuse(&t, error, "has %u dimensions; a matrix is made of at most 3", t.n_dims);
    if (expert >= n_experts)
        return refuse(&t, error,
                      "holds %" G_GUINT64_FORMAT " matrices; there is no index %" G_GUINT64_FORMAT,
                      n_experts, expert);
    if (cols > INT_MAX || rows > INT_MAX)
        return refuse(&t, error,
                      "has %" G_GUINT64_FORMAT " rows and %" G_GUINT64_FORMAT
                      " columns; %d are the most",
                      rows, cols, INT_MAX);
    if (t.available < t.nbytes)
        return refuse(&t, error, "is cut off by the end of the file");

    size_t row_stride = cols / t.traits->block_elems * t.traits->block_bytes;
    *out = (pn_qweight){
        .data = t.data != NULL ? t.data + expert * rows * row_stride : NULL,
        .type = t.traits->id,
        .rows = (int)rows,
        .cols = (int)cols,
        .row_stride = row_stride,
    };
    return true;
}
