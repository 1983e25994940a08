/* Reading numbers from bytes that are aligned to nothing and may end anywhere. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t pn_load_u16(const void *p, bool big_endian)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return big_endian ? GUINT16_FROM_BE(v) : GUINT16_FROM_LE(v);
}

static inline uint32_t pn_load_u32(const void *p, bool big_endian)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return big_endian ? GUINT32_FROM_BE(v) : GUINT32_FROM_LE(v);
}

static inline uint64_t pn_load_u64(const void *p, bool big_endian)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return big_endian ? GUINT64_FROM_BE(v) : GUINT64_FROM_LE(v);
}

/* A place in a file's bytes. Every step compares with what is left; one that does not fit moves
 * nothing and returns false. */
typedef struct {
    const uint8_t *data;
    uint64_t size;
    uint64_t at;
    bool big_endian;
    bool narrow; /* version 1: lengths, counts and dimensions are 32 bits wide */
} pn_reader;

static inline uint64_t pn_reader_left(const pn_reader *r)
{
    return r->size - r->at;
}

static inline bool pn_read_skip(pn_reader *r, uint64_t n)
{
    if (n > pn_reader_left(r))
        return false;
    r->at += n;
    return true;
}

static inline bool pn_read_u32(pn_reader *r, uint32_t *out)
{
    if (pn_reader_left(r) < sizeof *out)
        return false;
    *out = pn_load_u32(r->data + r->at, r->big_endian);
    r->at += sizeof *out;
    return true;
}

static inline bool pn_read_u64(pn_reader *r, uint64_t *out)
{
    if (pn_reader_left(r) < sizeof *out)
        return false;
    *out = pn_load_u64(r->data + r->at, r->big_endian);
    r->at += sizeof *out;
    return true;
}

/* Bytes of a length, count or dimension. */
static inline unsigned pn_reader_size_bytes(const pn_reader *r)
{
    return r->narrow ? 4 : 8;
}

static inline bool pn_read_size(pn_reader *r, uint64_t *out)
{
    if (!r->narrow)
        return pn_read_u64(r, out);
    uint32_t v;
    if (!pn_read_u32(r, &v))
        return false;
    *out = v;
    return true;
}
