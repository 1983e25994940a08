/* The parser: any bytes are a model of which the tables are true, or are refused with a
 * sentence; and it can be written as one file, whatever version and byte order it is of. */
#include "check-model.h"
#include "check-writing.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pn_gguf_source source = {data, size, "folder/fuzz.gguf"};
    g_autoptr(GError) error = NULL;
    g_autoptr(pn_gguf_file) file = pn_gguf_parse(&source, NULL, &error);

    g_assert_true((file == NULL) == (error != NULL));
    if (file == NULL) {
        check_sentence(error->message);
        return 0;
    }
    check_model(file);
    g_assert_true(pn_gguf_shard_holds(file, 0, size));
    g_assert_true(pn_gguf_shard_holds(file, 0, size / 2)); /* cut */
    check_writing(file);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    fuzz_dice dice = fuzz_dice_from(seed);
    return mutate_gguf(data, size, max_size, &dice);
}
