/* Opening a model by its path: opens and maps what the parser then reads. Knows nothing of the
 * format. */
#include "gguf/escape.h"
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

pn_gguf_file *pn_gguf_open(const char *path, bool partial, GError **error)
{
    pn_gguf_source source;
    if (!map_path(path, &source, error))
        return NULL;

    pn_gguf_file *file = pn_gguf_parse(&source, NULL, error);
    if (file == NULL) {
        unmap(&source);
        return NULL;
    }
    file->tables->release = unmap;
    return file;
}
