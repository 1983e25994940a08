/* One table of the mount options, and the parsing of a list of them. Options that only concern
 * mount(8), or that ask for what is so anyway, are accepted. */
#include "mount/option-list.h"

#include "mount/words.h"

#include <string.h>

/* What to do with a mount option. */
typedef enum {
    OPTION_IGNORE, /* for mount(8), or how it is anyway */
    OPTION_KERNEL, /* passed on */
    OPTION_TRUE,
    OPTION_YES_NO,
    OPTION_TEXT,
    OPTION_LIST, /* text with ':' for ',' */
    OPTION_ID,
    OPTION_MASK,
    OPTION_SECONDS,
    OPTION_CACHE,
    OPTION_SIZE, /* in KiB */
    OPTION_REFUSE,
} option_kind;

/* A name that ends in '=' takes a value; one that ends in '*' stands for all that begin so. */
typedef struct {
    const char *name;
    option_kind kind;
    size_t at;  /* of the value in options */
    size_t has; /* of the flag that it was given; 0: none */
} option;

#define AT(field) offsetof(options, field)

static const option mount_options[] = {
    {"strict", OPTION_TRUE, AT(strict), 0},
    {"partial", OPTION_TRUE, AT(partial), 0},
    {"sandbox=", OPTION_YES_NO, AT(sandbox), 0},
    {"views=", OPTION_LIST, AT(views), 0},
    {"allow_other", OPTION_TRUE, AT(allow_other), 0},
    {"uid=", OPTION_ID, AT(server.uid), AT(server.has_uid)},
    {"gid=", OPTION_ID, AT(server.gid), AT(server.has_gid)},
    {"fmask=", OPTION_MASK, AT(server.fmask), 0},
    {"dmask=", OPTION_MASK, AT(server.dmask), 0},
    {"cache=", OPTION_CACHE, AT(server.cache), 0},
    {"readahead=", OPTION_SIZE, AT(readahead), AT(has_readahead)},
    {"fsname=", OPTION_TEXT, AT(fsname), 0},
    {"idle_timeout=", OPTION_SECONDS, AT(idle_timeout), 0},
    {"debug", OPTION_TRUE, AT(server.debug), 0},

    {"noexec", OPTION_KERNEL, 0, 0},
    {"noatime", OPTION_KERNEL, 0, 0},
    {"sync", OPTION_KERNEL, 0, 0},
    {"dirsync", OPTION_KERNEL, 0, 0},
    {"context=*", OPTION_KERNEL, 0, 0},
    {"fscontext=*", OPTION_KERNEL, 0, 0},
    {"defcontext=*", OPTION_KERNEL, 0, 0},
    {"rootcontext=*", OPTION_KERNEL, 0, 0},

    {"ro", OPTION_IGNORE, 0, 0},
    {"rw", OPTION_IGNORE, 0, 0},
    {"defaults", OPTION_IGNORE, 0, 0},
    {"default_permissions", OPTION_IGNORE, 0, 0},
    {"suid", OPTION_IGNORE, 0, 0},
    {"nosuid", OPTION_IGNORE, 0, 0},
    {"dev", OPTION_IGNORE, 0, 0},
    {"nodev", OPTION_IGNORE, 0, 0},
    {"exec", OPTION_IGNORE, 0, 0},
    {"async", OPTION_IGNORE, 0, 0},
    {"atime", OPTION_IGNORE, 0, 0},
    {"diratime", OPTION_IGNORE, 0, 0},
    {"nodiratime", OPTION_IGNORE, 0, 0},
    {"relatime", OPTION_IGNORE, 0, 0},
    {"norelatime", OPTION_IGNORE, 0, 0},
    {"strictatime", OPTION_IGNORE, 0, 0},
    {"nostrictatime", OPTION_IGNORE, 0, 0},
    {"lazytime", OPTION_IGNORE, 0, 0},
    {"nolazytime", OPTION_IGNORE, 0, 0},
    {"silent", OPTION_IGNORE, 0, 0},
    {"loud", OPTION_IGNORE, 0, 0},
    {"mand", OPTION_IGNORE, 0, 0},
    {"nomand", OPTION_IGNORE, 0, 0},
    {"iversion", OPTION_IGNORE, 0, 0},
    {"noiversion", OPTION_IGNORE, 0, 0},
    {"auto_unmount", OPTION_IGNORE, 0, 0},
    {"subtype=gguf", OPTION_IGNORE, 0, 0},
    {"auto", OPTION_IGNORE, 0, 0},
    {"noauto", OPTION_IGNORE, 0, 0},
    {"user", OPTION_IGNORE, 0, 0},
    {"user=*", OPTION_IGNORE, 0, 0},
    {"nouser", OPTION_IGNORE, 0, 0},
    {"users", OPTION_IGNORE, 0, 0},
    {"nousers", OPTION_IGNORE, 0, 0},
    {"owner", OPTION_IGNORE, 0, 0},
    {"group", OPTION_IGNORE, 0, 0},
    {"nofail", OPTION_IGNORE, 0, 0},
    {"_netdev", OPTION_IGNORE, 0, 0},
    {"comment=*", OPTION_IGNORE, 0, 0},
    {"helper=*", OPTION_IGNORE, 0, 0},
    {"uhelper=*", OPTION_IGNORE, 0, 0},
    {"x-*", OPTION_IGNORE, 0, 0},
    {"X-*", OPTION_IGNORE, 0, 0},

    {"remount", OPTION_REFUSE, 0, 0},
};

