/* An index of names: (name, occurrence) to a place in a table, in constant time however many share
 * a name, and whoever chose the names. */
#pragma once

#include <pantheon/gguf.h>

#include "gguf/siphash.h"

/* A name in a file, as the first field of a table's entry. */
typedef struct {
    uint64_t at; /* from the start of its file */
    uint64_t len : 63;
    uint64_t is_first : 1; /* of the entries with this name */
    uint32_t occurrence; /* of the first: how many there are; of the others: which it is, from 2 */
    uint16_t shard;
    uint16_t tag; /* the table's own */
} pn_name;

static inline uint32_t pn_name_nth(const pn_name *name)
{
    return name->is_first ? 1 : name->occurrence;
}

/* A table whose entries begin with a pn_name. */
typedef struct {
    void *entries;
    size_t entry_size;
    const pn_gguf_source *sources;
} pn_named;

typedef struct {
    uint32_t entry; /* from 1; 0: free */
    uint32_t hash;
} pn_name_slot;

typedef struct {
    pn_name_slot *slots;
    uint64_t n_slots; /* 0, or a power of two */
    uint64_t n_used;
    pn_siphash_key key;
} pn_names;

/* The most entries: an index into them fits an int. */
enum { PN_NAMES_MAX = G_MAXINT32 };

static inline pn_name *pn_named_at(const pn_named *table, uint64_t i)
{
    return (pn_name *)((char *)table->entries + i * table->entry_size);
}

/* The bytes of a name, in the mapping. */
static inline const char *pn_name_bytes(const pn_named *table, const pn_name *name)
{
    return (const char *)table->sources[name->shard].data + name->at;
}

/* Adds entry i, whose at, len and shard are set, and sets its is_first and occurrence. False when
 * there is no memory. */
bool pn_names_add(pn_names *names, const pn_named *table, uint64_t i);

/* The entry with the nth (from 1) occurrence of a name. */
bool pn_names_find(const pn_names *names, const pn_named *table, const char *name, size_t len,
                   uint32_t nth, uint64_t *i);

void pn_names_clear(pn_names *names);
