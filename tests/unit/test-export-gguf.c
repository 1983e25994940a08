/* export/model.gguf: of every kind of file and of sets it is, byte for byte, what the tests' writer
 * makes of the same content, wherever it is read; what cannot be had is an error or left out. */
#include <stdlib.h>

#include "gguf-writer.h"
#include "opened.h"

static const char path[] = "export/model.gguf";

enum { N_SHARDS = 3, LARGE = 40000, ALIGNMENT = 64, MISSING_BYTES = 1000 };

/* Content: a tensor is known by its name, of which its bytes are made. */

typedef struct {
    const char *name;
    uint32_t type;
    uint64_t ne[2];
    unsigned shard;
} tensor_spec;

/* Small and large ones (these are shown where they stand), of one byte, of none; the last of a
 * shard and the first of the next meet on the way. */
static const tensor_spec tensors[] = {
    {"a", PN_GGUF_F32, {5, 3}, 0},
    {"large", PN_GGUF_F32, {LARGE, 1}, 0},
    {"empty", PN_GGUF_F16, {0, 4}, 0},
    {"byte", PN_GGUF_I8, {1, 1}, 0},
    {"k", PN_GGUF_Q6_K, {256, 3}, 1},
    {"zero", PN_GGUF_Q8_0, {64, 2}, 1},
    {"wide", PN_GGUF_Q4_K, {LARGE * 32 / 5, 2}, 1},
    {"half", PN_GGUF_BF16, {7, 1}, 2},
    {"page", PN_GGUF_F64, {512, 1}, 2},
    {"last", PN_GGUF_F16, {3, 1}, 2},
};

static void add_tensor(gguf_writer *w, const tensor_spec *spec)
{
    const pn_quant_traits *traits = pn_quant_traits_of(spec->type);
    size_t n_blocks = spec->ne[0] * spec->ne[1] / traits->block_elems;
    size_t nbytes = n_blocks * traits->block_bytes;
    g_autoptr(GRand) rand = g_rand_new_with_seed(g_str_hash(spec->name));
    g_autofree uint8_t *bytes = g_malloc(nbytes + 1);

    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = (uint8_t)g_rand_int(rand);
    if (w->big_endian)
        pn_quant_swap((pn_gguf_quant)spec->type, bytes, bytes, n_blocks);
    writer_tensor(w, spec->name, -1, spec->type, 2, spec->ne, bytes, nbytes);
}

/* A header of several hundred KiB: more than one checkpoint, a string longer than a step. */
static void add_metadata(gguf_writer *w)
{
    g_autofree char *long_string = g_strnfill(100000, 'x');

    writer_string(w, "general.architecture", "llama");
    writer_alignment(w, ALIGNMENT);
    writer_string(w, "long", long_string);
    writer_key(w, "scores", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_FLOAT32, 50000);
    for (int i = 0; i < 50000; i++)
        writer_put_float(w, PN_GGUF_FLOAT32, i * 0.1);
    writer_key(w, "tokens", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_STRING, 5000);
    for (int i = 0; i < 5000; i++)
        writer_put_string(w, long_string, i % 100);
    writer_key(w, "nested", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_ARRAY, 1);
    writer_put_array(w, PN_GGUF_UINT64, 2);
    writer_put_int(w, PN_GGUF_UINT64, 1);
    writer_put_int(w, PN_GGUF_UINT64, UINT64_MAX);
}

static void add_split(gguf_writer *w, unsigned no)
{
    writer_int(w, "split.no", PN_GGUF_UINT16, no);
    writer_int(w, "split.count", PN_GGUF_UINT16, N_SHARDS);
    writer_int(w, "split.tensors.count", PN_GGUF_INT32, G_N_ELEMENTS(tensors));
}

static void add_tensors(gguf_writer *w, unsigned from_shard, unsigned to_shard)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tensors); i++)
        if (tensors[i].shard >= from_shard && tensors[i].shard <= to_shard)
            add_tensor(w, &tensors[i]);
}

static GByteArray *single_file(uint32_t version, bool big_endian)
{
    g_autoptr(gguf_writer) w = writer_new(version, big_endian);
    add_metadata(w);
    add_tensors(w, 0, N_SHARDS);
    return writer_finish(w);
}

typedef struct {
    uint32_t version[N_SHARDS];
    bool big_endian[N_SHARDS];
    uint32_t alignment[N_SHARDS]; /* of shard 0 it is ALIGNMENT */
} set_layout;

