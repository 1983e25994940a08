/* The sentences by which a file is refused. */
#include "gguf/escape.h"
#include "gguf/parser.h"

/* A number of bytes that a real file might have: past it a length is no sign of a file that ends
 * too early, but of a wrong number. */
static const uint64_t plausible_bytes = UINT64_C(1) << 40;

static GString *begin_sentence(const pn_parser *p)
{
    GString *text = g_string_new(NULL);
    pn_escape_brief(text, p->source->name, strlen(p->source->name));
    g_string_append(text, ": ");
    return text;
}

static void append_thing(const pn_parser *p, GString *text)
{
    g_string_append_printf(text, "%s %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT, p->thing,
                           p->index + 1, p->n_things);
    if (p->name == NULL)
        return;
    g_string_append(text, " (");
    pn_escape_brief(text, p->name, p->name_len);
    g_string_append(text, ")");
}

static bool end_sentence(pn_parser *p, pn_gguf_error code, GString *text)
{
    g_set_error_literal(p->error, PN_GGUF_ERROR, (int)code, text->str);
    g_string_free(text, TRUE);
    return false;
}

bool pn_refuse(pn_parser *p, pn_gguf_error code, const char *format, ...)
{
    GString *text = begin_sentence(p);
    va_list args;
    va_start(args, format);
    g_string_append_vprintf(text, format, args);
    va_end(args);
    return end_sentence(p, code, text);
}

bool pn_refuse_thing(pn_parser *p, pn_gguf_error code, const char *format, ...)
{
    GString *text = begin_sentence(p);
    append_thing(p, text);
    g_string_append(text, " ");
    va_list args;
    va_start(args, format);
    g_string_append_vprintf(text, format, args);
    va_end(args);
    return end_sentence(p, code, text);
}

bool pn_refuse_end(pn_parser *p)
{
    GString *text = begin_sentence(p);
    g_string_append(text, "the file ends inside ");
    append_thing(p, text);
    g_string_append(text, "; is it an unfinished download?");
    return end_sentence(p, PN_GGUF_ERROR_TRUNCATED, text);
}

bool pn_refuse_memory(pn_parser *p)
{
    return pn_refuse_thing(p, PN_GGUF_ERROR_INVALID, "is one too many for the memory there is");
}

bool pn_refuse_count(pn_parser *p, uint64_t n, unsigned unit, const char *items)
{
    if (n <= plausible_bytes / unit)
        return pn_refuse_end(p);
    return pn_refuse_thing(p, PN_GGUF_ERROR_INVALID,
                           "claims %" G_GUINT64_FORMAT " %s, where %" G_GUINT64_FORMAT
                           " bytes are left; the file is damaged",
                           n, items, pn_reader_left(&p->in));
}
