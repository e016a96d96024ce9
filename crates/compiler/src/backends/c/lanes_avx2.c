/* Eight packets at once with AVX2: a lane is 32 bits of a ymm register, a set of lanes all ones in those that are in it. */
#include <immintrin.h>
#define NV256 static inline __attribute__((always_inline, unused, target("avx2")))
#define NV256_LANES 8
typedef __m256i nv256_v;
typedef __m256i nv256_m;
typedef struct {
    __m256i low, high;
} nv256_p;

NV256 void nv256_packets(const struct nv_packet *p, nv256_p *at, nv256_v *len)
{
    __m256i a = _mm256_loadu_si256((const void *)p), b = _mm256_loadu_si256((const void *)(p + 2));
    __m256i c = _mm256_loadu_si256((const void *)(p + 4)), d = _mm256_loadu_si256((const void *)(p + 6));
    at->low = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(a, b), 0xd8);
    at->high = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(c, d), 0xd8);
    __m256 low = _mm256_castsi256_ps(_mm256_permute4x64_epi64(_mm256_unpackhi_epi64(a, b), 0xd8));
    __m256 high = _mm256_castsi256_ps(_mm256_permute4x64_epi64(_mm256_unpackhi_epi64(c, d), 0xd8));
    /* The lower halves, or all ones where the upper one is not 0. */
    __m256i lens = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88)), over = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0xdd));
    lens = _mm256_or_si256(lens, _mm256_andnot_si256(_mm256_cmpeq_epi32(over, _mm256_setzero_si256()), _mm256_set1_epi32(-1)));
    *len = _mm256_permute4x64_epi64(lens, 0xd8);
}
NV256 nv256_v nv256_load(const uint32_t *p) { return _mm256_loadu_si256((const void *)p); }
NV256 nv256_v nv256_all(uint32_t v) { return _mm256_set1_epi32((int)v); }
NV256 nv256_m nv256_none(void) { return _mm256_setzero_si256(); }
NV256 nv256_m nv256_every(void) { return _mm256_set1_epi32(-1); }
NV256 uint32_t nv256_bits(nv256_m k) { return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(k)); }
NV256 int nv256_any(nv256_m k) { return !_mm256_testz_si256(k, k); }
NV256 nv256_m nv256_both(nv256_m a, nv256_m b) { return _mm256_and_si256(a, b); }
NV256 nv256_m nv256_either(nv256_m a, nv256_m b) { return _mm256_or_si256(a, b); }
NV256 nv256_m nv256_one(nv256_m a, nv256_m b) { return _mm256_xor_si256(a, b); }
NV256 nv256_m nv256_but(nv256_m a, nv256_m b) { return _mm256_andnot_si256(b, a); }
NV256 nv256_v nv256_select(nv256_m k, nv256_v a, nv256_v b) { return _mm256_blendv_epi8(b, a, k); }
NV256 nv256_v nv256_add(nv256_v a, nv256_v b) { return _mm256_add_epi32(a, b); }
NV256 nv256_v nv256_sub(nv256_v a, nv256_v b) { return _mm256_sub_epi32(a, b); }
NV256 nv256_v nv256_mul(nv256_v a, nv256_v b) { return _mm256_mullo_epi32(a, b); }
NV256 nv256_v nv256_and(nv256_v a, nv256_v b) { return _mm256_and_si256(a, b); }
NV256 nv256_v nv256_or(nv256_v a, nv256_v b) { return _mm256_or_si256(a, b); }
NV256 nv256_v nv256_xor(nv256_v a, nv256_v b) { return _mm256_xor_si256(a, b); }
/* Shifts by 32 or more give 0. */
NV256 nv256_v nv256_shl(nv256_v a, nv256_v by) { return _mm256_sllv_epi32(a, by); }
NV256 nv256_v nv256_shr(nv256_v a, nv256_v by) { return _mm256_srlv_epi32(a, by); }
NV256 nv256_m nv256_eq(nv256_v a, nv256_v b) { return _mm256_cmpeq_epi32(a, b); }
NV256 nv256_m nv256_le(nv256_v a, nv256_v b) { return _mm256_cmpeq_epi32(_mm256_min_epu32(a, b), a); }
NV256 nv256_m nv256_lt(nv256_v a, nv256_v b) { return _mm256_andnot_si256(nv256_le(b, a), nv256_every()); }
NV256 nv256_v nv256_swap(nv256_v a)
{
    const __m128i order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    return _mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(order));
}

