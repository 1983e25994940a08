/* The kernel's requests, answered from the tree.
 *
 * Everything is cached by the kernel for ever: entries, names that are not there, attributes,
 * pages, directories. Not cached are volatile files (problems.txt), the names and pages of a source
 * that changed after it was mounted, and files that the end of their source cuts off: those are
 * opened with direct_io, where a read can end at any byte. */
#include "fuse/guard.h"
#include "fuse/internal.h"
#include "gguf/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

static const double FOR_EVER = 1e9; /* seconds */

/* One call of the tree, with what it takes and gives: the argument behind the gate. */
typedef struct {
    server *s;
    server_thread *thread;
    uint64_t ino;
    const char *name;
    size_t len;
    tree_stat st;
} call;

static void call_begin(call *c, fuse_req_t req, fuse_ino_t ino)
{
    *c = (call){.s = fuse_req_userdata(req), .ino = ino};
    c->thread = server_thread_get(c->s);
}

static int lookup_run(void *arg)
{
    call *c = arg;
    int error = tree_lookup(c->s->tree, c->ino, c->name, &c->ino);
    return error != 0 ? error : tree_getattr(c->s->tree, c->ino, &c->thread->scratch, &c->st);
}

static int getattr_run(void *arg)
{
    call *c = arg;
    return tree_getattr(c->s->tree, c->ino, &c->thread->scratch, &c->st);
}

static mode_t mode_of(const server_options *options, const tree_stat *st, mode_t source_mode)
{
    mode_t readable = source_mode & 0444;
    switch (st->kind) {
    case TREE_DIR:
        return S_IFDIR | ((readable | readable >> 2) & ~options->dmask);
    case TREE_LINK:
        return S_IFLNK | 0777;
    case TREE_FILE:
    default:
        return S_IFREG | (readable & ~options->fmask);
    }
}

static struct stat stat_of(const server *s, uint64_t ino, const tree_stat *st)
{
    const source_set *sources = s->sources;
    const struct stat *source = &sources->files[st->shard < sources->n ? st->shard : 0].st;
    const server_options *options = &s->options;
    bool is_direct = options->cache == CACHE_NEVER;
    return (struct stat){
        .st_ino = ino,
        .st_mode = mode_of(options, st, source->st_mode),
        .st_nlink = st->n_links,
        .st_uid = options->has_uid ? options->uid : source->st_uid,
        .st_gid = options->has_gid ? options->gid : source->st_gid,
        .st_size = (off_t)st->size,
        .st_blocks = (blkcnt_t)((st->size + 511) / 512),
        .st_blksize = is_direct ? TUNING_MAX_DIRECT_READ : TUNING_MAX_READ,
        .st_atim = source->st_mtim,
        .st_mtim = source->st_mtim,
        .st_ctim = source->st_mtim,
    };
}

/* Says once of each file that it is no longer what it was. */
static void tell_change(server *s, unsigned shard, source_change change)
{
    if (atomic_exchange(&s->has_told[shard], true))
        return;
    const char *what =
        change == SOURCE_GONE
            ? "it was deleted or replaced since it was mounted; what is shown is the "
              "old file: mount again to see the new one"
            : "it was changed since it was mounted; if it is another model by now, nothing of it "
              "can be read: mount again to see it as it is";
    const char *name = pn_gguf_shard_name(view_model_gguf(s->model), shard);
    g_autoptr(GString) sentence = g_string_new(NULL);
    pn_escape_brief(sentence, name, strlen(name));
    g_string_append_printf(sentence, ": %s", what);
    fuse_log(FUSE_LOG_WARNING, "%s\n", sentence->str);
    view_model_note(s->model, sentence->str);
}

/* The worst that happened to a source file since it was mounted. */
static source_change look_at_source(server *s)
{
    source_change worst = SOURCE_SAME;
    for (unsigned i = 0; i < s->sources->n; i++) {
        source_change change = source_compare(&s->sources->files[i]);
        if (change == SOURCE_GONE || change == SOURCE_CHANGED)
            tell_change(s, i, change);
        worst = MAX(worst, change);
    }
    return worst;
}

/* Names stand in the source, so those of one that changed hold for this moment only. */
static double name_timeout(server *s)
{
    return look_at_source(s) == SOURCE_CHANGED ? 0 : FOR_EVER;
}

