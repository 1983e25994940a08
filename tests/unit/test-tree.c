/* The tree: names, listings, links; and of every path that its size is what can be read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gguf-writer.h"
#include "opened.h"
#include "tree/print.h"
#include "tree/views.h"

/* In a file of tests/data/cases: a path, and whether it is there. */
static const struct {
    const char *file, *path;
    bool is_there;
} paths[] = {
    {"000_ok_one_f32", "", true},
    {"000_ok_one_f32", "/", true},
    {"000_ok_one_f32", "README.txt", true},
    {"000_ok_one_f32", "summary.txt", true},
    {"000_ok_one_f32", "problems.txt", true},
    {"000_ok_one_f32", "metadata.json", true},
    {"000_ok_one_f32", "tensors.tsv", true},
    {"000_ok_one_f32", "tensors.json", true},
    {"000_ok_one_f32", "metadata/general.architecture", true},
    {"000_ok_one_f32", "metadata.raw/general.architecture", true},
    {"000_ok_one_f32", "//tensors//f32/a.weight", true},
    {"000_ok_one_f32", "tensors/raw/a.weight", true},
    {"000_ok_one_f32", "tensors/info/a.weight", true},
    {"000_ok_one_f32", "tensors/raw/a%2Eweight", false},
    {"000_ok_one_f32", "tensors/raw/a.weight%~2", false},
    {"000_ok_one_f32", "tensors/raw/a.weight%~1", false},
    {"000_ok_one_f32", "tensors/raw/a", false},
    {"000_ok_one_f32", "tensors/raw/./../f32/a.weight", true},
    {"000_ok_one_f32", "../../README.txt", true},
    {"000_ok_one_f32", "tensors/raw/a.weight/..", false},
    {"000_ok_one_f32", "tensors/npy/a.weight.npy", true},
    {"000_ok_one_f32", "tensors/npy/a.weight", false},
    {"013_name_empty", "tensors/npy/%.npy", true},
    {"015_name_dot", "tensors/npy/%2E%2E.npy", true},
    {"120_no_arch", "layers/0/f32/../../0/npy/ffn_down_exps.weight.counts.npy", true},
    {"000_ok_one_f32", "tensors/fp32", false},
    {"000_ok_one_f32", "layers", true},
    {"000_ok_one_f32", "layers/0", false},
    {"010_name_slash", "tensors/f32/model%2Fh0%2Fattn%2Fc_attn%2Fw", true},
    {"010_name_slash", "tensors/f32/model%2fh0%2fattn%2fc_attn%2fw", false},
    {"010_name_slash", "tensors/f32/model/h0/attn/c_attn/w", false},
    {"011_name_dotdot", "tensors/f32/..%2F..%2Fetc%2Fx", true},
    {"012_name_newline", "tensors/f32/a%0Ab", true},
    {"012_name_newline", "tensors/f32/a\nb", false},
    {"013_name_empty", "tensors/f32/%", true},
    {"013_name_empty", "tensors/f32/%%", false},
    {"014_name_nul", "tensors/f32/a%00b", true},
    {"014_name_nul", "tensors/f32/a", false},
    {"015_name_dot", "tensors/f32/%2E", true},
    {"015_name_dot", "tensors/f32/%2E%2E", true},
    {"015_name_dot", "tensors/f32/.%2E", false},
    {"016_name_badutf8", "tensors/f32/a%FF%FE", true},
    {"016_name_badutf8", "tensors/f32/a\xff\xfe", false},
    {"017_dup_tensor", "tensors/f32/a", true},
    {"017_dup_tensor", "tensors/f32/a%~2", true},
    {"017_dup_tensor", "tensors/f32/a%~3", false},
    {"018_dup_tensor_nul_prefix", "tensors/f32/a%00x", true},
    {"018_dup_tensor_nul_prefix", "tensors/f32/a%00y", true},
    {"019_case_collide", "tensors/f32/A", true},
    {"019_case_collide", "tensors/f32/a", true},
    {"020_dup_key", "metadata/x.a", true},
    {"020_dup_key", "metadata/x.a%~2", true},
    {"020_dup_key", "metadata.raw/x.a%~2", true},
    {"020_dup_key", "metadata/x.a%~02", false},
    {"021_empty_key", "metadata/%", true},
    {"022_key_slash", "metadata/a%2Fb", true},
    {"022_key_slash", "metadata/..%2Fc", true},
    {"072_zero_tensors_zero_kv", "tensors/f32", true},
    {"120_no_arch", "layers/0/f32/ffn_down_exps.weight.counts", true},
    {"120_no_arch", "layers/0/raw/ffn_down_exps.weight.in_sum2", true},
    {"120_no_arch", "layers/0/raw/blk.0.ffn_down_exps.weight.in_sum2", false},
    {"120_no_arch", "layers/00/raw/ffn_down_exps.weight.in_sum2", false},
    {"120_no_arch", "layers/1", false},
    {"120_no_arch", "layers/0/metadata", false},
};

