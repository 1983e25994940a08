/* What is true of the tree over every model that parsed: check-tree.h.
 *
 * Work is bounded, so that a fuzzer gets on: past a number of nodes, or of bytes read, the rest is
 * looked at in passing. */
#include "check-tree.h"

#include <errno.h>
#include <string.h>

#include "check-files.h"
#include "check-model.h"

enum {
    MAX_NODES = 2000,
    MAX_BYTES = 2 << 20,   /* read of all files together */
    MAX_WHOLE = 256 << 10, /* read of one file */
    MAX_PIECE = 40000,
    N_SAMPLES = 4,
};

typedef struct {
    const pn_gguf_file *file;
    fuzz_dice *dice;
    view_model *model;
    view_scratch *scratch;
    tree *t;
    uint64_t n_nodes;
    uint64_t n_bytes;
} visit;

/* A node on the way down. */
typedef struct {
    const char *folder; /* the path of the folder it is in, without a slash at its end */
    const char *name;
    uint64_t ino;
    tree_stat st;
} place;

/* Bytes of a file from somewhere. */
typedef struct {
    uint64_t offset;
    size_t len;
    int error;
    uint8_t *bytes;
} sample;

static tree_stat stat_node(visit *v, uint64_t ino)
{
    tree_stat st, again;
    g_assert_cmpint(tree_getattr(v->t, ino, v->scratch, &st), ==, 0);
    g_assert_true(tree_is_sized(v->t, ino));
    g_assert_cmpint(tree_getattr(v->t, ino, v->scratch, &again), ==, 0);
    g_assert_true(st.kind == again.kind && st.size == again.size && st.n_links == again.n_links);
    g_assert_cmpuint(st.shard, <, v->file->n_shards);
    g_assert_cmpuint(st.size, <=, INT64_MAX);
    return st;
}

/* One read into a buffer that ends where the sanitizer looks. */
static int read_piece(visit *v, uint64_t ino, uint64_t offset, uint8_t *out, size_t len,
                      size_t *got)
{
    g_autofree uint8_t *buffer = g_malloc(len);
    view_piece piece;
    int error = tree_read(v->t, ino, offset, buffer, len, v->scratch, &piece);

    *got = 0;
    if (error != 0)
        return error;
    g_assert_cmpuint(piece.len, <=, len);
    if (piece.source_end > 0) {
        g_assert_cmpuint(piece.shard, <, v->file->n_shards);
        g_assert_cmpuint(piece.source_end, <=, v->file->shards[piece.shard].size);
    }
    if (piece.len > 0)
        memcpy(out, piece.direct != NULL ? piece.direct : buffer, piece.len);
    *got = piece.len;
    v->n_bytes += piece.len;
    return 0;
}

/* Up to len bytes: fewer at the end of the file, and where an error comes. */
static int read_fully(visit *v, uint64_t ino, uint64_t offset, uint8_t *out, size_t len,
                      size_t *filled)
{
    *filled = 0;
    while (*filled < len) {
        size_t got;
        int error = read_piece(v, ino, offset + *filled, out + *filled, len - *filled, &got);
        if (error != 0 || got == 0)
            return error;
        *filled += got;
    }
    return 0;
}

static sample take_sample(visit *v, uint64_t ino, uint64_t offset, size_t len)
{
    sample s = {.offset = offset, .bytes = g_malloc(len)};
    s.error = read_fully(v, ino, offset, s.bytes, len, &s.len);
    return s;
}

/* Before anything else is known of the file: a size is not asked for first. */
static void take_first_samples(visit *v, uint64_t ino, sample samples[N_SAMPLES])
{
    static const uint64_t ranges[N_SAMPLES] = {64, 2000, 100000, UINT64_C(1) << 62};

    for (unsigned i = 0; i < N_SAMPLES; i++)
        samples[i] = take_sample(v, ino, fuzz_below(v->dice, ranges[i]),
                                 1 + fuzz_below(v->dice, i % 2 ? 50 : 5000));
}

/* A sample from a file of which the first n bytes are known, and whether an error follows them. */
static void check_sample(const place *p, const sample *s, const uint8_t *bytes, size_t n)
{
    size_t known = s->offset < n ? MIN(s->len, n - s->offset) : 0;
    if (known > 0)
        g_assert_cmpint(memcmp(s->bytes, bytes + s->offset, known), ==, 0);
    g_assert_true(s->error == 0 || (s->error == EIO && p->st.is_cut));
    if (s->error == 0 && s->offset >= p->st.size)
        g_assert_cmpuint(s->len, ==, 0);
    if (s->len > 0)
        g_assert_cmpuint(s->offset + s->len, <=, p->st.size);
}

static void check_first_samples(const place *p, sample samples[N_SAMPLES], const uint8_t *bytes,
                                size_t n)
{
    for (unsigned i = 0; i < N_SAMPLES; i++) {
        check_sample(p, &samples[i], bytes, n);
        g_free(samples[i].bytes);
    }
}

