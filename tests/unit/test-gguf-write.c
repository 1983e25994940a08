/* The model as one GGUF file: what is written from a file of any version and byte order, or from a
 * set, is byte for byte what the tests' writer makes of the same content. */
#include "gguf-test.h"

#include "gguf/write.h"

/* Writing. */

typedef struct {
    const pn_gguf_file *file;
    GByteArray *bytes;
    GArray *shards; /* named in the step */
} sink;

static void take(void *user, const void *bytes, size_t len)
{
    sink *s = user;
    g_byte_array_append(s->bytes, bytes, (guint)len);
}

static void note_dependence(void *user, unsigned shard, const void *bytes, uint64_t len)
{
    sink *s = user;
    const pn_gguf_shard *source = &s->file->shards[shard];
    uint64_t from = (uint64_t)((const uint8_t *)bytes - source->data);
    bool is_inside = from <= source->size && len <= source->size - from;
    bool is_one_shard = s->shards->len == 0 || g_array_index(s->shards, unsigned, 0) == shard;
    if (!is_inside || !is_one_shard)
        ck_abort_msg("a step depends on what is not there, or on two shards");
    g_array_append_val(s->shards, shard);
}

static pn_writing_result write_header(const pn_writing *w, const pn_gguf_file *file,
                                      GByteArray *bytes)
{
    sink s = {file, bytes, g_array_new(FALSE, FALSE, sizeof(unsigned))};
    pn_writing_sink out = {take, note_dependence, &s};
    pn_writing_state state = {0};
    pn_writing_result result;

    do {
        guint before = bytes->len;
        pn_writing_state again = state; /* a state is all that a step goes on from */
        result = pn_writing_step(w, &state, &out);
        g_autoptr(GByteArray) second = g_byte_array_new();
        s.bytes = second;
        bool is_same =
            pn_writing_step(w, &again, &out) == result && second->len == bytes->len - before &&
            second->len <= 17 * 1024 &&
            (second->len == 0 || memcmp(second->data, bytes->data + before, second->len) == 0);
        if (!is_same)
            ck_abort_msg("a step is too long, or another the second time");
        s.bytes = bytes;
        g_array_set_size(s.shards, 0);
    } while (result == PN_WRITING_MORE);
    g_array_unref(s.shards);
    return result;
}

static void write_tensor(const pn_gguf_file *file, const pn_writing_place *place, GByteArray *bytes)
{
    pn_gguf_tensor t = pn_gguf_tensor_at(file, place->tensor);
    guint start = bytes->len;

    ck_assert_uint_eq(place->nbytes, t.nbytes);
    g_byte_array_append(bytes, t.data, (guint)t.available);
    if (t.big_endian)
        pn_quant_swap(t.traits->id, bytes->data + start, bytes->data + start,
                      t.nbytes / t.traits->block_bytes);
    for (uint64_t at = place->start + t.nbytes; at < place->end; at++)
        g_byte_array_append(bytes, (const uint8_t *)"", 1);
}

static GByteArray *write_model(const pn_gguf_file *file)
{
    g_autoptr(pn_writing) w = pn_writing_new(file);
    GByteArray *bytes = g_byte_array_new();

    ck_assert(!pn_writing_is_source(w));
    ck_assert_int_eq(write_header(w, file, bytes), PN_WRITING_END);
    ck_assert_uint_eq(bytes->len, pn_writing_data_start(w));

    uint64_t data_size = pn_writing_size(w) - pn_writing_data_start(w);
    for (uint64_t at = 0; at < data_size;) {
        pn_writing_place place = pn_writing_find(w, at);
        ck_assert_uint_eq(place.start, at);
        for (uint64_t inside = at; inside < place.end; inside += 7)
            if (pn_writing_find(w, inside).tensor != place.tensor)
                ck_abort_msg("another tensor inside the one from %" G_GUINT64_FORMAT, at);
        write_tensor(file, &place, bytes);
        at = place.end;
    }
    ck_assert_uint_eq(bytes->len, pn_writing_size(w));
    return bytes;
}

/* Content. */

