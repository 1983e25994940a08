/* The command line: that of a person, that of mount(8), and the sentences for wrong ones; and lines
 * of a worker on their way to the log. */
#include "mount/log.h"
#include "mount/options.h"

#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WORDS = 16 };

/* Splits at blanks; '~' stands for a blank in a word. */
static int words_of(char *line, char *argv[MAX_WORDS])
{
    int argc = 0;
    argv[argc++] = (char *)"mount.gguf";
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " ")) {
        for (char *at = word; *at != '\0'; at++)
            *at = *at == '~' ? ' ' : *at;
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return argc;
}

static bool parse(options *o, const char *line, GError **error)
{
    static char copy[1024]; /* the options of a test point into it */
    char *argv[MAX_WORDS];
    g_strlcpy(copy, line, sizeof copy);
    int argc = words_of(copy, argv);
    return options_parse(o, argc, argv, error);
}

/* The fields of options that are compared. */
typedef struct {
    action action;
    const char *file, *dir, *print_path, *views, *fsname;
    bool foreground, is_fake, strict, partial, allow_other;
    int verbosity;
    const char *pidfile, *space;
    unsigned idle_timeout;
} outcome;

static const struct {
    const char *line;
    outcome expected;
    const char *kernel; /* NULL: "" */
} right[] = {
    {"m.gguf", {.file = "m.gguf"}},
    {"m.gguf /mnt", {.file = "m.gguf", .dir = "/mnt"}},
    {"--pidfile /run/p m -o idle_timeout=60",
     {.file = "m", .pidfile = "/run/p", .idle_timeout = 60}},
    {"m.gguf /mnt -f", {.file = "m.gguf", .dir = "/mnt", .foreground = true}},
    {"-f -q m.gguf /mnt", {.file = "m.gguf", .dir = "/mnt", .foreground = true, .verbosity = -1}},
    {"-fv m.gguf /mnt", {.file = "m.gguf", .dir = "/mnt", .foreground = true, .verbosity = 1}},
    {"-d m.gguf /mnt", {.file = "m.gguf", .dir = "/mnt", .foreground = true, .verbosity = 2}},
    {"-- -f /mnt", {.file = "-f", .dir = "/mnt"}},
    {"-o strict m /d", {.file = "m", .dir = "/d", .strict = true}},
    {"-ostrict,partial m /d", {.file = "m", .dir = "/d", .strict = true, .partial = true}},
    {"-o strict -o partial m /d", {.file = "m", .dir = "/d", .strict = true, .partial = true}},
    {"m /d -o ,,strict,,", {.file = "m", .dir = "/d", .strict = true}},
    {"m /d -o views=metadata:f32", {.file = "m", .dir = "/d", .views = "metadata,f32"}},
    {"m /d -o views=a,views=b", {.file = "m", .dir = "/d", .views = "b"}},
    {"m /d -o fsname=a\\,b\\\\c", {.file = "m", .dir = "/d", .fsname = "a,b\\c"}},
    {"m /d -o allow_other,default_permissions,ro,nosuid,nodev,noexec,noatime",
     {.file = "m", .dir = "/d", .allow_other = true},
     ",noexec,noatime"},
    {"m /d -o context=a\\,b", {.file = "m", .dir = "/d"}, ",context=a\\,b"},
    {"m /d -o noauto,user=me,nofail,_netdev,x-systemd.automount,comment=x,X-y,uhelper=z,rw,async",
     {.file = "m", .dir = "/d"}},
    {"--print / m", {.action = ACTION_PRINT, .print_path = "/", .file = "m"}},
    {"--print=a/b m", {.action = ACTION_PRINT, .print_path = "a/b", .file = "m"}},
    {"m --print a -o strict",
     {.action = ACTION_PRINT, .print_path = "a", .file = "m", .strict = true}},
    {"-h", {.action = ACTION_HELP}},
    {"--help a b c", {.action = ACTION_HELP}},
    {"-V", {.action = ACTION_VERSION}},
    {"--version", {.action = ACTION_VERSION}},

    /* a person who means no mount(8) */
    {"-f m /d -o ro", {.file = "m", .dir = "/d", .foreground = true}},
    {"m -f /d -o rw", {.file = "m", .dir = "/d", .foreground = true}},
    {"m /d -f -o rootcontext=x", {.file = "m", .dir = "/d", .foreground = true}, ",rootcontext=x"},
    {"m -f -o ro", {.file = "m", .foreground = true}},

    /* mount(8) */
    {"m /d -o rw -N /proc/1/fd/4", {.file = "m", .dir = "/d", .space = "/proc/1/fd/4"}},
    {"m /d -v -f -o ro,strict -t gguf.x -N ns",
     {.file = "m", .dir = "/d", .is_fake = true, .verbosity = 1, .strict = true, .space = "ns"}},
    {"m /d -o rw", {.file = "m", .dir = "/d"}},
    {"m /d -f -o rw", {.file = "m", .dir = "/d", .is_fake = true}},
    {"m /d -sfnv -o rw,nonsense,strict",
     {.file = "m", .dir = "/d", .is_fake = true, .verbosity = 1, .strict = true}},
    {"m /d -s -o ro,nonsense=1", {.file = "m", .dir = "/d"}},
    {"m /d -n -v -o rw,user=x,noexec", {.file = "m", .dir = "/d", .verbosity = 1}, ",noexec"},
    {"a~b /d~e -o rw", {.file = "a b", .dir = "/d e"}},
};

