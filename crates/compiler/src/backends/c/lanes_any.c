/* Eight packets at once on any machine, lane by lane: what the others are tested against, and what compilers may vectorise. */
#define NVANY static inline __attribute__((always_inline, unused))
#define NVANY_LANES 8
typedef struct {
    uint32_t a[8];
} nvany_v;
typedef struct {
    uint8_t a[8];
} nvany_m;
typedef struct {
    const uint8_t *a[8];
} nvany_p;

#define NVANY_EACH(T, X) \
    T r; \
    for (int i = 0; i < 8; i++) \
        r.a[i] = X; \
    return r
NVANY void nvany_packets(const struct nv_packet *p, nvany_p *at, nvany_v *len)
{
    for (int i = 0; i < 8; i++) {
        at->a[i] = p[i].data;
        len->a[i] = nv_len(p[i].len);
    }
}
NVANY nvany_v nvany_load(const uint32_t *p) { NVANY_EACH(nvany_v, p[i]); }
NVANY nvany_v nvany_all(uint32_t v) { NVANY_EACH(nvany_v, v); }
NVANY nvany_m nvany_none(void) { NVANY_EACH(nvany_m, 0); }
NVANY nvany_m nvany_every(void) { NVANY_EACH(nvany_m, 1); }
NVANY uint32_t nvany_bits(nvany_m k)
{
    uint32_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits |= (uint32_t)k.a[i] << i;
    return bits;
}
NVANY int nvany_any(nvany_m k) { return nvany_bits(k) != 0; }
NVANY nvany_m nvany_both(nvany_m a, nvany_m b) { NVANY_EACH(nvany_m, a.a[i] & b.a[i]); }
NVANY nvany_m nvany_either(nvany_m a, nvany_m b) { NVANY_EACH(nvany_m, a.a[i] | b.a[i]); }
NVANY nvany_m nvany_one(nvany_m a, nvany_m b) { NVANY_EACH(nvany_m, a.a[i] ^ b.a[i]); }
NVANY nvany_m nvany_but(nvany_m a, nvany_m b) { NVANY_EACH(nvany_m, a.a[i] & !b.a[i]); }
NVANY nvany_v nvany_select(nvany_m k, nvany_v a, nvany_v b) { NVANY_EACH(nvany_v, k.a[i] ? a.a[i] : b.a[i]); }
NVANY nvany_v nvany_add(nvany_v a, nvany_v b) { NVANY_EACH(nvany_v, a.a[i] + b.a[i]); }
NVANY nvany_v nvany_sub(nvany_v a, nvany_v b) { NVANY_EACH(nvany_v, a.a[i] - b.a[i]); }
NVANY nvany_v nvany_mul(nvany_v a, nvany_v b) { NVANY_EACH(nvany_v, a.a[i] * b.a[i]); }
NVANY nvany_v nvany_and(nvany_v a, nvany_v b) { NVANY_EACH(nvany_v, a.a[i] & b.a[i]); }
NVANY nvany_v nvany_or(nvany_v a, nvany_v b) { NVANY_EACH(nvany_v, a.a[i] | b.a[i]); }
NVANY nvany_v nvany_xor(nvany_v a, nvany_v b) { NVANY_EACH(nvany_v, a.a[i] ^ b.a[i]); }
/* Shifts by 32 or more give 0. */
NVANY nvany_v nvany_shl(nvany_v a, nvany_v by) { NVANY_EACH(nvany_v, by.a[i] < 32 ? a.a[i] << by.a[i] : 0); }
NVANY nvany_v nvany_shr(nvany_v a, nvany_v by) { NVANY_EACH(nvany_v, by.a[i] < 32 ? a.a[i] >> by.a[i] : 0); }
NVANY nvany_m nvany_eq(nvany_v a, nvany_v b) { NVANY_EACH(nvany_m, a.a[i] == b.a[i]); }
NVANY nvany_m nvany_lt(nvany_v a, nvany_v b) { NVANY_EACH(nvany_m, a.a[i] < b.a[i]); }
NVANY nvany_m nvany_le(nvany_v a, nvany_v b) { NVANY_EACH(nvany_m, a.a[i] <= b.a[i]); }
NVANY nvany_v nvany_swap(nvany_v a) { NVANY_EACH(nvany_v, __builtin_bswap32(a.a[i])); }
/* Four bytes of each packet in k, at a place that all share, or at one of each. */
NVANY nvany_v nvany_gather(nvany_m k, nvany_p p, uint32_t at) { NVANY_EACH(nvany_v, k.a[i] ? (uint32_t)nv_le(p.a[i] + at, 4) : 0); }
NVANY nvany_v nvany_gather_at(nvany_m k, nvany_p p, nvany_v at, uint32_t offset)
{
    NVANY_EACH(nvany_v, k.a[i] ? (uint32_t)nv_le(p.a[i] + at.a[i] + offset, 4) : 0);
}
NVANY nvany_v nvany_table(nvany_m k, const uint32_t *table, nvany_v index) { NVANY_EACH(nvany_v, k.a[i] ? table[index.a[i]] : 0); }
