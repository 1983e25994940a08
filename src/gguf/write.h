/* The model as one GGUF file: version 3, little-endian, whatever files it was read from.
 *
 * A plan of the file is made once; its bytes are made as they are asked for: the header in steps
 * that go on from a small state, the data section by looking up which tensor stands at an offset.
 * Nothing of the file is kept in memory but 12 bytes a tensor. */
#pragma once

#include <pantheon/gguf.h>

typedef struct pn_writing pn_writing;

/* Plans the file. A single little-endian file of version 3 is taken as it is: see
 * pn_writing_is_source. Otherwise it touches the mapping. NULL when there is no memory, or the
 * source has changed. */
pn_writing *pn_writing_new(const pn_gguf_file *file);
void pn_writing_free(pn_writing *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(pn_writing, pn_writing_free)

/* Whether the file is the source itself, byte for byte. Then there is no header to make and no
 * place to look up. */
bool pn_writing_is_source(const pn_writing *w);

uint64_t pn_writing_size(const pn_writing *w);
uint64_t pn_writing_data_start(const pn_writing *w); /* the header with its padding */
bool pn_writing_is_cut(const pn_writing *w);         /* a tensor in it is cut off */

/* Why tensor i, or key i, is not in the file, as the end of a sentence that begins with it; NULL:
 * it is. Keys of the set (split.…) are left out without a word: "". */
const char *pn_writing_tensor_fault(const pn_writing *w, uint64_t i);
const char *pn_writing_key_fault(const pn_writing *w, uint64_t i);

/* Where a step of the header goes on: plain data, all zero at the beginning. */
typedef struct {
    uint64_t item; /* of the keys, or the tensors */
    uint64_t at;   /* offset in the item's bytes, or in a value's data */
    uint64_t rest; /* bytes left of the string that is open */
    uint32_t phase;
    uint8_t
        depth; /* arrays that are open: of each, the type of its elements and how many are left */
    uint8_t elem[PN_GGUF_MAX_NESTING];
    uint64_t left[PN_GGUF_MAX_NESTING];
} pn_writing_state;

/* Takes the header. */
typedef struct {
    void (*put)(void *user, const void *bytes, size_t len);
    /* What is put next is made of len bytes at `bytes` in a shard's mapping. One step names one
     * shard. */
    void (*depends)(void *user, unsigned shard, const void *bytes, uint64_t len);
    void *user;
} pn_writing_sink;

typedef enum { PN_WRITING_MORE, PN_WRITING_END, PN_WRITING_CHANGED } pn_writing_result;

/* Puts the next bytes of the header, if only a few, and hardly more than 16 KiB, and moves the
 * state on: MORE, END (with or without last bytes), or CHANGED where the source is no longer what
 * it was. Touches the mapping, and allocates nothing. */
pn_writing_result pn_writing_step(const pn_writing *w, pn_writing_state *state,
                                  pn_writing_sink *sink);

/* What stands at an offset of the data section, counted from its start; < size - data_start. */
typedef struct {
    uint64_t tensor; /* its bytes, in little-endian form … */
    uint64_t start;  /* … begin at this offset, … */
    uint64_t nbytes; /* … are as many, … */
    uint64_t end;    /* … and with zeros as padding go up to this offset */
} pn_writing_place;

pn_writing_place pn_writing_find(const pn_writing *w, uint64_t offset);
