/* SipHash-2-4, after Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012). */
#include "gguf/siphash.h"

#include "gguf/reader.h"

#include <sys/auxv.h>
#include <sys/random.h>

pn_siphash_key pn_siphash_random_key(void)
{
    pn_siphash_key key = {0};
    if (getrandom(&key, sizeof key, GRND_NONBLOCK) == (ssize_t)sizeof key)
        return key;
    /* The 16 random bytes that the kernel gives every program. */
    const void *kernels = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    if (kernels != NULL)
        memcpy(&key, kernels, sizeof key);
    return key;
}

static uint64_t rotl(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t v[4], int n)
{
    while (n-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotl(v[1], 13) ^ v[0];
        v[3] = rotl(v[3], 16) ^ v[2];
        v[0] = rotl(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotl(v[1], 17) ^ v[2];
        v[3] = rotl(v[3], 21) ^ v[0];
        v[2] = rotl(v[2], 32);
    }
}

static void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

uint64_t pn_siphash(pn_siphash_key key, const void *bytes, size_t len)
{
    uint64_t v[4] = {
        key.k0 ^ UINT64_C(0x736f6d6570736575),
        key.k1 ^ UINT64_C(0x646f72616e646f6d),
        key.k0 ^ UINT64_C(0x6c7967656e657261),
        key.k1 ^ UINT64_C(0x7465646279746573),
    };
    const uint8_t *p = bytes;
    uint64_t last = (uint64_t)len << 56;

    for (; len >= 8; p += 8, len -= 8)
        absorb(v, pn_load_u64(p, false));
    for (size_t i = 0; i < len; i++)
        last |= (uint64_t)p[i] << (8 * i);
    absorb(v, last);

    v[2] ^= 0xFF;
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