static bool parse_number(const char *word, unsigned base, guint64 max, unsigned *out)
{
    guint64 value;
    if (!g_ascii_string_to_unsigned(word, base, 0, max, &value, NULL))
        return false;
    *out = (unsigned)value;
    return true;
}

static const guint64 MAX_SIZE = G_GUINT64_CONSTANT(1) << 30;

/* A number of bytes up to that, K, M or G behind it for KiB, MiB, GiB; rounded up to whole KiB. */
static bool parse_size(const char *word, unsigned *kib)
{
    char *rest;
    guint64 value = g_ascii_strtoull(word, &rest, 10);
    unsigned shift = *rest == 'G' ? 30 : *rest == 'M' ? 20 : *rest == 'K' ? 10 : 0;
    if (!g_ascii_isdigit(word[0]) || rest[shift > 0] != '\0' || value > MAX_SIZE >> shift)
        return false;
    *kib = (unsigned)(((value << shift) + 1023) >> 10);
    return true;
}

static bool parse_cache(const char *word, server_cache *out)
{
    static const char *const words[] = {
        [CACHE_AUTO] = "auto", [CACHE_ALWAYS] = "always", [CACHE_NEVER] = "never"};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (strcmp(word, words[i]) == 0) {
            *out = (server_cache)i;
            return true;
        }
    }
    return false;
}

static bool matches(const option *opt, const char *word)
{
    size_t len = strlen(opt->name);
    switch (opt->name[len - 1]) {
    case '*':
        return strncmp(word, opt->name, len - 1) == 0;
    case '=':
        return strncmp(word, opt->name, len) == 0;
    default:
        return strcmp(word, opt->name) == 0;
    }
}

static const option *find_option(const char *word)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mount_options); i++) {
        if (matches(&mount_options[i], word))
            return &mount_options[i];
    }
    return NULL;
}

/* Why there is no such option, and what was probably meant. */
static bool unknown(const options *o, const char *word, GError **error)
{
    nearest n;
    nearest_begin(&n, word);
    for (size_t i = 0; i < G_N_ELEMENTS(mount_options); i++) {
        const char *end = strpbrk(mount_options[i].name, "=*");
        if (end == NULL || strcmp(end, "=") == 0)
            nearest_try(&n, mount_options[i].name);
    }
    if (n.found == NULL)
        return usage_error(error, "there is no mount option %s%s", word,
                           o->views != NULL ? "; views stand between colons, as in views=raw:f32"
                                            : "");
    int len = (int)n.found_len;
    bool takes_value = n.found[len] == '=';
    if (n.distance > 0)
        return usage_error(error, "there is no mount option %s; did you mean %.*s?", word, len,
                           n.found);
    if (takes_value)
        return usage_error(error, "the mount option %.*s needs a value, as in %.*s=...", len,
                           n.found, len, n.found);
    return usage_error(error, "the mount option %.*s takes no value", len, n.found);
}

