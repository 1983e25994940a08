/* A view is what a virtual file contains: its size, and its bytes at any offset. One view a file
 * here; the list of them is src/tree/views.c.
 *
 * A view knows the model and nothing of the kernel. It runs behind the guarded gate: wherever it
 * touches the mapping it may be left by a long jump, so there it holds no lock and owns no memory;
 * what it needs to work in is the thread's scratch, and what it keeps (sizes, checkpoints) it
 * publishes by compare-and-swap when it is complete. */
#pragma once

#include <pantheon/gguf.h>

typedef struct view_model view_model;     /* the model, and what views keep about it: model.h */
typedef struct view_scratch view_scratch; /* one thread's working memory: scratch.h */

typedef enum {
    VIEW_MODEL,  /* one file */
    VIEW_KEY,    /* a folder with a file a key */
    VIEW_TENSOR, /* a folder with a file a tensor */
} view_scope;

/* A run of bytes that one read() gives. */
typedef struct {
    const void *direct; /* the bytes where they stand in the mapping; NULL: they were written to the
                           buffer */
    size_t len;         /* 0 at the end of the file only */
    unsigned shard;     /* the source file they come from, and … */
    uint64_t source_end; /* … the offset in it past the last byte they depend on; 0: on none */
} view_piece;

typedef struct view {
    const char *path; /* the file, or the folder: "metadata.json", "tensors/f32" */
    view_scope scope;
    const char *suffix; /* of the file names in the folder: ".npy"; NULL: none */
    bool is_volatile;   /* may change while mounted: never cached */

    /* Whether key or tensor `index` appears here; NULL: all do. Touches no byte of the mapping. */
    bool (*has)(const view_model *model, uint64_t index);

    /* Whether `size` is quick by now; NULL: always. Where it is not (a text that would have to be
     * rendered to know), listing the folder leaves it out. Touches no byte of the mapping. */
    bool (*is_sized)(const view_model *model, uint64_t index);

    /* The size in bytes; 0, or an errno. */
    int (*size)(view_model *model, uint64_t index, view_scratch *scratch, uint64_t *size);

    /* Up to len bytes (len > 0) from offset: at least one before the end of the file, fewer than
     * len where the source changes or ends. 0, or an errno: EIO for bytes that the source does not
     * have. */
    int (*read)(view_model *model, uint64_t index, uint64_t offset, void *buffer, size_t len,
                view_scratch *scratch, view_piece *piece);

    /* Whether part of the file is EIO because its source is cut off; NULL: never. Asked after
     * `size`. Touches no byte of the mapping. */
    bool (*is_cut)(const view_model *model, uint64_t index);
} view;
