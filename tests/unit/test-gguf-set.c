/* Split sets: whole ones named by any member, and everything that can be wrong with one. */
#include "gguf-test.h"

#include "gguf/split.h"

#include <glib/gstdio.h>
#include <unistd.h>

enum { N_SHARDS = 3 };

/* One file of a set as the tests make it: shard 0 has the metadata and no tensors of its own beyond
 * the first, as llama.cpp's splitter does. */
typedef struct {
    bool big_endian;
    uint32_t version;
    uint64_t no, count, n_tensors;
    pn_gguf_type type; /* of split.no and split.count */
    bool no_keys;      /* without split.* */
    uint32_t alignment;
    const char *tensor; /* the name of its own */
    const char *arch;
    size_t cut; /* bytes missing at the end */
    bool missing;
} shard;

static void make_set(shard shards[N_SHARDS])
{
    static const char *const names[N_SHARDS] = {"a", "b", "c"};
    for (unsigned i = 0; i < N_SHARDS; i++)
        shards[i] = (shard){
            .version = 3,
            .no = i,
            .count = N_SHARDS,
            .n_tensors = 2 * N_SHARDS,
            .type = PN_GGUF_UINT16,
            .alignment = 32,
            .tensor = names[i],
            .arch = i == 0 ? "llama" : NULL,
        };
}

/* Two tensors a shard, of 8 float32: `x` all no + 1, then `x2` all 10 * (no + 1). */
static GByteArray *render(const shard *s)
{
    g_autoptr(gguf_writer) w = writer_new(s->version, s->big_endian);
    g_autofree char *second = g_strdup_printf("%s2", s->tensor);

    if (s->arch != NULL)
        writer_string(w, "general.architecture", s->arch);
    if (!s->no_keys) {
        writer_int(w, "split.no", s->type, s->no);
        writer_int(w, "split.count", s->type, s->count);
        writer_int(w, "split.tensors.count", PN_GGUF_INT32, s->n_tensors);
    }
    if (s->alignment != 32)
        writer_alignment(w, s->alignment);
    for (unsigned t = 1; t <= 10; t += 9) {
        uint32_t bits[8];
        for (int i = 0; i < 8; i++) {
            float value = (float)(t * (s->no + 1));
            memcpy(&bits[i], &value, 4);
            bits[i] = s->big_endian ? GUINT32_TO_BE(bits[i]) : GUINT32_TO_LE(bits[i]);
        }
        writer_tensor(w, t == 1 ? s->tensor : second, -1, 0, 1, (uint64_t[]){8}, bits, 32);
    }
    GByteArray *bytes = writer_finish(w);
    g_byte_array_set_size(bytes, bytes->len - (guint)s->cut);
    return bytes;
}

/* The set in memory. */
typedef struct {
    GByteArray *bytes[N_SHARDS];
    const shard *shards;
} opener;

static char *shard_path(unsigned no)
{
    return g_strdup_printf("m-%05u-of-00003.gguf", no + 1);
}

static bool open_shard(void *user, unsigned no, unsigned count, pn_gguf_source *out, GError **error)
{
    const opener *o = user;
    static char *paths[N_SHARDS];
    if (paths[no % N_SHARDS] == NULL)
        paths[no % N_SHARDS] = shard_path(no % N_SHARDS);
    if (no >= N_SHARDS || o->shards[no].missing) {
        g_set_error(error, PN_GGUF_ERROR, PN_GGUF_ERROR_IO, "m-%05u-of-%05u.gguf: No such file",
                    no + 1, count);
        return false;
    }
    *out = (pn_gguf_source){o->bytes[no]->data, o->bytes[no]->len, paths[no]};
    return true;
}

static void opener_init(opener *o, const shard shards[N_SHARDS])
{
    o->shards = shards;
    for (unsigned i = 0; i < N_SHARDS; i++)
        o->bytes[i] = render(&shards[i]);
}

static void opener_clear(opener *o)
{
    for (unsigned i = 0; i < N_SHARDS; i++)
        g_byte_array_unref(o->bytes[i]);
}

