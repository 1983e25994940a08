/* nullfs: the filesystem that mount.gguf is measured against. Every read is answered from one
 * constant buffer, everything else from the number of the file, so what it reaches is what FUSE
 * allows on the machine.
 *
 *   nullfs [--direct] [--loop] [--entries N] DIR NAME=SIZE…
 *
 * Serves in the foreground until it is unmounted. The root holds the files named, and N of 32 bytes
 * called entry.0, entry.1 and so on. Session and caching are the server's own; the threads are
 * libfuse's, unless --loop is given. */
#include "fuse/loop.h"
#include "fuse/tuning.h"

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER = 1 << 20,
    ENTRY_SIZE = 32,
    FIRST_FILE = FUSE_ROOT_ID + 1,
    DOTS = 2,
    MAX_THREADS = 64,
    MAX_IDLE_THREADS = 8,
};

static const double FOR_EVER = 1e9;

typedef struct {
    char *name;
    uint64_t size;
} null_file;

typedef struct {
    GArray *files; /* of null_file */
    gint64 n_entries;
    gboolean is_direct;
    gboolean has_own_loop;
    char *buffer;
} nullfs;

static uint64_t count(const nullfs *fs)
{
    return fs->files->len + (uint64_t)fs->n_entries;
}

/* File i's name, in buffer where it is an entry. */
static const char *name_of(const nullfs *fs, uint64_t i, char buffer[32])
{
    if (i < fs->files->len)
        return g_array_index(fs->files, null_file, i).name;
    g_snprintf(buffer, 32, "entry.%" G_GUINT64_FORMAT, i - fs->files->len);
    return buffer;
}

static struct stat stat_of(const nullfs *fs, fuse_ino_t ino)
{
    uint64_t i = ino - FIRST_FILE;
    uint64_t size = i < fs->files->len ? g_array_index(fs->files, null_file, i).size : ENTRY_SIZE;
    if (ino == FUSE_ROOT_ID)
        return (struct stat){.st_ino = ino, .st_mode = S_IFDIR | 0555, .st_nlink = 2};
    return (struct stat){.st_ino = ino,
                         .st_mode = S_IFREG | 0444,
                         .st_nlink = 1,
                         .st_size = (off_t)size,
                         .st_blocks = (blkcnt_t)((size + 511) / 512),
                         .st_blksize = BUFFER};
}

static struct fuse_entry_param entry_of(const nullfs *fs, fuse_ino_t ino)
{
    return (struct fuse_entry_param){
        .ino = ino, .attr = stat_of(fs, ino), .attr_timeout = FOR_EVER, .entry_timeout = FOR_EVER};
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
    const nullfs *fs = userdata;
    tuning_connection(conn, fs->is_direct);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    const nullfs *fs = fuse_req_userdata(req);
    struct fuse_entry_param entry = {.entry_timeout = FOR_EVER};
    guint64 number;
    for (guint i = 0; i < fs->files->len; i++) {
        if (strcmp(name, g_array_index(fs->files, null_file, i).name) == 0)
            entry = entry_of(fs, FIRST_FILE + i);
    }
    if (g_str_has_prefix(name, "entry.") && fs->n_entries > 0 &&
        g_ascii_string_to_unsigned(name + 6, 10, 0, (guint64)fs->n_entries - 1, &number, NULL))
        entry = entry_of(fs, FIRST_FILE + fs->files->len + number);
    fuse_reply_entry(req, &entry);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct stat st = stat_of(fuse_req_userdata(req), ino);
    fuse_reply_attr(req, &st, FOR_EVER);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    const nullfs *fs = fuse_req_userdata(req);
    fi->direct_io = fs->is_direct;
    fi->keep_cache = !fs->is_direct;
    fuse_reply_open(req, fi);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    fuse_reply_err(req, 0);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                    struct fuse_file_info *fi)
{
    const nullfs *fs = fuse_req_userdata(req);
    uint64_t end = (uint64_t)stat_of(fs, ino).st_size, at = (uint64_t)offset;
    size_t left = at < end ? MIN(size, end - at) : 0;
    fuse_reply_buf(req, fs->buffer, MIN(left, (size_t)BUFFER));
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    fi->cache_readdir = 1;
    fi->keep_cache = 1;
    fuse_reply_open(req, fi);
}

