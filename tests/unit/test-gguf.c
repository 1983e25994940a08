/* The parser on files made here: versions and byte orders, values and walks, the accessors, other
 * formats, files that end anywhere, and files with wrong bytes. */
#include "gguf-test.h"

#include "gguf/siphash.h"

static const struct {
    uint32_t version;
    bool big_endian;
} layouts[] = {{1, false}, {2, false}, {3, false}, {1, true}, {2, true}, {3, true}};

/* A file with every type of value, and tensors. */
static gguf_writer *everything(uint32_t version, bool big_endian)
{
    static const char *const tokens[] = {"<s>", "", "▁the"};
    gguf_writer *w = writer_new(version, big_endian);

    writer_string(w, "general.architecture", "llama");
    writer_int(w, "u8", PN_GGUF_UINT8, 255);
    writer_int(w, "i8", PN_GGUF_INT8, (uint64_t)-128);
    writer_int(w, "u16", PN_GGUF_UINT16, 65535);
    writer_int(w, "i16", PN_GGUF_INT16, (uint64_t)-32768);
    writer_int(w, "u32", PN_GGUF_UINT32, UINT32_MAX);
    writer_int(w, "i32", PN_GGUF_INT32, (uint64_t)INT32_MIN);
    writer_int(w, "u64", PN_GGUF_UINT64, UINT64_MAX);
    writer_int(w, "i64", PN_GGUF_INT64, (uint64_t)INT64_MIN);
    writer_float(w, "f32", PN_GGUF_FLOAT32, 1e-5);
    writer_float(w, "f64", PN_GGUF_FLOAT64, 1e300);
    writer_int(w, "bool", PN_GGUF_BOOL, 1);
    writer_strings(w, "tokenizer.ggml.tokens", tokens, G_N_ELEMENTS(tokens));
    writer_key(w, "i16s", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_INT16, 3);
    for (int i = -1; i < 2; i++)
        writer_put_int(w, PN_GGUF_INT16, (uint64_t)i);
    writer_key(w, "nested", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_ARRAY, 2);
    writer_put_array(w, PN_GGUF_UINT32, 2);
    writer_put_int(w, PN_GGUF_UINT32, 1);
    writer_put_int(w, PN_GGUF_UINT32, 2);
    writer_put_array(w, PN_GGUF_STRING, 1);
    writer_put_string(w, "x", -1);

    writer_tensor(w, "a", -1, PN_GGUF_F32, 2, (uint64_t[]){4, 3}, NULL, 48);
    writer_tensor(w, "b", -1, PN_GGUF_Q8_0, 3, (uint64_t[]){64, 2, 3}, NULL, 12 * 34);
    writer_tensor(w, "scalar", -1, PN_GGUF_F16, 0, NULL, NULL, 2);
    return w;
}

static void check_numbers(const pn_gguf_file *file)
{
    static const struct {
        const char *key;
        pn_gguf_type type;
        uint64_t bits;
    } numbers[] = {
        {"u8", PN_GGUF_UINT8, 255},          {"i8", PN_GGUF_INT8, (uint64_t)-128},
        {"u16", PN_GGUF_UINT16, 65535},      {"i16", PN_GGUF_INT16, (uint64_t)-32768},
        {"u32", PN_GGUF_UINT32, UINT32_MAX}, {"i32", PN_GGUF_INT32, (uint64_t)INT32_MIN},
        {"u64", PN_GGUF_UINT64, UINT64_MAX}, {"i64", PN_GGUF_INT64, (uint64_t)INT64_MIN},
        {"bool", PN_GGUF_BOOL, 1},
    };
    pn_gguf_number number;

    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        pn_gguf_kv kv = pn_gguf_kv_at(file, find_kv(file, numbers[i].key));
        pn_gguf_walk walk = pn_gguf_walk_value(&kv);
        ck_assert_int_eq(kv.type, numbers[i].type);
        ck_assert_int_eq(kv.elem, numbers[i].type);
        ck_assert_uint_eq(kv.count, 1);
        ck_assert_uint_eq(kv.nbytes, pn_gguf_type_size(kv.type));
        ck_assert(pn_gguf_walk_number(file, &walk, kv.type, &number));
        ck_assert_uint_eq(number.u64, numbers[i].bits);
        ck_assert(!pn_gguf_walk_number(file, &walk, kv.type, &number));
    }
    pn_gguf_kv f32 = pn_gguf_kv_at(file, find_kv(file, "f32"));
    pn_gguf_kv f64 = pn_gguf_kv_at(file, find_kv(file, "f64"));
    pn_gguf_walk walk = pn_gguf_walk_value(&f32);
    ck_assert(pn_gguf_walk_number(file, &walk, f32.type, &number));
    ck_assert(number.f32 == 1e-5F);
    walk = pn_gguf_walk_value(&f64);
    ck_assert(pn_gguf_walk_number(file, &walk, f64.type, &number));
    ck_assert(number.f64 == 1e300);
}