START_TEST(paths_of_cases)
{
    g_autofree char *file = g_strdup_printf("cases/%s.gguf", paths[_i].file);
    opened o = open_data(file);
    uint64_t ino;

    int result = tree_resolve(o.t, paths[_i].path, &ino);
    ck_assert_int_eq(result == 0, paths[_i].is_there);
    ck_assert(result == 0 || result == ENOENT || result == ENOTDIR);
    opened_close(&o);
}
END_TEST

START_TEST(what_is_no_directory)
{
    opened o = open_data("cases/120_no_arch.gguf");
    const char *link = "layers/0/f32/ffn_down_exps.weight.counts";
    uint64_t ino, cookie = 0;
    char name[TREE_NAME_MAX + 1], target[600];
    uint8_t byte;
    tree_kind kind;
    tree_stat st;
    view_piece piece;

    ck_assert_int_eq(tree_lookup(o.t, ino_of(&o, "README.txt"), "a", &ino), ENOTDIR);
    ck_assert_int_eq(tree_lookup(o.t, ino_of(&o, link), "a", &ino), ENOTDIR);
    ck_assert_int_eq(tree_readdir(o.t, ino_of(&o, link), &cookie, name, &ino, &kind), ENOTDIR);
    ck_assert_int_eq(tree_read(o.t, 1, 0, &byte, 1, o.scratch, &piece), EISDIR);
    ck_assert_int_eq(tree_readlink(o.t, ino_of(&o, "README.txt"), target, sizeof target), EINVAL);
    ck_assert_int_eq(tree_readlink(o.t, ino_of(&o, link), target, sizeof target), 0);
    ck_assert_str_eq(target, "../../../tensors/f32/blk.0.ffn_down_exps.weight.counts");
    ck_assert_int_eq(tree_readlink(o.t, ino_of(&o, link), target, 20), ENAMETOOLONG);

    const uint64_t strangers[] = {0,
                                  999,
                                  UINT64_MAX,
                                  ino_of(&o, link) + 2,
                                  UINT64_C(1) << 48,
                                  UINT64_C(1) << 60 | UINT64_C(0xfff) << 48};
    for (unsigned i = 0; i < G_N_ELEMENTS(strangers); i++) {
        ck_assert_int_eq(tree_getattr(o.t, strangers[i], o.scratch, &st), ENOENT);
        ck_assert_int_eq(tree_lookup(o.t, strangers[i], "a", &ino), ENOENT);
        ck_assert_int_eq(tree_readdir(o.t, strangers[i], &cookie, name, &ino, &kind), ENOENT);
        ck_assert_int_eq(tree_read(o.t, strangers[i], 0, &byte, 1, o.scratch, &piece), ENOENT);
        ck_assert_int_eq(tree_readlink(o.t, strangers[i], target, sizeof target), ENOENT);
    }
    opened_close(&o);
}
END_TEST

/* A walk over the whole tree. */
typedef struct {
    const opened *o;
    GHashTable *inos; /* seen: a set of strings */
    uint64_t n_nodes;
} walk;

/* Reads in steps of several sizes agree with each other and with the size; a cut file ends in EIO.
 */
