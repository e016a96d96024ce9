
/* Open tables, for keys of up to 62 bits and entries that do not time out: a place has the key with NV_HERE, then the value; an empty one has 0. What is found by a key is
   at its first place or behind it, with no empty place between (Knuth, The Art of Computer Programming 3, section 6.4, algorithms L and R). The first place is the upper
   bits of the product with an odd number that is the seed. An entry's handle is its place, counted from 1. */
#define NV_HERE (1ull << 63)
#define NV_PUT (1ull << 62)

/* Constant, so that compilers can count on it. */
struct nv_open {
    uint64_t *places;
    const struct nv_first *first; /* what is there from the start */
    uint32_t firsts, capacity, mask, shift, words;
};

struct nv_opened {
    uint64_t seed;
    uint32_t count;
};

NV_INLINE uint32_t nv_open_home(const struct nv_open *x, const struct nv_opened *t, uint64_t here)
{
    return (uint32_t)((here | NV_PUT) * t->seed >> x->shift);
}

NV_INLINE uint32_t nv_open_find(const struct nv_open *x, const struct nv_opened *t, uint64_t key)
{
    const uint64_t wanted = key | NV_HERE;
    for (uint32_t at = nv_open_home(x, t, wanted);; at = (at + 1) & x->mask) {
        const uint64_t here = x->places[(size_t)at * x->words];
        if (NV_MOSTLY(here == wanted))
            return at + 1;
        if (!here)
            return 0;
    }
}

/* Puts all entries where they belong by another seed. One that has its place has the mark NV_PUT. It takes the place of one that has not, which is then the next. */
static void nv_open_reseed(const struct nv_open *x, struct nv_opened *t, uint64_t seed)
{
    t->seed = seed | 1;
    for (uint32_t from = 0; from <= x->mask; from++) {
        uint64_t *old = x->places + (size_t)from * x->words;
        while (*old && !(*old & NV_PUT)) {
            uint32_t at = nv_open_home(x, t, *old);
            while (x->places[(size_t)at * x->words] & NV_PUT)
                at = (at + 1) & x->mask;
            uint64_t *place = x->places + (size_t)at * x->words;
            *old |= NV_PUT;
            for (uint32_t i = 0; place != old && i < x->words; i++) {
                const uint64_t other = place[i];
                place[i] = old[i], old[i] = other;
            }
        }
    }
    for (uint32_t at = 0; at <= x->mask; at++)
        x->places[(size_t)at * x->words] &= ~NV_PUT;
}

/* The entry of a key, a new one of zeros if there is none; 0 if there are as many as may be. */
__attribute__((unused)) static uint32_t nv_open_insert(const struct nv_open *x, struct nv_opened *t, uint64_t key)
{
    const uint64_t wanted = key | NV_HERE;
    for (uint32_t tries = 0;; tries++) {
        uint32_t at = nv_open_home(x, t, wanted), length = 0;
        uint64_t *place = x->places + (size_t)at * x->words;
        for (; *place && *place != wanted; length++) {
            at = (at + 1) & x->mask;
            place = x->places + (size_t)at * x->words;
        }
        if (*place)
            return at + 1;
        if (t->count >= x->capacity)
            return 0;
        if (length < NV_CHAIN || tries == 8) {
            *place = wanted;
            memset(place + 1, 0, (x->words - 1) * sizeof *place);
            t->count++;
            return at + 1;
        }
        nv_open_reseed(x, t, nv_mix(t->seed ^ length));
    }
}

/* Entries behind the place that an entry leaves move up, if they belong there or before. */
__attribute__((unused)) static uint32_t nv_open_remove(const struct nv_open *x, struct nv_opened *t, uint64_t key)
{
    const uint32_t found = nv_open_find(x, t, key);
    if (!found)
        return 0;
    uint32_t hole = found - 1;
    for (uint32_t at = (hole + 1) & x->mask; x->places[(size_t)at * x->words]; at = (at + 1) & x->mask) {
        const uint64_t *place = x->places + (size_t)at * x->words;
        if (((at - nv_open_home(x, t, *place)) & x->mask) < ((at - hole) & x->mask))
            continue;
        memcpy(x->places + (size_t)hole * x->words, place, x->words * sizeof *place);
        hole = at;
    }
    x->places[(size_t)hole * x->words] = 0;
    t->count--;
    return 1;
}

__attribute__((unused)) static void nv_open_start(const struct nv_open *x, struct nv_opened *t, uint64_t seed, int filled)
{
    nv_open_reseed(x, t, seed);
    for (uint32_t i = 0; !filled && i < x->firsts; i++) {
        const uint32_t at = nv_open_insert(x, t, x->first[i].low);
        if (at)
            memcpy(x->places + (size_t)(at - 1) * x->words + 1, x->first[i].value, (x->words - 1) * sizeof *x->places);
    }
}

/* The next entry. */
__attribute__((unused)) static int nv_open_list(const struct nv_open *x, uint32_t *at, uint32_t key, uint32_t bytes, struct netvm_entry *e)
{
    while (*at <= x->mask) {
        uint64_t *place = x->places + (size_t)(*at)++ * x->words;
        if (*place) {
            nv_tell(e, *place & ~NV_HERE, 0, key, (uint8_t *)(place + 1), bytes);
            return 1;
        }
    }
    return 0;
}
