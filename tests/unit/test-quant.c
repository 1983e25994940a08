/* The table of types, and dequantization against the golden values. */
#include "golden.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void check_values(const char *what, const char *name, const uint32_t *want,
                         const void *got_values, uint64_t n)
{
    const uint8_t *got = got_values;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, got + 4 * i, 4);
        if (!same_value(bits, want[i]))
            ck_abort_msg("%s of %s: element %" PRIu64 " is %08x, should be %08x", what, name, i,
                         bits, want[i]);
    }
}

static const struct {
    const char *file;
    const char *values;
    unsigned n_types;
} golden[] = {
    {"types.gguf", "f32", 28},
    {"types-extra.gguf", "f32-extra", 7},
    {"types-be.gguf", "f32", 11},
};

START_TEST(test_golden)
{
    golden_file file = golden_open(golden[_i].file);
    ck_assert_uint_eq(file.tensors->len, golden[_i].n_types);
    for (guint i = 0; i < file.tensors->len; i++) {
        const golden_tensor *t = &g_array_index(file.tensors, golden_tensor, i);
        const pn_quant_traits *traits = pn_quant_traits_of(t->type);
        ck_assert_ptr_nonnull(traits);
        g_autofree uint32_t *want = golden_values(golden[_i].values, t);
        g_autofree float *got = g_new(float, t->n_elems);
        pn_dequantize(traits->id, file.big_endian, t->data, got, t->n_elems / traits->block_elems);
        check_values(golden[_i].file, t->name, want, got, t->n_elems);
    }
    golden_close(&file);
}
END_TEST

/* Any alignment of source and destination gives the same. The buffers are exact, so that a byte
 * read or written past either end is an error to the sanitizer. */
START_TEST(test_golden_misaligned)
{
    golden_file file = golden_open(golden[_i].file);
    for (guint i = 0; i < file.tensors->len; i++) {
        const golden_tensor *t = &g_array_index(file.tensors, golden_tensor, i);
        const pn_quant_traits *traits = pn_quant_traits_of(t->type);
        g_autofree uint32_t *want = golden_values(golden[_i].values, t);
        size_t n_blocks = t->n_elems / traits->block_elems;
        size_t src_size = n_blocks * traits->block_bytes;
        for (size_t skew = 0; skew < 16; skew++) {
            g_autofree uint8_t *src = g_malloc(src_size + skew);
            g_autofree uint8_t *dst = g_malloc(t->n_elems * 4 + skew);
            memcpy(src + skew, t->data, src_size);
            pn_dequantize(traits->id, file.big_endian, src + skew, (float *)(void *)(dst + skew),
                          n_blocks);
            check_values("misaligned", t->name, want, dst + skew, t->n_elems);
        }
    }
    golden_close(&file);
}
END_TEST

START_TEST(test_zero_blocks)
{
    const pn_quant_traits *traits = pn_quant_traits_at(_i);
    float untouched = 42;
    pn_dequantize(traits->id, false, NULL, NULL, 0);
    pn_dequantize(traits->id, false, &untouched, &untouched, 0);
    if (traits->be_defined) {
        pn_dequantize(traits->id, true, NULL, NULL, 0);
        pn_quant_swap(traits->id, NULL, NULL, 0);
    }
    ck_assert_float_eq(untouched, 42);
}
END_TEST

