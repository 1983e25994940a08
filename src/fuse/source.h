/* The source files under a mount: their descriptors, and what they were when it was made. A source
 * may be cut, rewritten or deleted at any time; this tells. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

typedef struct {
    int fd;         /* for fstat only; -1: a missing shard */
    struct stat st; /* when it was mapped */
} source_file;

typedef struct {
    source_file *files; /* one a shard */
    unsigned n;
} source_set;

typedef enum {
    SOURCE_SAME,    /* from here on worse and worse */
    SOURCE_UNSEEN,  /* as long as it was, and more cannot be seen (source_size_now) */
    SOURCE_GONE,    /* deleted or replaced by another: what we hold is as it was */
    SOURCE_CHANGED, /* rewritten, cut, appended to */
} source_change;

/* What became of a file since. */
source_change source_compare(const source_file *file);

/* Its size now; 0 when that cannot be had. Some file systems (FUSE without allow_other, NFS that
 * trusts no root) let the worker read what was opened for it, but tell nothing more than the size.
 */
uint64_t source_size_now(const source_file *file);

/* A number that is another one after any file was changed. */
uint64_t source_stamp(const source_set *set);

/* As source_stamp, of one file. */
uint64_t source_file_stamp(const source_file *file);

/* Whether any file is shorter than it was. */
bool source_is_shorter(const source_set *set);

/* Bytes of all files, when they were mapped. */
uint64_t source_total(const source_set *set);
