/* Comparing the source files with what they were. */
#include "fuse/source.h"

#include <unistd.h>

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

source_change source_compare(const source_file *file)
{
    struct stat now;
    if (file->fd < 0)
        return SOURCE_SAME;
    if (fstat(file->fd, &now) < 0)
        return source_size_now(file) == (uint64_t)file->st.st_size ? SOURCE_UNSEEN : SOURCE_CHANGED;
    bool same_content =
        now.st_size == file->st.st_size && same_time(&now.st_mtim, &file->st.st_mtim);
    if (same_content && same_time(&now.st_ctim, &file->st.st_ctim))
        return SOURCE_SAME;
    return same_content && now.st_nlink == 0 ? SOURCE_GONE : SOURCE_CHANGED;
}

uint64_t source_size_now(const source_file *file)
{
    struct stat now;
    if (file->fd < 0)
        return 0;
    if (fstat(file->fd, &now) == 0)
        return (uint64_t)now.st_size;
    off_t end = lseek(file->fd, 0, SEEK_END);
    return end > 0 ? (uint64_t)end : 0;
}

static uint64_t mix(uint64_t stamp, int64_t number)
{
    return (stamp ^ (uint64_t)number) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

uint64_t source_file_stamp(const source_file *file)
{
    struct stat now = {0};
    if (file->fd < 0)
        return 0;
    if (fstat(file->fd, &now) < 0)
        now.st_size = (off_t)source_size_now(file);
    uint64_t stamp = mix(0, now.st_size);
    stamp = mix(stamp, now.st_mtim.tv_sec);
    stamp = mix(stamp, now.st_mtim.tv_nsec);
    stamp = mix(stamp, now.st_ctim.tv_sec);
    return mix(stamp, now.st_ctim.tv_nsec);
}

uint64_t source_stamp(const source_set *set)
{
    uint64_t stamp = 0;
    for (unsigned i = 0; i < set->n; i++)
        stamp = mix(stamp, (int64_t)source_file_stamp(&set->files[i]));
    return stamp;
}

bool source_is_shorter(const source_set *set)
{
    for (unsigned i = 0; i < set->n; i++) {
        if (set->files[i].fd >= 0 &&
            source_size_now(&set->files[i]) < (uint64_t)set->files[i].st.st_size)
            return true;
    }
    return false;
}

uint64_t source_total(const source_set *set)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < set->n; i++)
        total += (uint64_t)set->files[i].st.st_size;
    return total;
}