void option_list_append(GString *out, const char *word)
{
    for (; *word != '\0'; word++) {
        if (*word == ',' || *word == '\\')
            g_string_append_c(out, '\\');
        g_string_append_c(out, *word);
    }
}

static void set_text(char **at, const char *value)
{
    g_free(*at);
    *at = g_strdup(value);
}

static bool set_value(options *o, const option *opt, const char *word, GError **error)
{
    enum { A_YEAR = 365 * 24 * 3600 };
    void *at = (char *)o + opt->at;
    const char *value = word + strlen(opt->name);
    switch (opt->kind) {
    case OPTION_TRUE:
        *(bool *)at = true;
        return true;
    case OPTION_YES_NO:
        if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
            return usage_error(error, "the mount option %s: it is yes or no", word);
        *(bool *)at = strcmp(value, "yes") == 0;
        return true;
    case OPTION_TEXT:
        if (*value == '\0')
            return usage_error(error, "the mount option %s: a value is missing", word);
        set_text(at, value);
        return true;
    case OPTION_LIST:
        set_text(at, value);
        g_strdelimit(*(char **)at, ":", ',');
        return true;
    case OPTION_ID:
        if (!parse_number(value, 10, UINT32_MAX - 1, at))
            return usage_error(error, "the mount option %s: a number is needed, such as id prints",
                               word);
        *(bool *)((char *)o + opt->has) = true;
        return true;
    case OPTION_MASK:
        if (!parse_number(value, 8, 0777, at))
            return usage_error(
                error, "the mount option %s: an octal number up to 777 is needed, as in 077", word);
        return true;
    case OPTION_SECONDS:
        if (!parse_number(value, 10, A_YEAR, at))
            return usage_error(
                error, "the mount option %s: a number of seconds is needed, a year at most", word);
        return true;
    case OPTION_CACHE:
        if (!parse_cache(value, at))
            return usage_error(error, "the mount option %s: it is auto, always or never", word);
        return true;
    case OPTION_SIZE:
        if (!parse_size(value, at))
            return usage_error(error, "the mount option %s: a size like 128K or 4M is needed",
                               word);
        *(bool *)((char *)o + opt->has) = true;
        return true;
    case OPTION_KERNEL:
        g_string_append_c(o->kernel, ',');
        option_list_append(o->kernel, word);
        return true;
    case OPTION_REFUSE:
        return usage_error(error, "%s is not possible: unmount, and mount again", word);
    case OPTION_IGNORE:
    default:
        return true;
    }
}

/* Appends the next option of a list to word, and returns what follows it; NULL at the end. */
static const char *next_word(const char *list, GString *word)
{
    g_string_truncate(word, 0);
    for (; *list != ',' && *list != '\0'; list++) {
        if (*list == '\\' && list[1] != '\0')
            list++;
        g_string_append_c(word, *list);
    }
    return *list == ',' ? list + 1 : NULL;
}

/* What there is not is said last: beside remount stand options of others. */
bool option_list_parse(options *o, const char *list, bool is_sloppy, GError **error)
{
    g_autoptr(GString) word = g_string_new(NULL);
    g_autoptr(GError) first = NULL;
    while (list != NULL) {
        list = next_word(list, word);
        const option *opt = find_option(word->str);
        if (opt != NULL && !set_value(o, opt, word->str, error))
            return false;
        if (opt == NULL && word->len > 0 && !is_sloppy && first == NULL)
            unknown(o, word->str, &first);
    }
    if (first == NULL)
        return true;
    g_propagate_error(error, g_steal_pointer(&first));
    return false;
}