static void reply_dir(fuse_req_t req, size_t size, off_t offset, bool plus)
{
    const nullfs *fs = fuse_req_userdata(req);
    g_autofree char *buffer = g_malloc(size);
    size_t used = 0;
    for (uint64_t at = (uint64_t)offset; at < count(fs) + DOTS; at++) {
        char number[32];
        const char *name = at == 0 ? "." : at == 1 ? ".." : name_of(fs, at - DOTS, number);
        fuse_ino_t ino = at < DOTS ? FUSE_ROOT_ID : FIRST_FILE + at - DOTS;
        struct fuse_entry_param entry = entry_of(fs, ino);
        off_t next = (off_t)at + 1;
        size_t taken =
            plus ? fuse_add_direntry_plus(req, buffer + used, size - used, name, &entry, next)
                 : fuse_add_direntry(req, buffer + used, size - used, name, &entry.attr, next);
        if (taken > size - used)
            break;
        used += taken;
    }
    fuse_reply_buf(req, buffer, used);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                       struct fuse_file_info *fi)
{
    reply_dir(req, size, offset, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                           struct fuse_file_info *fi)
{
    reply_dir(req, size, offset, true);
}

static const struct fuse_lowlevel_ops operations = {
    .init = op_init,
    .lookup = op_lookup,
    .getattr = op_getattr,
    .open = op_open,
    .read = op_read,
    .release = op_release,
    .opendir = op_opendir,
    .readdir = op_readdir,
    .readdirplus = op_readdirplus,
    .releasedir = op_release,
};

static int serve_as_libfuse_does(struct fuse_session *session)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (config == NULL)
        return -1;
    fuse_loop_cfg_set_clone_fd(config, 0);
    fuse_loop_cfg_set_max_threads(config, MAX_THREADS);
    fuse_loop_cfg_set_idle_threads(config, MAX_IDLE_THREADS);
    int result = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    return result;
}

static int serve_as_we_do(struct fuse_session *session)
{
    loop *l = loop_new();
    int result = l != NULL && loop_start(l, session, NULL, NULL) ? loop_run(l) : -1;
    loop_free(l);
    return result;
}

static int serve(nullfs *fs, const char *dir)
{
    char *argv[] = {(char *)"nullfs", (char *)"-o", (char *)"ro,default_permissions,fsname=null"};
    struct fuse_args args = FUSE_ARGS_INIT(G_N_ELEMENTS(argv), argv);
    struct fuse_session *session = fuse_session_new(&args, &operations, sizeof operations, fs);
    fuse_opt_free_args(&args);
    if (session == NULL || fuse_session_mount(session, dir) != 0)
        return EXIT_FAILURE;
    int result = fs->has_own_loop ? serve_as_we_do(session) : serve_as_libfuse_does(session);
    fuse_session_unmount(session);
    fuse_session_destroy(session);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool add_file(nullfs *fs, const char *word)
{
    const char *equals = strrchr(word, '=');
    null_file file = {0};
    if (equals == NULL ||
        !g_ascii_string_to_unsigned(equals + 1, 10, 0, INT64_MAX, &file.size, NULL))
        return false;
    file.name = g_strndup(word, (gsize)(equals - word));
    g_array_append_val(fs->files, file);
    return true;
}

int main(int argc, char **argv)
{
    nullfs fs = {.files = g_array_new(FALSE, FALSE, sizeof(null_file))};
    const GOptionEntry entries[] = {
        {"direct", 0, 0, G_OPTION_ARG_NONE, &fs.is_direct, "open files with direct_io", NULL},
        {"loop", 0, 0, G_OPTION_ARG_NONE, &fs.has_own_loop, "threads as mount.gguf has them", NULL},
        {"entries", 0, 0, G_OPTION_ARG_INT64, &fs.n_entries, "N more files", "N"},
        {NULL},
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(GOptionContext) context = g_option_context_new("DIR NAME=SIZE…");
    g_option_context_add_main_entries(context, entries, NULL);
    bool ok = g_option_context_parse(context, &argc, &argv, &error) && argc >= 2;
    for (int i = 2; i < argc && ok; i++)
        ok = add_file(&fs, argv[i]);
    if (!ok) {
        g_printerr("nullfs: %s\n", error != NULL ? error->message : "DIR NAME=SIZE… (see --help)");
        return EXIT_FAILURE;
    }
    if (posix_memalign((void **)&fs.buffer, 4096, BUFFER) != 0)
        return EXIT_FAILURE;
    memset(fs.buffer, 0x5A, BUFFER);
    int status = serve(&fs, argv[1]);
    free(fs.buffer);
    return status;
}
