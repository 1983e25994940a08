/* What a file that is no GGUF file looks like: what people hand to a GGUF reader by mistake. Knows
 * the first bytes of other formats and nothing of GGUF's inside. */
#include "gguf/lookalike.h"

#include "gguf/reader.h"

enum { SAFETENSORS_HEADER_MAX = 100 * 1000 * 1000, ZEROS_LOOKED_AT = 4096 };

typedef struct {
    const char *start;
    uint8_t len;
    const char *description;
} signature;

#define SIGNATURE(bytes, description)                                                              \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, description                                                      \
    }
#define OLD_GGML                                                                                   \
    "is a model in a format from before GGUF (GGML, GGMF or GGJT); "                               \
    "convert it to GGUF, or download a GGUF of the model"
#define ARCHIVE "; unpack it first"

static const signature signatures[] = {
    SIGNATURE("version https://git-lfs",
              "is a git-lfs pointer, not the model; fetch the model with `git lfs pull`"),
    SIGNATURE("tjgg", OLD_GGML),
    SIGNATURE("ggjt", OLD_GGML),
    SIGNATURE("fmgg", OLD_GGML),
    SIGNATURE("ggmf", OLD_GGML),
    SIGNATURE("lmgg", OLD_GGML),
    SIGNATURE("ggml", OLD_GGML),
    SIGNATURE("algg", "is a LoRA adapter in the format from before GGUF; convert it to GGUF"),
    SIGNATURE("ggla", "is a LoRA adapter in the format from before GGUF; convert it to GGUF"),
    SIGNATURE("FUGG",
              "has its magic written backwards (FUGG), which no big-endian GGUF file has: "
              "their magic is GGUF too; write the file anew with a converter that knows GGUF 3"),
    SIGNATURE("PK\x03\x04", "is a zip archive, as PyTorch checkpoints (.pt, .bin) are; "
                            "convert it to GGUF first"),
    SIGNATURE("\x80\x02", "is a Python pickle, as old PyTorch checkpoints are; convert it to GGUF "
                          "first"),
    SIGNATURE("\x89HDF\r\n", "is an HDF5 file, as Keras models are; convert it to GGUF first"),
    SIGNATURE("\x93NUMPY", "is a NumPy array, not a GGUF file"),
    SIGNATURE("MZqFpD", "is a llamafile: a program with the model inside; "
                        "take the .gguf file out of it with `unzip`"),
    SIGNATURE("MZ", "is a Windows program, not a GGUF file"),
    SIGNATURE("\x7F"
              "ELF",
              "is a program, not a GGUF file"),
    SIGNATURE("\x1F\x8B", "is compressed by gzip" ARCHIVE),
    SIGNATURE("\x28\xB5\x2F\xFD", "is compressed by zstd" ARCHIVE),
    SIGNATURE("\xFD"
              "7zXZ",
              "is compressed by xz" ARCHIVE),
    SIGNATURE("BZh", "is compressed by bzip2" ARCHIVE),
    SIGNATURE("7z\xBC\xAF\x27\x1C", "is a 7-Zip archive" ARCHIVE),
    SIGNATURE("%PDF-", "is a PDF document, not a GGUF file"),
};

static bool starts_with(const pn_gguf_source *source, const char *start, size_t len)
{
    return source->size >= len && memcmp(source->data, start, len) == 0;
}

static bool is_zeros(const pn_gguf_source *source)
{
    uint64_t n = MIN(source->size, ZEROS_LOOKED_AT);
    for (uint64_t i = 0; i < n; i++)
        if (source->data[i] != 0)
            return false;
    return true;
}

static bool is_safetensors(const pn_gguf_source *source)
{
    if (source->size < 9 || source->data[8] != '{')
        return false;
    uint64_t header = pn_load_u64(source->data, false);
    return header >= 2 && header <= SAFETENSORS_HEADER_MAX;
}

static bool is_tar(const pn_gguf_source *source)
{
    return source->size >= 262 && memcmp(source->data + 257, "ustar", 5) == 0;
}

/* Markup and JSON may begin with a byte order mark and white space. */
static const char *text_description(const pn_gguf_source *source)
{
    char start[64] = "";
    memcpy(start, source->data, MIN(source->size, sizeof start - 1));

    const char *p = start;
    if (strncmp(p, "\xEF\xBB\xBF", 3) == 0)
        p += 3;
    while (g_ascii_isspace(*p))
        p++;

    static const char *const html[] = {"<!doctype", "<html", "<head", "<body", "<!--"};
    for (size_t i = 0; i < G_N_ELEMENTS(html); i++)
        if (g_ascii_strncasecmp(p, html[i], strlen(html[i])) == 0)
            return "looks like an HTML page: the download gave a web page, not the model; "
                   "download the file itself";
    if (strncmp(p, "<?xml", 5) == 0)
        return "looks like XML: the download gave an error message, not the model; "
               "download the file again";
    if (*p != '{' && *p != '[')
        return NULL;
    if (strstr(p, "\"schemaVersion\"") != NULL)
        return "looks like the manifest of an Ollama model; name the blob it lists "
               "(blobs/sha256-…) instead";
    return "looks like JSON text: a configuration, or the error message of a download; "
           "name the .gguf file itself";
}

static const char *describe(const pn_gguf_source *source)
{
    if (source->size == 0)
        return "is empty; is it an unfinished download?";
    if (source->size < 4 && memcmp(source->data, "GGUF", source->size) == 0)
        return "ends inside its first four bytes; is it an unfinished download?";
    for (size_t i = 0; i < G_N_ELEMENTS(signatures); i++)
        if (starts_with(source, signatures[i].start, signatures[i].len))
            return signatures[i].description;
    if (is_safetensors(source))
        return "is a safetensors file; convert it to GGUF first";
    if (is_zeros(source))
        return "begins with zeros; is it an unfinished download?";
    if (is_tar(source))
        return "is a tar archive" ARCHIVE;
    return text_description(source);
}

void pn_describe_lookalike(const pn_gguf_source *source, GString *text)
{
    const char *description = describe(source);
    if (description != NULL) {
        g_string_append(text, description);
        return;
    }
    g_string_append(text, "is no GGUF file: it begins with");
    for (uint64_t i = 0; i < MIN(source->size, 8); i++)
        g_string_append_printf(text, " %02x", source->data[i]);
    g_string_append(text, ", not with GGUF");
}