static const struct {
    const char *line;
    const char *says;
} wrong[] = {
    {"", "FILE is missing"},
    {"m /d extra", "extra: one argument too many"},
    {"-x m /d", "no option -x"},
    {"-s m /d", "no option -s"},
    {"m /d -o", "-o needs a value"},
    {"--print", "--print needs a value"},
    {"--print a", "FILE is missing"},
    {"--print a m /d", "one argument too many"},
    {"--nonsense m /d", "no option --nonsense"},
    {"--help=x", "--help takes no value"},
    {"--pirnt a m", "no option --pirnt; did you mean --print?"},
    {"--pidfiel=a m", "did you mean --pidfile?"},
    {"--p a m", "no option --p"},
    {"-N ns m /d", "no option -N"},
    {"m /d -o nonsense", "no mount option nonsense"},
    {"m /d -o strict,nonsense=3", "no mount option nonsense=3"},
    {"m /d -o strict=1", "strict takes no value"},
    {"m /d -o views", "views needs a value, as in views=..."},
    {"m /d -o vews=f32", "no mount option vews=f32; did you mean views?"},
    {"m /d -o allowother", "did you mean allow_other?"},
    {"m /d -o idel_timeout=3", "did you mean idle_timeout?"},
    {"m /d -o srtict,x-y", "did you mean strict?"},
    {"m /d -o views=f32,raw", "no mount option raw; views stand between colons"},
    {"m /d -o idle_timeout=soon", "idle_timeout=soon: a number of seconds"},
    {"m /d -o idle_timeout=31536001", "a number of seconds"},
    {"m /d -o discard,remount", "remount is not possible"},
    {"m /d -o subtype=other", "no mount option subtype=other"},
    {"m /d -o sandbox=maybe", "sandbox=maybe: it is yes or no"},
    {"m /d -o uid=", "uid=: a number"},
    {"m /d -o uid=-1", "uid=-1: a number"},
    {"m /d -o gid=4294967295", "gid=4294967295: a number"},
    {"m /d -o fmask=8", "fmask=8: an octal number"},
    {"m /d -o dmask=1000", "dmask=1000: an octal number"},
    {"m /d -o fsname=", "fsname=: a value is missing"},
    {"m /d -o remount,ro", "remount is not possible"},
    {"m /d -f -o rw,nonsense", "no mount option nonsense"},
    {"m /d -q -o rw", "no option -q"},
};

START_TEST(right_lines)
{
    const outcome *expected = &right[_i].expected;
    g_auto(options) o;
    g_autoptr(GError) error = NULL;
    const char *line = right[_i].line;
    ck_assert_msg(parse(&o, line, &error), "%s: %s", line, error ? error->message : "");
    ck_assert_int_eq(o.action, expected->action);
    ck_assert_pstr_eq(o.file, expected->file);
    ck_assert_pstr_eq(o.dir, expected->dir);
    ck_assert_pstr_eq(o.print_path, expected->print_path);
    ck_assert_int_eq(o.foreground, expected->foreground);
    ck_assert_int_eq(o.is_fake, expected->is_fake);
    ck_assert_int_eq(o.verbosity, expected->verbosity);
    ck_assert_int_eq(o.strict, expected->strict);
    ck_assert_int_eq(o.partial, expected->partial);
    ck_assert_pstr_eq(o.views, expected->views);
    ck_assert_pstr_eq(o.fsname, expected->fsname);
    ck_assert_int_eq(o.allow_other, expected->allow_other);
    ck_assert_pstr_eq(o.pidfile, expected->pidfile);
    ck_assert_pstr_eq(o.mount_namespace, expected->space);
    ck_assert_uint_eq(o.idle_timeout, expected->idle_timeout);
    ck_assert_str_eq(o.kernel->str, right[_i].kernel != NULL ? right[_i].kernel : "");
    ck_assert(o.sandbox);
}
END_TEST

START_TEST(wrong_lines)
{
    g_auto(options) o;
    g_autoptr(GError) error = NULL;
    const char *line = wrong[_i].line;
    ck_assert_msg(!parse(&o, line, &error), "%s is accepted", line);
    ck_assert_int_eq(error->code, MOUNT_USAGE);
    ck_assert_msg(strstr(error->message, wrong[_i].says) != NULL, "%s: %s", line, error->message);
}
END_TEST

