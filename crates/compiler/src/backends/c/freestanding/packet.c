
/* Where packets lie, for languages that tell memories apart. */
#ifndef NV_PACKET
#define NV_PACKET
#endif

/* A packet on its way. */
struct nv_run {
    NV_PACKET uint8_t *buffer;
    uint32_t size, at, len, missing, front, moved, rounds;
    uint64_t time_ns, number; /* when it came; its number, where random ones are drawn */
};

NV_INLINE NV_PACKET uint8_t *nv_p(const struct nv_run *r)
{
    return r->buffer + r->at;
}

NV_INLINE void nv_end(struct netvm_packet *k, const struct nv_run *r, enum netvm_end end, uint32_t element, uint32_t value, uint32_t site)
{
#ifndef NV_STAYS
    k->at = r->at, k->len = r->len, k->wire_len = r->len + r->missing, k->time_ns = r->time_ns;
#else
    (void)r;
#endif
    k->end = end, k->element = element, k->value = value, k->site = site;
}

/* Takes the price of so many bytes; false if that is more than is left. */
NV_INLINE int nv_pay(uint32_t *budget, uint64_t bytes)
{
    uint64_t price = (bytes + 255) / 256;
    if (price > *budget)
        return 0;
    *budget -= (uint32_t)price;
    return 1;
}

NV_INLINE void nv_pull(struct nv_run *r, uint32_t n)
{
    r->at += n, r->len -= n, r->moved += n;
    r->front = r->front + n < 1024 ? r->front + n : 1024;
}

/* Where the first of some bytes is, from one place on; all ones if it is nowhere. */
NV_INLINE uint32_t nv_scan(const struct nv_run *r, unsigned size, uint32_t at, uint32_t value)
{
    value &= (uint32_t)NV_MASK(8 * size);
    for (; (uint64_t)at + size <= r->len; at++)
        if (nv_be(nv_p(r) + at, size) == value)
            return at;
    return UINT32_MAX;
}

/* A CRC whose bits are reflected, without the last complement. */
__attribute__((unused)) static uint32_t nv_crc(uint32_t polynomial, uint32_t crc, NV_PACKET const uint8_t *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return crc;
}

/* The random number of a place in a handler for a packet's number. */
NV_INLINE uint32_t nv_random(uint64_t number, uint64_t place, uint64_t seed)
{
    uint64_t z = seed ^ number * 0x9e3779b97f4a7c15u ^ place * 0xd1b54a32d192ed03u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z ^ z >> 31);
}

#ifndef NV_OPENCL
/* Makes room for so many bytes on both sides, by moving the packet with what can be brought
   back; false if the buffer is too small. */
NV_INLINE int nv_room(struct nv_run *r, uint32_t before, uint32_t behind)
{
    if (r->at >= before && (uint64_t)r->at + r->len + behind <= r->size)
        return 1;
    if ((uint64_t)before + r->len + behind > r->size)
        return 0;
    const uint32_t spare = r->size - before - r->len - behind, at = before + (r->front < spare ? r->front : spare);
    const uint32_t front = r->front < r->at ? r->front : r->at, kept = at < front ? at : front;
    memmove(r->buffer + at - kept, r->buffer + r->at - kept, (size_t)kept + r->len);
    r->at = at, r->front = kept;
    return 1;
}

NV_INLINE void nv_push(struct nv_run *r, uint32_t n)
{
    r->at -= n, r->len += n, r->moved -= n;
    r->front = r->front > n ? r->front - n : 0;
    memset(nv_p(r), 0, n);
}

NV_INLINE void nv_unpull(struct nv_run *r, uint32_t n)
{
    r->at -= n, r->len += n, r->moved -= n, r->front -= n;
}

NV_INLINE void nv_grow(struct nv_run *r, uint32_t n)
{
    memset(nv_p(r) + r->len, 0, n);
    r->len += n;
}

/* The low n bytes, 1 to 8, the least significant first. */
NV_INLINE void nv_put_le(uint8_t *p, unsigned n, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(p, &v, n);
#else
    if (n == 2)
        ((struct nv_half *)p)->v = __builtin_bswap16((uint16_t)v);
    else if (n == 4)
        ((struct nv_word *)p)->v = __builtin_bswap32((uint32_t)v);
    else
        for (unsigned i = 0; i < n; i++)
            p[i] = (uint8_t)(v >> 8 * i);
#endif
}

/* n bytes, the most significant first. */
NV_INLINE void nv_put_be(uint8_t *p, unsigned n, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v) >> (64 - 8 * n);
#else
    if (n == 2) {
        ((struct nv_half *)p)->v = (uint16_t)v;
        return;
    }
    if (n == 4) {
        ((struct nv_word *)p)->v = (uint32_t)v;
        return;
    }
    v <<= 64 - 8 * n;
#endif
    memcpy(p, &v, n);
}
#endif
