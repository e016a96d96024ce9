/* Eight packets at once on any machine, lane by lane: the logic of the others, for machines that lack their instructions. For tests: slower than one by one. */
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

/* Sixteen bytes of each packet. */
typedef struct {
    uint8_t row[8][16];
} nvany_r;

NVANY nvany_r nvany_fetch(const struct nv_packet *p, int64_t start)
{
    nvany_r r;
    for (int i = 0; i < 8; i++)
        memcpy(r.row[i], p[i].data + start, 16);
    return r;
}
/* Of packets in k only, from a place that all share, or from one of each. */
NVANY nvany_r nvany_fetch_in(nvany_m k, nvany_p p, int64_t start)
{
    nvany_r r;
    for (int i = 0; i < 8; i++)
        memcpy(r.row[i], k.a[i] ? p.a[i] + start : nv_zeros, 16);
    return r;
}
NVANY nvany_r nvany_fetch_at(nvany_m k, nvany_p p, nvany_v base, int64_t start)
{
    nvany_r r;
    for (int i = 0; i < 8; i++)
        memcpy(r.row[i], k.a[i] ? p.a[i] + base.a[i] + start : nv_zeros, 16);
    return r;
}
/* Rows whose columns are made of these bytes, the first lowest; 0x80 gives 0. */
NVANY nvany_r nvany_arrange(nvany_r r, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    const uint32_t columns[4] = { a, b, c, d };
    nvany_r to;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 16; j++) {
            uint32_t from = columns[j / 4] >> 8 * (j % 4) & 0xff;
            to.row[i][j] = from < 16 ? r.row[i][from] : 0;
        }
    return to;
}
NVANY nvany_v nvany_cell0(nvany_r rows) { NVANY_EACH(nvany_v, (uint32_t)nv_le(rows.row[i], 4)); }
NVANY nvany_v nvany_cell1(nvany_r rows) { NVANY_EACH(nvany_v, (uint32_t)nv_le(rows.row[i] + 4, 4)); }
NVANY nvany_v nvany_cell2(nvany_r rows) { NVANY_EACH(nvany_v, (uint32_t)nv_le(rows.row[i] + 8, 4)); }
NVANY nvany_v nvany_cell3(nvany_r rows) { NVANY_EACH(nvany_v, (uint32_t)nv_le(rows.row[i] + 12, 4)); }
NVANY nvany_v nvany_table(nvany_m k, const uint32_t *table, unsigned n, nvany_v index)
{
    (void)n;
    NVANY_EACH(nvany_v, k.a[i] ? table[index.a[i]] : 0);
}
