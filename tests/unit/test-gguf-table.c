/* The tensor table: sizes, offsets, what neighbours say about each other, matrices; and the index
 * of names, at a scale where anything but a constant step would show. */
#include "gguf-test.h"

#include "gguf/tables.h"

/* A tensor as an entry of one dimension, or two where ne1 is not 0. */
typedef struct {
    const char *name;
    uint32_t type;
    uint64_t ne0, ne1, offset;
} entry;

typedef struct {
    const char *what;
    entry entries[4];
    uint64_t data_bytes;
    const char *problems; /* separated by '|', in any order; no others; "": none */
    const char *no_f32;   /* names of those without a float view */
} layout_case;

/* Q8_0 has blocks of 32 elements in 34 bytes, Q4_K of 256 in 144; the alignment is 32. */
static const layout_case layouts[] = {
    {"packed", {{"a", 0, 8, 0, 0}, {"b", 8, 64, 0, 32}, {"c", 0, 1, 0, 128}}, 132, "", ""},
    {"out of order", {{"c", 0, 1, 0, 128}, {"b", 8, 64, 0, 32}, {"a", 0, 8, 0, 0}}, 132, "", ""},
    {"shared", {{"a", 0, 8, 0, 0}, {"b", 0, 8, 0, 0}, {"c", 0, 8, 0, 32}}, 64, "", ""},
    {"shared and overlapping",
     {{"a", 0, 16, 0, 0}, {"b", 0, 8, 0, 0}},
     64,
     "tensor 2 (b) overlaps tensor 1 (a)",
     ""},
    {"no elements", {{"a", 0, 0, 0, 0}, {"b", 0, 8, 0, 0}, {"c", 8, 0, 0, 32}}, 32, "", ""},
    {"padding is no gap", {{"a", 0, 1, 0, 0}, {"b", 0, 8, 0, 32}}, 64, "", ""},
    {"a gap",
     {{"a", 0, 1, 0, 32}, {"b", 0, 8, 0, 64}},
     96,
     "tensor 1 (a) comes after 32 bytes that belong to no tensor",
     ""},
    {"bytes of plain numbers overlap",
     {{"a", 0, 16, 0, 0}, {"b", 0, 8, 0, 32}},
     64,
     "tensor 2 (b) overlaps tensor 1 (a)",
     ""},
    {"unknown, up to the next",
     {{"a", 77, 100, 0, 0}, {"b", 0, 8, 0, 96}},
     128,
     "is of type 77, which is unknown",
     "a"},
    {"unknown, up to the end",
     {{"a", 0, 8, 0, 0}, {"b", 77, 100, 0, 32}},
     100,
     "is of type 77, which is unknown",
     "b"},
    {"a row that is no whole number of blocks",
     {{"a", 8, 33, 2, 0}, {"b", 0, 8, 0, 96}},
     128,
     "rows of 33 elements, no whole number of Q8_0 blocks of 32",
     "a"},
    {"blocks that the next tensor cuts into",
     {{"a", 8, 64, 0, 0}, {"b", 0, 8, 0, 32}},
     64,
     "would take 68 bytes as type 8 (Q8_0), which the place of the next tensor contradicts",
     "a"},
    {"a fork's type of the same number: blocks of 36 bytes",
     {{"a", 8, 3200, 0, 0}, {"b", 8, 64000, 0, 3616}, {"c", 0, 8, 0, 75616}},
     75648,
     "would take 3400 bytes as type 8|tensor 2 (b) would take 68000 bytes as type 8",
     "ab"},
    {"gaps of no common size: copy on write",
     {{"a", 8, 3200, 0, 0}, {"b", 8, 64000, 0, 4096}, {"c", 0, 8, 0, 73728}},
     73760,
     "(b) comes after 696 bytes|(c) comes after 1632 bytes",
     ""},
    {"one tensor of the type is where it should be",
     {{"a", 8, 64, 0, 0}, {"b", 8, 64, 0, 160}, {"c", 0, 8, 0, 256}},
     288,
     "(b) comes after 92 bytes",
     ""},
    {"the next is nowhere: that says nothing of this one",
     {{"a", 8, 64, 0, 0}, {"b", 0, 8, 0, UINT64_C(1) << 40}},
     68,
     "(b) is cut off by the end of the file: 0 of its 32 bytes",
     ""},
    {"the sum wraps",
     {{"a", 0, 8, 0, 0}, {"b", 0, 8, 0, UINT64_MAX - 31}},
     32,
     "(b) is cut off by the end of the file: 0 of its 32 bytes",
     ""},
    {"unknown, and the next is nowhere",
     {{"a", 77, 100, 0, 0}, {"b", 0, 8, 0, UINT64_C(1) << 63}},
     64,
     "type 77|(b) is cut off by the end of the file: 0 of its 32 bytes",
     "a"},
    {"cut",
     {{"a", 0, 8, 0, 0}, {"b", 8, 64, 0, 32}},
     99,
     "(b) is cut off by the end of the file: 67 of its 68 bytes",
     ""},
    {"trailing", {{"a", 0, 1, 0, 0}}, 33, "1 bytes follow the last tensor", ""},
    {"trailing padding", {{"a", 0, 1, 0, 0}}, 32, "", ""},
    {"unaligned",
     {{"a", 0, 1, 0, 0}, {"b", 0, 1, 0, 4}},
     32,
     "tensor 2 (b) begins at offset 4, no multiple of the alignment, 32",
     ""},
};

