/* Extended attributes: which there are, and their values. */
#include <stdlib.h>

#include "opened.h"

/* "-": no such attribute. */
static const struct {
    const char *file, *path, *name, *value;
} xattrs[] = {
    {"122_mmproj", "tensors/raw/v.patch_embd.weight", "name", "v.patch_embd.weight"},
    {"122_mmproj", "tensors/f32/v.patch_embd.weight", "type", "F16"},
    {"122_mmproj", "tensors/f32/v.patch_embd.weight", "shape", "[4,3,2,2]"},
    {"122_mmproj", "tensors/f32/v.patch_embd.weight", "ne", "[2,2,3,4]"},
    {"122_mmproj", "tensors/f32/v.patch_embd.weight", "offset", "288"},
    {"122_mmproj", "tensors/f32/v.patch_embd.weight", "nbytes", "96"},
    {"122_mmproj", "tensors/f32/v.patch_embd.weight", "file", "test.gguf"},
    {"122_mmproj", "tensors/f32/v.patch_embd.weight", "count", "-"},
    {"122_mmproj", "metadata/clip.vision.image_mean", "name", "clip.vision.image_mean"},
    {"122_mmproj", "metadata/clip.vision.image_mean", "type", "array[float32]"},
    {"122_mmproj", "metadata.raw/clip.vision.image_mean", "count", "3"},
    {"122_mmproj", "metadata/clip.has_vision_encoder", "type", "bool"},
    {"122_mmproj", "metadata/clip.has_vision_encoder", "count", "1"},
    {"122_mmproj", "", "version", "3"},
    {"122_mmproj", "", "endian", "little"},
    {"122_mmproj", "", "alignment", "32"},
    {"122_mmproj", "", "architecture", "clip"},
    {"122_mmproj", "", "name", "-"},
    {"122_mmproj", "README.txt", "name", "-"},
    {"001_ok_scalar_ndims0", "tensors/raw/s", "shape", "[]"},
    {"087_type_139_iq4_k", "tensors/raw/a", "type", "type 139"},
    {"090_type_neg1", "tensors/raw/a", "type", "type 4294967295"},
    {"067_offset_wrap", "tensors/raw/a", "offset", "-"},
    {"120_no_arch", "", "architecture", "-"},
    {"120_no_arch", "layers/0/f32/ffn_down_exps.weight.counts", "name", "-"},
    {"105_be_v3", "", "endian", "big"},
    {"013_name_empty", "tensors/f32/%", "name", ""},
    {"030_arr_of_arr", "metadata/x.n", "type", "array[array]"},
};

START_TEST(xattr_values)
{
    g_autofree char *file = g_strdup_printf("cases/%s.gguf", xattrs[_i].file);
    g_autofree char *name = g_strdup_printf("user.gguf.%s", xattrs[_i].name);
    opened o = open_data(file);
    uint64_t ino = ino_of(&o, xattrs[_i].path);
    size_t len, expected = strlen(xattrs[_i].value), names_len;
    char value[256], names[256];

    ck_assert_int_eq(tree_listxattr(o.t, ino, NULL, 0, &names_len), 0);
    ck_assert_uint_le(names_len, sizeof names);
    ck_assert_int_eq(tree_listxattr(o.t, ino, names, sizeof names, &len), 0);
    ck_assert_uint_eq(len, names_len);
    if (names_len > 0) {
        ck_assert_int_eq(tree_listxattr(o.t, ino, names, names_len, &len), 0);
        ck_assert_int_eq(tree_listxattr(o.t, ino, names, names_len - 1, &len), ERANGE);
    }
    bool is_listed = names_len > 0 && memmem(names, names_len, name, strlen(name) + 1) != NULL;

    if (strcmp(xattrs[_i].value, "-") == 0) {
        ck_assert_int_eq(tree_getxattr(o.t, ino, name, value, sizeof value, &len), ENODATA);
        ck_assert(!is_listed);
    } else {
        ck_assert(is_listed);
        ck_assert_int_eq(tree_getxattr(o.t, ino, name, NULL, 0, &len), 0);
        ck_assert_uint_eq(len, expected);
        ck_assert_int_eq(tree_getxattr(o.t, ino, name, value, sizeof value, &len), 0);
        ck_assert_uint_eq(len, expected);
        ck_assert_int_eq(expected == 0 || memcmp(value, xattrs[_i].value, len) == 0, true);
        if (expected > 1)
            ck_assert_int_eq(tree_getxattr(o.t, ino, name, value, len - 1, &len), ERANGE);
    }
    opened_close(&o);
}
END_TEST

START_TEST(long_names)
{
    opened o = open_data("cases/025_key_70000.gguf");
    char name[TREE_NAME_MAX + 1], value[16];
    uint64_t cookie = 1, ino, found;
    size_t len;
    tree_kind kind;

    ck_assert_int_eq(tree_readdir(o.t, ino_of(&o, "metadata"), &cookie, name, &ino, &kind), 0);
    ck_assert_uint_eq(strlen(name), 251);
    ck_assert_int_eq(tree_lookup(o.t, ino_of(&o, "metadata"), name, &found), 0);
    ck_assert_uint_eq(found, ino);
    ck_assert_int_eq(tree_getxattr(o.t, ino, "user.gguf.name", NULL, 0, &len), ENODATA);
    ck_assert_int_eq(tree_getxattr(o.t, ino, "user.gguf.type", value, sizeof value, &len), 0);

    name[3] = 'x'; /* the right hash behind a wrong beginning */
    ck_assert_int_eq(tree_lookup(o.t, ino_of(&o, "metadata"), name, &found), ENOENT);
    name[3] = 'k';
    name[250] = name[250] == '0' ? '1' : '0';
    ck_assert_int_eq(tree_lookup(o.t, ino_of(&o, "metadata"), name, &found), ENOENT);
    opened_close(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("xattr");
    TCase *tcase = tcase_create("xattr");
    tcase_add_loop_test(tcase, xattr_values, 0, G_N_ELEMENTS(xattrs));
    tcase_add_test(tcase, long_names);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
