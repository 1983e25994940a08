/* The engine of texts: sizing, checkpoints, reading from the middle (text.h). Knows nothing of what
 * the texts say. */
#include "view/text.h"

#include <errno.h>
#include <string.h>

#include "view/model.h"

enum {
    FIRST_STRIDE = 64 * 1024, /* bytes of text between two checkpoints, at least; doubled when there
                                 would be too many */
};

/* What is kept about a long text. */
typedef struct {
    uint64_t size;
    size_t n;
    text_checkpoint checkpoints[];
} text_index;

/* A slot is NULL until the text has been sized; then the size of a short text, as an odd number, or
 * a long text's index. */
typedef gpointer text_slot;

struct text_cache {
    text_slot *slots[TEXT_N_KEPT];
    uint64_t n_slots[TEXT_N_KEPT];
};

void text_put(text_sink *sink, const void *bytes, size_t len)
{
    uint64_t at = sink->at;

    sink->at = at + len;
    if (sink->at <= sink->from || at >= sink->to)
        return;

    uint64_t from = MAX(at, sink->from), to = MIN(at + len, sink->to);
    memcpy(sink->window + (from - sink->from), (const char *)bytes + (from - at), to - from);
}

void text_puts(text_sink *sink, const char *string)
{
    text_put(sink, string, strlen(string));
}

void text_depends(text_sink *sink, const pn_gguf_file *gguf, unsigned shard, const void *bytes,
                  uint64_t len)
{
    uint64_t end = (uint64_t)((const uint8_t *)bytes - gguf->shards[shard].data) + len;

    if (sink->shard != shard) {
        sink->shard = shard;
        sink->source_end = 0;
    }
    sink->source_end = MAX(sink->source_end, end);
}

text_cache *text_cache_new(const pn_gguf_file *gguf)
{
    text_cache *cache = g_new0(text_cache, 1);

    for (int id = 0; id < TEXT_N_KEPT; id++) {
        bool per_key = id == TEXT_METADATA || id == TEXT_METADATA_RAW;
        cache->n_slots[id] = per_key ? gguf->n_kv : 1;
        cache->slots[id] = g_new0(text_slot, cache->n_slots[id]);
    }
    return cache;
}

static bool slot_is_short(text_slot slot)
{
    return (uintptr_t)slot & 1;
}

static uint64_t slot_size(text_slot slot)
{
    return slot_is_short(slot) ? (uintptr_t)slot >> 1 : ((const text_index *)slot)->size;
}

void text_cache_free(text_cache *cache)
{
    if (!cache)
        return;
    for (int id = 0; id < TEXT_N_KEPT; id++) {
        for (uint64_t i = 0; i < cache->n_slots[id]; i++)
            if (!slot_is_short(cache->slots[id][i]))
                g_free(cache->slots[id][i]);
        g_free(cache->slots[id]);
    }
    g_free(cache);
}

void text_scratch_clear(text_scratch *scratch)
{
    if (scratch->line)
        g_string_free(g_steal_pointer(&scratch->line), TRUE);
}

static GString *line_of(text_scratch *scratch)
{
    if (!scratch->line)
        scratch->line = g_string_sized_new(TEXT_SLICE);
    return scratch->line;
}

/* Publishes what sizing found, unless another thread was faster. Touches no byte of the mapping. */
static text_slot publish(text_slot *slot, uint64_t size, const text_checkpoint *checkpoints,
                         size_t n)
{
    text_slot made = NULL;
    text_index *index = NULL;

    if (n > 0)
        index = g_try_malloc(sizeof *index + n * sizeof *checkpoints);
    if (index) {
        index->size = size;
        index->n = n;
        memcpy(index->checkpoints, checkpoints, n * sizeof *checkpoints);
        made = index;
    } else {
        made = (text_slot)((uintptr_t)size << 1 | 1);
    }

    if (g_atomic_pointer_compare_and_exchange(slot, NULL, made))
        return made;
    g_free(index);
    return g_atomic_pointer_get(slot);
}

/* Keeps every other checkpoint. */
static size_t thin_out(text_checkpoint *checkpoints, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        checkpoints[i] = checkpoints[2 * i + 1];
    return n / 2;
}

/* Runs the text to its end, and sets *out to what is now in its slot. */
static int measure(const text_maker *self, const text_job *job, text_scratch *scratch,
                   text_slot *slot, text_slot *out)
{
    text_checkpoint *checkpoints = scratch->checkpoints;
    size_t n = 0;
    uint64_t stride = FIRST_STRIDE, next = stride;
    text_state state = {0};
    text_sink sink = {0};
    int result;

    while ((result = self->step(job, &state, &sink)) == TEXT_MORE) {
        if (sink.at < next)
            continue;
        if (n == TEXT_MAX_CHECKPOINTS) {
            n = thin_out(checkpoints, n);
            stride *= 2;
        }
        checkpoints[n++] = (text_checkpoint){sink.at, state};
        next = sink.at + stride;
    }
    if (result != TEXT_END)
        return result;

    *out = publish(slot, sink.at, checkpoints, n);
    return 0;
}