static void random_tensor(gguf_writer *w, GRand *rand, const char *name, pn_gguf_quant type,
                          uint32_t n_dims, const uint64_t *ne)
{
    const pn_quant_traits *traits = pn_quant_traits_of(type);
    uint64_t n_blocks = 1;
    for (uint32_t d = 0; d < n_dims; d++)
        n_blocks *= ne[d];
    n_blocks /= traits->block_elems;

    size_t nbytes = n_blocks * traits->block_bytes;
    g_autofree uint8_t *bytes = g_malloc(nbytes + 1);
    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = (uint8_t)g_rand_int(rand);
    if (w->big_endian)
        pn_quant_swap(type, bytes, bytes, n_blocks);
    writer_tensor(w, name, -1, type, n_dims, ne, bytes, nbytes);
}

static void add_metadata(gguf_writer *w, bool is_shard)
{
    g_autofree char *long_string = g_strnfill(50000, 'x');

    writer_string(w, "general.architecture", "llama");
    writer_alignment(w, 64);
    writer_string(w, long_string, long_string);
    if (is_shard) {
        writer_int(w, "split.no", PN_GGUF_UINT16, 0);
        writer_int(w, "split.count", PN_GGUF_UINT16, 2);
    }
    writer_int(w, "u16", PN_GGUF_UINT16, 0x1234);
    writer_float(w, "f64", PN_GGUF_FLOAT64, 1e300);
    writer_int(w, "i8", PN_GGUF_INT8, (uint64_t)-3);
    writer_string(w, "", "");
    writer_key(w, "scores", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_FLOAT32, 20000);
    for (int i = 0; i < 20000; i++)
        writer_put_float(w, PN_GGUF_FLOAT32, i * 0.1);
    writer_key(w, "tokens", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_STRING, 500);
    for (int i = 0; i < 500; i++)
        writer_put_string(w, long_string, i == 250 ? 40000 : i % 10);
    writer_key(w, "nested", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_ARRAY, 3);
    writer_put_array(w, PN_GGUF_UINT64, 2);
    writer_put_int(w, PN_GGUF_UINT64, 1);
    writer_put_int(w, PN_GGUF_UINT64, UINT64_MAX);
    writer_put_array(w, PN_GGUF_ARRAY, 1);
    writer_put_array(w, PN_GGUF_STRING, 2);
    writer_put_string(w, "deep", -1);
    writer_put_string(w, "", -1);
    writer_put_array(w, PN_GGUF_BOOL, 0);
    writer_key(w, "none", -1, PN_GGUF_ARRAY);
    writer_put_array(w, PN_GGUF_STRING, 0);
}

enum { ALL, FIRST_HALF, SECOND_HALF };

static void add_tensors(gguf_writer *w, int half)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(half == SECOND_HALF ? 2 : 1);
    if (half != SECOND_HALF) {
        random_tensor(w, rand, "a", PN_GGUF_F32, 2, (uint64_t[]){5, 3});
        random_tensor(w, rand, "empty", PN_GGUF_F32, 2, (uint64_t[]){5, 0});
        random_tensor(w, rand, "b", PN_GGUF_Q8_0, 3, (uint64_t[]){64, 2, 3});
    }
    g_rand_set_seed(rand, 2);
    if (half != FIRST_HALF) {
        random_tensor(w, rand, "scalar", PN_GGUF_F16, 0, NULL);
        random_tensor(w, rand, "c", PN_GGUF_Q6_K, 2, (uint64_t[]){256, 2});
    }
}

static void assert_same(const GByteArray *got, const GByteArray *expected)
{
    guint i = 0;
    while (i < MIN(got->len, expected->len) && got->data[i] == expected->data[i])
        i++;
    ck_assert_msg(i == expected->len && i == got->len, "%u and %u bytes, different from byte %u on",
                  got->len, expected->len, i);
}

static GByteArray *expected_model(void)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    add_metadata(w, false);
    add_tensors(w, ALL);
    return writer_finish(w);
}

static const struct {
    uint32_t version;
    bool big_endian;
} layouts[] = {{1, false}, {2, false}, {1, true}, {2, true}, {3, true}};

START_TEST(test_layouts)
{
    g_autoptr(gguf_writer) w = writer_new(layouts[_i].version, layouts[_i].big_endian);
    add_metadata(w, false);
    add_tensors(w, ALL);
    g_autoptr(parsed) p = parse_writer(w);
    g_autoptr(GByteArray) got = write_model(p->file);
    g_autoptr(GByteArray) expected = expected_model();
    assert_same(got, expected);
}
END_TEST