/* Reads from anywhere, now that the size is known; around its end too. */
static void check_slices(visit *v, const place *p, const uint8_t *bytes, size_t n)
{
    const uint64_t offsets[] = {
        fuzz_below(v->dice, p->st.size + 1),
        fuzz_below(v->dice, n),
        n,
        p->st.size > 0 ? p->st.size - 1 : 0,
        p->st.size,
        p->st.size + 1,
        INT64_MAX,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(offsets); i++) {
        sample s =
            take_sample(v, p->ino, offsets[i], 1 + fuzz_below(v->dice, i % 2 ? MAX_PIECE : 100));
        check_sample(p, &s, bytes, n);
        if (s.error == 0 && s.offset < p->st.size)
            g_assert_cmpuint(s.len, >, 0);
        g_free(s.bytes);
    }
}

/* The bytes from the beginning, in pieces of any size; all of them, unless they are many or some
 * cannot be had. */
static uint8_t *read_beginning(visit *v, const place *p, size_t *n, int *error)
{
    size_t most = v->n_bytes < MAX_BYTES ? MAX_WHOLE : 100;
    size_t wanted = MIN(p->st.size, most), got = 1;
    uint8_t *bytes = g_malloc(wanted + 1);

    *n = 0;
    *error = 0;
    while (*n < wanted && *error == 0 && got > 0) {
        size_t len = 1 + fuzz_below(v->dice, MAX_PIECE);
        *error = read_fully(v, p->ino, *n, bytes + *n, MIN(len, wanted - *n), &got);
        *n += got;
    }
    return bytes;
}

static void visit_file(visit *v, place *p, uint64_t index)
{
    sample samples[N_SAMPLES];
    size_t n;
    int error;

    take_first_samples(v, p->ino, samples);
    p->st = stat_node(v, p->ino);
    g_autofree uint8_t *bytes = read_beginning(v, p, &n, &error);

    g_assert_true(error == 0 || (error == EIO && p->st.is_cut));
    bool is_whole = n == p->st.size;
    if (error == 0 && n < MAX_WHOLE && v->n_bytes < MAX_BYTES)
        g_assert_true(is_whole);
    check_first_samples(p, samples, bytes, n);
    check_slices(v, p, bytes, n);
    if (is_whole || n >= 1024)
        check_file(v->file, p->folder, p->name, index, bytes, n, is_whole);
}

static void visit_link(visit *v, const place *p, uint64_t parent)
{
    char target[4 * TREE_NAME_MAX], path[4 * TREE_NAME_MAX];
    uint64_t ino = parent;
    tree_stat st;

    g_assert_cmpint(tree_readlink(v->t, p->ino, target, sizeof target), ==, 0);
    g_assert_cmpuint(strlen(target), ==, p->st.size);
    g_strlcpy(path, target, sizeof path);
    char *rest = NULL;
    for (char *part = strtok_r(path, "/", &rest); part; part = strtok_r(NULL, "/", &rest))
        g_assert_cmpint(tree_lookup(v->t, ino, part, &ino), ==, 0);
    g_assert_cmpint(tree_getattr(v->t, ino, v->scratch, &st), ==, 0);
    g_assert_true(st.kind == TREE_FILE);
    g_assert_cmpint(tree_readlink(v->t, p->ino, target, strlen(target)), ==, ENAMETOOLONG);
}

/* Each name that is listed has a value, of the length that is told beforehand. */
static void check_xattrs(visit *v, uint64_t ino)
{
    size_t len, again, got;

    g_assert_cmpint(tree_listxattr(v->t, ino, NULL, 0, &len), ==, 0);
    g_autofree char *names = g_malloc(len);
    if (len == 0)
        return;
    g_assert_cmpint(tree_listxattr(v->t, ino, names, len, &again), ==, 0);
    g_assert_cmpuint(again, ==, len);
    g_assert_cmpint(tree_listxattr(v->t, ino, names, len - 1, &again), ==, len > 1 ? ERANGE : 0);
    for (const char *name = names; name < names + len; name += strlen(name) + 1) {
        g_assert_cmpint(tree_getxattr(v->t, ino, name, NULL, 0, &got), ==, 0);
        g_autofree char *value = g_malloc(got);
        g_assert_cmpint(tree_getxattr(v->t, ino, name, value, got, &again), ==, 0);
        g_assert_cmpuint(again, ==, got);
        if (got > 1)
            g_assert_cmpint(tree_getxattr(v->t, ino, name, value, got - 1, &again), ==, ERANGE);
    }
    g_assert_cmpint(tree_getxattr(v->t, ino, "user.other", NULL, 0, &got), ==, ENODATA);
}

