/* Exports to safetensors: what is in them, what is left out and named, and that every part of the
 * file is what the header says. */
#include <stdlib.h>

#include "gguf-writer.h"
#include "opened.h"
#include "view/export.h"

static const struct {
    const char *path, *folder, *dtype;
} exports[] = {
    {"export/model.f32.safetensors", "tensors/f32", "F32"},
    {"export/model.f16.safetensors", "tensors/f16", "F16"},
    {"export/model.bf16.safetensors", "tensors/bf16", "BF16"},
};

/* A safetensors file taken apart. */
typedef struct {
    GByteArray *file;
    char *header; /* without the spaces behind it, NUL-terminated */
    uint64_t data_start;
} parts;

static parts take_apart(const opened *o, const char *path)
{
    parts p = {.file = read_all(o, path)};
    uint64_t len = 0;

    ck_assert_uint_gt(p.file->len, 8);
    for (unsigned i = 0; i < 8; i++)
        len |= (uint64_t)p.file->data[i] << 8 * i;
    p.data_start = 8 + len;
    ck_assert_uint_eq(p.data_start % 4096, 0);
    ck_assert_uint_le(p.data_start, p.file->len);
    p.header = g_strndup((const char *)p.file->data + 8, len);
    g_strchomp(p.header);
    ck_assert(g_str_has_prefix(p.header, "{\"__metadata__\":{\"format\":\"pt\""));
    ck_assert(g_str_has_suffix(p.header, "}"));
    ck_assert_uint_eq(p.file->len, stat_of(o, ino_of(o, path)).size);
    return p;
}

static void parts_free(parts *p)
{
    g_byte_array_unref(p->file);
    g_free(p->header);
}

/* Checks the entry of a tensor; where its bytes start and end. */
static void check_entry(const parts *p, const char *name, const char *dtype, const char *shape,
                        uint64_t *from, uint64_t *to)
{
    g_autofree char *start = g_strdup_printf(
        "\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[", name, dtype, shape);
    const char *entry = strstr(p->header, start);
    char *end;

    ck_assert_msg(entry != NULL, "no %s in %s", start, p->header);
    *from = g_ascii_strtoull(entry + strlen(start), &end, 10);
    *to = g_ascii_strtoull(end + 1, &end, 10);
    ck_assert_int_eq(strncmp(end, "]}", 2), 0);
    ck_assert_uint_le(*to, p->file->len - p->data_start);
}

static bool is_kept(const pn_gguf_tensor *tensor, const char *dtype)
{
    bool is_f32 = tensor->type_id == PN_GGUF_F32;
    return tensor->traits->block_elems == 1 &&
           (!is_f32 || strcmp(tensor->traits->name, dtype) == 0);
}

/* Every tensor of the golden file is there, with the bytes of its own view, and there are no holes:
 * the bytes of all are those of the data section. */
static void check_export(const opened *o, const char *path, const char *folder, const char *dtype)
{
    parts p = take_apart(o, path);
    uint64_t sum = 0;

    for (uint64_t i = 0; i < o->gguf->n_tensors; i++) {
        pn_gguf_tensor tensor = pn_gguf_tensor_at(o->gguf, i);
        g_autofree char *name = g_strndup(tensor.name, tensor.name_len);
        if (!tensor.has_f32) {
            g_autofree char *key = g_strdup_printf("\"%s\":", name);
            ck_assert_ptr_null(strstr(p.header, key));
            continue;
        }
        bool kept = is_kept(&tensor, dtype);
        bool swapped = kept && tensor.big_endian; /* its bytes are in no view of their own */
        g_autofree char *stored = g_strdup_printf("%s/%s", kept ? "tensors/raw" : folder, name);
        g_autoptr(GByteArray) bytes = read_all(o, stored);
        char shape[TENSOR_DIMS_MAX];
        uint64_t from, to;
        tensor_shape_text(shape, &tensor);
        check_entry(&p, name, kept ? tensor.traits->name : dtype, shape, &from, &to);
        ck_assert_uint_eq(to - from, bytes->len);
        ck_assert_uint_eq(from % (bytes->len / tensor.n_elems), 0);
        if (!swapped)
            ck_assert_mem_eq(p.file->data + p.data_start + from, bytes->data, bytes->len);
        sum += bytes->len;
    }
    ck_assert_uint_eq(sum, p.file->len - p.data_start);
    parts_free(&p);
}