static pn_gguf_file *parse_set(opener *o, unsigned named, bool partial, GError **error)
{
    g_autofree char *path = shard_path(named);
    pn_gguf_source source = {o->bytes[named]->data, o->bytes[named]->len, path};
    pn_gguf_options options = {.open_shard = open_shard, .user = o, .partial = partial};
    return pn_gguf_parse(&source, &options, error);
}

static void check_tensor(const pn_gguf_file *file, uint64_t i, const char *name, unsigned no,
                         float value)
{
    pn_gguf_tensor t = pn_gguf_tensor_at(file, i);
    g_autofree char *path = shard_path(no);
    ck_assert_uint_eq(t.name_len, strlen(name));
    ck_assert_mem_eq(t.name, name, t.name_len);
    ck_assert_uint_eq(t.shard, no);
    ck_assert_str_eq(pn_gguf_shard_name(file, no), path);
    ck_assert_uint_eq(t.available, 32);
    ck_assert_int_eq(t.big_endian, file->shards[no].big_endian);
    float got;
    pn_dequantize(PN_GGUF_F32, t.big_endian, t.data, &got, 1);
    ck_assert(got == value);
}

static void check_whole(const pn_gguf_file *file)
{
    static const char *const names[] = {"a", "a2", "b", "b2", "c", "c2"};
    const char *arch;
    uint64_t len, i;

    ck_assert_uint_eq(file->n_shards, N_SHARDS);
    ck_assert_uint_eq(file->n_tensors, 2 * N_SHARDS);
    ck_assert_uint_eq(file->n_problems, 0);
    ck_assert(pn_gguf_get_string(file, "general.architecture", &arch, &len) && len == 5);
    for (unsigned t = 0; t < 6; t++) {
        check_tensor(file, t, names[t], t / 2, (float)((t % 2 ? 10 : 1) * (t / 2 + 1)));
        ck_assert(pn_gguf_find_tensor(file, names[t], strlen(names[t]), 1, &i) && i == t);
    }
}

/* Sets that are in order. */
static void different_alignments(shard *s)
{
    s[0].alignment = 64;
    s[1].alignment = 8;
    s[2].alignment = 4096;
}

static void big_endian_mix(shard *s)
{
    s[1].big_endian = true;
}

static void big_endian_first(shard *s)
{
    s[0].big_endian = true;
}

static void versions(shard *s)
{
    s[0].version = 1;
    s[1].version = 2;
}

static void integer_types(shard *s)
{
    s[0].type = PN_GGUF_INT64;
    s[1].type = PN_GGUF_UINT8;
    s[2].type = PN_GGUF_INT32;
}

static void metadata_everywhere(shard *s)
{
    s[1].arch = s[2].arch = "llama";
}

static void (*const good[])(shard *) = {
    NULL,     different_alignments, big_endian_mix,     big_endian_first,
    versions, integer_types,        metadata_everywhere};

START_TEST(test_good)
{
    shard shards[N_SHARDS];
    opener o;

    make_set(shards);
    if (good[_i] != NULL)
        good[_i](shards);
    opener_init(&o, shards);
    for (unsigned named = 0; named < N_SHARDS; named++)
        for (int partial = 0; partial < 2; partial++) {
            g_autoptr(GError) error = NULL;
            g_autoptr(pn_gguf_file) file = parse_set(&o, named, partial, &error);
            ck_assert_msg(file != NULL, "%s", file == NULL ? error->message : "");
            check_whole(file);
            ck_assert_uint_eq(file->alignment, shards[0].alignment);
            ck_assert_int_eq(file->big_endian, shards[0].big_endian);
            for (unsigned i = 0; i < N_SHARDS; i++) {
                ck_assert(file->shards[i].present);
                ck_assert_ptr_eq(file->shards[i].data, o.bytes[i]->data);
                ck_assert_uint_eq(file->shards[i].size, o.bytes[i]->len);
                ck_assert_uint_eq(file->shards[i].alignment, shards[i].alignment);
            }
        }
    opener_clear(&o);
}
END_TEST

