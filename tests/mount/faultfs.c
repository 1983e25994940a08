/* A file system that fails on command: one file, "file", with the bytes of another one.
 *
 * usage: faultfs SOURCE DIR
 *
 * Commands come on standard input, a line each, and each is answered by "ok" on standard output
 * when it is in force: "fail FROM TO" makes reads of any byte from FROM to before TO fail with EIO,
 * "hang FROM TO" keeps them waiting, and what the kernel has of the file is forgotten; "heal" ends
 * both. When the input ends, it heals, and serves on
 * until it is unmounted. To let it die, kill it. */
#define FUSE_USE_VERSION 35

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_INO = 2, MAX_FAULTS = 64 };

/* The attributes never change, so the kernel need not ask a file system that hangs. */
static const double FOR_EVER = 1e9;

typedef enum { FAULT_FAIL, FAULT_HANG, FAULT_WEAR } fault_kind; /* WEAR: some fail, then it hangs */

typedef struct {
    fault_kind kind;
    uint64_t from, to;
    unsigned left; /* WEAR: reads that fail */
} fault;

typedef struct {
    struct fuse_session *session;
    int fd;
    off_t size;
    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t healed;
    fault faults[MAX_FAULTS];
    unsigned n_faults;
} faulty;

static struct stat stat_of(const faulty *f, fuse_ino_t ino)
{
    bool is_file = ino == FILE_INO;
    return (struct stat){
        .st_ino = ino,
        .st_mode = is_file ? S_IFREG | 0444 : S_IFDIR | 0555,
        .st_nlink = is_file ? 1 : 2,
        .st_size = is_file ? f->size : 0,
        .st_uid = getuid(),
        .st_gid = getgid(),
    };
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param entry = {
        .ino = FILE_INO, .attr_timeout = FOR_EVER, .entry_timeout = FOR_EVER};
    if (parent != FUSE_ROOT_ID || strcmp(name, "file") != 0) {
        fuse_reply_err(req, ENOENT);
        return;
    }
    entry.attr = stat_of(fuse_req_userdata(req), FILE_INO);
    fuse_reply_entry(req, &entry);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct stat st = stat_of(fuse_req_userdata(req), ino);
    (void)fi;
    fuse_reply_attr(req, &st, FOR_EVER);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    fi->keep_cache = 1;
    fuse_reply_open(req, fi);
}

/* Whether such a fault lies in the range; with the lock held. */
static bool has_fault(const faulty *f, fault_kind kind, uint64_t from, uint64_t to)
{
    for (unsigned i = 0; i < f->n_faults; i++) {
        if (f->faults[i].kind == kind && f->faults[i].from < to && from < f->faults[i].to)
            return true;
    }
    return false;
}

/* Whether this read is one of those that fail before it hangs; with the lock held. */
static bool wears(faulty *f, uint64_t from, uint64_t to)
{
    for (unsigned i = 0; i < f->n_faults; i++) {
        fault *one = &f->faults[i];
        if (one->kind != FAULT_WEAR || one->from >= to || from >= one->to)
            continue;
        one->left--;
        if (one->left == 0)
            one->kind = FAULT_HANG;
        return true;
    }
    return false;
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                    struct fuse_file_info *fi)
{
    faulty *f = fuse_req_userdata(req);
    uint64_t from = (uint64_t)offset, to = from + size;
    (void)ino;
    (void)fi;

    pthread_mutex_lock(&f->lock);
    while (has_fault(f, FAULT_HANG, from, to))
        pthread_cond_wait(&f->healed, &f->lock);
    bool fails = has_fault(f, FAULT_FAIL, from, to) || wears(f, from, to);
    pthread_mutex_unlock(&f->lock);

    char *buffer = fails ? NULL : malloc(size);
    ssize_t got = buffer == NULL ? -1 : pread(f->fd, buffer, size, offset);
    if (got < 0)
        fuse_reply_err(req, EIO);
    else
        fuse_reply_buf(req, buffer, (size_t)got);
    free(buffer);
}

static const struct fuse_lowlevel_ops operations = {
    .lookup = op_lookup,
    .getattr = op_getattr,
    .open = op_open,
    .read = op_read,
};

static void heal(faulty *f)
{
    pthread_mutex_lock(&f->lock);
    f->n_faults = 0;
    pthread_cond_broadcast(&f->healed);
    pthread_mutex_unlock(&f->lock);
}

static bool add_fault(faulty *f, fault_kind kind, uint64_t from, uint64_t to, unsigned left)
{
    pthread_mutex_lock(&f->lock);
    bool has_room = f->n_faults < MAX_FAULTS;
    if (has_room)
        f->faults[f->n_faults++] = (fault){kind, from, to, left};
    pthread_mutex_unlock(&f->lock);
    fuse_lowlevel_notify_inval_inode(f->session, FILE_INO, 0, 0);
    return has_room;
}

static bool obey(faulty *f, const char *line)
{
    uint64_t from, to;
    unsigned n;

    if (sscanf(line, "wear %" SCNu64 " %" SCNu64 " %u", &from, &to, &n) == 3 && n > 0)
        return add_fault(f, FAULT_WEAR, from, to, n);
    if (sscanf(line, "fail %" SCNu64 " %" SCNu64, &from, &to) == 2)
        return add_fault(f, FAULT_FAIL, from, to, 0);
    if (sscanf(line, "hang %" SCNu64 " %" SCNu64, &from, &to) == 2)
        return add_fault(f, FAULT_HANG, from, to, 0);
    heal(f);
    return strcmp(line, "heal\n") == 0;
}

static void *obey_all(void *arg)
{
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
        puts(obey(arg, line) ? "ok" : "what?");
        fflush(stdout);
    }
    heal(arg);
    return NULL;
}

/* Serves until it is unmounted; 0 when all went well. */
static int serve(faulty *f, const char *point)
{
    struct fuse_loop_config config = {.max_idle_threads = 10};
    pthread_t commands;

    if (fuse_session_mount(f->session, point) != 0)
        return -1;
    if (pthread_create(&commands, NULL, obey_all, f) != 0)
        return -1;
    int result = fuse_session_loop_mt(f->session, &config);
    fuse_session_unmount(f->session);
    return result;
}

int main(int argc, char **argv)
{
    char *options[] = {argv[0], (char *)"-o", (char *)"subtype=faultfs"};
    struct fuse_args args = FUSE_ARGS_INIT(3, options);
    faulty f = {.lock = PTHREAD_MUTEX_INITIALIZER, .healed = PTHREAD_COND_INITIALIZER};
    struct stat st;

    if (argc != 3) {
        fprintf(stderr, "usage: faultfs SOURCE DIR\n");
        return EXIT_FAILURE;
    }
    f.fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (f.fd < 0 || fstat(f.fd, &st) < 0) {
        perror(argv[1]);
        return EXIT_FAILURE;
    }
    f.size = st.st_size;
    f.session = fuse_session_new(&args, &operations, sizeof operations, &f);
    int result = f.session == NULL ? -1 : serve(&f, argv[2]);
    _exit(result == 0 ? EXIT_SUCCESS : EXIT_FAILURE); /* the command thread may still be reading */
}