static text_job job_of(view_model *model, uint64_t index, text_scratch *scratch)
{
    return (text_job){.model = model, .index = index, .line = line_of(scratch)};
}

/* Makes a short text that is not kept. Where the window ends before the text, the rest is counted.
 */
static int make_whole(const text_maker *self, const text_job *job, text_sink *sink)
{
    text_state state = {0};
    int result;

    while ((result = self->step(job, &state, sink)) == TEXT_MORE)
        ;
    return result == TEXT_END ? 0 : result;
}

static int known_slot(const text_maker *self, const text_job *job, text_scratch *scratch,
                      text_slot **slot, text_slot *value)
{
    *slot = &view_model_texts(job->model)->slots[self->id][job->index];
    *value = g_atomic_pointer_get(*slot);
    return *value ? 0 : measure(self, job, scratch, *slot, value);
}

bool text_is_sized(const text_maker *self, const view_model *model, uint64_t index)
{
    return self->id == TEXT_NOT_KEPT ||
           g_atomic_pointer_get(&view_model_texts(model)->slots[self->id][index]) != NULL;
}

int text_size(const text_maker *self, view_model *model, uint64_t index, view_scratch *thread,
              uint64_t *size)
{
    text_scratch *scratch = view_scratch_texts(thread);
    text_job job = job_of(model, index, scratch);

    if (self->id == TEXT_NOT_KEPT) {
        text_sink sink = {0};
        int result = make_whole(self, &job, &sink);
        *size = sink.at;
        return result;
    }

    text_slot *slot, value;
    int result = known_slot(self, &job, scratch, &slot, &value);
    if (result == 0)
        *size = slot_size(value);
    return result;
}

/* The last state known before offset. */
static text_checkpoint start_for(text_slot *slot, text_slot value, const text_scratch *scratch,
                                 uint64_t offset)
{
    text_checkpoint start = {0};

    if (!slot_is_short(value)) {
        const text_index *index = value;
        size_t low = 0, high = index->n; /* checkpoints[low - 1] lies not after the offset */
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (index->checkpoints[middle].at <= offset)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > 0)
            start = index->checkpoints[low - 1];
    }
    if (scratch->last == slot && scratch->next.at <= offset && scratch->next.at > start.at)
        start = scratch->next;
    return start;
}

/* Fills the sink's window, which ends in a text of this size, from start, and leaves in *start the
 * state to go on from. Ends early, before the step that would mix bytes of two source files. */
static int fill(const text_maker *self, const text_job *job, uint64_t size, text_checkpoint *start,
                text_sink *sink)
{
    text_state state = start->state;
    int result;

    do {
        text_sink before = *sink;
        *start = (text_checkpoint){sink->at, state};
        result = self->step(job, &state, sink);
        if (result > 0)
            return result;
        if (sink->at > size)
            return EIO;
        if (before.at > before.from && before.source_end > 0 && before.shard != sink->shard) {
            *sink = before;
            return 0;
        }
    } while (result == TEXT_MORE && (sink->at < sink->to || sink->to == size));

    return result == TEXT_END && sink->at != size ? EIO : 0;
}

int text_read(const text_maker *self, view_model *model, uint64_t index, uint64_t offset,
              void *buffer, size_t len, view_scratch *thread, view_piece *piece)
{
    text_scratch *scratch = view_scratch_texts(thread);
    text_job job = job_of(model, index, scratch);
    text_sink sink = {.from = offset, .window = buffer};
    int result;

    *piece = (view_piece){0};
    if (self->id == TEXT_NOT_KEPT) {
        sink.to = offset + MIN(len, UINT64_MAX - offset);
        result = make_whole(self, &job, &sink);
    } else {
        text_slot *slot, value;
        result = known_slot(self, &job, scratch, &slot, &value);
        if (result != 0 || offset >= slot_size(value))
            return result;
        text_checkpoint start = start_for(slot, value, scratch, offset);
        sink.at = start.at;
        sink.to = offset + MIN(len, slot_size(value) - offset);
        result = fill(self, &job, slot_size(value), &start, &sink);
        scratch->last = result == 0 ? slot : NULL;
        scratch->next = start;
    }
    if (result != 0 || sink.at <= offset)
        return result;

    piece->len = MIN(sink.at, sink.to) - offset;
    piece->shard = sink.shard;
    piece->source_end = sink.source_end;
    return 0;
}

const GString *text_notes(view_model *model, view_scratch *scratch)
{
    GString *line = line_of(view_scratch_texts(scratch));

    g_string_truncate(line, 0);
    view_model_notes(model, line);
    return line;
}