static const char *const files[] = {"golden/types.gguf", "golden/types-extra.gguf",
                                    "golden/types-be.gguf", "cases/091_int_types.gguf"};

START_TEST(all_tensors_are_there)
{
    opened o = open_data(files[_i]);
    for (unsigned e = 0; e < G_N_ELEMENTS(exports); e++)
        check_export(&o, exports[e].path, exports[e].folder, exports[e].dtype);
    opened_close(&o);
}
END_TEST

/* Ranges across all borders. */
START_TEST(slices)
{
    opened o = open_data("golden/types.gguf");
    const char *path = exports[_i].path;
    g_autoptr(GByteArray) whole = read_all(&o, path);
    g_autoptr(GRand) rand = g_rand_new_with_seed(4);
    const gint32 borders[] = {0, 8, 4096, (gint32)whole->len, 4096 + 256, 20000};

    for (unsigned i = 0; i < 300; i++) {
        gint32 border = borders[i % G_N_ELEMENTS(borders)];
        uint64_t offset = (uint64_t)MAX(0, border - g_rand_int_range(rand, 0, 300));
        uint64_t len = (uint64_t)g_rand_int_range(rand, 1, 5000);
        int result;
        g_autoptr(GByteArray) got = read_range(&o, ino_of(&o, path), offset, offset + len,
                                               (size_t)g_rand_int_range(rand, 1, 2000), &result);
        ck_assert_int_eq(result, 0);
        ck_assert_uint_eq(got->len, offset > whole->len ? 0 : MIN(len, whole->len - offset));
        ck_assert_int_eq(got->len == 0 || memcmp(got->data, whole->data + offset, got->len) == 0,
                         true);
    }
    opened_close(&o);
}
END_TEST

START_TEST(metadata_are_strings)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    g_autofree char *long_text = g_strnfill(70000, 'x');
    writer_string(w, "text", "a \"quoted\"\nline");
    writer_string(w, "long", long_text);
    writer_string(w, "format", "tf");
    writer_int(w, "number", PN_GGUF_INT32, (uint64_t)-5);
    writer_int(w, "truth", PN_GGUF_BOOL, 1);
    writer_float(w, "nan", PN_GGUF_FLOAT32, -1.0 / 0.0);
    writer_int(w, "number", PN_GGUF_INT32, 6);
    writer_key(w, "list", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_UINT8, 2);
    writer_put_int(w, PN_GGUF_UINT8, 1);
    writer_put_int(w, PN_GGUF_UINT8, 2);
    writer_key(w, "big", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_UINT8, 65);
    for (unsigned i = 0; i < 65; i++)
        writer_put_int(w, PN_GGUF_UINT8, i);
    writer_key(w, "words", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_STRING, 0);
    writer_int(w, "\xff", PN_GGUF_UINT8, 1);
    writer_int(w, "last", PN_GGUF_UINT8, 1);
    opened o = open_bytes(writer_finish(w), NULL);
    parts p = take_apart(&o, exports[_i].path);

    ck_assert_str_eq(p.header,
                     "{\"__metadata__\":{\"format\":\"pt\",\"text\":\"a \\\"quoted\\\"\\nline\","
                     "\"number\":\"-5\",\"truth\":\"true\",\"nan\":\"-inf\",\"list\":\"[1, 2]\","
                     "\"last\":\"1\"}}");
    parts_free(&p);
    opened_close(&o);
}
END_TEST

static void add(gguf_writer *w, const char *name, gssize len, uint32_t type)
{
    const uint64_t ne[] = {1};
    writer_tensor_info(w, name, len, type, 1, ne, 0);
}