static parsed *parse_layout(const layout_case *c)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    for (size_t i = 0; i < G_N_ELEMENTS(c->entries) && c->entries[i].name != NULL; i++) {
        const entry *e = &c->entries[i];
        writer_tensor_info(w, e->name, -1, e->type, e->ne1 != 0 ? 2 : 1,
                           (uint64_t[]){e->ne0, e->ne1}, e->offset);
    }
    writer_data(w, NULL, c->data_bytes);
    return parse_writer(w);
}

START_TEST(test_layout)
{
    const layout_case *c = &layouts[_i];
    g_autoptr(parsed) p = parse_layout(c);
    ck_assert_msg(p->file != NULL, "%s: %s", c->what, p->file == NULL ? p->error->message : "");

    g_autofree char *text = problems_of(p->file);
    g_auto(GStrv) problems = g_strsplit(c->problems, "|", -1);
    ck_assert_msg(g_strv_length(problems) == p->file->n_problems, "%s: %s", c->what, text);
    for (size_t i = 0; problems[i] != NULL; i++)
        ck_assert_msg(strstr(text, problems[i]) != NULL, "%s: %s", c->what, text);

    for (uint64_t i = 0; i < p->file->n_tensors; i++) {
        pn_gguf_tensor t = pn_gguf_tensor_at(p->file, i);
        bool without = memchr(c->no_f32, t.name[0], strlen(c->no_f32)) != NULL;
        ck_assert_msg(t.has_f32 != without, "%s: %c", c->what, t.name[0]);
        ck_assert_msg((t.traits == NULL) == without, "%s: %c", c->what, t.name[0]);
        ck_assert_uint_lt(t.nbytes, UINT64_C(1) << 62);
        ck_assert_uint_le(t.available, t.nbytes);
        ck_assert(t.available == 0 || t.offset + t.available <= p->source.size);
        ck_assert((t.data != NULL) == (t.available > 0));
    }
}
END_TEST