/* Sixteen bytes of each packet: those of packets i and i + 4 in row i, so that columns have the packets in order. */
typedef struct {
    __m256i row[4];
} nv256_r;

NV256 nv256_r nv256_rows(const uint8_t *const *at)
{
    nv256_r r;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m128i low = _mm_loadu_si128((const void *)at[i]), high = _mm_loadu_si128((const void *)at[i + 4]);
        r.row[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    }
    return r;
}
NV256 nv256_r nv256_fetch(const struct nv_packet *p, int64_t start)
{
    const uint8_t *at[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        at[i] = p[i].data + start;
    return nv256_rows(at);
}
/* Of packets in k only, from a place that all share, or from one of each. */
NV256 nv256_r nv256_fetch_in(nv256_m k, nv256_p p, int64_t start)
{
    const __m256i none = _mm256_set1_epi64x((int64_t)(uintptr_t)nv_zeros), from = _mm256_set1_epi64x(start);
    const __m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(k)), high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(k, 1));
    const uint8_t *at[8] __attribute__((aligned(32)));
    _mm256_store_si256((void *)at, _mm256_blendv_epi8(none, _mm256_add_epi64(p.low, from), low));
    _mm256_store_si256((void *)(at + 4), _mm256_blendv_epi8(none, _mm256_add_epi64(p.high, from), high));
    return nv256_rows(at);
}
NV256 nv256_r nv256_fetch_at(nv256_m k, nv256_p p, nv256_v base, int64_t start)
{
    p.low = _mm256_add_epi64(p.low, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(base)));
    p.high = _mm256_add_epi64(p.high, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(base, 1)));
    return nv256_fetch_in(k, p, start);
}
/* Rows whose columns are made of these bytes, the first lowest; 0x80 gives 0. */
NV256 nv256_r nv256_arrange(nv256_r r, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    const __m256i order = _mm256_broadcastsi128_si256(_mm_set_epi32((int)d, (int)c, (int)b, (int)a));
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        r.row[i] = _mm256_shuffle_epi8(r.row[i], order);
    return r;
}
NV256 nv256_v nv256_cell0(nv256_r r)
{
    return _mm256_unpacklo_epi64(_mm256_unpacklo_epi32(r.row[0], r.row[1]), _mm256_unpacklo_epi32(r.row[2], r.row[3]));
}
NV256 nv256_v nv256_cell1(nv256_r r)
{
    return _mm256_unpackhi_epi64(_mm256_unpacklo_epi32(r.row[0], r.row[1]), _mm256_unpacklo_epi32(r.row[2], r.row[3]));
}
NV256 nv256_v nv256_cell2(nv256_r r)
{
    return _mm256_unpacklo_epi64(_mm256_unpackhi_epi32(r.row[0], r.row[1]), _mm256_unpackhi_epi32(r.row[2], r.row[3]));
}
NV256 nv256_v nv256_cell3(nv256_r r)
{
    return _mm256_unpackhi_epi64(_mm256_unpackhi_epi32(r.row[0], r.row[1]), _mm256_unpackhi_epi32(r.row[2], r.row[3]));
}
/* A word of a table of n for each packet in k; tables that registers hold are permuted, which is quicker than a gather. */
NV256 nv256_v nv256_table(nv256_m k, const uint32_t *table, unsigned n, nv256_v index)
{
    if (n > 32)
        return _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int *)table, index, k, 4);
    const __m256i *t = (const void *)table;
    nv256_v r = _mm256_permutevar8x32_epi32(t[0], index);
#pragma GCC unroll 4
    for (unsigned i = 8; i < n; i += 8) {
        nv256_v next = _mm256_permutevar8x32_epi32(t[i / 8], index);
        r = _mm256_blendv_epi8(r, next, _mm256_cmpgt_epi32(index, _mm256_set1_epi32((int)i - 1)));
    }
    return r;
}
