/* Which tensors an export to safetensors holds, in which order, and where their bytes stand in it.
 *
 * safetensors wants names in UTF-8, each once, none of them `__metadata__`, a header of at most
 * 100 MB, and no holes. Tensors that do not go with that, or have no float view, are left out. The
 * others come by the width of their elements, widest first, so that each starts at a multiple of
 * it; within a width in file order. Nothing is stored for a tensor: the order is walked, from
 * checkpoints. */
#pragma once

#include "view/name.h"
#include "view/tensor.h"

enum { EXPORT_MAX_POINTS = 4096, EXPORT_METADATA_MAX = 8 * 1024 * 1024 };

/* A place in the order; all zero at its beginning. */
typedef struct {
    uint64_t index;   /* of the tensor, or of one before it */
    uint64_t data_at; /* where its bytes start, counted from the first tensor's */
    unsigned width;   /* which width */
} export_place;

/* What is kept about all exports. */
typedef struct {
    uint64_t end;      /* tensors from here on are left out: they go beyond the limits */
    uint64_t from, to; /* this one, and those that are left out one by one, lie in here */
} export_limits;

/* What is kept about one. */
typedef struct {
    const export_limits *limits;
    uint64_t size; /* bytes of all tensors */
    bool is_cut;   /* one of them is cut off */
    unsigned n_points;
    export_place points[]; /* to start from, in order */
} export_plan;

/* A tensor of an export. */
typedef struct {
    pn_gguf_tensor tensor;
    tensor_form form;
    const char *dtype; /* as safetensors calls it */
    uint64_t size;
    const char *name; /* in the export; UTF-8 */
    uint64_t name_len;
    char file_name[VIEW_NAME_MAX + 1]; /* where name may point to */
} export_tensor;

/* The plan for quantized tensors in this form (not TENSOR_OWN); made when it is first asked for. 0,
 * or an errno. export_known_plan: NULL when it has not been made. */
int export_plan_get(view_model *model, tensor_form form, view_scratch *scratch,
                    const export_plan **plan);
const export_plan *export_known_plan(const view_model *model, tensor_form form);

/* The first tensor at or after place, to which place is moved; false past the last.
 * export_step_over moves behind it. */
bool export_find(const pn_gguf_file *gguf, const export_plan *plan, tensor_form form,
                 export_place *place, export_tensor *out);
void export_step_over(export_place *place, const export_tensor *tensor);

/* The last checkpoint that does not lie behind byte data_at. */
export_place export_start(const export_plan *plan, uint64_t data_at);

/* The limits, found when they are first asked for. */
const export_limits *export_limits_get(view_model *model);

/* Appends a sentence on why tensor `index` is left out; false when it is not, or has no float view,
 * of which the parser gave the reason. */
bool export_problem(const pn_gguf_file *gguf, const export_limits *limits, uint64_t index,
                    GString *out);
