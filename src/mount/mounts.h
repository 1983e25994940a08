/* Which mount is where: what the kernel's table says, so that only a mount of ours is ever
 * unmounted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    int64_t id;            /* used again after an unmount, … */
    unsigned major, minor; /* … as these are */
    uint64_t unique;       /* Linux 6.8: never used again; 0: unknown */
    bool is_root;          /* of its file system, at the place that was asked for */
    char type[32];         /* "fuse.gguf" */
} mount_entry;

/* The mount that is seen at dir (on top of others there). dir may be any directory: is_root tells
 * whether the mount starts at it. Asks the file system there nothing, so it may be dead or hang.
 * 0, or an errno. */
int mounts_at(const char *dir, mount_entry *out);

/* Whether that mount still is somewhere; true when that cannot be told. */
bool mounts_exists(const mount_entry *entry);

/* Whether what is mounted at dir is dead: nobody serves it. */
bool mounts_is_dead(const char *dir);

/* In what follows dir is where the mount was made. Where the table shows it elsewhere, since a
 * directory above it has been renamed, it is looked for there. */

/* Whether the mount that is seen at dir has entry's id but is alive. When ours has died, such a one
 * was mounted since, and the kernel gave it the number anew. */
bool mounts_is_successor(const char *dir, const mount_entry *entry);

/* Detaches it from dir: open files go on working. ESTALE when another one is on top, EINVAL when
 * it is not there any more. By fusermount3 where that is needed. */
int mounts_detach(const char *dir, const mount_entry *entry);

/* Unmounts it unless it is in use: EBUSY, or EPERM where fusermount3 does not tell why. */
int mounts_unmount(const char *dir, const mount_entry *entry);