static void check_file(const opened *o, uint64_t ino, const tree_stat *st, const char *path)
{
    const size_t steps[] = {1 << 20, 4097, 61, 1};
    g_autoptr(GByteArray) whole = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        int result;
        if (st->size / steps[i] > 2000)
            break;
        g_autoptr(GByteArray) got = read_range(o, ino, 0, UINT64_MAX, steps[i], &result);
        ck_assert_msg(result == (st->is_cut ? EIO : 0), "%s: %d", path, result);
        ck_assert_msg(st->is_cut ? got->len < st->size : got->len == st->size, "%s", path);
        if (whole) {
            ck_assert_uint_eq(got->len, whole->len);
            ck_assert_int_eq(got->len == 0 || memcmp(got->data, whole->data, got->len) == 0, true);
        } else {
            whole = g_steal_pointer(&got);
        }
    }
}

static void check_link(const opened *o, uint64_t ino, const tree_stat *st)
{
    char target[600];
    ck_assert_int_eq(tree_readlink(o->t, ino, target, sizeof target), 0);
    ck_assert_uint_eq(strlen(target), st->size);
    ck_assert(g_str_has_prefix(target, "../../../"));
    ck_assert_int_eq(stat_of(o, ino_of(o, target + strlen("../../../"))).kind, TREE_FILE);
}

static void check_dir(walk *w, uint64_t ino, const char *path, uint64_t n_links)
{
    const opened *o = w->o;
    char name[TREE_NAME_MAX + 1];
    uint64_t child, found, sub_dirs = 0;
    tree_kind kind;
    int result;

    for (uint64_t cookie = 0;
         (result = tree_readdir(o->t, ino, &cookie, name, &child, &kind)) == 0;) {
        g_autofree char *child_path = g_strdup_printf("%s/%s", path, name);
        ck_assert_msg(g_hash_table_add(w->inos, g_strdup_printf("%" G_GUINT64_FORMAT, child)), "%s",
                      child_path);
        w->n_nodes++;
        ck_assert_int_eq(tree_lookup(o->t, ino, name, &found), 0);
        ck_assert_uint_eq(found, child);

        tree_stat st = stat_of(o, child);
        ck_assert_int_eq(st.kind, kind);
        if (kind == TREE_DIR)
            ck_assert_int_eq(tree_lookup(o->t, child, "..", &found), 0);
        ck_assert_uint_eq(found, kind == TREE_DIR ? ino : child);
        ck_assert(tree_is_sized(o->t, child));
        if (kind == TREE_FILE)
            check_file(o, child, &st, child_path);
        else if (kind == TREE_LINK)
            check_link(o, child, &st);
        else
            check_dir(w, child, child_path, st.n_links);
        sub_dirs += kind == TREE_DIR;
    }
    ck_assert_int_eq(result, ENOENT);
    ck_assert_uint_eq(n_links, 2 + sub_dirs);
}

static void check_tree(const opened *o)
{
    walk w = {.o = o, .n_nodes = 1};
    w.inos = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_hash_table_add(w.inos, g_strdup("1"));
    check_dir(&w, TREE_ROOT, "", stat_of(o, TREE_ROOT).n_links);
    ck_assert_uint_eq(tree_node_count(o->t), w.n_nodes);
    g_hash_table_unref(w.inos);
}

