/* The tree written to a descriptor. */
#include "tree/print.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tree/nodes.h"

enum { READ_SIZE = 1024 * 1024, LIST_SIZE = 64 * 1024 };

int tree_no_gate(int (*fn)(void *arg), void *arg)
{
    return fn(arg);
}

/* What the calls behind the gate take and give. */
typedef struct {
    tree *t;
    const char *path;
    uint64_t ino;
    uint64_t at; /* offset or cookie */
    void *buffer;
    view_scratch *scratch;
    view_piece piece;
    char name[TREE_NAME_MAX + 1];
    tree_kind kind;
} job;

static int resolve(void *arg)
{
    job *j = arg;
    int result = tree_resolve(j->t, j->path, &j->ino);
    if (result != 0)
        return result;

    node n;
    if (!node_of(j->t, j->ino, &n))
        return ENOENT;
    if (n.kind == NODE_LINK)
        j->ino = node_ino((node){NODE_FILE, n.number, n.index});
    j->kind = node_tree_kind(n);
    return 0;
}

static int read_piece(void *arg)
{
    job *j = arg;
    return tree_read(j->t, j->ino, j->at, j->buffer, READ_SIZE, j->scratch, &j->piece);
}

static int next_entry(void *arg)
{
    job *j = arg;
    uint64_t ino;
    return tree_readdir(j->t, j->ino, &j->at, j->name, &ino, &j->kind);
}

/* A piece that stands in the mapping is read by the kernel: where it cannot, write says EFAULT. */
static int write_all(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;

    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EFAULT ? EIO : errno;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static int print_file(job *j, int fd, tree_gate gate)
{
    g_autofree char *buffer = g_malloc(READ_SIZE);
    int result;

    j->buffer = buffer;
    while ((result = gate(read_piece, j)) == 0 && j->piece.len > 0) {
        result = write_all(fd, j->piece.direct ? j->piece.direct : buffer, j->piece.len);
        if (result != 0)
            return result;
        j->at += j->piece.len;
    }
    return result;
}

static int print_dir(job *j, int fd, tree_gate gate)
{
    g_autoptr(GString) names = g_string_sized_new(LIST_SIZE);
    int result = 0, written = 0;

    while (written == 0 && (result = gate(next_entry, j)) == 0) {
        g_string_append_printf(names, "%s%s\n", j->name, j->kind == TREE_DIR ? "/" : "");
        if (names->len >= LIST_SIZE) {
            written = write_all(fd, names->str, names->len);
            g_string_truncate(names, 0);
        }
    }
    if (written == 0)
        written = write_all(fd, names->str, names->len);
    return written != 0 || result == ENOENT ? written : result;
}

int tree_print(tree *t, const char *path, int fd, tree_gate gate)
{
    g_autoptr(view_scratch) scratch = view_scratch_new();
    job j = {.t = t, .path = path, .scratch = scratch};

    if (!scratch)
        return ENOMEM;
    int result = gate(resolve, &j);
    if (result != 0)
        return result;
    return j.kind == TREE_DIR ? print_dir(&j, fd, gate) : print_file(&j, fd, gate);
}
