/* Opening a model by its path: opens and maps what the parser then reads, the other files of a
 * set too. Knows nothing of the format. */
#include "gguf/escape.h"
#include "gguf/split.h"
#include "gguf/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(const char *path, const char *what, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    pn_escape_brief(text, path, strlen(path));
    g_string_append_printf(text, ": %s", what);
    g_set_error_literal(error, PN_GGUF_ERROR, PN_GGUF_ERROR_IO, text->str);
    return false;
}

static bool map_fd(int fd, const char *path, pn_gguf_source *out, GError **error)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return fail(path, g_strerror(errno), error);
    if (S_ISDIR(st.st_mode))
        return fail(path, "is a directory, not a GGUF file", error);
    off_t size = S_ISREG(st.st_mode)   ? st.st_size
                 : S_ISBLK(st.st_mode) ? lseek(fd, 0, SEEK_END)
                                       : -1;
    if (size < 0)
        return fail(path, "is not a regular file", error);

    void *data = NULL;
    if (size > 0) {
        data = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED)
            return fail(path, g_strerror(errno), error);
    }
    *out = (pn_gguf_source){.data = data, .size = (uint64_t)size, .name = path};
    return true;
}

static bool map_path(const char *path, pn_gguf_source *out, GError **error)
{
    /* Not waiting for the other end of a FIFO. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail(path, g_strerror(errno), error);
    bool ok = map_fd(fd, path, out, error);
    close(fd);
    return ok;
}

static void unmap(const pn_gguf_source *source)
{
    if (source->size > 0)
        munmap((void *)source->data, source->size);
}

/* The file that was named, and every mapping made so far. */
typedef struct {
    const char *path;
    GArray *sources;
} opening;

static bool open_sibling(void *user, unsigned no, unsigned count, pn_gguf_source *out,
                         GError **error)
{
    opening *o = user;
    char *path = pn_split_sibling(o->path, no, count, error);
    if (path == NULL)
        return false;
    if (!map_path(path, out, error)) {
        g_free(path);
        return false;
    }
    g_array_append_val(o->sources, *out);
    return true;
}

/* Ends the opening: the mappings are the model's now, or of no use. */
static void close_opening(opening *o, bool ok)
{
    for (guint i = 0; i < o->sources->len; i++) {
        pn_gguf_source *source = &g_array_index(o->sources, pn_gguf_source, i);
        if (!ok)
            unmap(source);
        g_free((char *)source->name);
    }
    g_array_unref(o->sources);
}

pn_gguf_file *pn_gguf_open(const char *path, bool partial, GError **error)
{
    opening o = {.path = path, .sources = g_array_new(FALSE, FALSE, sizeof(pn_gguf_source))};
    pn_gguf_options options = {.open_shard = open_sibling, .user = &o, .partial = partial};
    pn_gguf_file *file = NULL;
    pn_gguf_source source;

    if (map_path(path, &source, error)) {
        source.name = g_strdup(path);
        g_array_append_val(o.sources, source);
        file = pn_gguf_parse(&source, &options, error);
    }
    if (file != NULL)
        file->tables->release = unmap;
    close_opening(&o, file != NULL);
    return file;
}
