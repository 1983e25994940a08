/* gguf-matvec MODEL TENSOR < x.f32 > y.f32: one matrix of a model times a vector. The product is
 * pn_qmv's, the file pn_gguf_open's; this is the shell around them. */
#include "gguf/escape.h"

#include <pantheon/gguf.h>
#include <pantheon/qmv.h>

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "Usage: gguf-matvec [-t THREADS] MODEL TENSOR < x.f32 > y.f32\n"
    "\n"
    "Multiplies the matrix TENSOR of a GGUF file, of any type that has float32 values, by the\n"
    "vector x: y[row] = sum over col of W[row][col] * x[col]. x and y are float32 in host byte\n"
    "order, nothing else; x has as many as the matrix has columns (ne[0]), y as it has rows.\n"
    "\n"
    "  -t, --threads=N  share the rows among N threads (default: one a processor)\n"
    "  -h, --help       print this\n"
    "  -V, --version    print the version\n";

enum {
    EXIT_USAGE = 2,
    MAX_THREADS = 256, /* of pn_qmv */
};

typedef struct {
    const char *model;
    const char *tensor;
    unsigned n_threads;
} arguments;

static void complain(const char *format, ...) G_GNUC_PRINTF(1, 2);

static void complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *sentence = g_strdup_vprintf(format, args);
    va_end(args);
    fprintf(stderr, "gguf-matvec: %s\n", sentence);
}

/* The bytes of an argument or a name, fit for a terminal. */
static char *printable(const char *bytes)
{
    GString *text = g_string_new(NULL);
    pn_escape_brief(text, bytes, strlen(bytes));
    return g_string_free(text, FALSE);
}

/* The file was cut while it was mapped. */
static void on_bus_error(int signal_number)
{
    static const char sentence[] = "gguf-matvec: the model was truncated while it was read\n";
    ssize_t ignored = write(STDERR_FILENO, sentence, sizeof sentence - 1);
    (void)ignored;
    _exit(EXIT_FAILURE);
}

static bool parse_threads(const char *text, unsigned *n_threads)
{
    guint64 n;

    if (!g_ascii_string_to_unsigned(text, 10, 1, MAX_THREADS, &n, NULL)) {
        g_autofree char *shown = printable(text);
        complain("%s is no number of threads; give one from 1 to %d", shown, MAX_THREADS);
        return false;
    }
    *n_threads = (unsigned)n;
    return true;
}

/* Fills args; or prints what was asked for, or what is wrong, and returns the status to exit with.
 */
static int parse_arguments(int argc, char **argv, arguments *args)
{
    static const struct option options[] = {
        {"threads", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {0},
    };

    args->n_threads = g_get_num_processors();
    for (int option; (option = getopt_long(argc, argv, "t:hV", options, NULL)) != -1;) {
        if (option == 'h')
            return fputs(usage, stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (option == 'V')
            return puts("gguf-matvec " PN_VERSION) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (option != 't' || !parse_threads(optarg, &args->n_threads))
            return EXIT_USAGE;
    }
    if (argc - optind != 2) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    args->model = argv[optind];
    args->tensor = argv[optind + 1];
    return -1;
}

static bool find_matrix(const pn_gguf_file *file, const arguments *args, pn_qweight *matrix)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *model = printable(args->model);
    g_autofree char *name = printable(args->tensor);
    uint64_t i;

    if (!pn_gguf_find_tensor(file, args->tensor, strlen(args->tensor), 1, &i)) {
        complain("%s: there is no tensor %s among its %" G_GUINT64_FORMAT
                 "; `mount.gguf --print tensors.tsv MODEL` lists them",
                 model, name, file->n_tensors);
        return false;
    }
    const pn_gguf_tensor tensor = pn_gguf_tensor_at(file, i);
    if (tensor.n_dims != 2) {
        complain("%s: tensor %s has %u dimension%s; a matrix has 2", model, name, tensor.n_dims,
                 tensor.n_dims == 1 ? "" : "s");
        return false;
    }
    if (!pn_gguf_qweight(file, i, 0, matrix, &error)) {
        complain("%s: %s", model, error->message);
        return false;
    }
    return true;
}

/* Reads up to size bytes; fewer at the end of the input only. */
static bool read_input(uint8_t *buffer, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        ssize_t n = read(STDIN_FILENO, buffer + *got, size - *got);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            complain("cannot read x from the standard input: %s", g_strerror(errno));
            return false;
        }
        *got += (size_t)n;
    }
    return true;
}

/* x, as many float32 as the matrix has columns; or a sentence and NULL. */
static float *read_vector(const pn_qweight *matrix)
{
    const size_t size = (size_t)matrix->cols * sizeof(float);
    g_autofree float *x = g_try_malloc(size + 1);
    uint8_t beyond;
    size_t got, more = 0;

    if (!x) {
        complain("there is no memory for the %zu bytes of x", size);
        return NULL;
    }
    if (!read_input((uint8_t *)x, size, &got) || (got == size && !read_input(&beyond, 1, &more)))
        return NULL;
    if (got < size || more > 0) {
        g_autofree char *given =
            more ? g_strdup_printf("more than %zu bytes", size) : g_strdup_printf("%zu bytes", got);
        complain("the matrix has %d columns, so x must be %d float32, %zu bytes; the standard input"
                 " holds %s",
                 matrix->cols, matrix->cols, size, given);
        return NULL;
    }
    return g_steal_pointer(&x);
}

static bool write_vector(const float *y, size_t n)
{
    if (fwrite(y, sizeof *y, n, stdout) == n && fflush(stdout) == 0)
        return true;
    complain("cannot write y to the standard output: %s", g_strerror(errno));
    return false;
}

static bool multiply(const pn_gguf_file *file, const arguments *args)
{
    pn_qweight matrix;

    if (!find_matrix(file, args, &matrix))
        return false;
    g_autofree float *x = read_vector(&matrix);
    if (!x)
        return false;
    g_autofree float *y = g_try_new(float, (size_t)matrix.rows + 1);
    if (!y) {
        complain("there is no memory for the %d elements of y", matrix.rows);
        return false;
    }
    int status = pn_qmv(&matrix, x, y, args->n_threads);
    if (status != 0) {
        complain("the matrix cannot be multiplied: %s", g_strerror(status));
        return false;
    }
    return write_vector(y, (size_t)matrix.rows);
}

int main(int argc, char **argv)
{
    arguments args;
    int status = parse_arguments(argc, argv, &args);
    if (status >= 0)
        return status;
    if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO)) {
        complain("x is read from the standard input and y written to the standard output, as bytes;"
                 " give files: gguf-matvec MODEL TENSOR < x.f32 > y.f32");
        return EXIT_USAGE;
    }

    g_autoptr(GError) error = NULL;
    signal(SIGBUS, on_bus_error);
    g_autoptr(pn_gguf_file) file = pn_gguf_open(args.model, false, &error);
    if (!file) {
        complain("%s", error->message);
        return EXIT_FAILURE;
    }
    return multiply(file, &args) ? EXIT_SUCCESS : EXIT_FAILURE;
}
