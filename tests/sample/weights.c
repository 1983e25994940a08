/* Blocks of pseudo-random bits, whose scales make weights of them: small numbers around 0.
 *
 * Nothing is quantized here. A float has a random sign and mantissa and an exponent from a narrow
 * range; a block is random bytes with such a float16 wherever its layout has a scale. */
#include "weights.h"

/* A float16 inside a block: exponent (biased) is fixed, mantissa random. */
typedef struct {
    uint8_t offset;
    uint8_t exponent;
    bool negative;
} scale;

typedef struct {
    pn_gguf_quant type;
    uint16_t elems; /* of a block */
    uint16_t bytes;
    uint8_t n_scales;
    scale scales[2];
} block_form;

static const block_form block_forms[] = {
    {PN_GGUF_Q4_0, 32, 18, 1, {{0, 7}}},
    {PN_GGUF_Q4_1, 32, 20, 2, {{0, 7}, {2, 10, true}}},
    {PN_GGUF_Q5_0, 32, 22, 1, {{0, 6}}},
    {PN_GGUF_Q5_1, 32, 24, 2, {{0, 6}, {2, 10, true}}},
    {PN_GGUF_Q8_0, 32, 34, 1, {{0, 2}}},
    {PN_GGUF_Q2_K, 256, 84, 2, {{80, 6}, {82, 6}}},
    {PN_GGUF_Q3_K, 256, 110, 1, {{108, 4}}},
    {PN_GGUF_Q4_K, 256, 144, 2, {{0, 1}, {2, 4}}},
    {PN_GGUF_Q5_K, 256, 176, 2, {{0, 0}, {2, 4}}},
    {PN_GGUF_Q6_K, 256, 210, 1, {{208, 0}}},
};

typedef struct {
    pn_gguf_quant type;
    uint16_t bytes;
    uint8_t mantissa_bits;
    uint8_t exponent_bits;
} float_form;

static const float_form float_forms[] = {
    {PN_GGUF_F32, 4, 23, 8},
    {PN_GGUF_F16, 2, 10, 5},
    {PN_GGUF_BF16, 2, 7, 8},
    {PN_GGUF_F64, 8, 52, 11},
};

/* SplitMix64. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static void put_le(uint8_t *out, uint64_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

static const block_form *block_form_of(pn_gguf_quant type)
{
    for (size_t i = 0; i < G_N_ELEMENTS(block_forms); i++) {
        if (block_forms[i].type == type) {
            return &block_forms[i];
        }
    }
    return NULL;
}

static const float_form *float_form_of(pn_gguf_quant type)
{
    for (size_t i = 0; i < G_N_ELEMENTS(float_forms); i++) {
        if (float_forms[i].type == type) {
            return &float_forms[i];
        }
    }
    return NULL;
}

static void fill_block(const block_form *form, uint8_t *block, uint64_t *state)
{
    for (unsigned i = 0; i < form->bytes; i++) {
        block[i] = (uint8_t)(next(state) >> 56);
    }
    for (unsigned i = 0; i < form->n_scales; i++) {
        const scale *s = &form->scales[i];
        uint64_t bits = (uint64_t)s->negative << 15 | (uint64_t)s->exponent << 10;
        put_le(block + s->offset, bits | next(state) >> 54, 2);
    }
}

static void fill_float(const float_form *form, uint8_t *out, bool norm, uint64_t *state)
{
    uint64_t random = next(state);
    uint64_t bias = (UINT64_C(1) << (form->exponent_bits - 1)) - 1;
    uint64_t exponent = norm ? bias : bias - 10 + random % 5;
    uint64_t sign = norm ? 0 : random >> 63;
    uint64_t mantissa = next(state) >> (64 - form->mantissa_bits);
    uint64_t bits = sign << (form->exponent_bits + form->mantissa_bits) |
                    exponent << form->mantissa_bits | mantissa;
    put_le(out, bits, form->bytes);
}

void weights_append(GByteArray *out, pn_gguf_quant type, uint64_t n_elems, bool norm,
                    uint64_t *state)
{
    const block_form *block = block_form_of(type);
    const float_form *number = float_form_of(type);
    uint64_t bytes = block != NULL ? block->bytes : number->bytes;
    uint64_t n = block != NULL ? n_elems / block->elems : n_elems;

    guint start = out->len;
    g_byte_array_set_size(out, start + (guint)(n * bytes));
    for (uint64_t i = 0; i < n; i++) {
        uint8_t *at = out->data + start + i * bytes;
        if (block != NULL) {
            fill_block(block, at, state);
        } else {
            fill_float(number, at, norm, state);
        }
    }
}
