
/* Tables. What entries are looked up by is a number of up to 128 bits; an entry's handle is its
   number, counted from 1; 0 is none. Time is the packet's, and a table's clock never goes back. */
typedef unsigned __int128 nv_key;

#define NV_LATEST (UINT64_MAX - 3)
/* The time of last use of an entry that was there from the start. */
#define NV_FOR_EVER UINT64_MAX
/* From so many entries in one chain on the hash gets another seed. */
enum { NV_CHAIN = 32 };

/* An entry of an exact table: its key, when it was last used, the next in its chain or among
   those that are free, and its neighbours in the order of last use. */
struct nv_slot {
    uint64_t low, high, used;
    uint32_t next, older, newer;
};

/* What is there from the start. */
struct nv_first {
    uint64_t low, high, used;
    const uint8_t *value;
};

struct nv_exact {
    struct nv_slot *slots; /* by handle; the first is no entry */
    uint32_t *chains;
    uint8_t *values;
    const struct nv_first *first;
    uint32_t firsts, capacity, mask, stride;
    uint64_t timeout;
    uint64_t seed[2], clock;
    uint32_t count, fresh, free, oldest, newest;
};

/* Ranges of keys in order, each with the entry that is found there. */
struct nv_ranges {
    const uint64_t (*start)[2];
    const uint32_t *entry;
    uint32_t count;
};

/* Keys under masks, the best first. */
struct nv_rule {
    uint64_t key[2], mask[2];
    uint32_t entry;
};

NV_INLINE nv_key nv_wide(uint64_t low, uint64_t high)
{
    return (nv_key)high << 64 | low;
}

/* The product's halves, XORed: which keys collide depends on the seed. */
static uint32_t nv_chain_of(const struct nv_exact *t, uint64_t low, uint64_t high)
{
    const nv_key product = (nv_key)(low ^ t->seed[0]) * (high ^ t->seed[1]);
    const uint64_t h = (uint64_t)(product >> 64) ^ (uint64_t)product;
    return (uint32_t)(h ^ h >> 32) & t->mask;
}

static void nv_tick(struct nv_exact *t, uint64_t now)
{
    if (now > NV_LATEST)
        now = NV_LATEST;
    if (now > t->clock)
        t->clock = now;
}

NV_INLINE int nv_is_live(const struct nv_exact *t, uint32_t at)
{
    const uint64_t used = t->slots[at].used;
    return !t->timeout || t->clock < used || t->clock - used < t->timeout;
}

static void nv_unorder(struct nv_exact *t, uint32_t at)
{
    const struct nv_slot *s = &t->slots[at];
    if (!t->timeout || s->used == NV_FOR_EVER)
        return;
    if (s->older)
        t->slots[s->older].newer = s->newer;
    else
        t->oldest = s->newer;
    if (s->newer)
        t->slots[s->newer].older = s->older;
    else
        t->newest = s->older;
}

/* Puts an entry behind all that were used before. */
static void nv_order(struct nv_exact *t, uint32_t at)
{
    struct nv_slot *s = &t->slots[at];
    if (!t->timeout || s->used == NV_FOR_EVER)
        return;
    s->older = t->newest, s->newer = 0;
    if (t->newest)
        t->slots[t->newest].newer = at;
    else
        t->oldest = at;
    t->newest = at;
}

static void nv_use(struct nv_exact *t, uint32_t at)
{
    if (!t->timeout || t->slots[at].used == NV_FOR_EVER)
        return;
    nv_unorder(t, at);
    t->slots[at].used = t->clock;
    nv_order(t, at);
}

/* The entry of a key, live or not; how many its chain has, in `length`. */
NV_INLINE uint32_t nv_known(const struct nv_exact *t, nv_key key, uint32_t *length)
{
    const uint64_t low = (uint64_t)key, high = (uint64_t)(key >> 64);
    uint32_t at = t->chains[nv_chain_of(t, low, high)];
    for (*length = 0; at; at = t->slots[at].next, ++*length)
        if (t->slots[at].low == low && t->slots[at].high == high)
            break;
    return at;
}

static void nv_forget(struct nv_exact *t, uint32_t at)
{
    struct nv_slot *s = &t->slots[at];
    uint32_t *link = &t->chains[nv_chain_of(t, s->low, s->high)];
    while (*link != at)
        link = &t->slots[*link].next;
    *link = s->next;
    nv_unorder(t, at);
    s->next = t->free, t->free = at;
    t->count--;
}

static void nv_link(struct nv_exact *t, uint32_t at)
{
    uint32_t *chain = &t->chains[nv_chain_of(t, t->slots[at].low, t->slots[at].high)];
    t->slots[at].next = *chain;
    *chain = at;
}

/* Another seed: all entries get other chains. */
static void nv_reseed(struct nv_exact *t, uint64_t a, uint64_t b)
{
    uint32_t all = 0;
    for (uint32_t chain = 0; chain <= t->mask; chain++) {
        while (t->chains[chain]) {
            const uint32_t at = t->chains[chain];
            t->chains[chain] = t->slots[at].next;
            t->slots[at].next = all, all = at;
        }
    }
    t->seed[0] = a, t->seed[1] = b;
    while (all) {
        const uint32_t at = all;
        all = t->slots[at].next;
        nv_link(t, at);
    }
}