static void check_arrays(const pn_gguf_file *file)
{
    pn_gguf_number number;
    pn_gguf_type elem;
    const char *string;
    uint64_t n;

    pn_gguf_kv kv = pn_gguf_kv_at(file, find_kv(file, "i16s"));
    pn_gguf_walk walk = pn_gguf_walk_value(&kv);
    ck_assert_int_eq(kv.elem, PN_GGUF_INT16);
    ck_assert_uint_eq(kv.count, 3);
    for (int i = -1; i < 2; i++) {
        ck_assert(pn_gguf_walk_number(file, &walk, kv.elem, &number));
        ck_assert_int_eq(number.i64, i);
    }

    kv = pn_gguf_kv_at(file, find_kv(file, "nested"));
    walk = pn_gguf_walk_value(&kv);
    ck_assert_int_eq(kv.elem, PN_GGUF_ARRAY);
    ck_assert(pn_gguf_walk_array(file, &walk, &elem, &n));
    ck_assert(elem == PN_GGUF_UINT32 && n == 2);
    ck_assert(pn_gguf_walk_number(file, &walk, elem, &number) && number.u64 == 1);
    ck_assert(pn_gguf_walk_number(file, &walk, elem, &number) && number.u64 == 2);
    ck_assert(pn_gguf_walk_array(file, &walk, &elem, &n));
    ck_assert(elem == PN_GGUF_STRING && n == 1);
    ck_assert(pn_gguf_walk_string(file, &walk, &string, &n));
    ck_assert(n == 1 && string[0] == 'x');
    ck_assert_ptr_eq(walk.at, walk.end);

    ck_assert_uint_eq(pn_gguf_token_count(file), 3);
    ck_assert(pn_gguf_token(file, 1, &string, &n) && n == 0);
    ck_assert(pn_gguf_token(file, 2, &string, &n) && n == 6);
    ck_assert_mem_eq(string, "▁the", 6);
    ck_assert(!pn_gguf_token(file, 3, &string, &n));
}

START_TEST(test_layouts)
{
    g_autoptr(gguf_writer) w = everything(layouts[_i].version, layouts[_i].big_endian);
    g_autoptr(parsed) p = parse_writer(w);
    const pn_gguf_file *file = p->file;

    ck_assert_msg(file != NULL, "%s", file == NULL ? p->error->message : "");
    ck_assert_uint_eq(file->version, layouts[_i].version);
    ck_assert_int_eq(file->big_endian, layouts[_i].big_endian);
    ck_assert_uint_eq(file->n_problems, 0);
    ck_assert_uint_eq(file->n_kv, w->n_kv);
    ck_assert_uint_eq(file->n_tensors, 3);
    ck_assert_ptr_eq(file->shards[0].data, p->bytes);
    ck_assert_uint_eq(file->shards[0].data_start, (file->header_size + 31) / 32 * 32);
    check_numbers(file);
    check_arrays(file);

    pn_gguf_tensor b = pn_gguf_tensor_at(file, 1);
    ck_assert_uint_eq(b.n_dims, 3);
    ck_assert(b.ne[0] == 64 && b.ne[1] == 2 && b.ne[2] == 3 && b.ne[3] == 1 && b.ne[7] == 1);
    ck_assert_uint_eq(b.n_elems, 384);
    ck_assert_uint_eq(b.nbytes, 408);
    ck_assert_uint_eq(b.available, 408);
    ck_assert_uint_eq(b.offset, file->shards[0].data_start + 64);
    ck_assert_ptr_eq(b.data, p->bytes + b.offset);
    ck_assert_int_eq(b.big_endian, layouts[_i].big_endian);
    ck_assert(b.has_f32);
    ck_assert_uint_eq(pn_gguf_tensor_at(file, 2).n_elems, 1);
}
END_TEST