static const pn_quant_traits expected[] = {
    {PN_GGUF_F32, "F32", 1, 4},
    {PN_GGUF_F16, "F16", 1, 2},
    {PN_GGUF_Q4_0, "Q4_0", 32, 18},
    {PN_GGUF_Q4_1, "Q4_1", 32, 20},
    {PN_GGUF_Q5_0, "Q5_0", 32, 22},
    {PN_GGUF_Q5_1, "Q5_1", 32, 24},
    {PN_GGUF_Q8_0, "Q8_0", 32, 34},
    {PN_GGUF_Q8_1, "Q8_1", 32, 36},
    {PN_GGUF_Q2_K, "Q2_K", 256, 84},
    {PN_GGUF_Q3_K, "Q3_K", 256, 110},
    {PN_GGUF_Q4_K, "Q4_K", 256, 144},
    {PN_GGUF_Q5_K, "Q5_K", 256, 176},
    {PN_GGUF_Q6_K, "Q6_K", 256, 210},
    {PN_GGUF_Q8_K, "Q8_K", 256, 292},
    {PN_GGUF_IQ2_XXS, "IQ2_XXS", 256, 66},
    {PN_GGUF_IQ2_XS, "IQ2_XS", 256, 74},
    {PN_GGUF_IQ3_XXS, "IQ3_XXS", 256, 98},
    {PN_GGUF_IQ1_S, "IQ1_S", 256, 50},
    {PN_GGUF_IQ4_NL, "IQ4_NL", 32, 18},
    {PN_GGUF_IQ3_S, "IQ3_S", 256, 110},
    {PN_GGUF_IQ2_S, "IQ2_S", 256, 82},
    {PN_GGUF_IQ4_XS, "IQ4_XS", 256, 136},
    {PN_GGUF_I8, "I8", 1, 1},
    {PN_GGUF_I16, "I16", 1, 2},
    {PN_GGUF_I32, "I32", 1, 4},
    {PN_GGUF_I64, "I64", 1, 8},
    {PN_GGUF_F64, "F64", 1, 8},
    {PN_GGUF_IQ1_M, "IQ1_M", 256, 56},
    {PN_GGUF_BF16, "BF16", 1, 2},
    {PN_GGUF_TQ1_0, "TQ1_0", 256, 54},
    {PN_GGUF_TQ2_0, "TQ2_0", 256, 66},
    {PN_GGUF_MXFP4, "MXFP4", 32, 17},
    {PN_GGUF_NVFP4, "NVFP4", 64, 36},
    {PN_GGUF_Q1_0, "Q1_0", 128, 18},
    {PN_GGUF_Q2_0, "Q2_0", 64, 18},
};

START_TEST(test_traits)
{
    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        const pn_quant_traits *traits = pn_quant_traits_at(i);
        ck_assert_ptr_nonnull(traits);
        ck_assert_ptr_eq(traits, pn_quant_traits_of(expected[i].id));
        ck_assert_int_eq(traits->id, expected[i].id);
        ck_assert_str_eq(traits->name, expected[i].name);
        ck_assert_uint_eq(traits->block_elems, expected[i].block_elems);
        ck_assert_uint_eq(traits->block_bytes, expected[i].block_bytes);
        ck_assert_uint_le(traits->block_elems, PN_QUANT_MAX_BLOCK_ELEMS);
        ck_assert_uint_le(traits->block_bytes, PN_QUANT_MAX_BLOCK_BYTES);
        ck_assert(traits->dequantizes);
    }
    ck_assert_ptr_null(pn_quant_traits_at(G_N_ELEMENTS(expected)));
    ck_assert_ptr_null(pn_quant_traits_at(SIZE_MAX));

    static const uint32_t unknown[] = {4, 5, 31, 33, 36, 38, 43, 97, 139, 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < G_N_ELEMENTS(unknown); i++)
        ck_assert_ptr_null(pn_quant_traits_of(unknown[i]));
}
END_TEST

START_TEST(test_be_defined)
{
    static const char *const defined = " F32 F16 BF16 F64 I8 I16 I32 I64 Q4_0 Q4_1 Q8_0 Q8_1 Q2_K "
                                       "Q3_K Q4_K Q5_K Q6_K ";
    const pn_quant_traits *traits;
    for (size_t i = 0; (traits = pn_quant_traits_at(i)); i++) {
        g_autofree char *word = g_strdup_printf(" %s ", traits->name);
        ck_assert_int_eq(traits->be_defined, strstr(defined, word) != NULL);
    }
}
END_TEST