START_TEST(every_path_of_every_case)
{
    g_autofree char *folder = g_build_filename(g_getenv("PN_TEST_DATA"), "cases", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    unsigned n = 0;

    ck_assert_ptr_nonnull(dir);
    for (const char *file; (file = g_dir_read_name(dir));) {
        g_autofree char *path = g_build_filename(folder, file, NULL);
        g_autoptr(pn_gguf_file) gguf = pn_gguf_open(path, false, NULL);
        g_autofree char *name = g_strdup_printf("cases/%s", file);
        if (!gguf)
            continue;
        opened o = open_data(name);
        check_tree(&o);
        opened_close(&o);
        n++;
    }
    ck_assert_uint_gt(n, 60);
}
END_TEST

static const char *const golden[] = {"golden/types.gguf", "golden/types-extra.gguf",
                                     "golden/types-be.gguf"};

START_TEST(every_path_of_golden)
{
    opened o = open_data(golden[_i]);
    check_tree(&o);
    opened_close(&o);
}
END_TEST

/* What several threads do at once on a tree of which nothing has been looked at: each adds up all
 * bytes of all files. */
typedef struct {
    tree *t;
    uint64_t sum;
} reader;

static void add_up(reader *r, uint64_t dir, view_scratch *scratch, uint8_t *buffer)
{
    enum { SIZE = 64 * 1024 };
    char name[TREE_NAME_MAX + 1];
    uint64_t ino;
    tree_kind kind;

    for (uint64_t cookie = 0; tree_readdir(r->t, dir, &cookie, name, &ino, &kind) == 0;) {
        tree_stat st;
        view_piece piece;
        if (kind == TREE_DIR)
            add_up(r, ino, scratch, buffer);
        if (kind != TREE_FILE || tree_getattr(r->t, ino, scratch, &st) != 0)
            continue;
        r->sum = r->sum * 31 + st.size;
        for (uint64_t at = 0;
             tree_read(r->t, ino, at, buffer, SIZE, scratch, &piece) == 0 && piece.len > 0;
             at += piece.len) {
            const uint8_t *bytes = piece.direct ? piece.direct : buffer;
            for (size_t i = 0; i < piece.len; i += 61)
                r->sum = r->sum * 31 + bytes[i] + piece.len;
        }
    }
}

static void *read_everything(void *data)
{
    g_autoptr(view_scratch) scratch = view_scratch_new();
    g_autofree uint8_t *buffer = g_malloc(64 * 1024);
    add_up(data, TREE_ROOT, scratch, buffer);
    return NULL;
}

START_TEST(by_several_threads)
{
    opened o = open_data("golden/types.gguf");
    reader readers[4];
    GThread *threads[G_N_ELEMENTS(readers)];

    for (unsigned i = 0; i < G_N_ELEMENTS(readers); i++) {
        readers[i] = (reader){.t = o.t};
        threads[i] = g_thread_new("reader", read_everything, &readers[i]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(readers); i++)
        g_thread_join(threads[i]);
    for (unsigned i = 1; i < G_N_ELEMENTS(readers); i++)
        ck_assert_uint_eq(readers[i].sum, readers[0].sum);
    opened_close(&o);
}
END_TEST

/* Many tensors of the worst names: one beginning, each several times, and some in layers. */
static opened many_tensors(unsigned n)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    g_autofree char *prefix = g_strnfill(400, 'p');
    const uint64_t ne[] = {1};

    for (unsigned i = 0; i < n; i++) {
        g_autofree char *name =
            i % 4 == 0   ? g_strdup_printf("%s%u", prefix, i / 12)
            : i % 4 == 1 ? g_strdup_printf("blk.%u.t%u", i % 97, i)
            : i % 4 == 2 ? g_strdup_printf("%.*s%u", 240 + (int)(i % 16), prefix, i / 300)
                         : g_strdup("again");
        writer_tensor_info(w, name, -1, PN_GGUF_F32, 1, ne, 0);
    }
    writer_data(w, "\0\0\200\077", 4);
    return open_bytes(writer_finish(w), NULL);
}

START_TEST(many_bad_names)
{
    enum { N = 40000 };
    opened o = many_tensors(N);
    uint64_t dir = ino_of(&o, "tensors/f32"), cookie = 0, ino, found, n = 0;
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    char name[TREE_NAME_MAX + 1];
    tree_kind kind;

    while (tree_readdir(o.t, dir, &cookie, name, &ino, &kind) == 0) {
        ck_assert(g_hash_table_add(names, g_strdup(name)));
        ck_assert_int_eq(tree_lookup(o.t, dir, name, &found), 0);
        ck_assert_uint_eq(found, ino);
        n++;
    }
    ck_assert_uint_eq(n, N);
    opened_close(&o);
}
END_TEST

START_TEST(cookies_stay_valid)
{
    opened o = many_tensors(300);
    const char *const dirs[] = {"", "tensors", "tensors/raw", "layers", "layers/5", "layers/5/f32"};

    for (unsigned d = 0; d < G_N_ELEMENTS(dirs); d++) {
        uint64_t dir = ino_of(&o, dirs[d]), cookies[301], inos[300], cookie = 0;
        char name[TREE_NAME_MAX + 1];
        tree_kind kind;
        unsigned n = 0;
        while (cookies[n] = cookie, tree_readdir(o.t, dir, &cookie, name, &inos[n], &kind) == 0)
            n++;
        ck_assert_uint_gt(n, 0);
        for (unsigned i = n; i-- > 0;) {
            uint64_t ino;
            cookie = cookies[i];
            ck_assert_int_eq(tree_readdir(o.t, dir, &cookie, name, &ino, &kind), 0);
            ck_assert_uint_eq(ino, inos[i]);
        }
        cookie = UINT64_MAX;
        ck_assert_int_eq(tree_readdir(o.t, dir, &cookie, name, &inos[0], &kind), ENOENT);
    }
    opened_close(&o);
}
END_TEST

/* Which of these names are in a layer, and as what. */
static const struct {
    const char *name, *link;
} layer_names[] = {
    {"blk.0.attn_q.weight", "layers/0/raw/attn_q.weight"},
    {"blk.12.a/b", "layers/12/raw/a%2Fb"},
    {"blk.999999999.x", "layers/999999999/raw/x"},
    {"blk.1....", "layers/1/raw/..."},
    {"blk.1.", NULL},
    {"blk.1..", NULL},
    {"blk.1...", NULL},
    {"blk.01.x", NULL},
    {"blk.-1.x", NULL},
    {"blk.1000000000.x", NULL},
    {"blk.1", NULL},
    {"blk..x", NULL},
    {"blk", NULL},
    {"Blk.1.x", NULL},
};

START_TEST(layers)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    const uint64_t ne[] = {1};
    unsigned n_layers = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(layer_names); i++)
        writer_tensor_info(w, layer_names[i].name, -1, PN_GGUF_F32, 1, ne, 0);
    writer_tensor_info(w, "blk.12.a/b", -1, PN_GGUF_F32, 1, ne, 0);
    writer_tensor_info(w, "blk.1.unknown", -1, 139, 1, ne, 0);
    writer_data(w, "\0\0\200\077", 4);
    opened o = open_bytes(writer_finish(w), NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(layer_names); i++) {
        uint64_t ino, cookie = 0;
        char target[600], name[TREE_NAME_MAX + 1];
        tree_kind kind;
        if (!layer_names[i].link)
            continue;
        g_autofree char *parent = g_path_get_dirname(layer_names[i].link);
        ck_assert_int_eq(tree_readdir(o.t, ino_of(&o, parent), &cookie, name, &ino, &kind), 0);
        ck_assert_int_eq(kind, TREE_LINK);
        ck_assert_uint_eq(ino, ino_of(&o, layer_names[i].link));
        ck_assert_int_eq(tree_readlink(o.t, ino, target, sizeof target), 0);
        ck_assert_uint_eq(ino_of(&o, target + strlen("../../../")) & G_MAXUINT32, i);
        n_layers++;
    }
    ck_assert_uint_eq(stat_of(&o, ino_of(&o, "layers")).n_links, 2 + n_layers);
    ino_of(&o, "layers/12/f32/a%2Fb%~2");
    ino_of(&o, "layers/1/raw/unknown");
    uint64_t ino;
    ck_assert_int_eq(tree_resolve(o.t, "layers/1/f32/unknown", &ino), ENOENT);
    check_tree(&o);
    opened_close(&o);
}
END_TEST