static struct fuse_entry_param entry_of(const server *s, uint64_t ino, const tree_stat *st,
                                        double name_holds)
{
    return (struct fuse_entry_param){
        .ino = ino,
        .attr = stat_of(s, ino, st),
        .attr_timeout = st->is_volatile ? 0 : FOR_EVER,
        .entry_timeout = name_holds,
    };
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    call c;
    if (strlen(name) > TREE_NAME_MAX) {
        fuse_reply_err(req, ENAMETOOLONG);
        return;
    }
    call_begin(&c, req, parent);
    c.name = name;
    int error = guard_run(lookup_run, &c);
    double holds = name_timeout(c.s);
    struct fuse_entry_param entry = {.entry_timeout = holds}; /* ino 0: it is not there */
    if (error == 0)
        entry = entry_of(c.s, c.ino, &c.st, holds);
    if (error == 0 || error == ENOENT)
        fuse_reply_entry(req, &entry);
    else
        fuse_reply_err(req, error);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    call c;
    call_begin(&c, req, ino);
    int error = guard_run(getattr_run, &c);
    struct stat st = stat_of(c.s, ino, &c.st);
    if (error == 0)
        fuse_reply_attr(req, &st, c.st.is_volatile ? 0 : FOR_EVER);
    else
        fuse_reply_err(req, error);
}

static int readlink_run(void *arg)
{
    call *c = arg;
    return tree_readlink(c->s->tree, c->ino, (char *)c->thread->buffer, (size_t)THREAD_BUFFER);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    call c;
    call_begin(&c, req, ino);
    int error = guard_run(readlink_run, &c);
    if (error == 0)
        fuse_reply_readlink(req, (const char *)c.thread->buffer);
    else
        fuse_reply_err(req, error);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    call c;
    if ((fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC) != 0) {
        fuse_reply_err(req, EROFS);
        return;
    }
    call_begin(&c, req, ino);
    int error = guard_run(getattr_run, &c);
    if (error != 0) {
        fuse_reply_err(req, error);
        return;
    }
    bool changed = look_at_source(c.s) != SOURCE_SAME;
    bool is_cut = c.st.is_cut || (changed && source_is_shorter(c.s->sources) &&
                                  server_lost_its_end(c.s, c.thread, ino, c.st.size));
    fi->direct_io = is_cut || c.s->options.cache == CACHE_NEVER;
    fi->noflush = 1; /* closing asks nothing, and so cannot fail */
    fi->keep_cache =
        !fi->direct_io && !c.st.is_volatile && (!changed || c.s->options.cache == CACHE_ALWAYS);
    fi->fh = is_cut ? OPENED_DIRECT : OPENED_CACHED;
    fuse_reply_open(req, fi);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    fuse_reply_err(req, 0); /* an open file holds nothing */
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    server *s = fuse_req_userdata(req);
    server_note_use(s);
    fi->cache_readdir = fi->keep_cache = look_at_source(s) != SOURCE_CHANGED;
    fuse_reply_open(req, fi);
}

/* Filling a buffer with entries: also run behind the gate, one entry a time. Offset 0 and 1 are "."
 * and "..", from there on it is the tree's cookie. */
enum { DOT_ENTRIES = 2 };

typedef struct {
    call c;
    uint64_t cookie;
    uint64_t child;
    tree_kind kind;
    bool has_stat;
    double name_holds; /* seconds */
    char name[TREE_NAME_MAX + 1];
} dir_step;

static int dir_step_run(void *arg)
{
    dir_step *d = arg;
    server *s = d->c.s;
    int error = tree_readdir(s->tree, d->c.ino, &d->cookie, d->name, &d->child, &d->kind);
    return error;
}

static int dir_stat_run(void *arg)
{
    dir_step *d = arg;
    return tree_getattr(d->c.s->tree, d->child, &d->c.thread->scratch, &d->c.st);
}

static int dir_parent_run(void *arg)
{
    dir_step *d = arg;
    return tree_lookup(d->c.s->tree, d->c.ino, "..", &d->child);
}

/* The entry at offset, into d; its stat too where that is asked for and costs nothing. */
static int dir_next(dir_step *d, uint64_t offset, bool plus)
{
    d->has_stat = false;
    if (offset < DOT_ENTRIES) {
        strcpy(d->name, offset == 0 ? "." : "..");
        d->kind = TREE_DIR;
        d->child = d->c.ino;
        if (offset == 1 && d->c.ino != TREE_ROOT && guard_run(dir_parent_run, d) != 0)
            d->child = TREE_ROOT;
        d->cookie = 0;
        return 0;
    }
    d->cookie = offset - DOT_ENTRIES;
    int error = guard_run(dir_step_run, d);
    if (error == 0 && plus && tree_is_sized(d->c.s->tree, d->child))
        d->has_stat = guard_run(dir_stat_run, d) == 0;
    return error;
}

