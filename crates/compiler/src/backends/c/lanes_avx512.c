/* Sixteen packets at once with AVX-512: a lane is 32 bits of a zmm register, a set of lanes a mask register. */
#include <immintrin.h>
#define NV512 static inline __attribute__((always_inline, unused, target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NV512_LANES 16
typedef __m512i nv512_v;
typedef __mmask16 nv512_m;
typedef struct {
    __m512i low, high;
} nv512_p;

NV512 void nv512_packets(const struct nv_packet *p, nv512_p *at, nv512_v *len)
{
    const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
    __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 4), c = _mm512_loadu_si512(p + 8), d = _mm512_loadu_si512(p + 12);
    at->low = _mm512_permutex2var_epi64(a, even, b);
    at->high = _mm512_permutex2var_epi64(c, even, d);
    __m256i low = _mm512_cvtusepi64_epi32(_mm512_permutex2var_epi64(a, odd, b));
    __m256i high = _mm512_cvtusepi64_epi32(_mm512_permutex2var_epi64(c, odd, d));
    *len = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
NV512 nv512_v nv512_load(const uint32_t *p) { return _mm512_loadu_si512(p); }
NV512 nv512_v nv512_all(uint32_t v) { return _mm512_set1_epi32((int)v); }
NV512 nv512_m nv512_none(void) { return 0; }
NV512 nv512_m nv512_every(void) { return 0xffff; }
NV512 uint32_t nv512_bits(nv512_m k) { return k; }
NV512 int nv512_any(nv512_m k) { return k != 0; }
NV512 nv512_m nv512_both(nv512_m a, nv512_m b) { return (nv512_m)(a & b); }
NV512 nv512_m nv512_either(nv512_m a, nv512_m b) { return (nv512_m)(a | b); }
NV512 nv512_m nv512_one(nv512_m a, nv512_m b) { return (nv512_m)(a ^ b); }
NV512 nv512_m nv512_but(nv512_m a, nv512_m b) { return (nv512_m)(a & ~b); }
NV512 nv512_v nv512_select(nv512_m k, nv512_v a, nv512_v b) { return _mm512_mask_blend_epi32(k, b, a); }
NV512 nv512_v nv512_add(nv512_v a, nv512_v b) { return _mm512_add_epi32(a, b); }
NV512 nv512_v nv512_sub(nv512_v a, nv512_v b) { return _mm512_sub_epi32(a, b); }
NV512 nv512_v nv512_mul(nv512_v a, nv512_v b) { return _mm512_mullo_epi32(a, b); }
NV512 nv512_v nv512_and(nv512_v a, nv512_v b) { return _mm512_and_si512(a, b); }
NV512 nv512_v nv512_or(nv512_v a, nv512_v b) { return _mm512_or_si512(a, b); }
NV512 nv512_v nv512_xor(nv512_v a, nv512_v b) { return _mm512_xor_si512(a, b); }
/* Shifts by 32 or more give 0. */
NV512 nv512_v nv512_shl(nv512_v a, nv512_v by) { return _mm512_sllv_epi32(a, by); }
NV512 nv512_v nv512_shr(nv512_v a, nv512_v by) { return _mm512_srlv_epi32(a, by); }
NV512 nv512_m nv512_eq(nv512_v a, nv512_v b) { return _mm512_cmpeq_epu32_mask(a, b); }
NV512 nv512_m nv512_lt(nv512_v a, nv512_v b) { return _mm512_cmplt_epu32_mask(a, b); }
NV512 nv512_m nv512_le(nv512_v a, nv512_v b) { return _mm512_cmple_epu32_mask(a, b); }
NV512 nv512_v nv512_swap(nv512_v a)
{
    const __m128i order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    return _mm512_shuffle_epi8(a, _mm512_broadcast_i32x4(order));
}
/* Four bytes of each packet in k, at a place that all share, or at one of each. */
NV512 nv512_v nv512_gather(nv512_m k, nv512_p p, uint32_t at)
{
    const void *base = (const void *)(uintptr_t)at;
    __m256i low = _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), (__mmask8)k, p.low, base, 1);
    __m256i high = _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), (__mmask8)(k >> 8), p.high, base, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
NV512 nv512_v nv512_gather_at(nv512_m k, nv512_p p, nv512_v at, uint32_t offset)
{
    p.low = _mm512_add_epi64(p.low, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(at)));
    p.high = _mm512_add_epi64(p.high, _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(at, 1)));
    return nv512_gather(k, p, offset);
}
NV512 nv512_v nv512_table(nv512_m k, const uint32_t *table, nv512_v index)
{
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), k, index, table, 4);
}