/* What the format cannot hold is left out, and a line of problems.txt names it. */
START_TEST(left_out)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    g_autofree char *long_name = g_strnfill(70000, 'n');
    g_autofree char *broken_name = g_strnfill(300, '\xff');
    add(w, "__metadata__", -1, PN_GGUF_F32);
    add(w, "twice", -1, PN_GGUF_F32);
    add(w, "twice", -1, PN_GGUF_F32);
    add(w, "a\xff", -1, PN_GGUF_F32);
    add(w, "b\xff", -1, PN_GGUF_F32);
    add(w, "b%FF", -1, PN_GGUF_F32);
    add(w, broken_name, -1, PN_GGUF_F32);
    add(w, long_name, -1, PN_GGUF_F32);
    add(w, "unknown", -1, 139);
    add(w, "nul\0inside", 10, PN_GGUF_F32);
    add(w, "", -1, PN_GGUF_F32);
    writer_data(w, "\0\0\200\077", 4);
    opened o = open_bytes(writer_finish(w), NULL);
    parts p = take_apart(&o, exports[0].path);
    g_autoptr(GByteArray) problems = read_all(&o, "problems.txt");
    static const char *const there[] = {"twice", "a%FF", "b%FF", "nul\\u0000inside", ""};
    static const char *const named[] = {
        "tensor 1 (__metadata__) is left out of export/model.*.safetensors: ",
        "tensor 3 (twice) is left out of export/model.*.safetensors: ",
        "tensor 5 (b%FF) is left out of export/model.*.safetensors: ",
        "tensor 7 (%FF%FF",
        "tensor 8 (nnnn",
        "tensor 9 (unknown) "};
    uint64_t from, to;

    ck_assert_uint_eq(p.file->len - p.data_start, 4 * G_N_ELEMENTS(there));
    for (unsigned i = 0; i < G_N_ELEMENTS(there); i++) {
        check_entry(&p, there[i], "F32", "[1]", &from, &to);
        ck_assert_uint_eq(from, 4 * i);
        ck_assert_uint_eq(to, 4 * i + 4);
    }
    g_byte_array_append(problems, (const guint8 *)"", 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(named); i++)
        ck_assert_msg(strstr((const char *)problems->data, named[i]), "%s", problems->data);
    ck_assert_ptr_null(strstr((const char *)problems->data, "tensor 4 (a%FF) is left out"));
    parts_free(&p);
    opened_close(&o);
}
END_TEST

/* More tensors than checkpoints, of several widths: each byte is where the header says. */
START_TEST(many_tensors)
{
    enum { N = 3 * EXPORT_MAX_POINTS };
    static const uint32_t types[] = {PN_GGUF_F32, PN_GGUF_F64, PN_GGUF_I8, PN_GGUF_F16};
    static const char *const dtypes[] = {"F32", "F64", "I8", "F16"};
    g_autoptr(gguf_writer) w = writer_new(3, false);
    const uint64_t ne[] = {3};
    for (unsigned i = 0; i < N; i++) {
        g_autofree char *name = g_strdup_printf("t%u", i);
        uint8_t bytes[24];
        for (unsigned j = 0; j < sizeof bytes; j++)
            bytes[j] = (uint8_t)(i >> 8 * (j % 2));
        size_t size = 3 * pn_quant_traits_of(types[i % 4])->block_bytes;
        writer_tensor(w, name, -1, types[i % 4], 1, ne, bytes, i % 7 == 0 ? 3 : size);
    }
    opened o = open_bytes(writer_finish(w), NULL);
    parts p = take_apart(&o, exports[0].path);
    uint64_t ino = ino_of(&o, exports[0].path);

    for (unsigned i = 0; i < N; i += 5) {
        g_autofree char *name = g_strdup_printf("t%u", i);
        g_autofree char *stored = g_strdup_printf("tensors/raw/t%u", i);
        g_autoptr(GByteArray) bytes = read_all(&o, stored);
        uint64_t from, to;
        int result;
        check_entry(&p, name, dtypes[i % 4], "[3]", &from, &to);
        g_autoptr(GByteArray) got =
            read_range(&o, ino, p.data_start + from, p.data_start + to, bytes->len, &result);
        ck_assert_uint_eq(got->len, bytes->len);
        ck_assert_mem_eq(got->data, bytes->data, bytes->len);
    }
    parts_free(&p);
    opened_close(&o);
}
END_TEST

