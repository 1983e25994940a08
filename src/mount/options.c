/* Parsing the command line.
 *
 * mount(8) calls `mount.gguf SPEC DIR [-sfnv] [-N ns] -o rw,…`, where -f means fake and -s sloppy,
 * while for a person -f means foreground. It is mount(8) that calls when the last two arguments are
 * -o and a string that begins with rw or ro: all its calls look so. */
#include "mount/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char options_help[] =
    "Usage: mount.gguf [OPTION]... FILE DIR\n"
    "       mount.gguf --print PATH FILE\n"
    "Show the GGUF model FILE as a read-only directory tree at DIR, or write what is\n"
    "at PATH in that tree to standard output. Unmount with: umount DIR\n"
    "(as an ordinary user: fusermount3 -u DIR).\n"
    "\n"
    "  -f             stay in the foreground\n"
    "  -d             show every request (implies -f)\n"
    "  -v             say more\n"
    "  -q             say nothing but errors\n"
    "  -o OPT,...     mount options, below\n"
    "      --print PATH\n"
    "                 write the file at PATH, or the names in the directory at PATH\n"
    "  -h, --help     show this\n"
    "  -V, --version  show the version\n"
    "\n"
    "Mount options:\n"
    "  strict         refuse a file that has any problem\n"
    "  partial        show what is there of a split model with missing files\n"
    "  views=A:B      show only these views, as in views=metadata:f32\n"
    "  allow_other    let other users in, as the permissions of FILE allow\n"
    "  uid=N, gid=N   show this owner and group instead of those of FILE\n"
    "  fmask=M, dmask=M\n"
    "                 take these permissions away from files, directories (octal)\n"
    "  cache=auto|always|never\n"
    "                 let the kernel keep what was read; never: read anew each time\n"
    "  readahead=SIZE\n"
    "                 read so far ahead of sequential readers (root only), e.g. 1M\n"
    "  fsname=NAME    show this as the mount's source instead of FILE\n"
    "  sandbox=no     do not confine the process that reads FILE (for debugging)\n"
    "\n"
    "Examples:\n"
    "  mount.gguf model.gguf /mnt/m && cat /mnt/m/summary.txt\n"
    "  mount.gguf --print metadata/general.architecture model.gguf\n";

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

static bool usage(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static bool usage(GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *word = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, MOUNT_ERROR, MOUNT_USAGE, "%s (see mount.gguf --help)", word);
    return false;
}

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

static const option *find_option(const char *word)
{
    for (size_t i = 0; i < G_N_ELEMENTS(mount_options); i++) {
        const char *name = mount_options[i].name;
        size_t len = strlen(name);
        bool is_prefix = name[len - 1] == '*';
        bool takes_value = name[len - 1] == '=';
        if (is_prefix     ? strncmp(word, name, len - 1) == 0
            : takes_value ? strncmp(word, name, len) == 0
                          : strcmp(word, name) == 0)
            return &mount_options[i];
    }
    return NULL;
}

static void set_text(char **at, const char *value)
{
    g_free(*at);
    *at = g_strdup(value);
}

void options_append(GString *out, const char *word)
{
    for (; *word != '\0'; word++) {
        if (*word == ',' || *word == '\\')
            g_string_append_c(out, '\\');
        g_string_append_c(out, *word);
    }
}

static bool set_value(options *o, const option *opt, const char *word, GError **error)
{
    void *at = (char *)o + opt->at;
    const char *value = word + strlen(opt->name);
    switch (opt->kind) {
    case OPTION_TRUE:
        *(bool *)at = true;
        return true;
    case OPTION_YES_NO:
        if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
            return usage(error, "the mount option %s: it is yes or no", word);
        *(bool *)at = strcmp(value, "yes") == 0;
        return true;
    case OPTION_TEXT:
        set_text(at, value);
        return true;
    case OPTION_LIST:
        set_text(at, value);
        g_strdelimit(*(char **)at, ":", ',');
        return true;
    case OPTION_ID:
        if (!parse_number(value, 10, UINT32_MAX - 1, at))
            return usage(error, "the mount option %s: a number is needed", word);
        *(bool *)((char *)o + opt->has) = true;
        return true;
    case OPTION_MASK:
        if (!parse_number(value, 8, 0777, at))
            return usage(error, "the mount option %s: an octal number up to 777 is needed", word);
        return true;
    case OPTION_CACHE:
        if (!parse_cache(value, at))
            return usage(error, "the mount option %s: it is auto, always or never", word);
        return true;
    case OPTION_SIZE:
        if (!parse_size(value, at))
            return usage(error, "the mount option %s: a size like 128K or 4M is needed", word);
        *(bool *)((char *)o + opt->has) = true;
        return true;
    case OPTION_KERNEL:
        g_string_append_c(o->kernel, ',');
        options_append(o->kernel, word);
        return true;
    case OPTION_REFUSE:
        return usage(error, "%s is not possible: unmount, and mount again", word);
    case OPTION_IGNORE:
    default:
        return true;
    }
}