/* Swapping twice is nothing, in place too. */
START_TEST(test_swap)
{
    enum { N = 3 };
    uint8_t block[N * PN_QUANT_MAX_BLOCK_BYTES], swapped[sizeof block], back[sizeof block];
    const pn_quant_traits *traits;
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t i = 0; (traits = pn_quant_traits_at(i)); i++) {
        size_t size = N * traits->block_bytes;
        if (!traits->be_defined)
            continue;
        pn_quant_swap(traits->id, block, swapped, N);
        ck_assert_int_eq(memcmp(block, swapped, size) == 0, traits->block_bytes == 1);
        pn_quant_swap(traits->id, swapped, back, N);
        ck_assert_mem_eq(block, back, size);
        pn_quant_swap(traits->id, swapped, swapped, N);
        ck_assert_mem_eq(block, swapped, size);
    }
}
END_TEST

/* All float16 values, from their definition. */
START_TEST(test_f16_all)
{
    for (uint32_t h = 0; h < 65536; h++) {
        uint8_t bytes[2] = {(uint8_t)h, (uint8_t)(h >> 8)};
        float got;
        pn_dequantize(PN_GGUF_F16, false, bytes, &got, 1);
        int exponent = h >> 10 & 31;
        double magnitude = exponent == 0
                               ? (h & 1023) * 0x1p-24
                               : (1024 + (h & 1023)) * 0x1p-25 * (double)(1ull << exponent);
        if (exponent == 31 && (h & 1023)) {
            ck_assert(got != got);
            continue;
        }
        float want = exponent == 31 ? (float)INFINITY : (float)magnitude;
        want = h & 0x8000 ? -want : want;
        if (memcmp(&got, &want, 4) != 0)
            ck_abort_msg("float16 %04x is %a, should be %a", h, got, want);
    }
}
END_TEST

/* All E8M0 scales: 2^(e-127) times the E2M1 value 1 (code 2). */
START_TEST(test_e8m0_all)
{
    for (int e = 0; e < 256; e++) {
        uint8_t block[17] = {(uint8_t)e, 0x02};
        float got[32];
        pn_dequantize(PN_GGUF_MXFP4, false, block, got, 1);
        ck_assert(got[0] == (e == 255 ? INFINITY : ldexp(1, e - 127)));
        ck_assert(got[1] == 0 && got[16] == 0);
    }
}
END_TEST

/* All UE4M3 scales, times 1. */
START_TEST(test_ue4m3_all)
{
    for (int x = 0; x < 256; x++) {
        uint8_t block[36] = {0, 0, (uint8_t)x, 0};
        float got[64];
        memset(block + 4, 0x22, 32);
        pn_dequantize(PN_GGUF_NVFP4, false, block, got, 1);
        int exponent = x >> 3 & 15;
        double want = exponent ? ldexp(8 + (x & 7), exponent - 10) : ldexp(x & 7, -9);
        if (x == 0x7f)
            want = 0;
        for (int i = 0; i < 64; i++)
            ck_assert(got[i] == (i / 16 == 2 ? want : 0));
    }
}
END_TEST

int main(void)
{
    size_t n_types = 0;
    while (pn_quant_traits_at(n_types))
        n_types++;

    Suite *suite = suite_create("quant");
    TCase *tcase = tcase_create("quant");
    tcase_add_loop_test(tcase, test_golden, 0, G_N_ELEMENTS(golden));
    tcase_add_loop_test(tcase, test_golden_misaligned, 0, G_N_ELEMENTS(golden));
    tcase_add_loop_test(tcase, test_zero_blocks, 0, (int)n_types);
    tcase_add_test(tcase, test_traits);
    tcase_add_test(tcase, test_be_defined);
    tcase_add_test(tcase, test_swap);
    tcase_add_test(tcase, test_f16_all);
    tcase_add_test(tcase, test_e8m0_all);
    tcase_add_test(tcase, test_ue4m3_all);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