/* Walks all that a model holds, as a view would. Returns a sum, so that nothing is left out. */
static uint64_t walk_elements(const pn_gguf_file *file, pn_gguf_walk *walk, pn_gguf_type elem,
                              uint64_t count, unsigned depth)
{
    uint64_t sum = 0, n;
    const char *string;
    pn_gguf_number number;
    pn_gguf_type inner;

    for (uint64_t i = 0; i < count; i++) {
        if (elem == PN_GGUF_STRING) {
            ck_assert(pn_gguf_walk_string(file, walk, &string, &n));
            for (uint64_t j = 0; j < n; j++)
                sum += (uint8_t)string[j];
        } else if (elem == PN_GGUF_ARRAY) {
            ck_assert_uint_lt(depth, PN_GGUF_MAX_NESTING);
            ck_assert(pn_gguf_walk_array(file, walk, &inner, &n));
            sum += walk_elements(file, walk, inner, n, depth + 1);
        } else {
            ck_assert(pn_gguf_walk_number(file, walk, elem, &number));
            sum += number.u64;
        }
    }
    return sum;
}

static uint64_t walk_all(const pn_gguf_file *file)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < file->n_kv; i++) {
        pn_gguf_kv kv = pn_gguf_kv_at(file, i);
        pn_gguf_walk walk = pn_gguf_walk_value(&kv);
        if (kv.type == PN_GGUF_STRING) {
            sum += kv.nbytes > 0 ? kv.data[kv.nbytes - 1] : 0;
            continue;
        }
        sum += walk_elements(file, &walk, kv.elem, kv.count, 1);
        ck_assert_ptr_eq(walk.at, walk.end);
    }
    for (uint64_t i = 0; i < file->n_tensors; i++) {
        pn_gguf_tensor t = pn_gguf_tensor_at(file, i);
        ck_assert_uint_le(t.available, t.nbytes);
        for (uint64_t j = 0; j < t.name_len; j++)
            sum += (uint8_t)t.name[j];
        for (uint64_t j = 0; j < t.available; j++)
            sum += t.data[j];
    }
    g_autofree char *problems = problems_of(file);
    return sum + strlen(problems);
}

START_TEST(test_prefixes)
{
    g_autoptr(gguf_writer) w = everything(layouts[_i].version, layouts[_i].big_endian);
    g_autoptr(GByteArray) bytes = writer_finish(w);
    g_autoptr(parsed) whole = parse_bytes(bytes->data, bytes->len);

    for (size_t len = 0; len < bytes->len; len++) {
        g_autoptr(parsed) p = parse_bytes(bytes->data, len);
        if (len < whole->file->header_size) {
            ck_assert_ptr_null(p->file);
            ck_assert_int_eq(p->error->code,
                             len < 4 ? PN_GGUF_ERROR_NOT_GGUF : PN_GGUF_ERROR_TRUNCATED);
            assert_says(p->error->message, "unfinished download?");
        } else {
            ck_assert_ptr_nonnull(p->file);
            walk_all(p->file);
            bool is_whole = len >= bytes->len - 30; /* less padding at the end */
            ck_assert_int_eq(p->file->n_problems == 0, is_whole);
        }
    }
}
END_TEST

START_TEST(test_mutations)
{
    g_autoptr(gguf_writer) w = everything(layouts[_i].version, layouts[_i].big_endian);
    g_autoptr(GByteArray) bytes = writer_finish(w);
    g_autoptr(GRand) rand = g_rand_new_with_seed(17 + (guint)_i);
    gint32 header = (gint32)bytes->len - 512;
    unsigned n_mounts = 0;

    for (int round = 0; round < 4000; round++) {
        g_autofree uint8_t *mutant = g_memdup2(bytes->data, bytes->len);
        for (int n = g_rand_int_range(rand, 1, 4); n > 0; n--)
            mutant[g_rand_int_range(rand, 8, header)] =
                g_rand_boolean(rand) ? (uint8_t)g_rand_int(rand) : 0xFF;
        g_autoptr(parsed) p = parse_bytes(mutant, bytes->len);
        if (p->file != NULL) {
            n_mounts++;
            walk_all(p->file);
        }
    }
    ck_assert_uint_gt(n_mounts, 100);
}
END_TEST

