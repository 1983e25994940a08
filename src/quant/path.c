/* Which instructions this processor has, and so which kernels are used. */
#include "quant/types.h"

#include <stdatomic.h>

#ifdef QUANT_X86
#include <cpuid.h>

static bool has(quant_path path)
{
    unsigned eax, ebx, ecx, edx;

    if (path == QUANT_PORTABLE)
        return true;
    __builtin_cpu_init();
    if (path == QUANT_AVX512 &&
        !(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")))
        return false;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
}
#else
static bool has(quant_path path)
{
    return path == QUANT_PORTABLE;
}
#endif

static const char *const names[QUANT_PATHS] = {
    [QUANT_PORTABLE] = "portable",
    [QUANT_AVX2] = "avx2",
    [QUANT_AVX512] = "avx512",
};

/* The path, or -1 before it was asked for the first time. */
static atomic_int chosen = -1;

quant_path quant_path_now(void)
{
    int path = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (path < 0) {
        for (path = QUANT_PATHS - 1; !has((quant_path)path);)
            path--;
        atomic_store_explicit(&chosen, path, memory_order_relaxed);
    }
    return (quant_path)path;
}

bool quant_path_choose(quant_path path)
{
    if (!has(path))
        return false;
    atomic_store_explicit(&chosen, (int)path, memory_order_relaxed);
    return true;
}

const char *quant_path_name(quant_path path)
{
    return names[path];
}

quant_kernel quant_kernel_now(const quant_type *type)
{
    int path = (int)quant_path_now();

    while (!type->kernels[path])
        path--;
    return type->kernels[path];
}

quant_dot quant_dot_now(const quant_type *type)
{
    int path = (int)quant_path_now();

    while (path > QUANT_PORTABLE && !type->dots[path])
        path--;
    return type->dots[path];
}