static uint64_t nv_mix(uint64_t z)
{
    z = (z + 0x9e3779b97f4a7c15u ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A new entry of zeros, unless there are as many as may be. */
static uint32_t nv_enter(struct nv_exact *t, nv_key key, uint64_t used)
{
    while (t->oldest && !nv_is_live(t, t->oldest))
        nv_forget(t, t->oldest);
    if (t->count >= t->capacity)
        return 0;
    uint32_t at = t->free;
    if (at)
        t->free = t->slots[at].next;
    else
        at = ++t->fresh;
    struct nv_slot *s = &t->slots[at];
    s->low = (uint64_t)key, s->high = (uint64_t)(key >> 64), s->used = used;
    memset(t->values + (size_t)(at - 1) * t->stride, 0, t->stride);
    nv_link(t, at);
    nv_order(t, at);
    t->count++;
    return at;
}

__attribute__((unused)) static uint32_t nv_find(struct nv_exact *t, nv_key key, uint64_t now, int refresh)
{
    uint32_t length;
    nv_tick(t, now);
    const uint32_t at = nv_known(t, key, &length);
    if (!at || !nv_is_live(t, at))
        return 0;
    if (refresh)
        nv_use(t, at);
    return at;
}

__attribute__((unused)) static uint32_t nv_insert(struct nv_exact *t, nv_key key, uint64_t now)
{
    uint32_t length;
    nv_tick(t, now);
    const uint32_t at = nv_known(t, key, &length);
    if (at && nv_is_live(t, at)) {
        nv_use(t, at);
        return at;
    }
    if (at)
        nv_forget(t, at);
    if (length >= NV_CHAIN)
        nv_reseed(t, nv_mix(t->seed[0] ^ t->clock), nv_mix(t->seed[1] ^ length));
    return nv_enter(t, key, t->clock);
}

__attribute__((unused)) static uint32_t nv_remove(struct nv_exact *t, nv_key key, uint64_t now)
{
    uint32_t length;
    nv_tick(t, now);
    const uint32_t at = nv_known(t, key, &length);
    if (!at)
        return 0;
    const int live = nv_is_live(t, at);
    nv_forget(t, at);
    return (uint32_t)live;
}

/* Seeds a table, and the first time fills it with what it has from the start. */
__attribute__((unused)) static void nv_start(struct nv_exact *t, uint64_t a, uint64_t b, int filled)
{
    nv_reseed(t, a, b);
    if (filled)
        return;
    for (uint32_t i = 0; i < t->firsts; i++) {
        const struct nv_first *f = &t->first[i];
        const uint32_t at = nv_enter(t, nv_wide(f->low, f->high), f->used);
        if (at)
            memcpy(t->values + (size_t)(at - 1) * t->stride, f->value, t->stride);
    }
}

__attribute__((unused)) static uint32_t nv_in_ranges(const struct nv_ranges *t, nv_key key)
{
    uint32_t low = 0, high = t->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (nv_wide(t->start[middle][0], t->start[middle][1]) <= key)
            low = middle;
        else
            high = middle;
    }
    return t->entry[low];
}

__attribute__((unused)) static uint32_t nv_by_rules(const struct nv_rule *rules, uint32_t count, nv_key key)
{
    const uint64_t low = (uint64_t)key, high = (uint64_t)(key >> 64);
    for (uint32_t i = 0; i < count; i++)
        if ((low & rules[i].mask[0]) == rules[i].key[0] && (high & rules[i].mask[1]) == rules[i].key[1])
            return rules[i].entry;
    return 0;
}

static void nv_tell(struct netvm_entry *e, uint64_t low, uint64_t high, uint32_t key, uint8_t *value, uint32_t bytes)
{
    for (uint32_t i = 0; i < key; i++)
        e->key[key - 1 - i] = (uint8_t)((i < 8 ? low : high) >> 8 * (i % 8));
    e->key_bytes = key, e->value_bytes = bytes, e->value = value;
}

/* The next live entry of an exact table. */
__attribute__((unused)) static int nv_list(const struct nv_exact *t, uint32_t *at, uint32_t key, uint32_t bytes, struct netvm_entry *e)
{
    while (++*at <= t->fresh) {
        const struct nv_slot *s = &t->slots[*at];
        uint32_t length;
        if (nv_known(t, nv_wide(s->low, s->high), &length) == *at && nv_is_live(t, *at)) {
            nv_tell(e, s->low, s->high, key, t->values + (size_t)(*at - 1) * t->stride, bytes);
            return 1;
        }
    }
    return 0;
}

__attribute__((unused)) static int nv_list_all(const uint64_t (*keys)[2], uint8_t *values, uint32_t count, uint32_t stride, uint32_t *at,
                                               uint32_t key, uint32_t bytes, struct netvm_entry *e)
{
    if (*at >= count)
        return 0;
    nv_tell(e, keys[*at][0], keys[*at][1], key, values + (size_t)*at * stride, bytes);
    ++*at;
    return 1;
}
