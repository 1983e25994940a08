/* The order of an export: the rules for leaving out, the walk, the checkpoints. Knows nothing of
 * the bytes of a safetensors file. */
#include "view/export.h"

#include <inttypes.h>
#include <string.h>

#include "gguf/escape.h"
#include "view/model.h"
#include "view/scratch.h"

/* The format's own limit for the header is 100 MB, padding and all. An entry takes its name, this
 * much for what stands around it, and this much for a dimension. */
enum { ENTRY_MAX = 128, DIMENSION_MAX = 21, METADATA_SLACK = 1024 * 1024 };

/* Longer names are not worth the walk over them. */
enum { NAME_LIMIT = 64 * 1024 };

typedef struct {
    uint64_t header, data;
} budget;

static const unsigned widths[] = {8, 4, 2, 1};

static const struct {
    pn_gguf_quant type;
    const char *dtype;
} kept[] = {
    {PN_GGUF_F16, "F16"}, {PN_GGUF_BF16, "BF16"}, {PN_GGUF_F64, "F64"}, {PN_GGUF_I8, "I8"},
    {PN_GGUF_I16, "I16"}, {PN_GGUF_I32, "I32"},   {PN_GGUF_I64, "I64"},
};

static const char *const form_dtypes[] = {
    [TENSOR_F32] = "F32", [TENSOR_F16] = "F16", [TENSOR_BF16] = "BF16"};

/* The form in which the tensor goes into an export; false when there is none. */
static bool choose_form(const pn_gguf_tensor *tensor, tensor_form form, export_tensor *out)
{
    out->form = form;
    out->dtype = form_dtypes[form];
    for (size_t i = 0; i < G_N_ELEMENTS(kept); i++) {
        if (tensor->type_id == kept[i].type) {
            out->form = TENSOR_OWN;
            out->dtype = kept[i].dtype;
        }
    }
    return tensor_has_form(tensor, out->form);
}

/* Whether bytes are UTF-8, and how long they are in JSON, at most. */
static bool measure_utf8(const char *bytes, uint64_t len, uint64_t *json_len)
{
    *json_len = 0;
    for (uint64_t i = 0; i < len;) {
        char c[4] = {0};
        size_t there = MIN(len - i, sizeof c);
        memcpy(c, bytes + i, there);
        size_t n = pn_utf8_length(c, there);
        if (n == 0)
            return false;
        bool is_plain = n > 2 || (n == 2 && c[0] != '\xc2') ||
                        (n == 1 && c[0] >= 0x20 && c[0] != 0x7f && c[0] != '"' && c[0] != '\\');
        *json_len += is_plain ? n : 6;
        i += n;
    }
    return true;
}

typedef enum { NAME_FITS, NAME_REPEATED, NAME_RESERVED, NAME_LONG, NAME_UNFIT } name_verdict;

/* A name that is not UTF-8 goes by its file name, unless that is cut or is another tensor's name.
 */
static name_verdict choose_name(const pn_gguf_file *gguf, export_tensor *t, uint64_t *json_len)
{
    static const char reserved[] = "__metadata__";
    const pn_gguf_tensor *tensor = &t->tensor;
    uint64_t other;

    if (tensor->nth > 1)
        return NAME_REPEATED;
    if (tensor->name_len == strlen(reserved) &&
        memcmp(tensor->name, reserved, strlen(reserved)) == 0)
        return NAME_RESERVED;
    if (tensor->name_len > NAME_LIMIT)
        return NAME_LONG;

    t->name = tensor->name;
    t->name_len = tensor->name_len;
    if (measure_utf8(t->name, t->name_len, json_len))
        return NAME_FITS;

    if (view_name_is_cut(tensor->name, tensor->name_len, 1))
        return NAME_UNFIT;
    view_file_name(t->file_name, tensor->name, tensor->name_len, 1, NULL);
    t->name = t->file_name;
    t->name_len = *json_len = strlen(t->file_name);
    return pn_gguf_find_tensor(gguf, t->name, t->name_len, 1, &other) ? NAME_UNFIT : NAME_FITS;
}

/* Takes what a tensor needs, in the widest of the exports; false when there is too little left. */
static bool take(budget *left, const pn_gguf_tensor *tensor, uint64_t json_len)
{
    uint64_t header = json_len + ENTRY_MAX + (uint64_t)tensor->n_dims * DIMENSION_MAX;
    uint64_t data = tensor->n_elems * 8;

    if (header > left->header || data > left->data)
        return false;
    left->header -= header;
    left->data -= data;
    return true;
}

static void add_left_out(export_limits *limits, uint64_t index)
{
    if (limits->to == 0)
        limits->from = index;
    limits->to = index + 1;
}

static export_limits find_limits(const pn_gguf_file *gguf)
{
    export_limits limits = {.end = gguf->n_tensors};
    budget left = {
        .header = 100000000 - EXPORT_METADATA_MAX - METADATA_SLACK,
        .data = UINT64_C(1) << 62,
    };

    for (uint64_t i = 0; i < limits.end; i++) {
        export_tensor t = {.tensor = pn_gguf_tensor_at(gguf, i)};
        uint64_t json_len;
        if (!choose_form(&t.tensor, TENSOR_F32, &t))
            continue;
        if (choose_name(gguf, &t, &json_len) != NAME_FITS) {
            add_left_out(&limits, i);
        } else if (!take(&left, &t.tensor, json_len)) {
            add_left_out(&limits, i);
            limits.end = i;
        }
    }
    return limits;
}