/* After the parse the file is rewritten: lengths lie, and nothing is read past the value. */
START_TEST(test_rewritten)
{
    g_autoptr(gguf_writer) w = everything(layouts[_i].version, layouts[_i].big_endian);
    g_autoptr(parsed) p = parse_writer(w);
    const pn_gguf_file *file = p->file;
    pn_gguf_type elem;
    const char *string;
    uint64_t n;

    memset(p->bytes, 0xFF, p->source.size);
    pn_gguf_tensor b = pn_gguf_tensor_at(file, 1);
    ck_assert(b.ne[0] == 64 && b.nbytes == 408);
    ck_assert(!pn_gguf_token(file, 1, &string, &n));
    ck_assert(!pn_gguf_find_kv(file, "u8", 2, 1, &n));
    for (uint64_t i = 0; i < file->n_kv; i++) {
        pn_gguf_kv kv = pn_gguf_kv_at(file, i);
        pn_gguf_walk walk = pn_gguf_walk_value(&kv), before = walk;
        if (kv.elem == PN_GGUF_STRING)
            ck_assert(!pn_gguf_walk_string(file, &walk, &string, &n));
        if (kv.elem == PN_GGUF_ARRAY)
            ck_assert(!pn_gguf_walk_array(file, &walk, &elem, &n));
        ck_assert_ptr_eq(walk.at, before.at);
    }
}
END_TEST

START_TEST(test_nesting)
{
    for (unsigned depth = 1; depth <= 18; depth++) {
        g_autoptr(gguf_writer) w = writer_new(3, false);
        writer_key(w, "deep", -1, PN_GGUF_ARRAY);
        for (unsigned d = 1; d < depth; d++)
            writer_put_array(w, PN_GGUF_ARRAY, 1);
        writer_put_array(w, PN_GGUF_UINT8, 1);
        writer_put_int(w, PN_GGUF_UINT8, 7);
        g_autoptr(parsed) p = parse_writer(w);
        ck_assert_int_eq(p->file != NULL, depth <= PN_GGUF_MAX_NESTING);
        if (p->file != NULL)
            ck_assert_uint_eq(walk_all(p->file), 7);
    }
}
END_TEST

