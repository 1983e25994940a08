/* What a model's files are called (shard.h). */
#include "view/shard.h"

#include <string.h>

const char *shard_file_name(const pn_gguf_file *gguf, unsigned shard)
{
    const char *path = pn_gguf_shard_name(gguf, shard);
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}
