/* The views of tensors: the values, to the bit, from any offset, and where a tensor ends early. */
#include <math.h>
#include <stdlib.h>

#include "opened.h"

#define ALL_4(x)  x, x, x, x
#define ALL_16(x) ALL_4(x), ALL_4(x), ALL_4(x), ALL_4(x)
#define ALL_32(x) ALL_16(x), ALL_16(x)

/* float32 values of tensors in the crafted files; as many as can be read, of which
 * the first 32 are listed. */
static const struct {
    const char *file, *path;
    uint64_t size;
    unsigned n_there;
    float values[32];
} cases[] = {
    {"000_ok_one_f32", "a.weight", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"001_ok_scalar_ndims0", "s", 4, 1, {0}},
    {"005_five_dims", "a", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"053_align_1", "a", 12, 3, {0, 1, 2}},
    {"053_align_1", "b", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"057_align_2p31", "a", 32, 0, {0}},
    {"059_header_already_aligned", "a", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"060_offset_unaligned", "b", 32, 8, {3, 4, 5, 6, 7, 8, 9, 10}},
    {"061_offset_gap", "b", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"062_overlap", "a", 64, 16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
    {"062_overlap", "b", 64, 16, {8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
    {"063_same_offset", "token_embd.weight", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"063_same_offset", "output.weight", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"064_offsets_out_of_order", "a", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"064_offsets_out_of_order", "b", 32, 8, {8, 9, 10, 11, 12, 13, 14, 15}},
    {"065_past_eof", "a", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"065_past_eof", "b", 32, 2, {0, 1}},
    {"066_offset_2p40", "a", 32, 0, {0}},
    {"067_offset_wrap", "a", 32, 0, {0}},
    {"068_no_trailing_pad", "b", 12, 3, {8, 9, 10}},
    {"070_no_data_section", "a", 32, 0, {0}},
    {"083_type_31_q4_0_4_4", "b", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"087_type_139_iq4_k", "b", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"091_int_types", "i8", 128, 32, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                      11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                      22, 23, 24, 25, 26, 27, 28, 29, 30, 31}},
    {"091_int_types",
     "i16",
     64,
     16,
     {8480, 8994, 9508, 10022, 10536, 11050, 11564, 12078, 12592, 13106, 13620, 14134, 14648, 15162,
      15676, 16190}},
    {"091_int_types",
     "i32",
     32,
     8,
     {1128415488, 1195787648, 1263159680, 1330531712, 1397903744, 1465275776, 1532647808,
      1600019840}},
    {"091_int_types",
     "i64",
     16,
     4,
     {7.450754233961284e+18F, 8.029475582171415e+18F, 8.608196930381545e+18F,
      9.186918278591676e+18F}},
    {"091_int_types", "f64", 16, 4, {-0.0F, -0.0F, -0.0F, -0.0F}},
    {"092_q8_1_q8_k", "a", 128, 32, {0}},
    {"092_q8_1_q8_k", "b", 1024, 256, {0}},
    {"093_f16_nan_scale", "a", 128, 32, {ALL_32(NAN)}},
    {"094_mxfp4_ff", "a", 128, 32, {ALL_32(INFINITY)}},
    {"095_nvfp4_7f", "a", 256, 64, {ALL_16(0), ALL_16(2880)}},
    {"100_v1", "a", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"102_v2", "a", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"105_be_v3", "a", 32, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
};

static bool same_float(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

START_TEST(values_of_cases)
{
    g_autofree char *file = g_strdup_printf("cases/%s.gguf", cases[_i].file);
    g_autofree char *path = g_strdup_printf("tensors/f32/%s", cases[_i].path);
    opened o = open_data(file);
    uint64_t ino = ino_of(&o, path);
    tree_stat st = stat_of(&o, ino);
    bool is_whole = cases[_i].n_there * sizeof(float) == cases[_i].size;
    int result;

    ck_assert_uint_eq(st.size, cases[_i].size);
    ck_assert_int_eq(st.is_cut, !is_whole);
    g_autoptr(GByteArray) got = read_range(&o, ino, 0, UINT64_MAX, 13, &result);
    ck_assert_int_eq(result, is_whole ? 0 : EIO);
    ck_assert_uint_eq(got->len, cases[_i].n_there * sizeof(float));
    for (unsigned i = 0; i < MIN(cases[_i].n_there, 32); i++) {
        float value;
        memcpy(&value, got->data + i * sizeof value, sizeof value);
        ck_assert_msg(same_float(value, cases[_i].values[i]), "%u: %g", i, (double)value);
    }
    opened_close(&o);
}
END_TEST

/* Types that are not to be had as numbers, or rows that are no whole blocks: their bytes alone. */
static const struct {
    const char *file;
    uint64_t raw_size;
} raw_only[] = {
    {"080_q4k_row_partial", 576}, {"081_q6k_8x64", 448}, {"083_type_31_q4_0_4_4", 32},
    {"087_type_139_iq4_k", 160},  {"089_type_43", 32},   {"090_type_neg1", 32},
};

START_TEST(unknown_types_have_bytes_only)
{
    g_autofree char *file = g_strdup_printf("cases/%s.gguf", raw_only[_i].file);
    opened o = open_data(file);
    uint64_t ino;

    ck_assert_uint_eq(stat_of(&o, ino_of(&o, "tensors/raw/a")).size, raw_only[_i].raw_size);
    g_autoptr(GByteArray) raw = read_all(&o, "tensors/raw/a");
    ck_assert_uint_eq(raw->len, raw_only[_i].raw_size);
    ck_assert_int_eq(tree_resolve(o.t, "tensors/f32/a", &ino), ENOENT);
    ck_assert_int_eq(tree_resolve(o.t, "tensors/f16/a", &ino), ENOENT);
    ck_assert_int_eq(tree_resolve(o.t, "tensors/bf16/a", &ino), ENOENT);
    opened_close(&o);
}
END_TEST

static const struct {
    const char *file, *values;
    bool may_lack; /* types whose big-endian form nobody has defined */
} golden[] = {
    {"golden/types.gguf", "f32", false},
    {"golden/types-extra.gguf", "f32-extra", false},
    {"golden/types-be.gguf", "f32", true},
};

static float *golden_values(const char *folder, const char *name, gsize *n)
{
    g_autofree char *path =
        g_build_filename(g_getenv("PN_TEST_DATA"), "golden", folder, name, NULL);
    char *contents;
    ck_assert_msg(g_file_get_contents(path, &contents, n, NULL), "%s", path);
    *n /= sizeof(float);
    return (float *)contents;
}

/* A view of each width against the golden float32, narrowed. */
static void check_widths(const opened *o, const char *name, const float *values, gsize n)
{
    g_autofree uint16_t *narrow = g_new(uint16_t, n);
    g_autofree char *f32 = g_strdup_printf("tensors/f32/%s", name);
    g_autofree char *f16 = g_strdup_printf("tensors/f16/%s", name);
    g_autofree char *bf16 = g_strdup_printf("tensors/bf16/%s", name);
    g_autoptr(GByteArray) got = read_all(o, f32);

    ck_assert_uint_eq(got->len, n * sizeof(float));
    for (gsize i = 0; i < n; i++)
        ck_assert_msg(same_float(((float *)(void *)got->data)[i], values[i]), "%s %zu", f32, i);

    g_autoptr(GByteArray) half = read_all(o, f16);
    pn_f32_to_f16(values, narrow, n);
    ck_assert_uint_eq(half->len, n * sizeof(uint16_t));
    for (gsize i = 0; i < n; i++) {
        uint16_t bits = ((uint16_t *)(void *)half->data)[i];
        bool both_nan = isnan(values[i]) && (bits & 0x7fff) > 0x7c00;
        ck_assert_msg(bits == narrow[i] || both_nan, "%s %zu", f16, i);
    }

    g_autoptr(GByteArray) brain = read_all(o, bf16);
    pn_f32_to_bf16(values, narrow, n);
    ck_assert_uint_eq(brain->len, n * sizeof(uint16_t));
    for (gsize i = 0; i < n; i++) {
        uint16_t bits = ((uint16_t *)(void *)brain->data)[i];
        bool both_nan = isnan(values[i]) && (bits & 0x7fff) > 0x7f80;
        ck_assert_msg(bits == narrow[i] || both_nan, "%s %zu", bf16, i);
    }
}

START_TEST(golden_values_of_every_type)
{
    opened o = open_data(golden[_i].file);
    for (uint64_t i = 0; i < o.gguf->n_tensors; i++) {
        pn_gguf_tensor tensor = pn_gguf_tensor_at(o.gguf, i);
        g_autofree char *name = g_strndup(tensor.name, tensor.name_len);
        gsize n;
        g_autofree float *values = golden_values(golden[_i].values, name, &n);
        ck_assert(tensor.has_f32 || golden[_i].may_lack);
        if (tensor.has_f32)
            check_widths(&o, name, values, n);
    }
    opened_close(&o);
}
END_TEST

static const char *const views[] = {"raw", "f32", "f16", "bf16"};

/* Any range of a file is the same as in the whole, whatever the pieces it is read in. */
static void check_slices(const opened *o, const char *path, GRand *rand)
{
    uint64_t ino = ino_of(o, path), size = stat_of(o, ino).size;
    g_autoptr(GByteArray) whole = read_all(o, path);
    int result;

    ck_assert_uint_eq(whole->len, size);
    for (unsigned i = 0; i < 16; i++) {
        uint32_t offset = (uint32_t)g_rand_int_range(rand, 0, (gint32)size + 2);
        uint32_t len = (uint32_t)g_rand_int_range(rand, 1, i % 2 ? 40 : 5000);
        size_t step = (size_t)g_rand_int_range(rand, 1, i % 3 ? 20 : 3000);
        g_autoptr(GByteArray) got = read_range(o, ino, offset, offset + len, step, &result);
        ck_assert_int_eq(result, 0);
        ck_assert_uint_eq(got->len, offset >= size ? 0 : MIN(len, size - offset));
        ck_assert_int_eq(got->len == 0 || memcmp(got->data, whole->data + offset, got->len) == 0,
                         true);
    }
}

START_TEST(slices_of_every_type)
{
    opened o = open_data(golden[_i].file);
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);

    for (uint64_t i = 0; i < o.gguf->n_tensors; i++) {
        pn_gguf_tensor tensor = pn_gguf_tensor_at(o.gguf, i);
        for (unsigned v = 0; v < (tensor.has_f32 ? G_N_ELEMENTS(views) : 1); v++) {
            g_autofree char *path =
                g_strdup_printf("tensors/%s/%.*s", views[v], (int)tensor.name_len, tensor.name);
            check_slices(&o, path, rand);
        }
    }
    opened_close(&o);
}
END_TEST

/* The first `there` bytes of the view are those of the whole file; what follows is EIO. */
static void check_cut(const opened *cut, const char *path, const GByteArray *whole, uint64_t there,
                      size_t step)
{
    uint64_t ino = ino_of(cut, path);
    tree_stat st = stat_of(cut, ino);
    int result;

    ck_assert_uint_eq(st.size, whole->len);
    ck_assert(st.is_cut);
    g_autoptr(GByteArray) got = read_range(cut, ino, 0, UINT64_MAX, step, &result);
    ck_assert_int_eq(result, EIO);
    ck_assert_uint_eq(got->len, there);
    ck_assert_int_eq(there == 0 || memcmp(got->data, whole->data, there) == 0, true);

    uint8_t byte;
    view_piece piece;
    result = tree_read(cut->t, ino, whole->len - 1, &byte, 1, cut->scratch, &piece);
    ck_assert_int_eq(result, EIO);
    result = tree_read(cut->t, ino, whole->len, &byte, 1, cut->scratch, &piece);
    ck_assert_int_eq(result, 0);
    ck_assert_uint_eq(piece.len, 0);
}

/* Each tensor with the file's end inside it: what whole blocks give, to the byte. */
START_TEST(cut_tensors)
{
    opened o = open_data(golden[_i].file);

    for (uint64_t i = 0; i < o.gguf->n_tensors; i++) {
        pn_gguf_tensor tensor = pn_gguf_tensor_at(o.gguf, i);
        uint32_t block = tensor.traits->block_bytes, elems = tensor.traits->block_elems;
        const uint64_t kept[] = {0, 1, block - 1, block, block + 1, tensor.nbytes - 1};
        for (unsigned k = 0; k < G_N_ELEMENTS(kept); k++) {
            GByteArray *bytes = g_byte_array_new();
            g_byte_array_append(bytes, o.bytes->data, (guint)(tensor.offset + kept[k]));
            opened cut = open_bytes(bytes, NULL);
            const unsigned widths[] = {0, 4, 2, 2};
            for (unsigned v = 0; v < (tensor.has_f32 ? G_N_ELEMENTS(views) : 1); v++) {
                g_autofree char *path =
                    g_strdup_printf("tensors/%s/%.*s", views[v], (int)tensor.name_len, tensor.name);
                g_autoptr(GByteArray) whole = read_all(&o, path);
                bool is_stored = v == 0 || (!tensor.big_endian && elems == 1 &&
                                            g_ascii_strcasecmp(tensor.traits->name, views[v]) == 0);
                uint64_t there = is_stored ? kept[k] : kept[k] / block * elems * widths[v];
                check_cut(&cut, path, whole, there, k % 2 ? 7 : 100000);
            }
            opened_close(&cut);
        }
    }
    opened_close(&o);
}
END_TEST

/* source_end is where the bytes end that the piece depends on: with these it comes out the same,
 * with one byte less it does not come out at all. */
START_TEST(source_end_is_exact)
{
    static const uint64_t offsets[] = {0, 1, 4, 127, 128, 1000, 1023, 1024, 3000};
    opened o = open_data("golden/types.gguf");

    for (uint64_t i = 0; i < o.gguf->n_tensors; i++) {
        pn_gguf_tensor tensor = pn_gguf_tensor_at(o.gguf, i);
        g_autofree char *path =
            g_strdup_printf("tensors/f32/%.*s", (int)tensor.name_len, tensor.name);
        uint64_t ino = ino_of(&o, path), size = stat_of(&o, ino).size;
        for (unsigned k = 0; k < G_N_ELEMENTS(offsets); k++) {
            uint8_t buffer[300], again[300];
            view_piece piece, short_piece;
            if (offsets[k] >= size)
                continue;
            size_t len = MIN(sizeof buffer, size - offsets[k]);
            ck_assert_int_eq(tree_read(o.t, ino, offsets[k], buffer, len, o.scratch, &piece), 0);
            ck_assert_uint_eq(piece.len, len);
            const void *bytes = piece.direct ? piece.direct : buffer;

            for (unsigned less = 0; less < 2; less++) {
                GByteArray *start = g_byte_array_new();
                g_byte_array_append(start, o.bytes->data, (guint)(piece.source_end - less));
                opened cut = open_bytes(start, NULL);
                int result =
                    tree_read(cut.t, ino, offsets[k], again, len, cut.scratch, &short_piece);
                bool is_same =
                    result == 0 && short_piece.len == len &&
                    memcmp(short_piece.direct ? short_piece.direct : again, bytes, len) == 0;
                ck_assert_msg(is_same == (less == 0), "%s at %u", path, (unsigned)offsets[k]);
                opened_close(&cut);
            }
        }
    }
    opened_close(&o);
}
END_TEST

/* The header of a NumPy file, and the view that shows what comes behind it. */
static const struct {
    const char *file, *name, *dict, *data;
} numpy[] = {
    {"001_ok_scalar_ndims0", "s", "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "raw"},
    {"000_ok_one_f32", "a.weight", "{'descr': '<f4', 'fortran_order': False, 'shape': (8,), }",
     "raw"},
    {"005_five_dims", "a", "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 1, 1, 1, 1), }",
     "raw"},
    {"122_mmproj", "v.patch_embd.weight",
     "{'descr': '<f2', 'fortran_order': False, 'shape': (4, 3, 2, 2), }", "raw"},
    {"091_int_types", "i8", "{'descr': '|i1', 'fortran_order': False, 'shape': (32,), }", "raw"},
    {"091_int_types", "i16", "{'descr': '<i2', 'fortran_order': False, 'shape': (16,), }", "raw"},
    {"091_int_types", "i32", "{'descr': '<i4', 'fortran_order': False, 'shape': (8,), }", "raw"},
    {"091_int_types", "i64", "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }", "raw"},
    {"091_int_types", "f64", "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", "raw"},
    {"092_q8_1_q8_k", "b", "{'descr': '<f4', 'fortran_order': False, 'shape': (256,), }", "f32"},
    {"105_be_v3", "a", "{'descr': '<f4', 'fortran_order': False, 'shape': (8,), }", "f32"},
};

START_TEST(numpy_files)
{
    g_autofree char *file = g_strdup_printf("cases/%s.gguf", numpy[_i].file);
    g_autofree char *path = g_strdup_printf("tensors/npy/%s.npy", numpy[_i].name);
    g_autofree char *data_path = g_strdup_printf("tensors/%s/%s", numpy[_i].data, numpy[_i].name);
    opened o = open_data(file);
    g_autoptr(GByteArray) whole = read_all(&o, path);
    g_autoptr(GByteArray) data = read_all(&o, data_path);
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);

    ck_assert_uint_gt(whole->len, 128);
    ck_assert_mem_eq(whole->data, "\x93NUMPY\x01\x00", 8);
    size_t start = 10 + (whole->data[8] | (size_t)whole->data[9] << 8),
           dict = strlen(numpy[_i].dict);
    ck_assert_uint_eq(start % 64, 0);
    ck_assert_mem_eq(whole->data + 10, numpy[_i].dict, dict);
    for (size_t i = 10 + dict; i < start - 1; i++)
        ck_assert_int_eq(whole->data[i], ' ');
    ck_assert_int_eq(whole->data[start - 1], '\n');
    ck_assert_uint_eq(whole->len - start, data->len);
    ck_assert_mem_eq(whole->data + start, data->data, data->len);
    check_slices(&o, path, rand);
    opened_close(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensors");
    TCase *tcase = tcase_create("tensors");
    tcase_add_loop_test(tcase, values_of_cases, 0, G_N_ELEMENTS(cases));
    tcase_add_loop_test(tcase, unknown_types_have_bytes_only, 0, G_N_ELEMENTS(raw_only));
    tcase_add_loop_test(tcase, golden_values_of_every_type, 0, G_N_ELEMENTS(golden));
    tcase_add_loop_test(tcase, slices_of_every_type, 0, G_N_ELEMENTS(golden));
    tcase_add_loop_test(tcase, cut_tensors, 0, G_N_ELEMENTS(golden));
    tcase_add_test(tcase, source_end_is_exact);
    tcase_add_loop_test(tcase, numpy_files, 0, G_N_ELEMENTS(numpy));
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