/* A list "a,b=c\,d,e": a backslash takes the special meaning from what follows it. */
static bool parse_list(options *o, const char *list, bool is_sloppy, GError **error)
{
    g_autoptr(GString) one = g_string_new(NULL);
    for (const char *at = list;; at++) {
        if (*at == '\\' && at[1] != '\0') {
            g_string_append_c(one, *++at);
            continue;
        }
        if (*at != ',' && *at != '\0') {
            g_string_append_c(one, *at);
            continue;
        }
        const option *opt = find_option(one->str);
        if (one->len > 0 && opt == NULL && !is_sloppy)
            return usage(error, "there is no mount option %s", one->str);
        if (opt != NULL && !set_value(o, opt, one->str, error))
            return false;
        if (*at == '\0')
            return true;
        g_string_truncate(one, 0);
    }
}

static bool is_mount8(int argc, char **argv)
{
    return argc >= 5 && strcmp(argv[argc - 2], "-o") == 0 &&
           (g_str_has_prefix(argv[argc - 1], "rw") || g_str_has_prefix(argv[argc - 1], "ro"));
}

enum { LONG_PRINT = 256 };

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {"print", required_argument, NULL, LONG_PRINT},
    {0},
};

typedef struct {
    bool from_mount8;
    bool is_sloppy;
    GString *lists; /* of all -o, since -s may come after */
} parsing;

static bool take_option(options *o, parsing *p, int c, char **argv, GError **error)
{
    switch (c) {
    case 'f':
        *(p->from_mount8 ? &o->is_fake : &o->foreground) = true;
        return true;
    case 's':
        p->is_sloppy = true;
        return true;
    case 'n':
        return true;
    case 'd':
        o->server.debug = true;
        return true;
    case 'v':
        o->verbosity = 1;
        return true;
    case 'q':
        o->verbosity = -1;
        return true;
    case 'o':
        g_string_append_printf(p->lists, ",%s", optarg);
        return true;
    case 'h':
        o->action = ACTION_HELP;
        return true;
    case 'V':
        o->action = ACTION_VERSION;
        return true;
    case LONG_PRINT:
        o->action = ACTION_PRINT;
        set_text(&o->print_path, optarg);
        return true;
    case ':':
        return usage(error, "%s needs a value", argv[optind - 1]);
    default:
        if (g_str_has_prefix(argv[optind - 1], "--"))
            return usage(error, "there is no option %s", argv[optind - 1]);
        return usage(error, "there is no option -%c", optopt);
    }
}

static bool take_operands(options *o, int n, char **operands, GError **error)
{
    int wanted = o->action == ACTION_PRINT ? 1 : 2;
    if (n < 1)
        return usage(error, "which model? FILE is missing");
    if (n < wanted)
        return usage(error, "where to mount %s? DIR is missing", operands[0]);
    if (n > wanted)
        return usage(error, "%s: one argument too many", operands[wanted]);
    o->file = g_strdup(operands[0]);
    o->dir = wanted == 2 ? g_strdup(operands[1]) : NULL;
    return true;
}

bool options_parse(options *o, int argc, char **argv, GError **error)
{
    *o = (options){.sandbox = true, .kernel = g_string_new(NULL)};
    g_autoptr(GString) lists = g_string_new(NULL);
    parsing p = {.from_mount8 = is_mount8(argc, argv), .lists = lists};
    const char *letters = p.from_mount8 ? ":fsnvo:" : ":fdvqo:hV";
    int c;
    optind = 0; /* start anew: a test parses many */
    opterr = 0;
    while ((c = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        if (!take_option(o, &p, c, argv, error))
            return false;
    }
    if (o->action == ACTION_HELP || o->action == ACTION_VERSION)
        return true;
    if (!parse_list(o, lists->str, p.is_sloppy, error) ||
        !take_operands(o, argc - optind, argv + optind, error))
        return false;
    if (o->server.debug) {
        o->foreground = true;
        o->verbosity = 2;
    }
    return true;
}

void options_clear(options *o)
{
    g_free(o->file);
    g_free(o->dir);
    g_free(o->print_path);
    g_free(o->views);
    g_free(o->fsname);
    if (o->kernel != NULL)
        g_string_free(o->kernel, TRUE);
    *o = (options){0};
}