/* A scalar in one model is an array in the next. */
START_TEST(test_scalars)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    writer_string(w, "general.architecture", "gemma3");
    writer_int(w, "gemma3.block_count", PN_GGUF_UINT32, 2);
    writer_int(w, "gemma3.embedding_length", PN_GGUF_UINT64, 640);
    writer_int(w, "gemma3.attention.head_count", PN_GGUF_UINT8, 4);
    writer_key(w, "gemma3.feed_forward_length", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_INT32, 2);
    writer_put_int(w, PN_GGUF_INT32, 2048);
    writer_put_int(w, PN_GGUF_INT32, 4096);
    writer_float(w, "gemma3.attention.layer_norm_rms_epsilon", PN_GGUF_FLOAT32, 1e-6);
    writer_int(w, "negative", PN_GGUF_INT8, (uint64_t)-1);
    writer_float(w, "half", PN_GGUF_FLOAT32, 0.5);
    writer_float(w, "whole", PN_GGUF_FLOAT64, 4096);
    writer_float(w, "large", PN_GGUF_FLOAT64, 0x1p64);
    writer_float(w, "nan", PN_GGUF_FLOAT32, NAN);
    writer_int(w, "true", PN_GGUF_BOOL, 1);
    g_autoptr(parsed) p = parse_writer(w);
    const pn_gguf_file *file = p->file;
    uint64_t u;
    double d;
    const char *s;

    ck_assert_uint_eq(pn_gguf_block_count(file), 2);
    ck_assert_uint_eq(pn_gguf_embedding_length(file), 640);
    ck_assert_uint_eq(pn_gguf_head_count(file, 0), 4);
    ck_assert_uint_eq(pn_gguf_head_count(file, 99), 4);
    ck_assert_uint_eq(pn_gguf_head_count_kv(file, 1), 4);
    ck_assert_uint_eq(pn_gguf_feed_forward_length(file, 0), 2048);
    ck_assert_uint_eq(pn_gguf_feed_forward_length(file, 1), 4096);
    ck_assert_uint_eq(pn_gguf_feed_forward_length(file, 2), 0);
    ck_assert_uint_eq(pn_gguf_feed_forward_length(file, UINT64_MAX), 0);
    ck_assert_uint_eq(pn_gguf_context_length(file), 0);
    ck_assert_uint_eq(pn_gguf_sliding_window(file), 0);
    ck_assert(pn_gguf_rope_freq_base(file) == 10000);
    ck_assert(pn_gguf_layer_norm_rms_epsilon(file) == (double)1e-6F);

    ck_assert(!pn_gguf_get_u64(file, "negative", 0, &u));
    ck_assert(pn_gguf_get_f64(file, "negative", 0, &d) && d == -1);
    ck_assert(!pn_gguf_get_u64(file, "half", 0, &u));
    ck_assert(pn_gguf_get_u64(file, "whole", 0, &u) && u == 4096);
    ck_assert(!pn_gguf_get_u64(file, "large", 0, &u));
    ck_assert(!pn_gguf_get_u64(file, "nan", 0, &u));
    ck_assert(pn_gguf_get_u64(file, "true", 0, &u) && u == 1);
    ck_assert(!pn_gguf_get_u64(file, "general.architecture", 0, &u));
    ck_assert(!pn_gguf_get_u64(file, "missing", 0, &u));
    ck_assert(pn_gguf_get_string(file, "general.architecture", &s, &u) && u == 6);
    ck_assert(!pn_gguf_get_string(file, "true", &s, &u));
}
END_TEST

START_TEST(test_no_architecture)
{
    g_autofree char *long_arch = g_strnfill(10000, 'x');
    g_autoptr(gguf_writer) w = writer_new(3, false);
    if (_i > 0)
        writer_string(w, "general.architecture", long_arch);
    g_autoptr(parsed) p = parse_writer(w);
    ck_assert_uint_eq(pn_gguf_block_count(p->file), 0);
    ck_assert(pn_gguf_rope_freq_base(p->file) == 10000);
    ck_assert_uint_eq(pn_gguf_token_count(p->file), 0);
}
END_TEST

#define BYTES(s) s, sizeof(s) - 1

static const struct {
    const char *bytes;
    size_t len;
    const char *says;
} lookalikes[] = {
    {BYTES(""), "is empty"},
    {BYTES("G"), "ends inside its first four bytes"},
    {BYTES("GGUX"), "begins with 47 47 55 58"},
    {BYTES("\xEF\xBB\xBF \n<!DocType html>"), "HTML"},
    {BYTES("<html>"), "HTML"},
    {BYTES("<?xml version='1.0'?><Error>"), "XML"},
    {BYTES("version https://git-lfs.github.com/spec/v1\n"), "git-lfs pointer"},
    {BYTES("tjgg\3\0\0\0"), "GGJT"},
    {BYTES("lmgg"), "GGML"},
    {BYTES("FUGG"), "backwards"},
    {BYTES("PK\3\4\0\0"), "zip archive"},
    {BYTES("\x80\x02}q"), "pickle"},
    {BYTES("\x40\0\0\0\0\0\0\0{\"__metadata__\""), "safetensors"},
    {BYTES("\x40\0\0\0\0\0\0\1{\"__metadata__\""), "begins with 40"},
    {BYTES("{\"schemaVersion\":2,"), "manifest of an Ollama model"},
    {BYTES("{\"error\":\"Repository not found\"}"), "JSON"},
    {BYTES("\0\0\0\0\0\0\0\0\0\0"), "begins with zeros"},
    {BYTES("\x1F\x8B\x08"), "gzip"},
    {BYTES("\x1B[2J"), "begins with 1b 5b 32 4a"},
};

