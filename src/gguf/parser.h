/* One file being parsed, and how it is refused. Internal to src/gguf. */
#pragma once

#include "gguf/reader.h"
#include "gguf/tables.h"

#define PN_KEY_ALIGNMENT "general.alignment"

typedef struct {
    pn_reader in;
    const pn_gguf_source *source;
    pn_gguf_tables *tables;
    unsigned shard;
    bool is_first;   /* the first file: its keys are the model's */
    bool is_one_set; /* a name that another file of the set has too is an error */
    uint32_t version;
    uint64_t n_kv;
    uint64_t n_tensors;
    uint32_t alignment;

    /* The keys of this file; thrown away where it is not the first. */
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

/* Magic, version, counts and keys, with the alignment. */
bool pn_parse_keys(pn_parser *p);

/* The key of this name, the first if there are several; NULL where there is none. */
const pn_kv_entry *pn_parser_find_key(const pn_parser *p, const char *key);

/* The tensor infos, then their names into the index. */
bool pn_parse_tensors(pn_parser *p);
bool pn_index_tensors(pn_parser *p, uint64_t first, uint64_t last);

/* Tensors first to last - 1 are all of one shard, whose parts are known: gives unsized ones their
 * size, and notes what is odd. */
bool pn_layout_check(pn_parser *p, uint64_t first, uint64_t last);

/* parse.c: a parser of one file of the model, whose source and shard stand in the tables. */
void pn_parser_init(pn_parser *p, pn_gguf_tables *tables, unsigned shard, GError **error);

/* Everything after the keys. */
bool pn_parse_rest(pn_parser *p);

/* The file's metadata are those of the model. */
void pn_take_metadata(pn_gguf_file *file, const pn_parser *p);

/* Makes room for n files. */
void pn_tables_resize(pn_gguf_file *file, unsigned n);
pn_gguf_source pn_source_copy(const pn_gguf_source *source);

/* set.c: what a file says of the set it belongs to. */
typedef struct {
    uint64_t no;    /* from 0 */
    uint64_t count; /* 0, 1: no set */
    uint64_t n_tensors;
    bool has_n_tensors;
} pn_split_info;

/* From the keys, that were parsed. False where they cannot be. */
bool pn_parse_split(pn_parser *p, pn_split_info *info);

/* Parses all files of a set. The only source in the tables is the file that was named, and info is
 * what it says. */
bool pn_set_parse(pn_gguf_file *file, const pn_split_info *info, const pn_gguf_options *options,
                  GError **error);
