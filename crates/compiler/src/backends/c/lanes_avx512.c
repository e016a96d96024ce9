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

/* Sixteen bytes of each packet: those of packets i, i + 4, i + 8, i + 12 in row i, so that columns have the packets in order. */
typedef struct {
    __m512i row[4];
} nv512_r;

NV512 nv512_r nv512_rows(const uint8_t *const *at)
{
    nv512_r r;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        r.row[i] = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)at[i]));
        r.row[i] = _mm512_mask_broadcast_i32x4(r.row[i], 0x00f0, _mm_loadu_si128((const void *)at[i + 4]));
        r.row[i] = _mm512_mask_broadcast_i32x4(r.row[i], 0x0f00, _mm_loadu_si128((const void *)at[i + 8]));
        r.row[i] = _mm512_mask_broadcast_i32x4(r.row[i], 0xf000, _mm_loadu_si128((const void *)at[i + 12]));
    }
    return r;
}
NV512 nv512_r nv512_fetch(const struct nv_packet *p, int64_t start)
{
    const uint8_t *at[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        at[i] = p[i].data + start;
    return nv512_rows(at);
}
/* Of packets in k only, from a place that all share, or from one of each. */
NV512 nv512_r nv512_fetch_in(nv512_m k, nv512_p p, int64_t start)
{
    const __m512i none = _mm512_set1_epi64((int64_t)(uintptr_t)nv_zeros);
    const uint8_t *at[16] __attribute__((aligned(64)));
    _mm512_store_si512(at, _mm512_mask_add_epi64(none, (__mmask8)k, p.low, _mm512_set1_epi64(start)));
    _mm512_store_si512(at + 8, _mm512_mask_add_epi64(none, (__mmask8)(k >> 8), p.high, _mm512_set1_epi64(start)));
    return nv512_rows(at);
}
NV512 nv512_r nv512_fetch_at(nv512_m k, nv512_p p, nv512_v base, int64_t start)
{
    p.low = _mm512_add_epi64(p.low, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(base)));
    p.high = _mm512_add_epi64(p.high, _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(base, 1)));
    return nv512_fetch_in(k, p, start);
}
/* Rows whose columns are made of these bytes, the first lowest; 0x80 gives 0. */
NV512 nv512_r nv512_arrange(nv512_r r, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    const __m512i order = _mm512_broadcast_i32x4(_mm_set_epi32((int)d, (int)c, (int)b, (int)a));
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        r.row[i] = _mm512_shuffle_epi8(r.row[i], order);
    return r;
}
NV512 nv512_v nv512_cell0(nv512_r r)
{
    return _mm512_unpacklo_epi64(_mm512_unpacklo_epi32(r.row[0], r.row[1]), _mm512_unpacklo_epi32(r.row[2], r.row[3]));
}
NV512 nv512_v nv512_cell1(nv512_r r)
{
    return _mm512_unpackhi_epi64(_mm512_unpacklo_epi32(r.row[0], r.row[1]), _mm512_unpacklo_epi32(r.row[2], r.row[3]));
}
NV512 nv512_v nv512_cell2(nv512_r r)
{
    return _mm512_unpacklo_epi64(_mm512_unpackhi_epi32(r.row[0], r.row[1]), _mm512_unpackhi_epi32(r.row[2], r.row[3]));
}
NV512 nv512_v nv512_cell3(nv512_r r)
{
    return _mm512_unpackhi_epi64(_mm512_unpackhi_epi32(r.row[0], r.row[1]), _mm512_unpackhi_epi32(r.row[2], r.row[3]));
}
/* Words of a table for four packets, whose indices two 64-bit numbers hold. */
NV512 __m128i nv512_words(const uint32_t *table, uint64_t low, uint64_t high)
{
    __m128i r = _mm_cvtsi32_si128((int)table[(uint32_t)low]);
    r = _mm_insert_epi32(r, (int)table[low >> 32], 1);
    r = _mm_insert_epi32(r, (int)table[(uint32_t)high], 2);
    return _mm_insert_epi32(r, (int)table[high >> 32], 3);
}
#define NV512_QUARTER(i, j) \
    nv512_words(table, (uint64_t)_mm_cvtsi128_si64(_mm512_extracti32x4_epi32(i, j)), \
                (uint64_t)_mm_extract_epi64(_mm512_extracti32x4_epi32(i, j), 1))
/* A word of a table of n for each packet in k. A table that registers hold is permuted; else loads one by one are quicker than a gather
   (on Zen 4, by a tenth to a sixth of whole filters). */
NV512 nv512_v nv512_table(nv512_m k, const uint32_t *table, unsigned n, nv512_v index)
{
    if (n > 128) {
        __m512i i = _mm512_maskz_mov_epi32(k, index);
        __m256i low = _mm256_set_m128i(NV512_QUARTER(i, 1), NV512_QUARTER(i, 0));
        __m256i high = _mm256_set_m128i(NV512_QUARTER(i, 3), NV512_QUARTER(i, 2));
        return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    }
    const __m512i *t = (const void *)table;
    nv512_v r = _mm512_permutex2var_epi32(t[0], index, t[1]);
#pragma GCC unroll 4
    for (unsigned i = 32; i < n; i += 32) {
        nv512_v next = _mm512_permutex2var_epi32(t[i / 16], index, t[i / 16 + 1]);
        r = _mm512_mask_mov_epi32(r, _mm512_cmpge_epu32_mask(index, _mm512_set1_epi32((int)i)), next);
    }
    return r;
}
