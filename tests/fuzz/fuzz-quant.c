/* The number formats: every path of instructions gives what the portable one gives, from anywhere
 * to anywhere, whole or block by block, swapping twice changes nothing, and a matrix of them shows
 * in its product whether its weights are finite. */
#include <math.h>
#include <string.h>

#include <pantheon/qmv.h>

#include "fuzz.h"
#include "quant/types.h"

/* Buffers of whole blocks that begin at an odd address and end where the sanitizer looks. */
typedef struct {
    const pn_quant_traits *traits;
    size_t n_blocks, n_elems;
    const uint8_t *src;
    size_t skew;
} blocks;

static bool same_value(uint32_t a, uint32_t b)
{
    bool both_nan = (a & 0x7fffffff) > 0x7f800000 && (b & 0x7fffffff) > 0x7f800000;
    return a == b || both_nan;
}

static void check_same(const void *got, const void *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t a, b;
        memcpy(&a, (const uint8_t *)got + 4 * i, 4);
        memcpy(&b, (const uint8_t *)wanted + 4 * i, 4);
        g_assert_true(same_value(a, b));
    }
}

static void check_path(const blocks *b, quant_path path, const float *wanted)
{
    size_t elems = b->traits->block_elems;
    g_autofree uint8_t *out = g_malloc(b->n_elems * 4 + b->skew);
    float *dst = (float *)(void *)(out + b->skew);

    if (!quant_path_choose(path))
        return;
    pn_dequantize(b->traits->id, false, b->src, dst, b->n_blocks);
    check_same(dst, wanted, b->n_elems);
    for (size_t i = 0; i < b->n_blocks; i++) {
        g_autofree float *one = g_new(float, elems);
        pn_dequantize(b->traits->id, false, b->src + i * b->traits->block_bytes, one, 1);
        check_same(one, wanted + i * elems, elems);
    }
}

static void check_swap(const blocks *b, const float *wanted)
{
    size_t size = b->n_blocks * b->traits->block_bytes;
    g_autofree uint8_t *swapped = g_malloc(size), *again = g_malloc(size);
    g_autofree float *values = g_new(float, b->n_elems);

    pn_quant_swap(b->traits->id, b->src, swapped, b->n_blocks);
    pn_dequantize(b->traits->id, true, swapped, values, b->n_blocks);
    check_same(values, wanted, b->n_elems);
    pn_quant_swap(b->traits->id, swapped, again, b->n_blocks);
    g_assert_true(memcmp(again, b->src, size) == 0);
    pn_quant_swap(b->traits->id, swapped, swapped, b->n_blocks);
    g_assert_true(memcmp(swapped, b->src, size) == 0);
}

static float widen_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* Neither neighbour of what a float was rounded to is nearer. */
static void check_nearest_bf16(float value, uint16_t bits)
{
    if (isnan(value)) {
        g_assert_true(isnan(widen_bf16(bits)));
        return;
    }
    double error = fabs((double)value - (double)widen_bf16(bits));
    if (isinf(widen_bf16(bits))) {
        g_assert_true(fabs(value) >= widen_bf16(0x7f7f));
        return;
    }
    for (int step = -1; step <= 1; step += 2) {
        double neighbour = (double)widen_bf16((uint16_t)(bits + step));
        if (!isnan(neighbour) && (neighbour < 0) == (value < 0))
            g_assert_true(fabs((double)value - neighbour) >= error);
    }
}

/* In every path, one by one and together. */
static void check_narrow(const float *values, size_t n)
{
    g_autofree uint16_t *first = g_new(uint16_t, n), *together = g_new(uint16_t, n);

    quant_path_choose(QUANT_PORTABLE);
    for (size_t i = 0; i < n; i++)
        pn_f32_to_f16(values + i, first + i, 1);
    for (int path = 0; path < QUANT_PATHS; path++) {
        if (!quant_path_choose((quant_path)path))
            continue;
        pn_f32_to_f16(values, together, n);
        for (size_t i = 0; i < n; i++)
            g_assert_true(together[i] == first[i] || isnan(values[i]));
        pn_f32_to_bf16(values, together, n);
        for (size_t i = 0; i < n; i++)
            check_nearest_bf16(values[i], together[i]);
    }
}

/* How the weights of a row are: what is not finite spoils it, and what is small cannot. */
static void check_element(pn_gguf_quant type, const float *weights, size_t cols, float y)
{
    bool may_overflow = type == PN_GGUF_MXFP4 || type == PN_GGUF_Q8_K; /* scale * code */
    bool all_finite = true, all_small = true;

    for (size_t i = 0; i < cols; i++) {
        all_finite = all_finite && isfinite(weights[i]);
        all_small = all_small && fabsf(weights[i]) < 0x1p60f;
    }
    if (!all_finite)
        g_assert_true(may_overflow || !isfinite(y));
    else if (all_small)
        g_assert_true(isfinite(y));
}

/* The blocks as a matrix of one or more columns of blocks. */
static void check_product(const blocks *b, const float *weights, fuzz_dice *dice)
{
    size_t across = 1 + fuzz_below(dice, MIN(b->n_blocks, 9)), rows = b->n_blocks / across;
    size_t cols = across * b->traits->block_elems;
    pn_qweight w = {b->src, b->traits->id, (int)rows, (int)cols, across * b->traits->block_bytes};
    g_autofree float *x = g_new(float, cols), *y = g_new(float, rows);

    for (size_t i = 0; i < cols; i++)
        x[i] = (float)(1 + fuzz_below(dice, 1000)) / 500 * (fuzz_below(dice, 2) ? 1 : -1);
    for (int path = 0; path < QUANT_PATHS; path++) {
        if (!quant_path_choose((quant_path)path))
            continue;
        g_assert_cmpint(pn_qmv(&w, x, y, (unsigned)fuzz_below(dice, 3)), ==, 0);
        for (size_t row = 0; row < rows; row++)
            check_element(b->traits->id, weights + row * cols, cols, y[row]);
    }
}

/* A type, a misalignment, then blocks. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, data + size};
    size_t n_types = 0, skew;

    while (pn_quant_traits_at(n_types))
        n_types++;
    const pn_quant_traits *traits = pn_quant_traits_at(fuzz_take(&in, 1) % n_types);
    skew = fuzz_take(&in, 1) % 32;
    size_t n_blocks = (size_t)(in.end - in.at) / traits->block_bytes;
    size_t n_bytes = n_blocks * traits->block_bytes;
    if (n_blocks == 0) {
        pn_dequantize(traits->id, false, NULL, NULL, 0);
        return 0;
    }
    g_autofree uint8_t *copy = g_malloc(n_bytes + skew);
    memcpy(copy + skew, in.at, n_bytes);

    blocks b = {traits, n_blocks, n_blocks * traits->block_elems, copy + skew, skew};
    g_autofree float *wanted = g_new(float, b.n_elems);
    quant_path_choose(QUANT_PORTABLE);
    pn_dequantize(traits->id, false, in.at, wanted, n_blocks);
    for (int path = 0; path < QUANT_PATHS; path++)
        check_path(&b, (quant_path)path, wanted);
    if (traits->be_defined)
        check_swap(&b, wanted);
    check_narrow(wanted, b.n_elems);
    fuzz_dice dice = fuzz_dice_of(data, size);
    check_product(&b, wanted, &dice);
    return 0;
}