static const set_layout sets[] = {
    {{3, 3, 3}, {false, false, false}, {0, 64, 64}},
    {{3, 3, 3}, {false, false, false}, {0, 8, 4096}},
    {{3, 3, 3}, {true, true, true}, {0, 32, 32}},
    {{1, 2, 3}, {false, true, false}, {0, 4096, 8}},
};

/* A set in memory, and its tree. */
typedef struct {
    opened o;
    GByteArray *bytes[N_SHARDS];
} opened_set;

static bool give_shard(void *user, unsigned no, unsigned count, pn_gguf_source *out, GError **error)
{
    static const char *const names[N_SHARDS] = {"set-1", "set-2", "set-3"};
    GByteArray *const *bytes = user;

    ck_assert_uint_lt(no, N_SHARDS);
    *out = (pn_gguf_source){bytes[no]->data, bytes[no]->len, names[no]};
    return true;
}

static void open_set(opened_set *set, const set_layout *layout, unsigned named)
{
    for (unsigned no = 0; no < N_SHARDS; no++) {
        g_autoptr(gguf_writer) w = writer_new(layout->version[no], layout->big_endian[no]);
        if (no == 0)
            add_metadata(w);
        else
            w->alignment = layout->alignment[no];
        add_split(w, no);
        if (no > 0)
            writer_int(w, "general.alignment", PN_GGUF_UINT32, layout->alignment[no]);
        add_tensors(w, no, no);
        set->bytes[no] = writer_finish(w);
    }

    pn_gguf_options options = {.open_shard = give_shard, .user = set->bytes};
    set->o = open_with(g_byte_array_ref(set->bytes[named]), &options, NULL);
}

static void close_set(opened_set *set)
{
    opened_close(&set->o);
    for (unsigned no = 0; no < N_SHARDS; no++)
        g_byte_array_unref(set->bytes[no]);
}

/* Comparing. */

static void assert_same(const GByteArray *got, const GByteArray *expected)
{
    guint i = 0;
    while (i < MIN(got->len, expected->len) && got->data[i] == expected->data[i])
        i++;
    ck_assert_msg(i == expected->len && i == got->len, "%u and %u bytes, different from byte %u on",
                  got->len, expected->len, i);
}

/* Reads that begin and end around each border of the file: of its header, and of each tensor. */
static void check_slices(const opened *o, const GByteArray *expected)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(6);
    pn_gguf_source source = {expected->data, expected->len, "expected"};
    g_autoptr(pn_gguf_file) file = pn_gguf_parse(&source, NULL, NULL);
    uint64_t ino = ino_of(o, path), n_borders = 2 * file->n_tensors + 4;

    for (uint64_t i = 0; i < 8 * n_borders; i++) {
        uint64_t border = i % n_borders, at;
        if (border < 2 * file->n_tensors) {
            pn_gguf_tensor t = pn_gguf_tensor_at(file, border / 2);
            at = t.offset + (border % 2 ? t.nbytes : 0);
        } else {
            const uint64_t others[] = {0, file->header_size, file->shards[0].data_start,
                                       expected->len};
            at = others[border - 2 * file->n_tensors];
        }
        uint64_t back = (uint64_t)g_rand_int_range(rand, 0, i % 3 ? 100 : 70000);
        uint64_t from = at > back ? at - back : 0;
        uint64_t len = (uint64_t)g_rand_int_range(rand, 1, i % 2 ? 300 : 200000);
        int result;
        g_autoptr(GByteArray) got = read_range(o, ino, from, from + len,
                                               (size_t)g_rand_int_range(rand, 1, 100000), &result);
        uint64_t there = from > expected->len ? 0 : MIN(len, expected->len - from);
        ck_assert_int_eq(result, 0);
        ck_assert_uint_eq(got->len, there);
        if (there > 0)
            ck_assert_mem_eq(got->data, expected->data + from, there);
    }
}

static void check_export(const opened *o, const GByteArray *expected)
{
    tree_stat st = stat_of(o, ino_of(o, path));
    g_autoptr(GByteArray) got = read_all(o, path);
    g_autoptr(GByteArray) problems = read_all(o, "problems.txt");

    ck_assert_uint_eq(st.size, expected->len);
    ck_assert(!st.is_cut);
    assert_same(got, expected);
    check_slices(o, expected);
    ck_assert_uint_eq(problems->len, 0);
}

static const struct {
    uint32_t version;
    bool big_endian;
} files[] = {{1, false}, {2, false}, {3, false}, {1, true}, {2, true}, {3, true}};

START_TEST(single_files)
{
    opened o = open_bytes(single_file(files[_i].version, files[_i].big_endian), NULL);
    g_autoptr(GByteArray) expected = single_file(3, false);
    check_export(&o, expected);
    opened_close(&o);
}
END_TEST