START_TEST(test_unsized)
{
    static const struct {
        const char *what;
        uint64_t tensor, nbytes, available;
    } sizes[] = {
        {"unknown, up to the next", 0, 96, 96},
        {"unknown, up to the end", 1, 68, 68},
        {"a row that is no whole number of blocks", 0, 96, 96},
        {"blocks that the next tensor cuts into", 0, 32, 32},
        {"unknown, and the next is nowhere", 0, 64, 64},
        {"the sum wraps", 1, 32, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(layouts); j++) {
            if (strcmp(layouts[j].what, sizes[i].what) != 0)
                continue;
            g_autoptr(parsed) p = parse_layout(&layouts[j]);
            pn_gguf_tensor t = pn_gguf_tensor_at(p->file, sizes[i].tensor);
            ck_assert_msg(t.nbytes == sizes[i].nbytes, "%s", sizes[i].what);
            ck_assert_msg(t.available == sizes[i].available, "%s", sizes[i].what);
        }
}
END_TEST

/* Dimensions whose products pass 2^59, in every order, with a zero among them too. */
START_TEST(test_dims)
{
    static const struct {
        uint32_t n_dims;
        uint64_t ne[9];
        bool ok;
    } dims[] = {
        {1, {(UINT64_C(1) << 59) - 1}, true},
        {1, {UINT64_C(1) << 59}, false},
        {2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, false},
        {3, {0, UINT64_C(1) << 32, UINT64_C(1) << 32}, false},
        {3, {UINT64_C(1) << 32, UINT64_C(1) << 32, 0}, false},
        {2, {0, UINT64_C(1) << 58}, true},
        {2, {UINT64_MAX, 0}, false},
        {8, {2, 2, 2, 2, 2, 2, 2, 2}, true},
        {9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, false},
        {4, {1 << 15, 1 << 15, 1 << 15, 1 << 14}, false},
        {4, {1 << 15, 1 << 15, 1 << 15, 1 << 13}, true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(dims); i++)
        for (uint32_t type = 0; type <= 28; type += 28) {
            g_autoptr(gguf_writer) w = writer_new(3, false);
            writer_tensor_info(w, "a", -1, type, dims[i].n_dims, dims[i].ne, 0);
            writer_data(w, NULL, 64);
            g_autoptr(parsed) p = parse_writer(w);
            ck_assert_msg((p->file != NULL) == dims[i].ok, "dims %zu", i);
            if (p->file == NULL) {
                assert_says(p->error->message, "tensor 1 of 1 (a)");
                continue;
            }
            pn_gguf_tensor t = pn_gguf_tensor_at(p->file, 0);
            ck_assert_uint_le(t.nbytes, G_MAXINT64);
            ck_assert_uint_eq(t.nbytes, t.n_elems * t.traits->block_bytes);
        }
}
END_TEST

START_TEST(test_big_endian_types)
{
    g_autoptr(gguf_writer) w = writer_new(3, true);
    writer_tensor(w, "defined", -1, PN_GGUF_Q4_K, 1, (uint64_t[]){256}, NULL, 144);
    writer_tensor(w, "undefined", -1, PN_GGUF_IQ4_NL, 1, (uint64_t[]){32}, NULL, 18);
    g_autoptr(parsed) p = parse_writer(w);
    g_autofree char *problems = problems_of(p->file);
    ck_assert(pn_gguf_tensor_at(p->file, 0).has_f32);
    ck_assert(!pn_gguf_tensor_at(p->file, 1).has_f32);
    ck_assert_uint_eq(pn_gguf_tensor_at(p->file, 1).nbytes, 18);
    ck_assert_str_eq(problems, "tensor 2 (undefined) is of type IQ4_NL, whose big-endian layout is "
                               "not defined; only its raw bytes are shown\n");
}
END_TEST

START_TEST(test_qweight)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    writer_tensor(w, "vector", -1, 0, 1, (uint64_t[]){8}, NULL, 32);
    writer_tensor(w, "matrix", -1, 8, 2, (uint64_t[]){64, 3}, NULL, 204);
    writer_tensor(w, "experts", -1, 8, 3, (uint64_t[]){32, 2, 4}, NULL, 272);
    writer_tensor(w, "four", -1, 0, 4, (uint64_t[]){1, 1, 1, 1}, NULL, 4);
    writer_tensor(w, "partial", -1, 8, 1, (uint64_t[]){33}, NULL, 64);
    writer_tensor_info(w, "large", -1, 0, 1, (uint64_t[]){UINT64_C(1) << 31}, w->data->len);
    g_autoptr(parsed) p = parse_writer(w);

    static const struct {
        const char *name;
        uint64_t expert;
        int rows, cols;
        size_t row_stride, from;
        const char *error;
    } weights[] = {
        {"vector", 0, 1, 8, 32, 0, NULL},
        {"vector", 1, 0, 0, 0, 0, "there is no index 1"},
        {"matrix", 0, 3, 64, 68, 0, NULL},
        {"experts", 0, 2, 32, 34, 0, NULL},
        {"experts", 3, 2, 32, 34, 204, NULL},
        {"experts", 4, 0, 0, 0, 0, "holds 4 matrices"},
        {"four", 0, 0, 0, 0, 0, "has 4 dimensions"},
        {"partial", 0, 0, 0, 0, 0, "cannot be dequantized"},
        {"large", 0, 0, 0, 0, 0, "2147483647 are the most"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(weights); i++) {
        g_autoptr(GError) error = NULL;
        pn_qweight q;
        uint64_t t;
        ck_assert(pn_gguf_find_tensor(p->file, weights[i].name, strlen(weights[i].name), 1, &t));
        bool ok = pn_gguf_qweight(p->file, t, weights[i].expert, &q, &error);
        ck_assert_int_eq(ok, weights[i].error == NULL);
        if (!ok) {
            assert_says(error->message, weights[i].name);
            assert_says(error->message, weights[i].error);
            continue;
        }
        ck_assert_int_eq(q.rows, weights[i].rows);
        ck_assert_int_eq(q.cols, weights[i].cols);
        ck_assert_uint_eq(q.row_stride, weights[i].row_stride);
        ck_assert_ptr_eq(q.data, pn_gguf_tensor_at(p->file, t).data + weights[i].from);
    }
}
END_TEST

enum { MANY = 100000 };

/* How far, on average, a name lies from its place: a chain would show at once. */
static double mean_distance(const pn_names *names)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < names->n_slots; i++)
        if (names->slots[i].entry != 0)
            sum += (i - names->slots[i].hash) & (names->n_slots - 1);
    return (double)sum / (double)names->n_used;
}

