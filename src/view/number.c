/* Numbers as text (number.h). The shortest digits by the Schubfach algorithm (Raffaello Giulietti,
 * "The Schubfach way to render doubles", 2020), in the variant of Alexander Bolz's Drachennest,
 * that also gives numbers of a single digit their shortest form. */
#include "view/number.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "view/pow10.h"

__extension__ typedef unsigned __int128 uint128;

/* digits * 10^exponent */
typedef struct {
    uint64_t digits;
    int exponent;
} decimal;

/* A positive finite number: c * 2^q. */
typedef struct {
    uint64_t c;
    int q;
    bool lower_is_closer; /* a power of two: the next smaller number is only half a step away */
} binary;

/* floor(log10(2^q)), or of 3/4 * 2^q; floor(log2(10^k)). For the exponents that occur here. */
static int floor_log10_pow2(int q, bool three_quarters)
{
    return (q * 1262611 - (three_quarters ? 524031 : 0)) >> 22;
}

static int floor_log2_pow10(int k)
{
    return (k * 1741647) >> 19;
}

/* The upper bits of g * c, with the last bit set where any below is not zero. */
static uint64_t round_to_odd(pow10_entry g, uint64_t c)
{
    uint128 low = (uint128)g.low * c;
    uint128 sum = (uint128)g.high * c + (uint64_t)(low >> 64);

    return (uint64_t)(sum >> 64) | ((uint64_t)sum > 1);
}

static uint64_t round_to_odd_32(pow10_entry g, uint64_t c)
{
    uint64_t high = g.high + (g.low != 0);
    uint64_t product = (uint64_t)(((uint128)high * c) >> 32);

    return product >> 32 | ((uint32_t)product > 1);
}

/* Of the decimals inside the rounding interval of the number, one with the fewest digits, and of
 * those the one nearest to it. */
static decimal shortest(binary b, uint64_t (*scale)(pow10_entry g, uint64_t c))
{
    int k = floor_log10_pow2(b.q, b.lower_is_closer);
    int h = b.q + floor_log2_pow10(-k) + 1;
    pow10_entry g = pow10_table[-k - POW10_MIN];
    bool even = b.c % 2 == 0; /* then the interval's ends belong to it */

    uint64_t lower = scale(g, (4 * b.c - 2 + b.lower_is_closer) << h) + !even;
    uint64_t value = scale(g, (4 * b.c) << h);
    uint64_t upper = scale(g, (4 * b.c + 2) << h) - !even;
    uint64_t s = value / 4;

    if (s >= 10) { /* one digit fewer */
        uint64_t tens = s / 10;
        bool down = lower <= 40 * tens, up = 40 * tens + 40 <= upper;
        if (down != up)
            return (decimal){tens + up, k + 1};
    }

    bool down = lower <= 4 * s, up = 4 * s + 4 <= upper;
    if (down != up)
        return (decimal){s + up, k};
    uint64_t middle = 4 * s + 2;
    return (decimal){s + (value > middle || (value == middle && s % 2 == 1)), k};
}

/* A whole number below 2^bits is its own shortest form. */
static bool is_small_integer(binary b, int bits)
{
    return b.q <= 0 && b.q > -bits && (b.c & ((UINT64_C(1) << -b.q) - 1)) == 0;
}

static size_t put_digits(char *out, uint64_t value)
{
    char reversed[20];
    size_t n = 0;

    do {
        reversed[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (size_t i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    return n;
}

size_t number_u64(char out[NUMBER_TEXT_MAX], uint64_t value)
{
    return put_digits(out, value);
}

size_t number_i64(char out[NUMBER_TEXT_MAX], int64_t value)
{
    if (value >= 0)
        return put_digits(out, (uint64_t)value);
    out[0] = '-';
    return 1 + put_digits(out + 1, -(uint64_t)value);
}

static size_t put_string(char *out, const char *string)
{
    size_t len = strlen(string);

    memcpy(out, string, len);
    return len;
}

/* `1.5e-05`: at least two digits of exponent. point: the exponent of the first digit. */
static size_t put_scientific(char *out, const char *digits, size_t n, int point)
{
    size_t len = 0;

    out[len++] = digits[0];
    if (n > 1) {
        out[len++] = '.';
        memcpy(out + len, digits + 1, n - 1);
        len += n - 1;
    }
    out[len++] = 'e';
    out[len++] = point < 0 ? '-' : '+';
    if (point < 0)
        point = -point;
    if (point < 10)
        out[len++] = '0';
    return len + put_digits(out + len, (uint64_t)point);
}

/* `0.00015`, `1.5`, `1500.0` */
static size_t put_positional(char *out, const char *digits, size_t n, int point)
{
    size_t len = 0;

    if (point < 0) {
        len = put_string(out, "0.");
        memset(out + len, '0', (size_t)(-point - 1));
        len += (size_t)(-point - 1);
        memcpy(out + len, digits, n);
        return len + n;
    }

    size_t whole = (size_t)point + 1, given = n < whole ? n : whole;
    memcpy(out, digits, given);
    memset(out + given, '0', whole - given);
    len = whole;
    out[len++] = '.';
    if (n <= whole) {
        out[len++] = '0';
        return len;
    }
    memcpy(out + len, digits + whole, n - whole);
    return len + n - whole;
}

static size_t put_decimal(char *out, decimal d, bool scientific)
{
    char digits[20];
    size_t n = put_digits(digits, d.digits);
    int point = (int)n - 1 + d.exponent;

    while (n > 1 && digits[n - 1] == '0')
        n--;
    return scientific ? put_scientific(out, digits, n, point)
                      : put_positional(out, digits, n, point);
}

size_t number_f32(char out[NUMBER_TEXT_MAX], float value)
{
    uint32_t bits;
    size_t len = 0;

    memcpy(&bits, &value, sizeof bits);
    uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
    if (exponent == 0xff && fraction != 0)
        return put_string(out, "nan");
    if (bits >> 31)
        out[len++] = '-';
    if (exponent == 0xff)
        return len + put_string(out + len, "inf");
    if (exponent == 0 && fraction == 0)
        return len + put_string(out + len, "0.0");

    binary b = exponent == 0 ? (binary){fraction, 1 - 150, false}
                             : (binary){fraction | 1u << 23, (int)exponent - 150,
                                        fraction == 0 && exponent > 1};
    decimal d = is_small_integer(b, 24) ? (decimal){b.c >> -b.q, 0} : shortest(b, round_to_odd_32);
    double size = fabs((double)value);
    return len + put_decimal(out + len, d, size < 1e-4 || size >= 1e6);
}

size_t number_f64(char out[NUMBER_TEXT_MAX], double value)
{
    uint64_t bits;
    size_t len = 0;

    memcpy(&bits, &value, sizeof bits);
    uint64_t exponent = bits >> 52 & 0x7ff, fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 0x7ff && fraction != 0)
        return put_string(out, "nan");
    if (bits >> 63)
        out[len++] = '-';
    if (exponent == 0x7ff)
        return len + put_string(out + len, "inf");
    if (exponent == 0 && fraction == 0)
        return len + put_string(out + len, "0.0");

    binary b = exponent == 0 ? (binary){fraction, 1 - 1075, false}
                             : (binary){fraction | UINT64_C(1) << 52, (int)exponent - 1075,
                                        fraction == 0 && exponent > 1};
    decimal d = is_small_integer(b, 53) ? (decimal){b.c >> -b.q, 0} : shortest(b, round_to_odd);
    double size = fabs(value);
    return len + put_decimal(out + len, d, size < 1e-4 || size >= 1e16);
}
