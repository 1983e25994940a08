/* An index of names: open addressing over a keyed hash.
 *
 * Every occurrence of a name has a slot of its own, at a place made of the name's hash and the
 * occurrence, so that a name which occurs 100,000 times makes no chain. The first of them counts
 * the others. Knows nothing of what is named. */
#include "gguf/names.h"

#include <string.h>

enum { FIRST_SLOTS = 16 };

/* The names' hash is secret, so nobody can choose occurrences that collide after mixing. */
static uint32_t hash_occurrence(uint64_t name_hash, uint32_t nth)
{
    uint64_t h = name_hash + nth * UINT64_C(0x9E3779B97F4A7C15);
    h = (h ^ h >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
    h = (h ^ h >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return (uint32_t)(h >> 32);
}

static void place(pn_names *names, pn_name_slot slot)
{
    uint64_t mask = names->n_slots - 1;
    uint64_t at = slot.hash & mask;
    while (names->slots[at].entry != 0)
        at = (at + 1) & mask;
    names->slots[at] = slot;
}

/* Keeps a quarter of the slots free. */
static bool make_room(pn_names *names)
{
    if (names->n_used + 1 <= names->n_slots - names->n_slots / 4)
        return true;

    pn_names grown = *names;
    grown.n_slots = MAX(names->n_slots * 2, FIRST_SLOTS);
    grown.slots = g_try_new0(pn_name_slot, grown.n_slots);
    if (grown.slots == NULL)
        return false;
    for (uint64_t i = 0; i < names->n_slots; i++)
        if (names->slots[i].entry != 0)
            place(&grown, names->slots[i]);
    g_free(names->slots);
    *names = grown;
    return true;
}

static pn_name *find(const pn_names *names, const pn_named *table, const char *bytes, size_t len,
                     uint32_t hash, uint32_t nth, uint64_t *i)
{
    if (names->n_slots == 0)
        return NULL;

    uint64_t mask = names->n_slots - 1;
    for (uint64_t at = hash & mask; names->slots[at].entry != 0; at = (at + 1) & mask) {
        if (names->slots[at].hash != hash)
            continue;
        pn_name *name = pn_named_at(table, names->slots[at].entry - 1);
        if (name->len != len || pn_name_nth(name) != nth ||
            (len > 0 && memcmp(pn_name_bytes(table, name), bytes, len) != 0))
            continue;
        *i = names->slots[at].entry - 1;
        return name;
    }
    return NULL;
}

bool pn_names_add(pn_names *names, const pn_named *table, uint64_t i)
{
    pn_name *name = pn_named_at(table, i);
    const char *bytes = pn_name_bytes(table, name);

    if (!make_room(names))
        return false;

    uint64_t name_hash = pn_siphash(names->key, bytes, name->len);
    uint32_t hash = hash_occurrence(name_hash, 1);
    uint64_t first_index;
    pn_name *first = find(names, table, bytes, name->len, hash, 1, &first_index);
    if (first == NULL) {
        name->is_first = 1;
        name->occurrence = 1;
    } else {
        name->is_first = 0;
        name->occurrence = ++first->occurrence;
        hash = hash_occurrence(name_hash, name->occurrence);
    }
    place(names, (pn_name_slot){.entry = (uint32_t)i + 1, .hash = hash});
    names->n_used++;
    return true;
}

bool pn_names_find(const pn_names *names, const pn_named *table, const char *name, size_t len,
                   uint32_t nth, uint64_t *i)
{
    uint32_t hash = hash_occurrence(pn_siphash(names->key, name, len), nth);
    return find(names, table, name, len, hash, nth, i) != NULL;
}

void pn_names_clear(pn_names *names)
{
    g_clear_pointer(&names->slots, g_free);
    names->n_slots = 0;
    names->n_used = 0;
}