static const struct {
    const char *views, *there, *missing;
} choices[] = {
    {"f32", "tensors/f32/a", "tensors/raw"},
    {"tensors/f32", "tensors/f32/a", "metadata"},
    {"tensors", "tensors/info/a", "README.txt"},
    {"raw,f32", "tensors/raw/a", "layers"},
    {"metadata", "metadata/general.architecture", "metadata.raw"},
    {"README.txt,layers,raw", "layers", "tensors/f32"},
};

START_TEST(chosen_views)
{
    g_autofree char *path =
        g_build_filename(g_getenv("PN_TEST_DATA"), "cases", "017_dup_tensor.gguf", NULL);
    char *contents;
    gsize size;
    ck_assert(g_file_get_contents(path, &contents, &size, NULL));
    opened o = open_bytes(g_byte_array_new_take((guint8 *)contents, size), choices[_i].views);
    uint64_t ino;

    ck_assert_int_eq(tree_resolve(o.t, choices[_i].there, &ino), 0);
    ck_assert_int_eq(tree_resolve(o.t, choices[_i].missing, &ino), ENOENT);
    check_tree(&o);
    opened_close(&o);
}
END_TEST

START_TEST(unknown_views)
{
    static const char *const lists[] = {"f33", "", "f32,,raw", "f32,", "tensor", "/"};
    g_autofree bool *shown = g_new(bool, tree_view_count());

    for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++) {
        g_autoptr(GError) error = NULL;
        bool has_layers;
        ck_assert(!tree_views_select(lists[i], shown, &has_layers, &error));
        ck_assert_ptr_nonnull(strstr(error->message, "the views are README.txt, "));
    }
}
END_TEST