START_TEST(split_sets)
{
    opened_set set;
    g_autoptr(GByteArray) expected = single_file(3, false);
    open_set(&set, &sets[_i / N_SHARDS], (unsigned)_i % N_SHARDS);
    check_export(&set.o, expected);
    close_set(&set);
}
END_TEST

/* The pages of the file from the last to the first, so that no read goes on from another. */
START_TEST(backwards)
{
    opened_set set;
    g_autoptr(GByteArray) expected = single_file(3, false);
    open_set(&set, &sets[3], 0);
    uint64_t ino = ino_of(&set.o, path);

    for (uint64_t from = expected->len / 4096 * 4096;; from -= 4096) {
        int result;
        g_autoptr(GByteArray) got =
            read_range(&set.o, ino, from, MIN(from + 4096, expected->len), 4096, &result);
        ck_assert_int_eq(memcmp(got->data, expected->data + from, got->len), 0);
        if (from == 0)
            break;
    }
    close_set(&set);
}
END_TEST

/* A file that is one already, with whatever is in it: behind its tensors, between them, twice. */
START_TEST(the_file_itself)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    writer_int(w, "split.no", PN_GGUF_UINT16, 7);
    writer_int(w, "twice", PN_GGUF_UINT16, 1);
    writer_int(w, "twice", PN_GGUF_UINT16, 2);
    for (int i = 0; i < 3; i++)
        writer_tensor_info(w, "twice", -1, i == 2 ? 139 : PN_GGUF_F32, 1, (uint64_t[]){8}, 96);
    writer_data(w, "gap", 3);
    writer_data(w, single_file, 200);
    g_autoptr(GByteArray) expected = writer_finish(w);
    opened o = open_bytes(writer_finish(w), NULL);
    g_autoptr(GByteArray) got = read_all(&o, path);
    g_autoptr(GByteArray) problems = read_all(&o, "problems.txt");

    assert_same(got, expected);
    g_byte_array_append(problems, (const guint8 *)"", 1);
    ck_assert_ptr_null(strstr((const char *)problems->data, path));
    opened_close(&o);
}
END_TEST

START_TEST(golden_files)
{
    static const char *const names[] = {"golden/types.gguf", "golden/types-extra.gguf",
                                        "cases/065_past_eof.gguf"};
    opened o = open_data(names[_i]);
    g_autoptr(GByteArray) got = read_all(&o, path);
    assert_same(got, o.bytes);
    opened_close(&o);
}
END_TEST

/* A tensor that is cut off: what is there of it, and everything after it, can be read. */
START_TEST(cut_tensors)
{
    g_autoptr(gguf_writer) w = writer_new(3, _i == 1);
    if (_i == 0)
        w->version = 2;
    add_tensor(w, &tensors[0]);
    const uint64_t ne[] = {MISSING_BYTES};
    writer_tensor_info(w, "cut", -1, PN_GGUF_F32, 1, ne, w->data->len);
    writer_tensor_info(w, "again", -1, PN_GGUF_F32, 1, (uint64_t[]){15}, 0);
    writer_data(w, "\1\2\3\4\5\6", 6);
    opened o = open_bytes(writer_finish(w), NULL);
    uint64_t ino = ino_of(&o, path);
    tree_stat st = stat_of(&o, ino);
    int result;

    ck_assert(st.is_cut);
    g_autoptr(GByteArray) got = read_range(&o, ino, 0, UINT64_MAX, 1 << 20, &result);
    ck_assert_int_eq(result, EIO);
    uint64_t cut = st.size - 64 - 4 * MISSING_BYTES; /* from here on, with no padding behind it */
    unsigned known = _i == 0 ? 6 : 4;                /* a number can be swapped when it is whole */
    ck_assert_uint_eq(got->len, cut + known);
    ck_assert_mem_eq(got->data + cut, _i == 0 ? "\1\2\3\4\5\6" : "\4\3\2\1", known);
    g_autoptr(GByteArray) after = read_range(&o, ino, st.size - 64, st.size, 10, &result);
    ck_assert_int_eq(result, 0);
    ck_assert_uint_eq(after->len, 64);
    ck_assert_mem_eq(after->data, got->data + cut - 64, 64);
    opened_close(&o);
}
END_TEST

