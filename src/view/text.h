/* Texts: virtual files that are rendered while they are read.
 *
 * A text is a generator: a step function that gives the next few KiB of the file to a sink, and a
 * small plain state that says where to go on. From the states the engine builds everything else.
 * Sizing runs the steps once, to the end, and keeps one state every 64 KiB or more of text as a
 * checkpoint; reading goes on from the last checkpoint before the offset. So no text is ever whole
 * in memory, and a text of any length costs at most 4,096 checkpoints.
 *
 * What was found (size and checkpoints) is published in the model's text_cache by
 * compare-and-swap, whole, after the mapping was left; until then it stands in the thread's
 * text_scratch. When the source changes afterwards, the text no longer comes out as long as it was
 * said to be: that is EIO.
 *
 * The engine knows nothing of what the texts say. */
#pragma once

#include "view/view.h"

enum {
    TEXT_CHUNK = 16 * 1024, /* a step ends at the first occasion after as many bytes of text */
    TEXT_SLICE = 4 * 1024,  /* bytes of a string that are rendered in one go */
    TEXT_MAX_NESTING = PN_GGUF_MAX_NESTING + 1,
};

/* Where a text goes on: plain data, all zero at the beginning. A text uses the fields as it likes;
 * values (value.h) use those marked. */
typedef struct {
    uint64_t item;                   /* which line, key or tensor */
    uint32_t phase;                  /* which part of it; 0 at its beginning */
    uint8_t value_phase;             /* value: what comes next */
    uint8_t depth;                   /* value: arrays that are open */
    uint8_t elem[TEXT_MAX_NESTING];  /* value: of each, the type of its elements … */
    uint64_t left[TEXT_MAX_NESTING]; /* value: … and how many of them are left */
    uint64_t at;                     /* value: offset in it of the next byte; else in a name */
    uint64_t rest;                   /* value: bytes left of the string that is open */
} text_state;

/* Takes a text: counts all of it and keeps what falls into a window. */
typedef struct {
    uint64_t at;         /* bytes taken: the offset in the text of the next one */
    uint64_t from, to;   /* the window, empty while sizing */
    char *window;        /* its bytes */
    unsigned shard;      /* the text of this step depends on this source file … */
    uint64_t source_end; /* … up to this offset; only grows while the shard stays the same */
} text_sink;

void text_put(text_sink *sink, const void *bytes, size_t len);
void text_puts(text_sink *sink, const char *string);

/* Says that what the step gives depends on len bytes at `bytes` in a shard's mapping. */
void text_depends(text_sink *sink, const pn_gguf_file *gguf, unsigned shard, const void *bytes,
                  uint64_t len);

/* Texts whose size and checkpoints are kept. */
typedef enum {
    TEXT_METADATA,     /* one a key */
    TEXT_METADATA_RAW, /* one a key */
    TEXT_METADATA_JSON,
    TEXT_TENSORS_TSV,
    TEXT_TENSORS_JSON,
    TEXT_PROBLEMS,
    TEXT_SUMMARY,
    TEXT_EXPORT_F32,
    TEXT_EXPORT_F16,
    TEXT_EXPORT_BF16,
    TEXT_EXPORT_GGUF,
    TEXT_N_KEPT,
    TEXT_NOT_KEPT = TEXT_N_KEPT, /* always small: made anew each time */
} text_id;

enum { TEXT_MORE = 0, TEXT_END = -1 };

typedef struct {
    view_model *model;
    uint64_t index; /* of the key or tensor */
    GString *line;  /* the thread's, to build a line in; empty it before use */
} text_job;

typedef struct {
    text_id id;
    /* Gives some bytes to the sink and moves the state on. TEXT_MORE, TEXT_END (with or without
     * last bytes), or an errno: EIO where the source is no longer what it was. What one step gives
     * depends on the state and the source only, and on one shard only. */
    int (*step)(const text_job *job, text_state *state, text_sink *sink);
} text_maker;

/* As view.is_sized, view.size and view.read. */
bool text_is_sized(const text_maker *self, const view_model *model, uint64_t index);
int text_size(const text_maker *self, view_model *model, uint64_t index, view_scratch *scratch,
              uint64_t *size);
int text_read(const text_maker *self, view_model *model, uint64_t index, uint64_t offset,
              void *buffer, size_t len, view_scratch *scratch, view_piece *piece);

/* The three functions name_is_sized, name_size and name_read of a view that is the text `maker`. */
#define TEXT_VIEW_CALLS(name, maker)                                                               \
    static bool name##_is_sized(const view_model *model, uint64_t index)                           \
    {                                                                                              \
        return text_is_sized(&(maker), model, index);                                              \
    }                                                                                              \
    static int name##_size(view_model *model, uint64_t index, view_scratch *scratch,               \
                           uint64_t *size)                                                         \
    {                                                                                              \
        return text_size(&(maker), model, index, scratch, size);                                   \
    }                                                                                              \
    static int name##_read(view_model *model, uint64_t index, uint64_t offset, void *buffer,       \
                           size_t len, view_scratch *scratch, view_piece *piece)                   \
    {                                                                                              \
        return text_read(&(maker), model, index, offset, buffer, len, scratch, piece);             \
    }

/* The model's notes (model.h), in the thread's line. */
const GString *text_notes(view_model *model, view_scratch *scratch);

/* The model's. */
typedef struct text_cache text_cache;
text_cache *text_cache_new(const pn_gguf_file *gguf);
void text_cache_free(text_cache *cache);

enum { TEXT_MAX_CHECKPOINTS = 4096 };

typedef struct {
    uint64_t at; /* offset in the text */
    text_state state;
} text_checkpoint;

/* A thread's; all zero at first. */
typedef struct {
    GString *line;
    void *last;           /* the text read last, … */
    text_checkpoint next; /* … and a state near the end of that read: readers go on from there */
    text_checkpoint checkpoints[TEXT_MAX_CHECKPOINTS];
} text_scratch;

void text_scratch_clear(text_scratch *scratch); /* frees what it has */
