
/* Lookups in prefix tables (netil::layout). */

/* The number of an entry in an array of numbers of two or four bytes. */
NV_INLINE uint32_t nv_number(const uint8_t *array, unsigned bytes, uint64_t at)
{
    return (uint32_t)nv_le(array + bytes * at, bytes);
}

/* The same for the longest prefix of a key, the shortest of which may be of no bits; 0 for none: the root says it, or which group does. One test tells numbers of entries
   from all others. */
NV_INLINE uint32_t nv_walk(const struct nv_table *t, unsigned bytes, unsigned left, uint32_t key)
{
    uint32_t deeper = bytes == 4 ? 0x80000000u : 0x8000u, v = nv_number(t->index, bytes, key >> left);
    if (!NV_RARELY(v - 1 >= deeper - 1))
        return v;
    while (v & deeper) {
        left -= 8;
        v = nv_number(t->groups, bytes, (uint64_t)(v & ~deeper) * 256 + (key >> left & 255));
    }
    return v ? v : (uint32_t)t->head[1];
}

NV_INLINE uint32_t nv_prefix(const struct nv_table *t, unsigned key_bits, unsigned root_bits, uint32_t key)
{
    unsigned left = key_bits - root_bits;
    return NV_RARELY(t->head[0]) ? nv_walk(t, 4, left, key) : nv_walk(t, 2, left, key);
}

/* Fetches what a lookup will read first, of a table that is there. */
NV_INLINE void nv_fetch_prefix(const struct nv_table *t, unsigned key_bits, unsigned root_bits, uint32_t key)
{
    uint64_t at = key >> (key_bits - root_bits);
    if (NV_RARELY(t->head[0]))
        __builtin_prefetch(t->index + 4 * at);
    else
        __builtin_prefetch(t->index + 2 * at);
}

/* What nodes of a prefix table with long keys are counted in, and where what is in a path and in a branch; flags of words (netil::layout). */
enum { NV_UNIT = 32, NV_THEN = 16, NV_OTHER = 20, NV_LENGTH = 24, NV_BEFORE = 32, NV_RUNS = 36 };
#define NV_DEEPER 0x80000000u
#define NV_PATH 0x40000000u

NV_INLINE const uint8_t *nv_node(const struct nv_table *t, uint32_t word)
{
    return t->groups + (uint64_t)(word & ~(NV_DEEPER | NV_PATH)) * NV_UNIT;
}

/* Whether a key has a path's prefix, which is longer than a byte. */
NV_INLINE int nv_on_path(const uint8_t *p, uint32_t length, uint64_t high, uint64_t low)
{
    uint64_t differ = nv_le(p, 8) ^ high;
    if (length <= 64)
        return !(differ >> (64 - length));
    return !(differ | (nv_le(p + 8, 8) ^ low) >> (128 - length));
}

/* What a branch goes on with for a byte of the key. */
NV_INLINE uint32_t nv_branch(const uint8_t *p, unsigned byte)
{
    uint64_t upto = nv_le(p + byte / 64 * 8, 8) << (63 - byte % 64);
    return nv_number(p + NV_RUNS, 4, p[NV_BEFORE + byte / 64] + (uint64_t)__builtin_popcountll(upto) - 1);
}

/* The number of the entry of the longest prefix of a key of more than 32 bits; 0 for none. */
NV_INLINE uint32_t nv_prefix_long(const struct nv_table *t, unsigned key_bits, unsigned root_bits, unsigned __int128 key)
{
    uint64_t high = (uint64_t)(key << (128 - key_bits) >> 64), low = (uint64_t)(key << (128 - key_bits));
    uint32_t v = nv_number(t->index, 4, high >> (64 - root_bits)), depth = root_bits / 8;
    while (v & NV_DEEPER) {
        const uint8_t *p = nv_node(t, v);
        if (v & NV_PATH) {
            uint32_t length = (uint32_t)nv_le(p + NV_LENGTH, 4);
            v = (uint32_t)nv_le(p + (nv_on_path(p, length, high, low) ? NV_THEN : NV_OTHER), 4);
            depth = length / 8;
        } else {
            v = nv_branch(p, (uint8_t)((depth < 8 ? high : low) >> (56 - 8 * (depth & 7))));
            depth++;
        }
    }
    return NV_RARELY(!v) ? (uint32_t)t->head[0] : v;
}

/* The word behind a branch for a byte of the key; behind anything else the same. */
NV_INLINE uint32_t nv_through_branch(const struct nv_table *t, uint32_t v, uint8_t byte)
{
    return (v & (NV_DEEPER | NV_PATH)) == NV_DEEPER ? nv_branch(nv_node(t, v), byte) : v;
}

/* Fetches the node that a lookup will read behind two branches, of a table that is there. Searches for keys one after the other overlap here. */
NV_INLINE void nv_fetch_prefix_long(const struct nv_table *t, unsigned key_bits, unsigned root_bits, unsigned __int128 key)
{
    uint64_t high = (uint64_t)(key << (128 - key_bits) >> 64);
    uint32_t v = nv_number(t->index, 4, high >> (64 - root_bits));
    v = nv_through_branch(t, v, (uint8_t)(high >> (56 - root_bits)));
    v = nv_through_branch(t, v, (uint8_t)(high >> (48 - root_bits)));
    if (v & NV_DEEPER)
        __builtin_prefetch(nv_node(t, v));
}
