/* One file being parsed, and how it is refused. Internal to src/gguf. */
#pragma once

#include "gguf/reader.h"
#include "gguf/tables.h"

typedef struct {
    pn_reader in;
    const pn_gguf_source *source;
    pn_gguf_tables *tables;
    unsigned shard;
    uint32_t version;
    uint64_t n_kv;
    uint64_t n_tensors;
    uint32_t alignment;

    /* The keys of this file: those of the model where it is the first one, else thrown away. */
    pn_kv_array *kvs;
    pn_names *kv_names;

    /* What stands at the reader's place, for sentences. */
    const char *thing; /* "key" or "tensor" */
    uint64_t index;
    uint64_t n_things;
    const char *name; /* NULL: not known yet */
    uint64_t name_len;

    GError **error;
} pn_parser;

/* The ways to refuse a file; all return false. The first sentence is about the file, the second
 * begins with the key or tensor, the third says that the file ends inside it. */
bool pn_refuse(pn_parser *p, pn_gguf_error code, const char *format, ...) G_GNUC_PRINTF(3, 4);
bool pn_refuse_thing(pn_parser *p, pn_gguf_error code, const char *format, ...) G_GNUC_PRINTF(3, 4);
bool pn_refuse_end(pn_parser *p);
bool pn_refuse_memory(pn_parser *p);

/* For n items ("bytes of a string") of at least unit bytes, which do not fit into what is left:
 * either the file ends too early, or the number is impossible. */
bool pn_refuse_count(pn_parser *p, uint64_t n, unsigned unit, const char *items);

/* A name or key at the reader's place. */
bool pn_parse_name(pn_parser *p, pn_name *name);

/* Steps over a value of the type and describes it. */
bool pn_parse_value(pn_parser *p, uint32_t type, pn_kv_entry *kv);

/* Magic, version, counts and keys, with the alignment; then the tensor infos. */
bool pn_parse_keys(pn_parser *p);
bool pn_parse_tensors(pn_parser *p);

/* Tensors first to last - 1 are all of one shard, whose parts are known: gives unsized ones their
 * size, and notes what is odd. */
bool pn_layout_check(pn_parser *p, uint64_t first, uint64_t last);