static bool give_second(void *user, unsigned no, unsigned count, pn_gguf_source *out,
                        GError **error)
{
    const GByteArray *bytes = user;
    *out = (pn_gguf_source){bytes->data, bytes->len, "second"};
    return no == 1;
}

/* Two shards, of two versions, byte orders and alignments. */
START_TEST(test_set)
{
    g_autoptr(gguf_writer) first = writer_new(_i & 1 ? 1 : 3, _i & 2);
    g_autoptr(gguf_writer) second = writer_new(_i & 4 ? 1 : 3, _i & 8);

    add_metadata(first, true);
    add_tensors(first, FIRST_HALF);
    writer_int(second, "split.no", PN_GGUF_UINT16, 1);
    writer_int(second, "split.count", PN_GGUF_UINT16, 2);
    second->alignment = 32;
    add_tensors(second, SECOND_HALF);
    g_autoptr(GByteArray) first_bytes = writer_finish(first);
    g_autoptr(GByteArray) second_bytes = writer_finish(second);

    pn_gguf_source source = {first_bytes->data, first_bytes->len, "first"};
    pn_gguf_options options = {.open_shard = give_second, .user = second_bytes};
    g_autoptr(GError) error = NULL;
    g_autoptr(pn_gguf_file) file = pn_gguf_parse(&source, &options, &error);
    ck_assert_msg(file != NULL, "%s", file == NULL ? error->message : "");
    g_autoptr(GByteArray) got = write_model(file);
    g_autoptr(GByteArray) expected = expected_model();
    assert_same(got, expected);
}
END_TEST

START_TEST(test_source)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    writer_int(w, "split.no", PN_GGUF_UINT16, 3);
    add_tensors(w, ALL);
    add_tensors(w, ALL);
    g_autoptr(parsed) p = parse_writer(w);
    g_autoptr(pn_writing) writing = pn_writing_new(p->file);
    ck_assert(pn_writing_is_source(writing));
    ck_assert_uint_eq(pn_writing_size(writing), p->source.size);
    ck_assert_ptr_null(pn_writing_key_fault(writing, 0));
    ck_assert_ptr_null(pn_writing_tensor_fault(writing, 9));
}
END_TEST

/* What cannot be written is left out, and named. */
START_TEST(test_faults)
{
    static const char *const faults[] = {
        NULL,                    /* a */
        "name of an earlier",    /* a */
        "no whole number",       /* partial */
        "layout is not defined", /* iq4_nl, big-endian */
        "larger than a file",    /* large, cut off */
        NULL,                    /* b */
    };
    g_autoptr(gguf_writer) w = writer_new(3, true);
    uint64_t large[] = {(UINT64_C(1) << 59) - 1};
    writer_int(w, "x", PN_GGUF_UINT8, 1);
    writer_int(w, "split.other", PN_GGUF_UINT8, 1);
    writer_int(w, "x", PN_GGUF_UINT8, 2);
    writer_tensor(w, "a", -1, PN_GGUF_F32, 1, (uint64_t[]){8}, NULL, 32);
    writer_tensor(w, "a", -1, PN_GGUF_F32, 1, (uint64_t[]){8}, NULL, 32);
    writer_tensor(w, "partial", -1, PN_GGUF_Q8_0, 1, (uint64_t[]){33}, NULL, 64);
    writer_tensor(w, "iq4_nl", -1, PN_GGUF_IQ4_NL, 1, (uint64_t[]){32}, NULL, 18);
    writer_tensor_info(w, "large", -1, PN_GGUF_F64, 1, large, UINT64_C(1) << 62);
    writer_tensor(w, "b", -1, PN_GGUF_F32, 1, (uint64_t[]){8}, NULL, 32);
    g_autoptr(parsed) p = parse_writer(w);
    g_autoptr(pn_writing) writing = pn_writing_new(p->file);

    ck_assert_ptr_null(pn_writing_key_fault(writing, 0));
    ck_assert_str_eq(pn_writing_key_fault(writing, 1), "");
    assert_says(pn_writing_key_fault(writing, 2), "name of an earlier key");
    for (uint64_t i = 0; i < G_N_ELEMENTS(faults); i++) {
        const char *fault = pn_writing_tensor_fault(writing, i);
        ck_assert_int_eq(fault == NULL, faults[i] == NULL);
        if (fault != NULL)
            assert_says(fault, faults[i]);
    }

    g_autoptr(GByteArray) bytes = write_model(p->file);
    g_autoptr(parsed) again = parse_bytes(bytes->data, bytes->len);
    ck_assert_uint_eq(again->file->n_kv, 1);
    ck_assert_uint_eq(again->file->n_tensors, 2);
    ck_assert_uint_eq(again->file->n_problems, 0);
}
END_TEST

