/* Counting a model's tensors by type (survey.h). */
#include "view/survey.h"

#include <stdlib.h>

static survey_row *row_of(survey *s, uint32_t type_id)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->rows[i].type_id == type_id)
            return &s->rows[i];
    if (s->n == SURVEY_MAX_TYPES)
        return &s->others;
    s->rows[s->n] = (survey_row){.type_id = type_id};
    return &s->rows[s->n++];
}

static void count(survey_row *row, const pn_gguf_tensor *tensor)
{
    row->tensors++;
    row->parameters += tensor->n_elems;
    row->bytes += tensor->nbytes;
}

static int compare_rows(const void *a, const void *b)
{
    const survey_row *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->type_id < y->type_id ? -1 : 1;
}

void survey_tensors(const pn_gguf_file *gguf, survey *out)
{
    *out = (survey){0};
    for (uint64_t i = 0; i < gguf->n_tensors; i++) {
        pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, i);
        count(&out->total, &tensor);
        count(row_of(out, tensor.type_id), &tensor);
        if (tensor.traits)
            count(&out->sized, &tensor);
        if (tensor.available < tensor.nbytes)
            out->n_cut++;
    }
    qsort(out->rows, out->n, sizeof out->rows[0], compare_rows);
}