static GByteArray *shard(unsigned no)
{
    static const uint32_t types[] = {PN_GGUF_F32, PN_GGUF_F16};
    g_autoptr(gguf_writer) w = writer_new(3, false);
    const uint64_t ne[] = {5};
    uint8_t bytes[20];

    writer_int(w, "split.no", PN_GGUF_UINT16, no);
    writer_int(w, "split.count", PN_GGUF_UINT16, 2);
    writer_int(w, "split.tensors.count", PN_GGUF_INT32, 8);
    for (unsigned i = 0; i < 4; i++) {
        g_autofree char *name = g_strdup_printf("t%u.%u", no, i);
        memset(bytes, (int)(16 * no + i), sizeof bytes);
        writer_tensor(w, name, -1, types[i % 2], 1, ne, bytes, i % 2 ? 10 : 20);
    }
    return writer_finish(w);
}

static bool open_shard(void *user, unsigned no, unsigned count, pn_gguf_source *out, GError **error)
{
    GByteArray **shards = user;
    *out = (pn_gguf_source){shards[no]->data, shards[no]->len, "folder/test-of-00002.gguf"};
    return true;
}

/* Tensors of two files, in turn. */
START_TEST(over_shards)
{
    GByteArray *shards[] = {shard(0), shard(1)};
    const pn_gguf_options options = {.open_shard = open_shard, .user = shards};
    opened o = open_with(shards[0], &options, NULL);
    parts p = take_apart(&o, exports[0].path);

    ck_assert_uint_eq(o.gguf->n_shards, 2);
    ck_assert_uint_eq(p.file->len - p.data_start, 4 * 20 + 4 * 10);
    for (unsigned i = 0; i < 8; i++) {
        g_autofree char *name = g_strdup_printf("t%u.%u", i / 4, i % 4);
        uint64_t from, to;
        check_entry(&p, name, i % 2 ? "F16" : "F32", "[5]", &from, &to);
        ck_assert_uint_eq(to - from, i % 2 ? 10 : 20);
        for (uint64_t at = from; at < to; at++)
            ck_assert_uint_eq(p.file->data[p.data_start + at], 16 * (i / 4) + i % 4);
    }
    parts_free(&p);
    opened_close(&o);
    g_byte_array_unref(shards[1]);
}
END_TEST

START_TEST(cut_tensors_are_EIO)
{
    opened o = open_data("cases/065_past_eof.gguf");
    const char *path = exports[_i].path;
    uint64_t ino = ino_of(&o, path);
    tree_stat st = stat_of(&o, ino);
    unsigned width = _i == 0 ? 4 : 2;
    int result;

    ck_assert(st.is_cut);
    ck_assert_uint_eq(st.size, 4096 + 16 * width);
    g_autoptr(GByteArray) got = read_range(&o, ino, 0, UINT64_MAX, 1 << 20, &result);
    ck_assert_int_eq(result, EIO);
    ck_assert_uint_eq(got->len, 4096 + 10 * width);
    opened_close(&o);
}
END_TEST

/* Sizes that no file has: what does not fit is left out, and nothing overflows. */
START_TEST(absurd_sizes)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    const uint64_t ne[] = {UINT64_C(1) << 58};
    for (unsigned i = 0; i < 40; i++) {
        g_autofree char *name = g_strdup_printf("t%u", i);
        writer_tensor_info(w, name, -1, PN_GGUF_F32, 1, ne, 0);
    }
    opened o = open_bytes(writer_finish(w), NULL);
    tree_stat st = stat_of(&o, ino_of(&o, exports[0].path));

    ck_assert_uint_eq(st.size, 4096 + 2 * (UINT64_C(4) << 58));
    g_autoptr(GByteArray) problems = read_all(&o, "problems.txt");
    g_byte_array_append(problems, (const guint8 *)"", 1);
    ck_assert_ptr_nonnull(
        strstr((const char *)problems->data, "tensor 3 (t2) and all that follow are left out"));
    opened_close(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("export");
    TCase *tcase = tcase_create("export");
    tcase_add_loop_test(tcase, all_tensors_are_there, 0, G_N_ELEMENTS(files));
    tcase_add_loop_test(tcase, slices, 0, G_N_ELEMENTS(exports));
    tcase_add_loop_test(tcase, metadata_are_strings, 0, G_N_ELEMENTS(exports));
    tcase_add_test(tcase, left_out);
    tcase_add_test(tcase, many_tensors);
    tcase_add_test(tcase, over_shards);
    tcase_add_loop_test(tcase, cut_tensors_are_EIO, 0, G_N_ELEMENTS(exports));
    tcase_add_test(tcase, absurd_sizes);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