/* What cannot be in the file is left out, and named. */
START_TEST(left_out)
{
    static const char *const lines[] = {
        "key 3 (x) is left out of export/model.gguf: it has the name of an earlier key\n",
        "tensor 2 (a) is left out of export/model.gguf: it has the name of an earlier tensor\n",
        "tensor 3 (part) is left out of export/model.gguf: it has rows that are no whole number "
        "of blocks\n",
        "tensor 4 (iq4_nl) is left out of export/model.gguf: it is of a type whose big-endian "
        "layout is not defined\n",
        "tensor 5 (none) is left out of export/model.gguf: it is of a type whose big-endian "
        "layout is not defined\n",
    };
    g_autoptr(gguf_writer) w = writer_new(3, true);
    writer_int(w, "x", PN_GGUF_UINT8, 1);
    writer_int(w, "split.other", PN_GGUF_UINT8, 1);
    writer_int(w, "x", PN_GGUF_UINT8, 2);
    writer_tensor(w, "a", -1, PN_GGUF_F32, 1, (uint64_t[]){8}, NULL, 32);
    writer_tensor(w, "a", -1, PN_GGUF_F32, 1, (uint64_t[]){8}, NULL, 32);
    writer_tensor(w, "part", -1, PN_GGUF_Q8_0, 1, (uint64_t[]){33}, NULL, 64);
    writer_tensor(w, "iq4_nl", -1, PN_GGUF_IQ4_NL, 1, (uint64_t[]){32}, NULL, 18);
    writer_tensor(w, "none", -1, 139, 1, (uint64_t[]){32}, NULL, 32);
    writer_tensor(w, "b", -1, PN_GGUF_F32, 1, (uint64_t[]){8}, NULL, 32);
    opened o = open_bytes(writer_finish(w), NULL);
    g_autoptr(GByteArray) problems = read_all(&o, "problems.txt");

    g_byte_array_append(problems, (const guint8 *)"", 1);
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++)
        ck_assert_msg(strstr((const char *)problems->data, lines[i]), "%s", problems->data);
    ck_assert_ptr_null(strstr((const char *)problems->data, "split.other"));
    opened again = open_bytes(read_all(&o, path), NULL);
    ck_assert_uint_eq(again.gguf->n_kv, 1);
    ck_assert_uint_eq(again.gguf->n_tensors, 2);
    ck_assert_uint_eq(again.gguf->n_problems, 0);
    opened_close(&again);
    opened_close(&o);
}
END_TEST

/* The type of a tensor in the middle is unknown: its bytes are copied, up to the next tensor. */
START_TEST(unknown_type)
{
    g_autoptr(gguf_writer) w = writer_new(2, false);
    add_tensor(w, &tensors[0]);
    writer_tensor(w, "unknown", -1, 139, 1, (uint64_t[]){32}, "0123456789", 10);
    add_tensor(w, &tensors[4]);
    opened o = open_bytes(writer_finish(w), NULL);
    w->version = 3;
    g_autoptr(GByteArray) expected = writer_finish(w);
    g_autoptr(GByteArray) got = read_all(&o, path);

    assert_same(got, expected);
    opened_close(&o);
}
END_TEST

/* The source is rewritten meanwhile: other bytes or an error, within the size that was said. */
START_TEST(rewritten)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);

    for (int round = 0; round < 20; round++) {
        opened_set set;
        open_set(&set, &sets[_i], 0);
        uint64_t ino = ino_of(&set.o, path), size = stat_of(&set.o, ino).size;
        for (int i = 0; i < 3000; i++) {
            GByteArray *bytes = set.bytes[i % N_SHARDS];
            bytes->data[g_rand_int_range(rand, 0, (gint32)bytes->len)] = (uint8_t)g_rand_int(rand);
        }
        int result;
        g_autoptr(GByteArray) got = read_range(&set.o, ino, 0, UINT64_MAX, 50000, &result);
        ck_assert(result == EIO || got->len == size);
        ck_assert_uint_eq(stat_of(&set.o, ino).size, size);
        close_set(&set);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("export-gguf");
    TCase *tcase = tcase_create("export-gguf");
    tcase_add_loop_test(tcase, single_files, 0, G_N_ELEMENTS(files));
    tcase_add_loop_test(tcase, split_sets, 0, G_N_ELEMENTS(sets) * N_SHARDS);
    tcase_add_test(tcase, backwards);
    tcase_add_test(tcase, the_file_itself);
    tcase_add_loop_test(tcase, golden_files, 0, 3);
    tcase_add_loop_test(tcase, cut_tensors, 0, 2);
    tcase_add_test(tcase, left_out);
    tcase_add_test(tcase, unknown_type);
    tcase_add_loop_test(tcase, rewritten, 0, G_N_ELEMENTS(sets));
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