const export_limits *export_limits_get(view_model *model)
{
    const export_limits *known = view_model_kept(model, VIEW_KEPT_EXPORT_LIMITS);
    if (known)
        return known;

    export_limits found = find_limits(view_model_gguf(model));
    return view_model_keep(model, VIEW_KEPT_EXPORT_LIMITS, g_memdup2(&found, sizeof found));
}

bool export_problem(const pn_gguf_file *gguf, const export_limits *limits, uint64_t index,
                    GString *out)
{
    static const char *const reasons[] = {
        [NAME_REPEATED] = "its name is that of an earlier one",
        [NAME_RESERVED] = "the format has that name for itself",
        [NAME_LONG] = "its name has more than 65536 bytes",
        [NAME_UNFIT] = "its name is not UTF-8",
    };
    export_tensor t = {.tensor = pn_gguf_tensor_at(gguf, index)};
    uint64_t json_len;

    if (index > limits->end || !choose_form(&t.tensor, TENSOR_F32, &t))
        return false;
    name_verdict verdict = choose_name(gguf, &t, &json_len);
    if (verdict == NAME_FITS && index < limits->end)
        return false;

    g_string_append_printf(out, "tensor %" PRIu64 " (", index + 1);
    pn_escape_brief(out, t.tensor.name, t.tensor.name_len);
    if (verdict == NAME_FITS)
        g_string_append(out, ") and all that follow are left out of export/model.*.safetensors: "
                             "they are more than the format allows");
    else
        g_string_append_printf(out, ") is left out of export/model.*.safetensors: %s",
                               reasons[verdict]);
    return true;
}

bool export_find(const pn_gguf_file *gguf, const export_plan *plan, tensor_form form,
                 export_place *place, export_tensor *out)
{
    uint64_t json_len;

    for (; place->width < G_N_ELEMENTS(widths); place->width++, place->index = 0) {
        for (; place->index < plan->limits->end; place->index++) {
            out->tensor = pn_gguf_tensor_at(gguf, place->index);
            if (!choose_form(&out->tensor, form, out) ||
                tensor_elem_size(&out->tensor, out->form) != widths[place->width] ||
                choose_name(gguf, out, &json_len) != NAME_FITS)
                continue;
            out->size = tensor_form_size(&out->tensor, out->form);
            return true;
        }
    }
    return false;
}

void export_step_over(export_place *place, const export_tensor *tensor)
{
    place->index++;
    place->data_at += tensor->size;
}

/* Walks the whole order; keeps every tensor's place, or every second, fourth… one's when they are
 * many. */
static void walk_all(const pn_gguf_file *gguf, tensor_form form, export_plan *plan,
                     export_place *points)
{
    export_place place = {0};
    export_tensor tensor;
    uint64_t stride = 1;

    for (uint64_t n = 0; export_find(gguf, plan, form, &place, &tensor); n++) {
        if (n % stride == 0 && plan->n_points == EXPORT_MAX_POINTS) {
            for (unsigned i = 0; i < EXPORT_MAX_POINTS / 2; i++)
                points[i] = points[2 * i];
            plan->n_points = EXPORT_MAX_POINTS / 2;
            stride *= 2;
        }
        if (n % stride == 0)
            points[plan->n_points++] = place;
        plan->is_cut = plan->is_cut || tensor_is_cut(&tensor.tensor);
        export_step_over(&place, &tensor);
    }
    plan->size = place.data_at;
}

const export_plan *export_known_plan(const view_model *model, tensor_form form)
{
    return view_model_kept(model, VIEW_KEPT_EXPORT_PLAN + (unsigned)form);
}

int export_plan_get(view_model *model, tensor_form form, view_scratch *scratch,
                    const export_plan **out)
{
    const pn_gguf_file *gguf = view_model_gguf(model);

    *out = export_known_plan(model, form);
    if (*out)
        return 0;

    export_plan found = {.limits = export_limits_get(model)};
    walk_all(gguf, form, &found, scratch->points);

    export_plan *plan = g_malloc(sizeof *plan + found.n_points * sizeof *plan->points);
    *plan = found;
    memcpy(plan->points, scratch->points, found.n_points * sizeof *plan->points);
    *out = view_model_keep(model, VIEW_KEPT_EXPORT_PLAN + (unsigned)form, plan);
    return 0;
}

export_place export_start(const export_plan *plan, uint64_t data_at)
{
    unsigned from = 0, to = plan->n_points; /* the point before `from` is not behind */

    while (from < to) {
        unsigned middle = from + (to - from) / 2;
        if (plan->points[middle].data_at <= data_at)
            from = middle + 1;
        else
            to = middle;
    }
    return from > 0 ? plan->points[from - 1] : (export_place){0};
}