/* No tensors and no keys at all. */
START_TEST(test_nothing)
{
    g_autoptr(gguf_writer) w = writer_new(2, false);
    g_autoptr(parsed) p = parse_writer(w);
    g_autoptr(GByteArray) bytes = write_model(p->file);
    ck_assert_uint_eq(bytes->len, 32);
    g_autoptr(parsed) again = parse_bytes(bytes->data, bytes->len);
    ck_assert_uint_eq(again->file->version, 3);
}
END_TEST

/* The source is rewritten: the header ends with an error, or at its size; nothing is read outside.
 */
START_TEST(test_rewritten)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    for (int round = 0; round < 20; round++) {
        g_autoptr(gguf_writer) w = writer_new(layouts[_i].version, layouts[_i].big_endian);
        add_metadata(w, false);
        add_tensors(w, ALL);
        g_autoptr(parsed) p = parse_writer(w);
        g_autoptr(pn_writing) writing = pn_writing_new(p->file);
        for (int n = 0; n < 200; n++)
            p->bytes[g_rand_int_range(rand, 0, (gint32)p->source.size)] = (uint8_t)g_rand_int(rand);

        sink s = {p->file, g_byte_array_new(), g_array_new(FALSE, FALSE, sizeof(unsigned))};
        pn_writing_sink out = {take, note_dependence, &s};
        pn_writing_state state = {0};
        while (pn_writing_step(writing, &state, &out) == PN_WRITING_MORE)
            if (s.bytes->len > 4 * p->source.size)
                ck_abort_msg("no end");
        g_byte_array_unref(s.bytes);
        g_array_unref(s.shards);
    }
}
END_TEST

/* The big-endian file of known values holds what the little-endian one does. */
START_TEST(test_golden)
{
    g_autofree char *be_path =
        g_build_filename(g_getenv("PN_TEST_DATA"), "golden", "types-be.gguf", NULL);
    g_autofree char *le_path =
        g_build_filename(g_getenv("PN_TEST_DATA"), "golden", "types.gguf", NULL);
    g_autoptr(pn_gguf_file) be = pn_gguf_open(be_path, false, NULL);
    g_autoptr(pn_gguf_file) le = pn_gguf_open(le_path, false, NULL);
    g_autoptr(GByteArray) bytes = write_model(be);
    g_autoptr(parsed) written = parse_bytes(bytes->data, bytes->len);

    ck_assert_uint_eq(written->file->n_tensors, be->n_tensors);
    ck_assert_uint_eq(written->file->n_problems, 0);
    for (uint64_t i = 0; i < be->n_tensors; i++) {
        pn_gguf_tensor t = pn_gguf_tensor_at(written->file, i);
        uint64_t j;
        ck_assert(pn_gguf_find_tensor(le, t.name, t.name_len, 1, &j));
        pn_gguf_tensor known = pn_gguf_tensor_at(le, j);
        ck_assert_uint_eq(t.nbytes, known.nbytes);
        ck_assert_mem_eq(t.data, known.data, t.nbytes);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("gguf-write");
    tcase_add_loop_test(tc, test_layouts, 0, G_N_ELEMENTS(layouts));
    tcase_add_loop_test(tc, test_set, 0, 16);
    tcase_add_test(tc, test_source);
    tcase_add_test(tc, test_faults);
    tcase_add_test(tc, test_nothing);
    tcase_add_loop_test(tc, test_rewritten, 0, G_N_ELEMENTS(layouts));
    tcase_add_test(tc, test_golden);
    return run_suite("gguf-write", tc);
}
