/* The tree and every view of whatever parsed. */
#include "check-tree.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pn_gguf_source source = {data, size, "folder/fuzz.gguf"};
    g_autoptr(pn_gguf_file) file = pn_gguf_parse(&source, NULL, NULL);
    fuzz_dice dice = fuzz_dice_of(data, size);

    if (file != NULL)
        check_tree(file, &dice);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    fuzz_dice dice = fuzz_dice_from(seed);
    return mutate_gguf(data, size, max_size, &dice);
}
