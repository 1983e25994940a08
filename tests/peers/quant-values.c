/* quant-values PATH TYPE < blocks > float32
 * quant-values PATH to-f16|to-bf16 < float32 > halves
 * quant-values paths
 *
 * The number formats as a filter, for comparisons with other implementations: PATH is the set of
 * instructions to use, "portable" and those that `paths` lists. */
#include "quant/types.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static GByteArray *read_all(void)
{
    GByteArray *bytes = g_byte_array_new();
    uint8_t buffer[65536];
    size_t n;

    while ((n = fread(buffer, 1, sizeof buffer, stdin)) > 0)
        g_byte_array_append(bytes, buffer, (guint)n);
    return bytes;
}

static bool choose(const char *name)
{
    for (int path = 0; path < QUANT_PATHS; path++)
        if (strcmp(quant_path_name((quant_path)path), name) == 0)
            return quant_path_choose((quant_path)path);
    return false;
}

static int print_paths(void)
{
    for (int path = 0; path < QUANT_PATHS; path++)
        if (quant_path_choose((quant_path)path))
            puts(quant_path_name((quant_path)path));
    return EXIT_SUCCESS;
}

static int narrow(bool to_f16, const GByteArray *in)
{
    const size_t n = in->len / 4;
    g_autofree uint16_t *out = g_new(uint16_t, n);

    if (to_f16)
        pn_f32_to_f16((const float *)(const void *)in->data, out, n);
    else
        pn_f32_to_bf16((const float *)(const void *)in->data, out, n);
    return fwrite(out, 2, n, stdout) == n ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int dequantize(const char *name, const GByteArray *in)
{
    const pn_quant_traits *traits = NULL;

    for (size_t i = 0; (traits = pn_quant_traits_at(i)); i++)
        if (strcmp(traits->name, name) == 0)
            break;
    if (!traits)
        return EXIT_FAILURE;
    const size_t n_blocks = in->len / traits->block_bytes;
    const size_t n = n_blocks * traits->block_elems;
    g_autofree float *out = g_new(float, n);
    pn_dequantize(traits->id, false, in->data, out, n_blocks);
    return fwrite(out, 4, n, stdout) == n ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "paths") == 0)
        return print_paths();
    if (argc != 3 || !choose(argv[1]))
        return EXIT_FAILURE;
    g_autoptr(GByteArray) in = read_all();
    if (strcmp(argv[2], "to-f16") == 0 || strcmp(argv[2], "to-bf16") == 0)
        return narrow(strcmp(argv[2], "to-f16") == 0, in);
    return dequantize(argv[2], in);
}
