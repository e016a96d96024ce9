#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NV_INLINE static inline __attribute__((__always_inline__, __unused__))
#define NV_RARELY(c) __builtin_expect(!!(c), 0)
#define NV_MOSTLY(c) __builtin_expect(!!(c), 1)
#define NV_MASK(w) ((w) >= 64 ? ~0ull : (1ull << (w)) - 1)

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
/* Numbers at any place: compilers for processors that load only what is aligned copy bytes by memcpy, and load these with two instructions, or with one
   where they know the place to be aligned. */
struct nv_half { uint16_t v; } __attribute__((__packed__, __may_alias__));
struct nv_word { uint32_t v; } __attribute__((__packed__, __may_alias__));
struct nv_long { uint64_t v; } __attribute__((__packed__, __may_alias__));
#endif

/* n bytes, 1 to 8, the most significant first. */
NV_INLINE uint64_t nv_be(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    if (n == 2 || n == 4 || n == 8) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        memcpy(&v, p, n);
        v = n == 2 ? __builtin_bswap16((uint16_t)v) : n == 4 ? __builtin_bswap32((uint32_t)v) : __builtin_bswap64(v);
#else
        v = n == 2 ? ((const struct nv_half *)p)->v : n == 4 ? ((const struct nv_word *)p)->v : ((const struct nv_long *)p)->v;
#endif
        return v;
    }
    if (n > 4)
        return nv_be(p, 4) << 8 * (n - 4) | nv_be(p + 4, n - 4);
    for (unsigned i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

/* n bytes, 1 to 8, the least significant first. */
NV_INLINE uint64_t nv_le(const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    /* Not byte by byte through memory, which a processor cannot read at once what it has just written to in parts. */
    if (n > 4 && n < 8)
        return nv_le(p, 4) | nv_le(p + 4, n - 4) << 32;
    if (n == 3)
        return nv_le(p, 2) | (uint64_t)p[2] << 16;
    if (n == 2) {
        uint16_t half;
        memcpy(&half, p, 2);
        return half;
    }
    memcpy(&v, p, n);
#else
    if (n == 2)
        return __builtin_bswap16((uint16_t)nv_be(p, 2));
    if (n == 4)
        return __builtin_bswap32((uint32_t)nv_be(p, 4));
    if (n == 8)
        return __builtin_bswap64(nv_be(p, 8));
    for (unsigned i = n; i > 0; i--)
        v = v << 8 | p[i - 1];
#endif
    return v;
}

/* The same, 5 to 7 bytes, where three more can be read: one read instead of two. */
NV_INLINE uint64_t nv_be_on(const uint8_t *p, unsigned n)
{
    return nv_be(p, 8) >> (64 - 8 * n);
}

NV_INLINE uint64_t nv_le_on(const uint8_t *p, unsigned n)
{
    return nv_le(p, 8) & NV_MASK(8 * n);
}

/* A value of w bits as a signed number. */
NV_INLINE int64_t nv_signed(uint64_t v, unsigned w)
{
    return (int64_t)(v << (64 - w)) >> (64 - w);
}

NV_INLINE uint64_t nv_shl(uint64_t v, unsigned w, uint32_t by)
{
    return by < w ? v << by & NV_MASK(w) : 0;
}

NV_INLINE uint64_t nv_shr(uint64_t v, unsigned w, uint32_t by)
{
    return by < w ? v >> by : 0;
}

NV_INLINE uint64_t nv_sar(uint64_t v, unsigned w, uint32_t by)
{
    return (uint64_t)(nv_signed(v, w) >> (by < 63 ? by : 63)) & NV_MASK(w);
}

NV_INLINE uint64_t nv_rol(uint64_t v, unsigned w, uint32_t by)
{
    by %= w;
    return by ? (v << by | v >> (w - by)) & NV_MASK(w) : v;
}

NV_INLINE uint64_t nv_clamp(__int128 v, unsigned w)
{
    __int128 most = (__int128)(NV_MASK(w) >> 1), least = -most - 1;
    return (uint64_t)(v > most ? most : v < least ? least : v) & NV_MASK(w);
}

NV_INLINE uint64_t nv_clz(uint64_t v, unsigned w)
{
    return v ? (unsigned)__builtin_clzll(v) - (64 - w) : w;
}

NV_INLINE uint64_t nv_find_bit(uint64_t v, unsigned w)
{
    return v ? 63u - (unsigned)__builtin_clzll(v) : NV_MASK(w);
}

/* MurmurHash3 of words, seed 0: `netil::digest::murmur3`. */
NV_INLINE uint32_t nv_murmur(const uint32_t *words, unsigned n)
{
    uint32_t h = 0;
    for (unsigned i = 0; i < n; i++) {
        uint32_t k = words[i] * 0xcc9e2d51u;
        k = (k << 15 | k >> 17) * 0x1b873593u;
        h ^= k;
        h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
    }
    h ^= n * 4;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}
