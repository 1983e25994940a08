/* number-text f32|f64: the floats on its standard input (host byte order), each as text on a line
 * of its standard output. For test_floats.py. */
#include "view/number.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    char line[NUMBER_TEXT_MAX + 1];
    float f32;
    double f64;
    size_t len;

    if (argc != 2)
        return 1;
    if (strcmp(argv[1], "f32") == 0) {
        while (fread(&f32, sizeof f32, 1, stdin) == 1) {
            len = number_f32(line, f32);
            line[len++] = '\n';
            fwrite(line, 1, len, stdout);
        }
    } else {
        while (fread(&f64, sizeof f64, 1, stdin) == 1) {
            len = number_f64(line, f64);
            line[len++] = '\n';
            fwrite(line, 1, len, stdout);
        }
    }
    return ferror(stdin) || fflush(stdout) != 0 ? 1 : 0;
}