/* Sets that are not. */
static void missing(shard *s)
{
    s[1].missing = true;
}

static void missing_first(shard *s)
{
    s[0].missing = true;
}

static void truncated(shard *s)
{
    s[1].cut = 150;
}

static void foreign_count(shard *s)
{
    s[1].count = 4;
}

static void foreign_tensors_count(shard *s)
{
    s[1].n_tensors = 7;
}

static void foreign_arch(shard *s)
{
    s[2].arch = "qwen3";
}

static void foreign_tensors(shard *s)
{
    s[1].tensor = "a";
}

static void twice(shard *s)
{
    s[1] = s[2];
}

static void no_shard(shard *s)
{
    s[1].no_keys = true;
}

static void sum_too_large(shard *s)
{
    for (unsigned i = 0; i < N_SHARDS; i++)
        s[i].n_tensors = 8;
}

static const struct {
    void (*change)(shard *);
    unsigned named;
    pn_gguf_error code;
    const char *says;    /* the refusal */
    unsigned n_present;  /* with partial */
    const char *problem; /* with partial */
} bad[] = {
    {missing, 0, PN_GGUF_ERROR_SHARD,
     "m-00001-of-00003.gguf: shard 2 of 3 cannot be had: m-00002-of-00003.gguf: No such file", 2,
     "shard 2 of 3 is left out: m-00002-of-00003.gguf: No such file"},
    {missing_first, 2, PN_GGUF_ERROR_SHARD, "shard 1 of 3 cannot be had", 2,
     "shard 1 of 3 is left out"},
    {truncated, 0, PN_GGUF_ERROR_TRUNCATED, "m-00002-of-00003.gguf: the file ends inside tensor 1",
     2, "shard 2 of 3 is left out: m-00002-of-00003.gguf: the file ends inside"},
    {foreign_count, 0, PN_GGUF_ERROR_SHARD,
     "m-00002-of-00003.gguf: the file is one of 4 shards, where m-00001-of-00003.gguf is one of 3",
     2, "the file is one of 4 shards"},
    {foreign_tensors_count, 0, PN_GGUF_ERROR_SHARD,
     "m-00002-of-00003.gguf: the file is of a set of 7 tensors", 2, "a set of 7 tensors"},
    {foreign_arch, 0, PN_GGUF_ERROR_SHARD,
     "m-00003-of-00003.gguf: the file's general.architecture is not that of the first file", 2,
     "general.architecture"},
    {foreign_tensors, 0, PN_GGUF_ERROR_SHARD,
     "m-00002-of-00003.gguf: tensor 1 of 2 (a) is in m-00001-of-00003.gguf too", 3,
     "(a) has the name of an earlier tensor"},
    {twice, 0, PN_GGUF_ERROR_SHARD,
     "m-00002-of-00003.gguf: the file says it is shard 3, where shard 2 belongs", 2,
     "is there twice"},
    {no_shard, 0, PN_GGUF_ERROR_SHARD, "m-00002-of-00003.gguf: the file is no shard of a set", 2,
     "is no shard of a set"},
    {sum_too_large, 0, PN_GGUF_ERROR_SHARD, "the set holds 6 tensors, where its", 3,
     "the set holds 6 tensors, where its split.tensors.count says 8"},
};

START_TEST(test_bad)
{
    shard shards[N_SHARDS];
    opener o;

    make_set(shards);
    bad[_i].change(shards);
    opener_init(&o, shards);

    g_autoptr(GError) error = NULL;
    ck_assert_ptr_null(parse_set(&o, bad[_i].named, false, &error));
    assert_says(error->message, bad[_i].says);
    ck_assert_int_eq(error->code, bad[_i].code);
    g_clear_error(&error);

    g_autoptr(pn_gguf_file) file = parse_set(&o, bad[_i].named, true, &error);
    ck_assert_msg(file != NULL, "%s", file == NULL ? error->message : "");
    ck_assert_uint_eq(file->n_tensors, 2 * bad[_i].n_present);
    unsigned n_present = 0;
    for (unsigned i = 0; i < N_SHARDS; i++)
        n_present += file->shards[i].present;
    ck_assert_uint_eq(n_present, bad[_i].n_present);
    g_autofree char *problems = problems_of(file);
    assert_says(problems, bad[_i].problem);
    for (uint64_t i = 0; i < file->n_tensors; i++) {
        pn_gguf_tensor t = pn_gguf_tensor_at(file, i);
        uint64_t found;
        ck_assert(file->shards[t.shard].present);
        ck_assert_uint_eq(t.available, 32);
        ck_assert(pn_gguf_find_tensor(file, t.name, t.name_len, t.nth, &found) && found == i);
    }
    opener_clear(&o);
}
END_TEST

