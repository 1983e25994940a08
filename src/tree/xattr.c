/* Extended attributes: what is known of a tensor, a key and the model, beside their contents. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tree/nodes.h"
#include "tree/views.h"
#include "view/shard.h"
#include "view/tensor.h"

/* The kernel's limit for a value. */
enum { VALUE_MAX = 64 * 1024 };

typedef struct {
    const char *bytes;
    uint64_t len;
    char text[TENSOR_DIMS_MAX]; /* where bytes may point to */
} value;

typedef struct {
    const char *name;
    bool (*get)(const pn_gguf_file *gguf, uint64_t index, value *out); /* false: not there */
} attribute;

static bool give_bytes(value *out, const char *bytes, uint64_t len)
{
    out->bytes = bytes;
    out->len = len;
    return len <= VALUE_MAX;
}

static bool give_string(value *out, const char *string)
{
    return give_bytes(out, string, strlen(string));
}

static bool give_number(value *out, uint64_t number)
{
    snprintf(out->text, sizeof out->text, "%" PRIu64, number);
    return give_string(out, out->text);
}

static bool tensor_name(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, index);
    return give_bytes(out, tensor.name, tensor.name_len);
}

static bool tensor_type(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, index);
    tensor_type_text(out->text, &tensor);
    return give_string(out, out->text);
}

static bool tensor_shape(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, index);
    tensor_shape_text(out->text, &tensor);
    return give_string(out, out->text);
}

static bool tensor_ne(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, index);
    tensor_ne_text(out->text, &tensor);
    return give_string(out, out->text);
}

static bool tensor_offset(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    pn_gguf_tensor tensor = pn_gguf_tensor_at(gguf, index);
    return tensor.offset != UINT64_MAX && give_number(out, tensor.offset);
}

static bool tensor_nbytes(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    return give_number(out, pn_gguf_tensor_at(gguf, index).nbytes);
}

static bool tensor_file(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    return give_string(out, shard_file_name(gguf, pn_gguf_tensor_at(gguf, index).shard));
}

static bool key_name(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    pn_gguf_kv kv = pn_gguf_kv_at(gguf, index);
    return give_bytes(out, kv.key, kv.key_len);
}

static bool key_type(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    pn_gguf_kv kv = pn_gguf_kv_at(gguf, index);
    const char *type = pn_gguf_type_name(kv.type);
    if (kv.type != PN_GGUF_ARRAY)
        return give_string(out, type);
    snprintf(out->text, sizeof out->text, "%s[%s]", type, pn_gguf_type_name(kv.elem));
    return give_string(out, out->text);
}

static bool key_count(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    return give_number(out, pn_gguf_kv_at(gguf, index).count);
}

static bool root_version(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    return give_number(out, gguf->version);
}

static bool root_endian(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    return give_string(out, gguf->big_endian ? "big" : "little");
}

static bool root_alignment(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    return give_number(out, gguf->alignment);
}

static bool root_architecture(const pn_gguf_file *gguf, uint64_t index, value *out)
{
    const char *string;
    uint64_t len;
    return pn_gguf_get_string(gguf, "general.architecture", &string, &len) &&
           give_bytes(out, string, len);
}

static const attribute tensor_attributes[] = {
    {"user.gguf.name", tensor_name},     {"user.gguf.type", tensor_type},
    {"user.gguf.shape", tensor_shape},   {"user.gguf.ne", tensor_ne},
    {"user.gguf.offset", tensor_offset}, {"user.gguf.nbytes", tensor_nbytes},
    {"user.gguf.file", tensor_file},     {NULL},
};

static const attribute key_attributes[] = {
    {"user.gguf.name", key_name},
    {"user.gguf.type", key_type},
    {"user.gguf.count", key_count},
    {NULL},
};

static const attribute root_attributes[] = {
    {"user.gguf.version", root_version},
    {"user.gguf.endian", root_endian},
    {"user.gguf.alignment", root_alignment},
    {"user.gguf.architecture", root_architecture},
    {NULL},
};

static const attribute no_attributes[] = {{NULL}};

static const attribute *attributes_of(node n)
{
    if (n.kind == NODE_DIR && n.number == 0)
        return root_attributes;
    if (n.kind != NODE_FILE)
        return no_attributes;

    switch (tree_view_at(n.number)->scope) {
    case VIEW_MODEL:
        break;
    case VIEW_KEY:
        return key_attributes;
    case VIEW_TENSOR:
        return tensor_attributes;
    }
    return no_attributes;
}

int tree_listxattr(tree *t, uint64_t ino, char *buffer, size_t size, size_t *len)
{
    node n;
    value v;
    if (!node_of(t, ino, &n))
        return ENOENT;

    *len = 0;
    for (const attribute *a = attributes_of(n); a->name; a++) {
        size_t name_size = strlen(a->name) + 1;
        if (!a->get(t->gguf, n.index, &v))
            continue;
        if (size >= *len + name_size)
            memcpy(buffer + *len, a->name, name_size);
        *len += name_size;
    }
    return size > 0 && size < *len ? ERANGE : 0;
}

int tree_getxattr(tree *t, uint64_t ino, const char *name, char *buffer, size_t size, size_t *len)
{
    node n;
    value v;
    if (!node_of(t, ino, &n))
        return ENOENT;

    for (const attribute *a = attributes_of(n); a->name; a++) {
        if (strcmp(a->name, name) != 0 || !a->get(t->gguf, n.index, &v))
            continue;
        *len = v.len;
        if (size > 0 && size < v.len)
            return ERANGE;
        if (size > 0 && v.len > 0)
            memcpy(buffer, v.bytes, v.len);
        return 0;
    }
    return ENODATA;
}
