#include "netvm.h"

/* What compilers expect to be there: weak, so that a system's own are taken where there are any. */
__attribute__((weak)) void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

__attribute__((weak)) void *memset(void *to, int byte, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)to)[i] = (uint8_t)byte;
    return to;
}

__attribute__((weak)) void *memmove(void *to, const void *from, size_t n)
{
    if ((uintptr_t)to <= (uintptr_t)from)
        return memcpy(to, from, n);
    for (size_t i = n; i > 0; i--)
        ((uint8_t *)to)[i - 1] = ((const uint8_t *)from)[i - 1];
    return to;
}

__attribute__((weak)) int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *p = a, *q = b;
    for (size_t i = 0; i < n; i++)
        if (p[i] != q[i])
            return p[i] < q[i] ? -1 : 1;
    return 0;
}

#ifdef __mips64
/* Division of 128 bits, bit by bit: that of GCC's library for MIPS expects position-independent
   callers. */
static unsigned __int128 nv_divide(unsigned __int128 a, unsigned __int128 b, unsigned __int128 *rest)
{
    unsigned __int128 quotient = 0, left = 0;
    for (int bit = 127; bit >= 0; bit--) {
        const int over = (int)(left >> 127);
        left = left << 1 | (a >> bit & 1);
        if (over || left >= b)
            left -= b, quotient |= (unsigned __int128)1 << bit;
    }
    *rest = left;
    return quotient;
}

__attribute__((weak)) unsigned __int128 __udivti3(unsigned __int128 a, unsigned __int128 b)
{
    unsigned __int128 rest;
    return nv_divide(a, b, &rest);
}

__attribute__((weak)) unsigned __int128 __umodti3(unsigned __int128 a, unsigned __int128 b)
{
    unsigned __int128 rest;
    nv_divide(a, b, &rest);
    return rest;
}
#endif

#define memcpy __builtin_memcpy
#define memset __builtin_memset
#define memmove __builtin_memmove
#define memcmp __builtin_memcmp

