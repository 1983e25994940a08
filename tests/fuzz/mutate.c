/* Changing GGUF files as one who knows their layout: mutate.h. */
#include "mutate.h"

#include <string.h>

#include "generate.h"
#include "layout.h"

/* A file on the way to another one. */
typedef struct {
    const uint8_t *data;
    size_t size;
    const layout *l;
    GByteArray *out;
    fuzz_dice *dice;
} change;

static void copy(change *c, size_t from, size_t to)
{
    g_byte_array_append(c->out, c->data + from, (guint)(to - from));
}

static void add(change *c, const GByteArray *bytes)
{
    g_byte_array_append(c->out, bytes->data, bytes->len);
}

static void copy_rest(change *c, size_t from)
{
    copy(c, from, c->size);
}

/* The data section begins at a multiple of the alignment; 32 is what nearly all files have. */
static size_t data_start(const change *c)
{
    return MIN((c->l->header_to + 31) / 32 * 32, c->size);
}

/* What follows the header: padding anew, then the data section. */
static void end_header(change *c)
{
    static const uint8_t zeros[32];
    g_byte_array_append(c->out, zeros, (32 - c->out->len % 32) % 32);
    copy_rest(c, data_start(c));
}

static void count_up(change *c, size_t at, uint64_t by)
{
    const layout *l = c->l;
    uint64_t count = layout_get(l, c->data + at, l->count_size);
    layout_set(l, c->out->data + at, l->count_size, count + by);
}

static gguf_writer *matching_writer(const change *c)
{
    return writer_new(c->l->version, c->l->big_endian);
}

static void insert_kv(change *c)
{
    g_autoptr(gguf_writer) w = matching_writer(c);
    size_t at = c->l->infos_at;
    if (c->l->kvs->len > 0 && fuzz_below(c->dice, 2) == 0)
        at = g_array_index(c->l->kvs, span, fuzz_below(c->dice, c->l->kvs->len)).from;

    generate_kv(w, c->dice);
    copy(c, 0, at);
    add(c, w->kvs);
    copy(c, at, c->l->header_to);
    end_header(c);
    count_up(c, c->l->n_kv_at, 1);
}

static void insert_tensor(change *c)
{
    g_autoptr(gguf_writer) w = matching_writer(c);
    size_t section = c->size - data_start(c), padding = (32 - section % 32) % 32;

    generate_tensor(w, section + padding, c->dice);
    copy(c, 0, c->l->header_to);
    add(c, w->infos);
    end_header(c);
    g_byte_array_set_size(c->out, c->out->len + (guint)padding);
    memset(c->out->data + c->out->len - padding, 0, padding);
    add(c, w->data);
    count_up(c, c->l->n_tensors_at, 1);
}

/* Drops a pair or tensor, or has it once more, in front of another one. */
static void drop_or_double(change *c, const GArray *spans, size_t count_at)
{
    if (spans->len == 0) {
        insert_kv(c);
        return;
    }
    span one = g_array_index(spans, span, fuzz_below(c->dice, spans->len));
    size_t at = g_array_index(spans, span, fuzz_below(c->dice, spans->len)).from;
    bool drop = fuzz_below(c->dice, 2) == 0;

    if (drop) {
        copy(c, 0, one.from);
        copy(c, one.to, c->l->header_to);
    } else {
        copy(c, 0, at);
        copy(c, one.from, one.to);
        copy(c, at, c->l->header_to);
    }
    end_header(c);
    count_up(c, count_at, drop ? UINT64_MAX : 1);
}

static const field *pick_field(const change *c)
{
    const GArray *fields = c->l->fields;
    if (fields->len == 0)
        return NULL;
    return &g_array_index(fields, field, fuzz_below(c->dice, fields->len));
}

/* A string's bytes become others, as many or not; its length goes with them. */
static bool change_string(change *c)
{
    const field *f = NULL;
    for (int tries = 0; tries < 20 && !(f != NULL && f->kind == FIELD_LENGTH); tries++)
        f = pick_field(c);
    if (f == NULL || f->kind != FIELD_LENGTH)
        return false;

    size_t from = f->at + f->size;
    uint64_t len = layout_get(c->l, c->data + f->at, f->size);
    if (len > c->size - from)
        return false;
    uint8_t text[512];
    size_t new_len = MIN(len, sizeof text);
    memcpy(text, c->data + from, new_len);
    new_len = LLVMFuzzerMutate(text, new_len, sizeof text);

    copy(c, 0, from);
    layout_set(c->l, c->out->data + f->at, f->size, new_len);
    g_byte_array_append(c->out, text, (guint)new_len);
    copy(c, from + len, c->l->header_to);
    end_header(c);
    return true;
}

/* One number of the header becomes another; nothing else follows it. */
static bool set_field(change *c)
{
    const field *f = pick_field(c);
    if (f == NULL)
        return false;

    uint64_t value = layout_get(c->l, c->data + f->at, f->size);
    uint64_t near = fuzz_below(c->dice, 3) == 0 ? c->size - f->at : value;
    switch (f->kind) {
    case FIELD_TYPE:
        value = fuzz_below(c->dice, 14);
        break;
    case FIELD_QUANT:
        value = fuzz_below(c->dice, 44);
        break;
    case FIELD_N_DIMS:
        value = fuzz_below(c->dice, 10);
        break;
    case FIELD_VERSION:
        value = fuzz_below(c->dice, 5);
        break;
    default:
        value = generate_odd_number(c->dice, near);
        break;
    }
    copy(c, 0, c->size);
    layout_set(c->l, c->out->data + f->at, f->size, value);
    return true;
}

static void truncate_somewhere(change *c)
{
    copy(c, 0, fuzz_below(c->dice, c->size + 1));
}

static void start_anew(change *c)
{
    g_autoptr(gguf_writer) w = generate_model(c->dice);
    g_autoptr(GByteArray) file = writer_finish(w);
    add(c, file);
}

/* False: leave it to blind mutation. */
static bool change_file(change *c)
{
    uint64_t roll = fuzz_below(c->dice, 16);

    if (c->l->is_whole) {
        switch (roll) {
        case 0:
        case 1:
            insert_kv(c);
            return true;
        case 2:
        case 3:
            insert_tensor(c);
            return true;
        case 4:
            drop_or_double(c, c->l->kvs, c->l->n_kv_at);
            return true;
        case 5:
            drop_or_double(c, c->l->tensors, c->l->n_tensors_at);
            return true;
        case 6:
        case 7:
            return change_string(c);
        default:
            break;
        }
    }
    switch (roll) {
    case 8:
    case 9:
    case 10:
    case 11:
        return set_field(c);
    case 12:
        truncate_somewhere(c);
        return true;
    case 13:
        if (fuzz_below(c->dice, 4) == 0) {
            start_anew(c);
            return true;
        }
        return false;
    default:
        return false;
    }
}

size_t mutate_gguf(uint8_t *data, size_t size, size_t max_size, fuzz_dice *dice)
{
    g_auto(layout) l = layout_read(data, size);
    g_autoptr(GByteArray) out = g_byte_array_new();
    change c = {data, size, &l, out, dice};

    if (!change_file(&c) || out->len > max_size)
        return LLVMFuzzerMutate(data, size, max_size);
    if (out->len > 0)
        memcpy(data, out->data, out->len);
    return out->len;
}