static void check_name(const char *name)
{
    size_t len = strlen(name);
    g_assert_true(len > 0 && len <= TREE_NAME_MAX);
    g_assert_true(strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/'));
    check_sentence(name);
}

static void visit_folder(visit *v, const char *path, uint64_t ino, uint64_t parent);

static void visit_entry(visit *v, place *p, tree_kind kind, uint64_t parent, uint64_t index)
{
    uint64_t found;

    check_name(p->name);
    g_assert_cmpint(tree_lookup(v->t, parent, p->name, &found), ==, 0);
    g_assert_cmpuint(found, ==, p->ino);
    v->n_nodes++;
    if (v->n_nodes > MAX_NODES)
        return;

    check_xattrs(v, p->ino);
    if (kind == TREE_FILE) {
        visit_file(v, p, index);
    } else {
        p->st = stat_node(v, p->ino);
        if (kind == TREE_LINK) {
            visit_link(v, p, parent);
        } else {
            g_autofree char *path =
                *p->folder ? g_build_filename(p->folder, p->name, NULL) : g_strdup(p->name);
            visit_folder(v, path, p->ino, parent);
        }
    }
    g_assert_true(p->st.kind == kind);
}

static void visit_folder(visit *v, const char *path, uint64_t ino, uint64_t parent)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    uint64_t cookie = 0, n_folders = 0, found;
    char name[TREE_NAME_MAX + 1];
    place p = {.folder = path, .name = name};
    tree_kind kind;
    int result;

    g_assert_cmpint(tree_lookup(v->t, ino, "..", &found), ==, 0);
    g_assert_cmpuint(found, ==, parent);
    g_assert_cmpint(tree_lookup(v->t, ino, ".", &found), ==, 0);
    g_assert_cmpuint(found, ==, ino);
    g_assert_cmpint(tree_resolve(v->t, path, &found), ==, 0);
    g_assert_cmpuint(found, ==, ino);

    while ((result = tree_readdir(v->t, ino, &cookie, name, &p.ino, &kind)) == 0) {
        g_assert_true(g_hash_table_add(seen, g_strdup(name)));
        n_folders += kind == TREE_DIR;
        visit_entry(v, &p, kind, ino, cookie - 1); /* a file's cookie is one past its index */
    }
    g_assert_cmpint(result, ==, ENOENT);
    g_assert_cmpuint(stat_node(v, ino).n_links, ==, 2 + n_folders);
}

/* Numbers that are no nodes, or those of others, do no harm. */
static void try_numbers(visit *v)
{
    for (unsigned i = 0; i < 50; i++) {
        uint64_t ino = fuzz_roll(v->dice) >> fuzz_below(v->dice, 64), cookie = fuzz_roll(v->dice);
        uint8_t buffer[64];
        char name[TREE_NAME_MAX + 1];
        view_piece piece;
        tree_kind kind;
        tree_stat st;
        size_t len;

        if (i % 2)
            ino = fuzz_below(v->dice, 5) << 60 | fuzz_below(v->dice, 20) << 48 |
                  fuzz_below(v->dice, 8);
        int error = tree_getattr(v->t, ino, v->scratch, &st);
        g_assert_true(error == 0 || error == ENOENT);
        tree_read(v->t, ino, 0, buffer, sizeof buffer, v->scratch, &piece);
        tree_readdir(v->t, ino, &cookie, name, &ino, &kind);
        tree_listxattr(v->t, ino, (char *)buffer, sizeof buffer, &len);
        tree_lookup(v->t, ino, "a", &ino);
    }
}

/* Neither do paths that nobody made. */
static void try_paths(visit *v)
{
    static const char *const parts[] = {"/",      "..",  ".",   "metadata", "tensors", "f32",
                                        "layers", "0",   "1",   "%",        "%~2",     "a",
                                        "info",   "npy", "raw", "blk.0.",   "export",  "%2E"};
    for (unsigned i = 0; i < 20; i++) {
        g_autoptr(GString) path = g_string_new(NULL);
        uint64_t ino;
        for (uint64_t n = fuzz_below(v->dice, 8); n > 0; n--) {
            g_string_append(path, parts[fuzz_below(v->dice, G_N_ELEMENTS(parts))]);
            if (fuzz_below(v->dice, 2) == 0)
                g_string_append_c(path, '/');
        }
        int error = tree_resolve(v->t, path->str, &ino);
        g_assert_true(error == 0 || error == ENOENT || error == ENOTDIR);
        if (error == 0)
            stat_node(v, ino);
    }
}

void check_tree(const pn_gguf_file *file, fuzz_dice *dice)
{
    g_autoptr(view_model) model = view_model_new(file);
    g_autoptr(view_scratch) scratch = view_scratch_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(tree) t = tree_new(model, NULL, &error);
    visit v = {file, dice, model, scratch, t, 1, 0};

    g_assert_no_error(error);
    check_xattrs(&v, TREE_ROOT);
    visit_folder(&v, "", TREE_ROOT, TREE_ROOT);
    if (v.n_nodes <= MAX_NODES)
        g_assert_cmpuint(tree_node_count(t), ==, v.n_nodes);
    try_numbers(&v);
    try_paths(&v);
}