static void check_index(const pn_names *names)
{
    ck_assert_uint_eq(names->n_used, MANY);
    ck_assert_uint_le(names->n_slots, 3 * MANY);
    ck_assert(mean_distance(names) < 3);
}

START_TEST(test_many_duplicates)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    for (int i = 0; i < MANY; i++) {
        writer_int(w, i % 2 ? "k" : "", PN_GGUF_UINT8, 1);
        writer_tensor_info(w, "t", -1, 0, 1, (uint64_t[]){8}, 0);
    }
    writer_data(w, NULL, 32);
    g_autoptr(parsed) p = parse_writer(w);
    const pn_gguf_file *file = p->file;
    uint64_t i;

    ck_assert_ptr_nonnull(file);
    check_index(&file->tables->kv_names);
    check_index(&file->tables->tensor_names);
    for (uint32_t nth = 1; nth <= MANY; nth++) {
        ck_assert(pn_gguf_find_tensor(file, "t", 1, nth, &i));
        ck_assert_uint_eq(i, nth - 1);
        ck_assert_uint_eq(pn_gguf_tensor_at(file, i).nth, nth);
    }
    ck_assert(!pn_gguf_find_tensor(file, "t", 1, MANY + 1, &i));
    ck_assert(!pn_gguf_find_tensor(file, "t", 1, 0, &i));
    ck_assert(pn_gguf_find_kv(file, "k", 1, MANY / 2, &i) && i == MANY - 1);
    ck_assert(pn_gguf_find_kv(file, "", 0, MANY / 2, &i) && i == MANY - 2);
    /* all but the first of three names, and the empty ones */
    ck_assert_uint_eq(file->n_problems, (uint64_t)2 * MANY - 3 + MANY / 2);
}
END_TEST

/* What the tables take for a tensor, of all that was allocated. */
START_TEST(test_memory)
{
    g_autoptr(gguf_writer) w = writer_new(3, false);
    for (int i = 0; i < MANY; i++) {
        g_autofree char *name = g_strdup_printf("blk.%d.weight", i);
        writer_tensor_info(w, name, -1, 0, 0, NULL, 0);
    }
    writer_data(w, NULL, 4);
    g_autoptr(parsed) p = parse_writer(w);
    const pn_gguf_tables *tables = p->file->tables;

    check_index(&tables->tensor_names);
    size_t bytes = tables->tensors.n_allocated * sizeof(pn_tensor_entry) +
                   tables->tensor_names.n_slots * sizeof(pn_name_slot);
    ck_assert_uint_le(bytes, 72 * MANY);
    ck_assert_uint_eq(sizeof(pn_kv_entry), 40);
    ck_assert_uint_eq(sizeof(pn_tensor_entry), 48);
    ck_assert_uint_eq(sizeof(pn_problem), 16);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("gguf-table");
    tcase_add_loop_test(tc, test_layout, 0, G_N_ELEMENTS(layouts));
    tcase_add_test(tc, test_unsized);
    tcase_add_test(tc, test_dims);
    tcase_add_test(tc, test_big_endian_types);
    tcase_add_test(tc, test_qweight);
    tcase_add_test(tc, test_many_duplicates);
    tcase_add_test(tc, test_memory);
    return run_suite("gguf-table", tc);
}