/* What the named file says of itself cannot be. */
START_TEST(test_impossible)
{
    static const struct {
        uint64_t no, count;
        pn_gguf_type type;
        const char *says; /* NULL: it is a file of its own */
    } splits[] = {
        {0, 0, PN_GGUF_UINT16, NULL},
        {9, 1, PN_GGUF_UINT16, NULL},
        {3, 3, PN_GGUF_UINT16, "shard 4 of 3, which is impossible"},
        {0, 65536, PN_GGUF_UINT64, "shard 1 of 65536, which is impossible"},
        {0, UINT64_MAX, PN_GGUF_UINT64, "split.count (of type uint64) is no whole number"},
        {0, UINT64_MAX, PN_GGUF_INT8, "split.count (of type int8) is no whole number"},
        {UINT64_MAX, 3, PN_GGUF_INT32, "split.no (of type int32) is no whole number"},
        {0, 0x40400000, PN_GGUF_FLOAT32, "split.count (of type float32) is no whole number"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(splits); i++) {
        shard shards[N_SHARDS];
        make_set(shards);
        shards[0].no = splits[i].no;
        shards[0].count = splits[i].count;
        shards[0].type = splits[i].type;
        g_autoptr(GByteArray) bytes = render(&shards[0]);
        g_autoptr(parsed) p = parse_bytes(bytes->data, bytes->len);
        ck_assert_int_eq(p->file != NULL, splits[i].says == NULL);
        if (p->file == NULL)
            assert_says(p->error->message, splits[i].says);
    }

    g_autoptr(gguf_writer) w = writer_new(3, false);
    writer_int(w, "split.count", PN_GGUF_UINT16, 2);
    g_autoptr(parsed) without_no = parse_writer(w);
    assert_says(without_no->error->message, "and not which (split.no)");
    writer_int(w, "split.no", PN_GGUF_UINT16, 1);
    g_autoptr(parsed) no_opener = parse_writer(w);
    assert_says(no_opener->error->message, "test.gguf: the file is shard 2 of 2 of a model");
}
END_TEST

static char *make_directory(const shard shards[N_SHARDS], const char *name_format)
{
    char *dir = g_dir_make_tmp("gguf-set-XXXXXX", NULL);
    ck_assert_ptr_nonnull(dir);
    for (unsigned i = 0; i < N_SHARDS; i++) {
        g_autoptr(GByteArray) bytes = render(&shards[i]);
        g_autofree char *name = g_strdup_printf("%s-%05u-of-00003.gguf", name_format, i + 1);
        g_autofree char *path = g_build_filename(dir, name, NULL);
        ck_assert(g_file_set_contents(path, (char *)bytes->data, bytes->len, NULL));
    }
    return dir;
}

static void remove_directory(char *dir)
{
    g_autoptr(GDir) d = g_dir_open(dir, 0, NULL);
    for (const char *name; (name = g_dir_read_name(d)) != NULL;) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        g_unlink(path);
    }
    g_rmdir(dir);
    g_free(dir);
}

/* On disk: any member, through links elsewhere as the Hugging Face cache makes them, and with names
 * that tell nothing. */
