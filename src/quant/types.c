/* The one table of tensor types. Whatever depends on a type is a column of it; nothing else in the
 * project switches on a type's id. Ids, names and sizes are those of ggml.h and ggml-common.h. */
#include "quant/types.h"
#include "quant/blocks.h"

/* What a type has: portable code, and on x86-64 kernels for AVX2, and dot products for AVX2 and
 * where it pays for AVX-512. WIDE: an AVX-512 kernel too; FLOATS: memcpy, and a portable dot
 * product; LONG: of 8 bytes, portable code and a dot product for AVX-512. */
#define PORTABLE(name) .kernels = {[QUANT_PORTABLE] = quant_portable_##name}
#ifdef QUANT_X86
#define TWO_DOTS(name)                                                                             \
    .dots = {[QUANT_AVX2] = quant_dot_avx2_##name, [QUANT_AVX512] = quant_dot_avx512_##name}
#define TWO_KERNELS(name)                                                                          \
    .kernels = {[QUANT_PORTABLE] = quant_portable_##name, [QUANT_AVX2] = quant_avx2_##name}
#define AVX2(name)   TWO_KERNELS(name), .dots = {[QUANT_AVX2] = quant_dot_avx2_##name}
#define AVX512(name) TWO_KERNELS(name), TWO_DOTS(name)
#define WIDE(name)                                                                                 \
    .kernels = {[QUANT_PORTABLE] = quant_portable_##name,                                          \
                [QUANT_AVX2] = quant_avx2_##name,                                                  \
                [QUANT_AVX512] = quant_avx512_##name},                                             \
    TWO_DOTS(name)
#define FLOATS(name)                                                                               \
    PORTABLE(name), .dots = {[QUANT_PORTABLE] = quant_dot_portable_##name,                         \
                             [QUANT_AVX2] = quant_dot_avx2_##name,                                 \
                             [QUANT_AVX512] = quant_dot_avx512_##name}
#define LONG(name) PORTABLE(name), .dots = {[QUANT_AVX512] = quant_dot_avx512_##name}
#else
#define AVX2(name)   PORTABLE(name)
#define AVX512(name) PORTABLE(name)
#define WIDE(name)   PORTABLE(name)
#define FLOATS(name) PORTABLE(name), .dots = {[QUANT_PORTABLE] = quant_dot_portable_##name}
#define LONG(name)   PORTABLE(name)
#endif

/* The fields that a big-endian block has the other way round. */
#define SWAPS(width, ...) .swapped = {width, sizeof((uint8_t[]){__VA_ARGS__}), {__VA_ARGS__}}

/* A type whose block is one number of `size` bytes. */
#define NUMBER(id, name, size, kernel, paths)                                                      \
    [id] = {.traits = {id, name, 1, size, "one number", true, true}, SWAPS(size, 0), paths(kernel)}

/* A type of blocks of `elems` elements; its big-endian form, where one is defined, swaps the 16-bit
 * fields given. */
#define BLOCK(id, name, elems, layout, kernel, paths)                                              \
    [id] = {.traits = {id, name, elems, sizeof(block_##kernel), layout, true, false}, paths(kernel)}
#define SWAPPED_BLOCK(id, name, elems, layout, kernel, paths, ...)                                 \
    [id] = {.traits = {id, name, elems, sizeof(block_##kernel), layout, true, true},               \
            SWAPS(2, __VA_ARGS__),                                                                 \
            paths(kernel)}
#define AT(block, field) offsetof(block, field)

static const quant_type types[] = {
    NUMBER(PN_GGUF_F32, "F32", 4, f32, FLOATS),
    NUMBER(PN_GGUF_F16, "F16", 2, f16, AVX512),
    SWAPPED_BLOCK(PN_GGUF_Q4_0, "Q4_0", 32, "d16, qs16", q4_0, AVX512, AT(block_q4_0, d)),
    SWAPPED_BLOCK(PN_GGUF_Q4_1, "Q4_1", 32, "d16, m16, qs16", q4_1, AVX2, AT(block_q4_1, d),
                  AT(block_q4_1, m)),
    BLOCK(PN_GGUF_Q5_0, "Q5_0", 32, "d16, qh4, qs16", q5_0, AVX2),
    BLOCK(PN_GGUF_Q5_1, "Q5_1", 32, "d16, m16, qh4, qs16", q5_1, AVX2),
    SWAPPED_BLOCK(PN_GGUF_Q8_0, "Q8_0", 32, "d16, qs i8×32", q8_0, AVX2, AT(block_q8_0, d)),
    SWAPPED_BLOCK(PN_GGUF_Q8_1, "Q8_1", 32, "d16, s16, qs i8×32", q8_1, AVX2, AT(block_q8_1, d),
                  AT(block_q8_1, s)),
    SWAPPED_BLOCK(PN_GGUF_Q2_K, "Q2_K", 256, "scales16, qs64, d16, dmin16", q2_k, AVX2,
                  AT(block_q2_k, d), AT(block_q2_k, dmin)),
    SWAPPED_BLOCK(PN_GGUF_Q3_K, "Q3_K", 256, "hmask32, qs64, scales12, d16", q3_k, AVX2,
                  AT(block_q3_k, d)),
    SWAPPED_BLOCK(PN_GGUF_Q4_K, "Q4_K", 256, "d16, dmin16, scales12, qs128", q4_k, AVX512,
                  AT(block_q4_k, d), AT(block_q4_k, dmin)),
    SWAPPED_BLOCK(PN_GGUF_Q5_K, "Q5_K", 256, "d16, dmin16, scales12, qh32, qs128", q5_k, AVX512,
                  AT(block_q5_k, d), AT(block_q5_k, dmin)),
    SWAPPED_BLOCK(PN_GGUF_Q6_K, "Q6_K", 256, "ql128, qh64, scales i8×16, d16", q6_k, AVX512,
                  AT(block_q6_k, d)),
    BLOCK(PN_GGUF_Q8_K, "Q8_K", 256, "d f32, qs i8×256, bsums i16×16", q8_k, AVX2),
    BLOCK(PN_GGUF_IQ2_XXS, "IQ2_XXS", 256, "d16, qs u16×32", iq2_xxs, AVX2),
    BLOCK(PN_GGUF_IQ2_XS, "IQ2_XS", 256, "d16, qs u16×32, scales8", iq2_xs, AVX2),
    BLOCK(PN_GGUF_IQ3_XXS, "IQ3_XXS", 256, "d16, qs64, signs and scales u32×8", iq3_xxs, AVX2),
    BLOCK(PN_GGUF_IQ1_S, "IQ1_S", 256, "d16, qs32, qh u16×8", iq1_s, AVX2),
    BLOCK(PN_GGUF_IQ4_NL, "IQ4_NL", 32, "d16, qs16", iq4_nl, AVX512),
    BLOCK(PN_GGUF_IQ3_S, "IQ3_S", 256, "d16, qs64, qh8, signs32, scales4", iq3_s, AVX2),
    BLOCK(PN_GGUF_IQ2_S, "IQ2_S", 256, "d16, qs32, signs32, qh8, scales8", iq2_s, AVX2),
    BLOCK(PN_GGUF_IQ4_XS, "IQ4_XS", 256, "d16, scales_h u16, scales_l4, qs128", iq4_xs, AVX512),
    NUMBER(PN_GGUF_I8, "I8", 1, i8, PORTABLE),
    NUMBER(PN_GGUF_I16, "I16", 2, i16, PORTABLE),
    NUMBER(PN_GGUF_I32, "I32", 4, i32, PORTABLE),
    NUMBER(PN_GGUF_I64, "I64", 8, i64, LONG),
    NUMBER(PN_GGUF_F64, "F64", 8, f64, LONG),
    BLOCK(PN_GGUF_IQ1_M, "IQ1_M", 256, "qs32, qh16, scales8", iq1_m, AVX2),
    NUMBER(PN_GGUF_BF16, "BF16", 2, bf16, WIDE),
    BLOCK(PN_GGUF_TQ1_0, "TQ1_0", 256, "qs48, qh4, d16", tq1_0, AVX512),
    BLOCK(PN_GGUF_TQ2_0, "TQ2_0", 256, "qs64, d16", tq2_0, AVX2),
    BLOCK(PN_GGUF_MXFP4, "MXFP4", 32, "e E8M0, qs16", mxfp4, AVX512),
    BLOCK(PN_GGUF_NVFP4, "NVFP4", 64, "d UE4M3×4, qs32", nvfp4, AVX2),
    BLOCK(PN_GGUF_Q1_0, "Q1_0", 128, "d16, qs16", q1_0, AVX2),
    BLOCK(PN_GGUF_Q2_0, "Q2_0", 64, "d16, qs16", q2_0, AVX2),
};

enum { N_IDS = sizeof types / sizeof types[0] };

const quant_type *quant_type_of(uint32_t id)
{
    return id < N_IDS && types[id].traits.name ? &types[id] : NULL;
}

const pn_quant_traits *pn_quant_traits_of(uint32_t id)
{
    const quant_type *type = quant_type_of(id);

    return type ? &type->traits : NULL;
}

const pn_quant_traits *pn_quant_traits_at(size_t i)
{
    for (uint32_t id = 0; id < N_IDS; id++)
        if (types[id].traits.name && i-- == 0)
            return &types[id].traits;
    return NULL;
}