static char *printed(const opened *o, const char *path, int *result)
{
    FILE *file = tmpfile();
    char *bytes = g_new0(char, 4096);
    ck_assert_ptr_nonnull(file);
    *result = tree_print(o->t, path, fileno(file), tree_no_gate);
    rewind(file);
    ck_assert_uint_lt(fread(bytes, 1, 4096, file), 4096);
    fclose(file);
    return bytes;
}

START_TEST(printing)
{
    opened o = open_data("cases/120_no_arch.gguf");
    int result;
    g_autofree char *root = printed(&o, "/", &result);
    ck_assert_int_eq(result, 0);
    ck_assert_ptr_nonnull(strstr(root, "README.txt\n"));
    ck_assert_ptr_nonnull(strstr(root, "\ntensors/\n"));

    g_autofree char *links = printed(&o, "layers/0/raw", &result);
    ck_assert_str_eq(links, "ffn_down_exps.weight.in_sum2\nffn_down_exps.weight.counts\n");
    g_autofree char *key = printed(&o, "metadata/general.type", &result);
    ck_assert_str_eq(key, "imatrix\n");
    ck_assert_int_eq(tree_print(o.t, "metadata/general", -1, tree_no_gate), ENOENT);

    g_autofree char *file = printed(&o, "tensors/f32/blk.0.ffn_down_exps.weight.counts", &result);
    g_autofree char *link = printed(&o, "layers/0/f32/ffn_down_exps.weight.counts", &result);
    ck_assert_int_eq(result, 0);
    ck_assert_mem_eq(file, "\0\0\0\0\0\0\200\077", 8);
    ck_assert_mem_eq(link, file, 8);
    opened_close(&o);

    opened cut = open_data("cases/065_past_eof.gguf");
    g_autofree char *part = printed(&cut, "tensors/raw/b", &result);
    ck_assert_int_eq(result, EIO);
    ck_assert_mem_eq(part, "\0\0\0\0\0\0\200\077", 8);
    ck_assert_int_eq(tree_print(cut.t, "README.txt", -1, tree_no_gate), EBADF);
    opened_close(&cut);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tree");
    TCase *tcase = tcase_create("tree");
    tcase_add_loop_test(tcase, paths_of_cases, 0, G_N_ELEMENTS(paths));
    tcase_add_test(tcase, what_is_no_directory);
    tcase_add_test(tcase, every_path_of_every_case);
    tcase_add_loop_test(tcase, every_path_of_golden, 0, G_N_ELEMENTS(golden));
    tcase_add_test(tcase, by_several_threads);
    tcase_add_test(tcase, many_bad_names);
    tcase_add_test(tcase, cookies_stay_valid);
    tcase_add_test(tcase, layers);
    tcase_add_loop_test(tcase, chosen_views, 0, G_N_ELEMENTS(choices));
    tcase_add_test(tcase, unknown_views);
    tcase_add_test(tcase, printing);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
