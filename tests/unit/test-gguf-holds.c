/* Whether a header still says what it said: every byte of it is spoiled in turn. */
#include "gguf-test.h"

static bool is_alignment(const pn_gguf_kv *kv)
{
    return kv->key_len == strlen("general.alignment") &&
           memcmp(kv->key, "general.alignment", kv->key_len) == 0;
}

/* For each byte of the header whether it is part of a value. */
static bool *values_of(const pn_gguf_file *file)
{
    bool *values = g_new0(bool, file->header_size);
    for (uint64_t i = 0; i < file->n_kv; i++) {
        pn_gguf_kv kv = pn_gguf_kv_at(file, i);
        uint64_t at = (uint64_t)(kv.data - file->shards[0].data);
        if (!is_alignment(&kv))
            memset(values + at, true, kv.nbytes);
    }
    return values;
}

static void spoil_each_byte(const parsed *c, const char *path)
{
    g_autofree bool *values = values_of(c->file);
    for (uint64_t i = 0; i < c->file->header_size; i++) {
        c->bytes[i] ^= 0x10;
        ck_assert_msg(pn_gguf_shard_holds(c->file, 0, c->source.size) == values[i], "%s, byte %d",
                      path, (int)i);
        ck_assert_msg(pn_gguf_shard_holds(c->file, 0, i), "%s, cut at %d", path, (int)i);
        c->bytes[i] ^= 0x10;
    }
    ck_assert(pn_gguf_shard_holds(c->file, 0, c->source.size));
}

/* All versions and byte orders, names that occur twice, empty ones, nested arrays. */
START_TEST(test_cases)
{
    enum { LONG = 8192 };
    g_autofree char *folder = g_build_filename(g_getenv("PN_TEST_DATA"), "cases", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    int spoiled = 0;
    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_autofree char *bytes = NULL;
        gsize size;
        ck_assert(g_file_get_contents(path, &bytes, &size, NULL));
        g_autoptr(parsed) c = parse_bytes(bytes, size);
        if (c->file != NULL)
            ck_assert_msg(pn_gguf_shard_holds(c->file, 0, size), "%s", path);
        if (c->file != NULL && c->file->header_size < LONG) {
            spoil_each_byte(c, path);
            spoiled++;
        }
    }
    ck_assert_int_gt(spoiled, 30);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("gguf-holds");
    tcase_add_test(tc, test_cases);
    return run_suite("gguf-holds", tc);
}