START_TEST(numbers)
{
    g_auto(options) o;
    ck_assert(parse(&o, "m /d -o uid=0,gid=4294967294,fmask=0077,dmask=22,sandbox=no", NULL));
    ck_assert(o.server.has_uid && o.server.uid == 0);
    ck_assert(o.server.has_gid && o.server.gid == 4294967294);
    ck_assert(o.server.fmask == 077 && o.server.dmask == 022);
    ck_assert(!o.sandbox);
}
END_TEST

/* Random words: never a crash, and either options or a sentence. */
START_TEST(random_lines)
{
    static const char *const words[] = {"-f", "-o",  "rw",   "ro,", "m",    "/d",        "--print",
                                        "-s", "-N",  "a,\\", "=",   "uid=", "--print=x", "--",
                                        "-",  "-oo", "-vvv", "\\",  "",     "views=::"};
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    for (int round = 0; round < 20000; round++) {
        char *argv[MAX_WORDS] = {(char *)"mount.gguf"};
        int argc = 1 + g_rand_int_range(rand, 0, 8);
        for (int i = 1; i < argc; i++)
            argv[i] = (char *)words[g_rand_int_range(rand, 0, G_N_ELEMENTS(words))];
        g_auto(options) o;
        g_autoptr(GError) error = NULL;
        bool parsed = options_parse(&o, argc, argv, &error);
        ck_assert(parsed == (error == NULL));
        if (parsed && o.action == ACTION_MOUNT)
            ck_assert(o.file != NULL);
    }
}
END_TEST

/* What stderr shows of what a worker writes to the pipe. */
static char *logged(log_level max, const char *bytes, size_t len)
{
    int in[2], out[2];
    ck_assert_int_eq(pipe2(in, O_NONBLOCK), 0);
    ck_assert_int_eq(pipe2(out, O_NONBLOCK), 0);
    log_sink log;
    log_begin(&log, max, false);
    int saved = dup(STDERR_FILENO);
    dup2(out[1], STDERR_FILENO);
    ck_assert_int_eq(write(in[1], bytes, len), (ssize_t)len);
    ck_assert(log_pump(&log, in[0]));
    close(in[1]);
    ck_assert(!log_pump(&log, in[0]));
    dup2(saved, STDERR_FILENO);
    char *found = g_malloc0(1 << 16);
    if (read(out[0], found, (1 << 16) - 1) < 0)
        found[0] = '\0';
    close(in[0]);
    close(out[0]);
    close(out[1]);
    close(saved);
    return found;
}

START_TEST(lines_of_a_worker)
{
    static const struct {
        const char *sent, *said;
    } cases[] = {
        {"<4>a line\n", "mount.gguf: a line\n"},
        {"<3>a\n<4>b\n", "mount.gguf: a\nmount.gguf: b\n"},
        {"<6>not said\n<7>nor this\n<4>this\n", "mount.gguf: this\n"},
        {"no level\n", "mount.gguf: no level\n"},
        {"<4>no end", "mount.gguf: no end\n"},
        {"<4>\x1b[2Jred\r\x07\x7f 50%\n", "mount.gguf: %1B[2Jred%0D%07%7F 50%\n"},
        {"<4>gr\xc3\xbc\xc3\x9f \xff\xc2\x9b\n", "mount.gguf: gr\xc3\xbc\xc3\x9f %FF%C2%9B\n"},
        {"\n\n<4>\n", ""},
        {"<9>a level too many\n", ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *said = logged(LOG_LEVEL_WARNING, cases[i].sent, strlen(cases[i].sent));
        ck_assert_str_eq(said, cases[i].said);
    }
}
END_TEST

START_TEST(lines_are_bounded)
{
    g_autoptr(GString) sent = g_string_new("<4>");
    for (int i = 0; i < 5000; i++)
        g_string_append_c(sent, 'x');
    g_string_append(sent, "\n<4>next\n");
    g_autofree char *one = logged(LOG_LEVEL_WARNING, sent->str, sent->len);
    ck_assert_uint_lt(strlen(one), 2100);
    ck_assert(g_str_has_suffix(one, "x\nmount.gguf: next\n"));

    g_string_truncate(sent, 0);
    for (int i = 0; i < 5000; i++)
        g_string_append(sent, "<4>y\n");
    g_autofree char *many = logged(LOG_LEVEL_WARNING, sent->str, sent->len);
    size_t n = 0;
    for (const char *at = many; (at = strstr(at, "y\n")) != NULL; at++)
        n++;
    ck_assert_uint_eq(n, 200);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("options");
    tcase_add_loop_test(tc, right_lines, 0, G_N_ELEMENTS(right));
    tcase_add_loop_test(tc, wrong_lines, 0, G_N_ELEMENTS(wrong));
    tcase_add_test(tc, numbers);
    tcase_add_test(tc, random_lines);
    tcase_add_test(tc, lines_of_a_worker);
    tcase_add_test(tc, lines_are_bounded);
    Suite *suite = suite_create("options");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
