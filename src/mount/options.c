/* Parsing the command line.
 *
 * mount(8) calls `mount.gguf SPEC DIR [-sfnv] -o rw,… [-t TYPE] [-N NAMESPACE]`, where -f means
 * fake and -s sloppy, while for a person -f means foreground. All its calls look so, and hardly any
 * of a person's does. */
#include "mount/options.h"

#include "mount/option-list.h"
#include "mount/words.h"

#include <getopt.h>
#include <string.h>

const char options_help[] =
    "Usage: mount.gguf [OPTION]... FILE [DIR]\n"
    "       mount.gguf --print PATH FILE\n"
    "Show the GGUF model FILE as a read-only directory tree at DIR, or in a new\n"
    "directory here that is removed when it is unmounted; or write what is at PATH in\n"
    "that tree to standard output. Unmount with: umount DIR (as an ordinary user:\n"
    "fusermount3 -u DIR).\n"
    "\n"
    "  -f                 stay in the foreground\n"
    "  -d                 show every request (implies -f)\n"
    "  -v, -q             say more; say nothing but errors\n"
    "  -o OPT,...         mount options, below\n"
    "      --pidfile PATH write the number of the process to PATH while it is mounted\n"
    "      --print PATH   write the file at PATH, or the names in the directory there\n"
    "  -h, --help         show this\n"
    "  -V, --version      show the version\n"
    "\n"
    "Mount options:\n"
    "  strict             refuse a file that has any problem\n"
    "  partial            show what is there of a split model with missing files\n"
    "  views=A:B          show only these views, as in views=metadata:f32\n"
    "  allow_other        let other users in, as the permissions of FILE allow\n"
    "  uid=N, gid=N       show this owner and group instead of those of FILE\n"
    "  fmask=M, dmask=M   take these permissions (octal) from files, directories\n"
    "  idle_timeout=N     unmount when nobody has used it for N seconds\n"
    "  cache=WHEN         let the kernel keep what was read: auto, always or never\n"
    "  readahead=SIZE     read so far ahead of sequential readers (root only): 1M\n"
    "  fsname=NAME        show this as the source of the mount instead of FILE\n"
    "  sandbox=no         do not confine the process that reads FILE (for debugging)\n"
    "\n"
    "Examples:\n"
    "  mount.gguf model.gguf /mnt/m && cat /mnt/m/summary.txt\n"
    "  mount.gguf --print metadata/general.architecture model.gguf\n";

static bool begins_with_mode(const char *list)
{
    return (strncmp(list, "rw", 2) == 0 || strncmp(list, "ro", 2) == 0) &&
           (list[2] == ',' || list[2] == '\0');
}

static bool is_mount8(int argc, char **argv)
{
    enum { LEAST = 5 }; /* mount.gguf SPEC DIR -o rw */
    while (argc > LEAST && (strcmp(argv[argc - 2], "-t") == 0 || strcmp(argv[argc - 2], "-N") == 0))
        argc -= 2;
    return argc >= LEAST && argv[1][0] != '-' && argv[2][0] != '-' &&
           strcmp(argv[argc - 2], "-o") == 0 && begins_with_mode(argv[argc - 1]);
}

enum { LONG_PRINT = 256, LONG_PIDFILE };

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {"print", required_argument, NULL, LONG_PRINT},
    {"pidfile", required_argument, NULL, LONG_PIDFILE},
    {0},
};

static void set_text(char **at, const char *value)
{
    g_free(*at);
    *at = g_strdup(value);
}

/* A wrong word, of which getopt says no more than that. */
static bool unknown_option(const char *word, int letter, GError **error)
{
    if (!g_str_has_prefix(word, "--"))
        return usage_error(error, "there is no option -%c", letter);
    nearest n;
    nearest_begin(&n, word + 2);
    for (size_t i = 0; long_options[i].name != NULL; i++)
        nearest_try(&n, long_options[i].name);
    if (n.found == NULL)
        return usage_error(error, "there is no option %s", word);
    if (n.distance == 0)
        return usage_error(error, "the option --%s takes no value", n.found);
    return usage_error(error, "there is no option %s; did you mean --%s?", word, n.found);
}

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
    case 't':
        return true;
    case 'N':
        set_text(&o->mount_namespace, optarg);
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
    case LONG_PIDFILE:
        set_text(&o->pidfile, optarg);
        return true;
    case ':':
        return usage_error(error, "%s needs a value", argv[optind - 1]);
    default:
        return unknown_option(argv[optind - 1], optopt, error);
    }
}

static bool take_operands(options *o, int n, char **operands, GError **error)
{
    int most = o->action == ACTION_PRINT ? 1 : 2;
    if (n < 1)
        return usage_error(error, "which model? FILE is missing");
    if (*operands[0] == '\0' || (n == most && *operands[n - 1] == '\0'))
        return usage_error(error, "%s is an empty word; is a variable not set?",
                           *operands[0] == '\0' ? "FILE" : "DIR");
    if (n > most)
        return usage_error(error, "%s: one argument too many", operands[most]);
    o->file = g_strdup(operands[0]);
    o->dir = n == 2 ? g_strdup(operands[1]) : NULL;
    return true;
}

bool options_parse(options *o, int argc, char **argv, GError **error)
{
    *o = (options){.sandbox = true, .kernel = g_string_new(NULL)};
    g_autoptr(GString) lists = g_string_new(NULL);
    parsing p = {.from_mount8 = is_mount8(argc, argv), .lists = lists};
    const char *letters = p.from_mount8 ? ":fsnvo:t:N:" : ":fdvqo:hV";
    int c;
    optind = 0; /* start anew: a test parses many */
    opterr = 0;
    while ((c = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        if (!take_option(o, &p, c, argv, error))
            return false;
    }
    if (o->action == ACTION_HELP || o->action == ACTION_VERSION)
        return true;
    if (!option_list_parse(o, lists->str, p.is_sloppy, error) ||
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
    g_free(o->pidfile);
    g_free(o->mount_namespace);
    if (o->kernel != NULL)
        g_string_free(o->kernel, TRUE);
    *o = (options){0};
}