static mode_t type_of(tree_kind kind)
{
    return kind == TREE_DIR ? S_IFDIR : kind == TREE_LINK ? S_IFLNK : S_IFREG;
}

/* Appends the entry in d; the bytes it takes, which are more than `room` when it does not fit. */
static size_t dir_append(fuse_req_t req, const dir_step *d, char *at, size_t room, uint64_t next,
                         bool plus)
{
    struct fuse_entry_param entry = {
        .attr = {.st_ino = d->child, .st_mode = type_of(d->kind)}, /* ino 0: look it up */
    };
    if (!plus)
        return fuse_add_direntry(req, at, room, d->name, &entry.attr, (off_t)next);
    if (d->has_stat)
        entry = entry_of(d->c.s, d->child, &d->c.st, d->name_holds);
    return fuse_add_direntry_plus(req, at, room, d->name, &entry, (off_t)next);
}

static void reply_dir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
    dir_step d;
    call_begin(&d.c, req, ino);
    d.name_holds = plus ? name_timeout(d.c.s) : 0;
    char *buffer = (char *)d.c.thread->buffer;
    size = MIN(size, (size_t)THREAD_BUFFER);
    size_t used = 0;
    int error = 0;
    for (uint64_t offset = (uint64_t)off;;) {
        error = dir_next(&d, offset, plus);
        if (error != 0)
            break;
        uint64_t next = offset < DOT_ENTRIES ? offset + 1 : d.cookie + DOT_ENTRIES;
        size_t taken = dir_append(req, &d, buffer + used, size - used, next, plus);
        if (taken > size - used)
            break;
        used += taken;
        offset = next;
    }
    if (used == 0 && error != 0 && error != ENOENT)
        fuse_reply_err(req, error);
    else
        fuse_reply_buf(req, buffer, used);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                       struct fuse_file_info *fi)
{
    reply_dir(req, ino, size, off, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                           struct fuse_file_info *fi)
{
    reply_dir(req, ino, size, off, true);
}

static int getxattr_run(void *arg)
{
    call *c = arg;
    return tree_getxattr(c->s->tree, c->ino, c->name, (char *)c->thread->buffer,
                         (size_t)THREAD_BUFFER, &c->len);
}

static int listxattr_run(void *arg)
{
    call *c = arg;
    return tree_listxattr(c->s->tree, c->ino, (char *)c->thread->buffer, (size_t)THREAD_BUFFER,
                          &c->len);
}

/* size is what the caller has room for; 0 asks for the length. */
static void reply_xattr(fuse_req_t req, const call *c, int error, size_t size)
{
    if (error == 0 && c->len > XATTR_SIZE_MAX)
        error = E2BIG;
    if (error == 0 && size != 0 && c->len > size)
        error = ERANGE;
    if (error != 0)
        fuse_reply_err(req, error);
    else if (size == 0)
        fuse_reply_xattr(req, c->len);
    else
        fuse_reply_buf(req, (const char *)c->thread->buffer, c->len);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    call c;
    if (!g_str_has_prefix(name, "user.")) { /* the kernel and ls ask for others all the time */
        fuse_reply_err(req, ENODATA);
        return;
    }
    call_begin(&c, req, ino);
    c.name = name;
    reply_xattr(req, &c, guard_run(getxattr_run, &c), size);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    call c;
    call_begin(&c, req, ino);
    reply_xattr(req, &c, guard_run(listxattr_run, &c), size);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    const server *s = fuse_req_userdata(req);
    struct statvfs st = {
        .f_bsize = 512, /* so that the size shown is that of the source */
        .f_frsize = 512,
        .f_blocks = (source_total(s->sources) + 511) / 512,
        .f_files = tree_node_count(s->tree),
        .f_namemax = TREE_NAME_MAX,
        .f_flag = ST_RDONLY,
    };
    fuse_reply_statfs(req, &st);
}

const struct fuse_lowlevel_ops server_ops = {
    .init = server_init,
    .lookup = op_lookup,
    .getattr = op_getattr,
    .readlink = op_readlink,
    .open = op_open,
    .read = server_read,
    .release = op_release,
    .opendir = op_opendir,
    .readdir = op_readdir,
    .readdirplus = op_readdirplus,
    .releasedir = op_release,
    .getxattr = op_getxattr,
    .listxattr = op_listxattr,
    .statfs = op_statfs,
};