START_TEST(test_open)
{
    shard shards[N_SHARDS];
    make_set(shards);
    char *blobs = make_directory(shards, "blob");
    char *links = g_dir_make_tmp("gguf-set-XXXXXX", NULL);

    for (unsigned i = 0; i < N_SHARDS; i++) {
        g_autofree char *target = g_strdup_printf("%s/blob-%05u-of-00003.gguf", blobs, i + 1);
        g_autofree char *hash = g_strdup_printf("%s/%u", blobs, i);
        g_autofree char *link = g_strdup_printf("%s/model-%05u-of-00003.gguf", links, i + 1);
        ck_assert_int_eq(g_rename(target, hash), 0);
        ck_assert_int_eq(symlink(hash, link), 0);
    }
    for (unsigned i = 0; i < N_SHARDS; i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *path = g_strdup_printf("%s/model-%05u-of-00003.gguf", links, i + 1);
        g_autoptr(pn_gguf_file) file = pn_gguf_open(path, false, &error);
        ck_assert_msg(file != NULL, "%s", file == NULL ? error->message : "");
        ck_assert_uint_eq(file->n_tensors, 6);

        g_autofree char *hash = g_strdup_printf("%s/%u", blobs, i);
        ck_assert_ptr_null(pn_gguf_open(hash, false, &error));
        assert_says(error->message, "is not named like a shard");
        g_autoptr(pn_gguf_file) alone = pn_gguf_open(hash, true, NULL);
        ck_assert_uint_eq(alone->n_tensors, 2);
        ck_assert_uint_eq(alone->n_problems, 2);
    }
    remove_directory(links);
    remove_directory(blobs);
}
END_TEST

START_TEST(test_names)
{
    static const struct {
        const char *path;
        bool ok;
        unsigned no, count;
        const char *third; /* its sibling */
    } names[] = {
        {"/x/m-00001-of-00003.gguf", true, 0, 3, "/x/m-00003-of-00003.gguf"},
        {"m-00003-of-00003.gguf", true, 2, 3, "m-00003-of-00003.gguf"},
        {"-00001-of-00003.gguf", true, 0, 3, "-00003-of-00003.gguf"},
        {"a-of-b-00002-of-00012.gguf", true, 1, 12, "a-of-b-00003-of-00012.gguf"},
        {"m-99999-of-123456.gguf", true, 99998, 123456, "m-00003-of-123456.gguf"},
        {"m-00000-of-00003.gguf", false, 0, 0, NULL},
        {"m-00004-of-00003.gguf", false, 0, 0, NULL},
        {"m-0001-of-0003.gguf", false, 0, 0, NULL},
        {"m-000001-of-00003.gguf", false, 0, 0, NULL},
        {"m-00001-of-00003.GGUF", false, 0, 0, NULL},
        {"m-00001-of-99999999999999999999.gguf", false, 0, 0, NULL},
        {"00001-of-00003.gguf", false, 0, 0, NULL},
        {"m-00001of-00003.gguf", false, 0, 0, NULL},
        {"m.gguf", false, 0, 0, NULL},
        {"", false, 0, 0, NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(GError) error = NULL;
        size_t prefix;
        unsigned no = 0, count = 0;
        ck_assert_msg(pn_split_parse(names[i].path, &prefix, &no, &count) == names[i].ok, "%s",
                      names[i].path);
        g_autofree char *third = pn_split_sibling(names[i].path, 2, count, &error);
        if (!names[i].ok) {
            ck_assert_ptr_null(third);
            assert_says(error->message, "is not named like a shard");
            continue;
        }
        ck_assert_uint_eq(no, names[i].no);
        ck_assert_uint_eq(count, names[i].count);
        ck_assert_str_eq(third, names[i].third);
        ck_assert_ptr_null(pn_split_sibling(names[i].path, 0, count + 1, &error));
        assert_says(error->message, "is named as one of");
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("gguf-set");
    tcase_add_loop_test(tc, test_good, 0, G_N_ELEMENTS(good));
    tcase_add_loop_test(tc, test_bad, 0, G_N_ELEMENTS(bad));
    tcase_add_test(tc, test_impossible);
    tcase_add_test(tc, test_open);
    tcase_add_test(tc, test_names);
    return run_suite("gguf-set", tc);
}
