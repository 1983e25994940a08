/* SipHash-2-4: a hash whose collisions cannot be made without knowing its key. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t k0, k1;
} pn_siphash_key;

/* A key nobody can guess. */
pn_siphash_key pn_siphash_random_key(void);

uint64_t pn_siphash(pn_siphash_key key, const void *bytes, size_t len);
