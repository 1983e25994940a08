/* Split sets: several files cut out of one input, one of which is named and asks for the others.
 * What is a model can be written as one file. */
#include <string.h>

#include "check-model.h"
#include "check-tree.h"
#include "check-writing.h"
#include "generate.h"
#include "mutate.h"

enum { MAX_FILES = 8 };

/* A byte that says which file is named and whether a part of the set will do; then of each file
 * its length, two bytes, and its bytes. */
typedef struct {
    uint8_t head;
    unsigned n;
    struct {
        const uint8_t *data;
        size_t size;
    } files[MAX_FILES];
} set;

static set set_read(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, data + size};
    set s = {.head = (uint8_t)fuzz_take(&in, 1)};

    while (in.at < in.end && s.n < MAX_FILES) {
        size_t len = fuzz_take(&in, 2), left = (size_t)(in.end - in.at);
        s.files[s.n].data = in.at;
        s.files[s.n].size = MIN(len, left);
        in.at += s.files[s.n++].size;
    }
    return s;
}

static bool open_shard(void *user, unsigned no, unsigned count, pn_gguf_source *out, GError **error)
{
    const set *s = user;

    g_assert_cmpuint(no, <, count);
    if (no >= s->n || s->files[no].size == 0) {
        g_set_error(error, PN_GGUF_ERROR, PN_GGUF_ERROR_SHARD, "shard %u is not there", no);
        return false;
    }
    *out = (pn_gguf_source){s->files[no].data, s->files[no].size, "folder/other.gguf"};
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_dice dice = fuzz_dice_of(data, size);
    set s = set_read(data, size);
    if (s.n == 0)
        return 0;

    unsigned named = s.head / 2 % s.n;
    pn_gguf_source source = {s.files[named].data, s.files[named].size, "folder/fuzz.gguf"};
    pn_gguf_options options = {open_shard, &s, s.head & 1};
    g_autoptr(GError) error = NULL;
    g_autoptr(pn_gguf_file) file = pn_gguf_parse(&source, &options, &error);

    g_assert_true((file == NULL) == (error != NULL));
    if (file == NULL) {
        check_sentence(error->message);
        return 0;
    }
    check_model(file);
    for (unsigned i = 0; i < file->n_shards; i++)
        g_assert_true(pn_gguf_shard_holds(file, i, file->shards[i].size));
    check_tree(file, &dice);
    check_writing(file);
    return 0;
}

/* Writes the set as an input; 0 when there is no room. */
static size_t set_write(const set *s, uint8_t *data, size_t max_size)
{
    g_autoptr(GByteArray) out = g_byte_array_new();

    g_byte_array_append(out, &s->head, 1);
    for (unsigned i = 0; i < s->n; i++) {
        size_t size = MIN(s->files[i].size, UINT16_MAX);
        uint8_t len[2] = {(uint8_t)size, (uint8_t)(size >> 8)};
        g_byte_array_append(out, len, 2);
        g_byte_array_append(out, s->files[i].data, (guint)size);
    }
    if (out->len > max_size)
        return 0;
    memcpy(data, out->data, out->len);
    return out->len;
}

/* A set of which the files fit together. */
static size_t generate_set(uint8_t *data, size_t max_size, fuzz_dice *dice)
{
    GByteArray *files[MAX_FILES];
    set s = {.head = (uint8_t)fuzz_roll(dice), .n = 2 + (unsigned)fuzz_below(dice, 3)};

    for (unsigned i = 0; i < s.n; i++) {
        g_autoptr(gguf_writer) w = writer_new(3, false);
        writer_int(w, "split.no", PN_GGUF_UINT16, i);
        writer_int(w, "split.count", PN_GGUF_UINT16, s.n);
        writer_int(w, "split.tensors.count", PN_GGUF_INT32, 2 * s.n);
        if (i == 0)
            generate_kv(w, dice);
        generate_tensor(w, 0, dice);
        generate_tensor(w, 0, dice);
        files[i] = writer_finish(w);
        s.files[i].data = files[i]->data;
        s.files[i].size = files[i]->len;
    }
    size_t size = set_write(&s, data, max_size);
    for (unsigned i = 0; i < s.n; i++)
        g_byte_array_unref(files[i]);
    return size;
}

static size_t change_one(set *s, uint8_t *data, size_t max_size, fuzz_dice *dice)
{
    unsigned i = (unsigned)fuzz_below(dice, s->n);
    size_t room = MIN(s->files[i].size + 4096, UINT16_MAX);
    g_autofree uint8_t *file = g_malloc(room);

    memcpy(file, s->files[i].data, s->files[i].size);
    s->files[i].size = mutate_gguf(file, s->files[i].size, room, dice);
    s->files[i].data = file;
    return set_write(s, data, max_size);
}

static size_t swap_two(set *s, uint8_t *data, size_t max_size, fuzz_dice *dice)
{
    unsigned i = (unsigned)fuzz_below(dice, s->n), j = (unsigned)fuzz_below(dice, s->n);
    const uint8_t *other = s->files[i].data;
    size_t size = s->files[i].size;

    s->files[i] = s->files[j];
    if (fuzz_below(dice, 2) == 0) { /* else the same file twice */
        s->files[j].data = other;
        s->files[j].size = size;
    }
    return set_write(s, data, max_size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    fuzz_dice dice = fuzz_dice_from(seed);
    g_autofree uint8_t *before = g_memdup2(data, size);
    set s = set_read(before, size);
    uint64_t roll = fuzz_below(&dice, 16);
    size_t new_size = 0;

    if (s.n == 0 || roll == 0) {
        new_size = generate_set(data, max_size, &dice);
    } else if (roll < 12) {
        new_size = change_one(&s, data, max_size, &dice);
    } else if (roll == 12) {
        new_size = swap_two(&s, data, max_size, &dice);
    } else if (roll == 13) {
        s.head = (uint8_t)fuzz_roll(&dice);
        new_size = set_write(&s, data, max_size);
    }
    return new_size > 0 ? new_size : LLVMFuzzerMutate(data, size, max_size);
}
