/* gguf-random SEED FILE: writes a model of random keys and tensors that the parser takes, problems
 * or not; the same seed gives the same file. */
#include <stdio.h>
#include <stdlib.h>

#include "generate.h"

static bool is_taken(const GByteArray *bytes)
{
    pn_gguf_source source = {bytes->data, bytes->len, "random.gguf"};
    g_autoptr(pn_gguf_file) file = pn_gguf_parse(&source, NULL, NULL);
    return file != NULL;
}

int main(int argc, char **argv)
{
    guint64 seed;
    if (argc != 3 || !g_ascii_string_to_unsigned(argv[1], 10, 0, G_MAXUINT64, &seed, NULL)) {
        fprintf(stderr, "usage: gguf-random SEED FILE\n");
        return EXIT_FAILURE;
    }

    fuzz_dice dice = fuzz_dice_from(seed);
    for (;;) {
        g_autoptr(gguf_writer) w = generate_model(&dice);
        g_autoptr(GByteArray) bytes = writer_finish(w);
        g_autoptr(GError) error = NULL;
        if (!is_taken(bytes))
            continue;
        if (!g_file_set_contents(argv[2], (const char *)bytes->data, bytes->len, &error)) {
            fprintf(stderr, "%s\n", error->message);
            return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
    }
}