START_TEST(test_lookalikes)
{
    g_autoptr(parsed) p = parse_bytes(lookalikes[_i].bytes, lookalikes[_i].len);
    ck_assert_ptr_null(p->file);
    ck_assert_int_eq(p->error->code, PN_GGUF_ERROR_NOT_GGUF);
    ck_assert(g_str_has_prefix(p->error->message, "test.gguf: the file "));
    assert_says(p->error->message, lookalikes[_i].says);
}
END_TEST

/* Names in sentences are escaped and bounded. */
START_TEST(test_sentences)
{
    g_autofree char *name = g_strnfill(100000, '\x1B');
    g_autoptr(gguf_writer) w = writer_new(3, false);
    writer_key(w, name, -1, 99);
    g_autoptr(parsed) p = parse_writer(w);
    assert_says(p->error->message, "key 1 of 1 (%1B%1B");
    assert_says(p->error->message, "…%1B");
    ck_assert_uint_lt(strlen(p->error->message), 1000);
}
END_TEST

START_TEST(test_open_errors)
{
    static const struct {
        const char *path, *says;
    } paths[] = {
        {"/nonexistent/x\n.gguf", "/nonexistent/x%0A.gguf: "},
        {"/", "is a directory"},
        {"/dev/null", "is not a regular file"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(GError) error = NULL;
        ck_assert_ptr_null(pn_gguf_open(paths[i].path, false, &error));
        ck_assert(g_error_matches(error, PN_GGUF_ERROR, PN_GGUF_ERROR_IO));
        assert_says(error->message, paths[i].says);
    }
}
END_TEST

START_TEST(test_types)
{
    ck_assert_str_eq(pn_gguf_type_name(PN_GGUF_UINT8), "uint8");
    ck_assert_str_eq(pn_gguf_type_name(PN_GGUF_ARRAY), "array");
    ck_assert_str_eq(pn_gguf_type_name(PN_GGUF_FLOAT64), "float64");
    ck_assert_ptr_null(pn_gguf_type_name((pn_gguf_type)13));
    ck_assert_ptr_null(pn_gguf_type_name((pn_gguf_type)-1));
    ck_assert_uint_eq(pn_gguf_type_size(PN_GGUF_STRING), 0);
    ck_assert_uint_eq(pn_gguf_type_size((pn_gguf_type)13), 0);
    ck_assert_uint_eq(pn_gguf_type_size(PN_GGUF_INT64), 8);
}
END_TEST

/* The vectors of the paper's appendix and of the reference implementation. */
START_TEST(test_siphash)
{
    static const uint64_t expected[] = {
        [0] = UINT64_C(0x726fdb47dd0e0e31),
        [8] = UINT64_C(0x93f5f5799a932462),
        [15] = UINT64_C(0xa129ca6149be45e5),
    };
    uint8_t bytes[16];
    for (uint8_t i = 0; i < 16; i++)
        bytes[i] = i;
    pn_siphash_key key = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    for (size_t len = 0; len < G_N_ELEMENTS(expected); len++)
        if (expected[len] != 0)
            ck_assert_uint_eq(pn_siphash(key, bytes, len), expected[len]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("gguf");
    tcase_add_loop_test(tc, test_layouts, 0, G_N_ELEMENTS(layouts));
    tcase_add_loop_test(tc, test_prefixes, 0, G_N_ELEMENTS(layouts));
    tcase_add_loop_test(tc, test_mutations, 0, G_N_ELEMENTS(layouts));
    tcase_add_loop_test(tc, test_rewritten, 0, G_N_ELEMENTS(layouts));
    tcase_add_test(tc, test_nesting);
    tcase_add_test(tc, test_scalars);
    tcase_add_loop_test(tc, test_no_architecture, 0, 2);
    tcase_add_loop_test(tc, test_lookalikes, 0, G_N_ELEMENTS(lookalikes));
    tcase_add_test(tc, test_sentences);
    tcase_add_test(tc, test_open_errors);
    tcase_add_test(tc, test_types);
    tcase_add_test(tc, test_siphash);
    return run_suite("gguf", tc);
}
