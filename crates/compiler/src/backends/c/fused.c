
#define NV_ASSUME(condition) do { if (!(condition)) __builtin_unreachable(); } while (0)
#define NV_APART static __attribute__((noinline, unused))
#define NV_GENERAL NV_APART

/* Long texts are compiled in two parts at the same time and linked: 1 is the fast path, 2 the slow path. What both use is hidden from others. */
#ifndef NV_PART
#define NV_PART 0
#endif
#if NV_PART == 0
#define NV_PARTS static
#else
#define NV_PARTS __attribute__((visibility("hidden")))
#endif

/* When a packet arrived, how long it is, and of which kind: `netil::pool::Slot`. */
struct nv_slot {
    uint64_t time_ns;
    uint32_t len, kind;
} __attribute__((aligned(16)));

/* Kinds: there is a packet, it lies as it was put, its length on the wire is in its detail; and from a bit on the entry by which it comes. */
enum { NV_PRESENT = 1, NV_FRESH = 2, NV_CUT = 4, NV_COPY = 8, NV_ENTRY = 4 };

/* Where a packet lies that is not fresh, its length on the wire if that is apart, and what became of it: `netil::pool::Detail`. */
struct nv_detail {
    uint64_t at;
    uint32_t head;
    uint32_t front, moved; /* bytes pulled that can come back; bytes pulled less bytes pushed */
    uint32_t outcome, member, value, site; /* what became of it, where, and what with */
    uint32_t missing;
};

/* A table that lies in memory as netil::layout says; null where only the runtime can look into it. */
struct nv_table {
    uint64_t *head;
    uint8_t *slots, *index, *groups;
};

/* What one element has. */
struct nv_unit {
    uint8_t *data, *shared;
    const uint8_t *initialised;
    uint32_t *exceptions;
    uint64_t seed; /* of random numbers */
};

/* Slots, in the order in which their packets came: where the next one goes, and where the first one is. */
struct nv_list {
    uint32_t *end;
    const uint32_t *slots;
};

/* Cache lines of packets that come next, up to, and without, the second address: `netil::pool::Expected`. */
struct nv_expected {
    const uint8_t *from, *to;
};

/* A burst on its way. The runtime's functions take it and a packet's slot. */
struct nv_graph {
    uint8_t *memory;
    struct nv_slot *slots;
    struct nv_detail *details;
    const uint32_t *burst;
    uint64_t count;
    const struct nv_unit *units;
    const struct nv_table *tables; /* all units' */
    uint64_t (*call)(struct nv_graph *g, uint64_t i, uint32_t unit, uint32_t index, uint64_t *args);
    void (*leave)(struct nv_graph *g, uint64_t i);
    void (*look)(struct nv_graph *g, uint64_t i, uint32_t unit, uint64_t time); /* at its timers, which may make the burst shorter */
    void (*tell)(struct nv_graph *g, uint32_t unit, uint32_t ends); /* that an element begins to run or has run, NV_MEMBERS: nothing has; null: nobody wants to know */
    void *host;
    struct nv_list *lists, ended; /* by place, what leaves by exits and what members drop by a number; what else goes no further */
    uint64_t *counts; /* packets by ports, where that is counted */
    uint64_t *begun; /* packets that came in, by entry */
    uint64_t latest; /* no packet has come later so far */
    uint32_t budget; /* of each element */
    uint32_t left, copies, shown; /* what the element at hand has left of it, copies that it sent, coprocessors that it showed the packet */
    const struct nv_expected *expected, *nothing; /* where packets lie that come next: up to, and without, the second */
    const uint8_t *const *late; /* by source, the first lines of a burst that is still to be copied: sources take turns */
    const uint32_t *spare, *spares; /* free slots, for copies */
    uint32_t (*refill)(struct nv_graph *g); /* finds more: whether there are enough for an arrival's copies */
    uint64_t (*duplicate)(struct nv_graph *g, uint64_t i); /* copies any packet into the next of them */
    uint32_t at, plain; /* which arrival is at hand; the runtime makes its copies */
    uint32_t *more; /* by slot, in how many more lists it is than one */
    uint64_t shared; /* how many those are, of all that this burst has put into several */
    uint64_t turns, beyond; /* so many sources, 0 if all packets are there; from one line to that which comes in its place in the next burst */
    uint64_t *numbers; /* by slot its packet's, where somebody draws random numbers */
};

/* What of a burst is at hand: copies that no store through a pointer changes, so that the compiler of C need not read them anew behind each. Where elements' memories
   and tables lie stays so for a burst; where packets do, until the runtime is called. */
struct nv_near {
    uint8_t *memory;
    struct nv_slot *slots;
    struct nv_detail *details;
    struct nv_unit units[NV_MEMBERS + 1];
    struct nv_table tables[NV_TABLES + 1];
};

/* As after a call of the runtime. */
NV_INLINE void nv_again(const struct nv_graph *g, struct nv_near *k)
{
    k->memory = g->memory, k->slots = g->slots, k->details = g->details;
}

/* What a handler gives that gives no port: the packet goes no further here, its way has been gone elsewhere, or it goes by the port of `by`. */
enum { NV_ENDED = -1, NV_GONE = -2, NV_BY = -3 };

enum { NV_LEAVES, NV_PORT, NV_VERDICT, NV_REASON, NV_NO_INPUT, NV_TRAP };

/* What a slice found out for a lookup: a key, and its hash in the table. */
struct nv_kept {
    uint64_t low, high, hash;
};

/* The packet at hand, in registers as far as possible. Where its first byte is, is a number of bytes from where it was when the packet came into being: so the
   compiler of C sees that ways which pulled as much come to the same. */
struct nv_run {
    uint8_t *memory, *origin;
    uint8_t *home; /* where its annotations are kept */
    uint32_t moved, len, front, present;
    uint32_t came; /* its length when it came, in quick forms */
    uint32_t outcome, member, value, site;
    uint32_t by; /* a port that a handler computed */
    struct nv_kept *kept; /* by place */
};

/* A packet's annotations: a structure, so that the compiler of C can keep them in registers. */
struct nv_info {
    uint8_t bytes[NV_INFO > 0 ? NV_INFO : 1];
};

/* What a call of the runtime reads and changes of the packet at hand. */
enum { NV_NOTHING, NV_READS, NV_VIEWS, NV_MOVES, NV_ALL };

/* The packet's first byte. */
NV_INLINE uint8_t *nv_p(const struct nv_run *r)
{
    return r->origin + (int32_t)r->moved;
}

NV_INLINE uint32_t nv_head(const struct nv_run *r)
{
    return (uint32_t)(nv_p(r) - r->memory);
}

NV_INLINE void nv_locate(struct nv_graph *g, struct nv_run *r, uint64_t i)
{
    const struct nv_detail *k = &g->details[i];
    const int fresh = (g->slots[i].kind & NV_FRESH) != 0;
    r->memory = (uint8_t *)((uintptr_t)g->memory + k->at);
    r->moved = fresh ? 0 : k->moved, r->len = g->slots[i].len, r->front = fresh ? 0 : k->front;
    r->origin = r->memory + ((int64_t)(fresh ? NV_HEAD : k->head) - (int32_t)r->moved);
}

NV_INLINE void nv_load(struct nv_graph *g, struct nv_run *r, uint8_t *info, uint64_t i)
{
    nv_locate(g, r, i);
    r->present = g->slots[i].kind & NV_PRESENT;
    r->home = g->memory + i * NV_STRIDE;
    if (NV_INFO > 0 && g->slots[i].kind & NV_FRESH)
        *(struct nv_info *)info = (struct nv_info){ { 0 } };
    else if (NV_INFO > 0)
        *(struct nv_info *)info = *(const struct nv_info *)r->home;
}

/* The same for a packet that has just been put where it is: all but its length is known. */
NV_INLINE void nv_load_fresh(const struct nv_near *k, struct nv_run *r, uint8_t *info, uint64_t i, uint32_t len)
{
    r->home = k->memory + i * NV_STRIDE;
    r->memory = r->home + NV_ROOM;
    r->origin = r->memory + NV_HEAD, r->moved = 0;
    r->len = r->came = len, r->front = 0, r->present = 1;
    *(struct nv_info *)info = (struct nv_info){ { 0 } };
}

/* Bytes of a packet that were not captured. */
NV_INLINE uint32_t nv_missing(const struct nv_slot *k, const struct nv_detail *d)
{
    return NV_RARELY(k->kind & NV_CUT) ? d->missing : 0;
}

/* A packet of that length gets another on the wire. */
NV_INLINE void nv_set_wire(struct nv_slot *k, struct nv_detail *d, uint32_t len, uint32_t wire_len)
{
    d->missing = wire_len > len ? wire_len - len : 0, k->kind |= NV_CUT;
}

NV_INLINE void nv_place_at(struct nv_slot *k, struct nv_detail *d, uint32_t head, uint32_t front, uint32_t moved, uint32_t len)
{
    k->len = len, k->kind &= ~(uint32_t)NV_FRESH;
    d->head = head, d->front = front, d->moved = moved;
}

NV_INLINE void nv_place(struct nv_slot *k, struct nv_detail *d, const struct nv_run *r)
{
    nv_place_at(k, d, nv_head(r), r->front, r->moved, r->len);
}

/* The same of packet i, away from where it is seldom done. */
NV_APART __attribute__((cold)) void nv_place_apart(struct nv_slot *k, struct nv_detail *d, uint64_t i, uint32_t head, uint32_t front, uint32_t moved, uint32_t len)
{
    nv_place_at(&k[i], &d[i], head, front, moved, len);
}

/* The same at the end of the way of a packet that came as it was put: where it lies is known already if that has not changed, and annotations are of no use any more. */
NV_INLINE void nv_place_last(const struct nv_near *k, uint64_t i, const struct nv_run *r)
{
    if (NV_RARELY(r->moved != 0 || r->front != 0 || r->len != r->came))
        nv_place_apart(k->slots, k->details, i, nv_head(r), r->front, r->moved, r->len);
}

NV_INLINE void nv_store(struct nv_graph *g, const struct nv_run *r, const uint8_t *info, uint64_t i)
{
    nv_place(&g->slots[i], &g->details[i], r);
    if (NV_INFO > 0)
        *(struct nv_info *)r->home = *(const struct nv_info *)info;
}

NV_INLINE int64_t nv_end(struct nv_run *r, uint32_t outcome, uint32_t member, uint32_t value, uint32_t site)
{
    r->outcome = outcome, r->member = member, r->value = value, r->site = site;
    return NV_ENDED;
}

NV_INLINE void nv_append(struct nv_list *list, uint64_t i)
{
    *list->end++ = (uint32_t)i;
}

/* Work that the runtime does: a value in the low half, the code of a trap in the high half. `touches` says what it does with the packet. */
NV_GENERAL uint64_t nv_call(struct nv_graph *g, uint64_t i, struct nv_run *r, uint8_t *info, uint32_t *budget, int touches, uint32_t unit, uint32_t index, uint64_t *args)
{
    if (touches == NV_ALL || touches == NV_VIEWS)
        nv_store(g, r, info, i);
    else if (touches != NV_NOTHING)
        nv_place(&g->slots[i], &g->details[i], r);
    g->left = *budget;
    uint64_t result = g->call(g, i, unit, index, args);
    *budget = g->left;
    if (touches == NV_ALL)
        nv_load(g, r, info, i);
    else if (touches != NV_NOTHING)
        nv_locate(g, r, i); /* even if it was only read: the runtime gives it the place that packets usually have */
    return result;
}

/* Goes on with a packet in the general form of a handler: before the operation with that number, or from the start if that is 0. */
NV_PARTS void general(struct nv_graph *g, uint64_t i, uint32_t member, uint32_t port, uint32_t resume, const uint64_t *live) __attribute__((noinline, cold));

NV_INLINE int64_t nv_go_on(struct nv_graph *g, uint64_t i, const struct nv_run *r, const uint8_t *info, uint32_t budget, uint32_t member, uint32_t port, uint32_t resume, const uint64_t *live)
{
    nv_store(g, r, info, i);
    g->left = budget, g->copies = 0, g->shown = 0;
    general(g, i, member, port, resume, live);
    return NV_GONE;
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

/* The same where what has been paid is noted, of a budget. */
NV_INLINE int nv_pay_of(uint32_t *paid, uint32_t budget, uint64_t bytes)
{
    uint32_t left = budget - *paid, before = left;
    int enough = nv_pay(&left, bytes);
    *paid += before - left;
    return enough;
}

/* The same where it is known that there is enough. */
NV_INLINE void nv_pay_surely(uint32_t *paid, uint64_t bytes)
{
    *paid += (uint32_t)((bytes + 255) / 256);
}

NV_INLINE void nv_moved(struct nv_run *r, uint32_t by)
{
    r->moved += by, r->len -= by;
}

NV_INLINE void nv_pull(struct nv_run *r, uint32_t n)
{
    nv_moved(r, n);
    r->front = r->front + n < 1024 ? r->front + n : 1024;
}

/* Bytes that are written at once. */
NV_INLINE void nv_put_before(struct nv_run *r, uint32_t n)
{
    nv_moved(r, -n);
    r->front = r->front > n ? r->front - n : 0;
}

NV_INLINE void nv_push(struct nv_run *r, uint32_t n)
{
    nv_put_before(r, n);
    memset(nv_p(r), 0, n);
}

NV_INLINE void nv_unpull(struct nv_run *r, uint32_t n)
{
    nv_moved(r, -n);
    r->front -= n;
}

/* The random number of a place in a handler for a packet's number. */
NV_INLINE uint32_t nv_random(uint64_t seed, uint64_t number, uint64_t place)
{
    uint64_t z = seed ^ number * 0x9e3779b97f4a7c15u ^ place * 0xd1b54a32d192ed03u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z ^ z >> 31);
}

/* The low n bytes, 1 to 8, the least significant first. */
NV_INLINE void nv_put_le(uint8_t *p, unsigned n, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n > 4 && n < 8) {
        nv_put_le(p, 4, v);
        nv_put_le(p + 4, n - 4, v >> 32);
    } else if (n == 3) {
        nv_put_le(p, 2, v);
        p[2] = (uint8_t)(v >> 16);
    } else {
        memcpy(p, &v, n);
    }
#else
    for (unsigned i = 0; i < n; i++)
        p[i] = (uint8_t)(v >> 8 * i);
#endif
}

/* The same, the most significant first. */
NV_INLINE void nv_put_be(uint8_t *p, unsigned n, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n == 2)
        nv_put_le(p, 2, __builtin_bswap16((uint16_t)v));
    else if (n == 4)
        nv_put_le(p, 4, __builtin_bswap32((uint32_t)v));
    else if (n > 4 && n < 8) {
        nv_put_be(p, n - 4, v >> 32);
        nv_put_be(p + n - 4, 4, v);
    } else
        nv_put_le(p, n, n == 1 ? v : __builtin_bswap64(v << (64 - 8 * n)));
#else
    for (unsigned i = 0; i < n; i++)
        p[i] = (uint8_t)(v >> 8 * (n - 1 - i));
#endif
}

/* What became of a packet, for the runtime. */
NV_INLINE void nv_finish(struct nv_graph *g, uint64_t i, const struct nv_run *r)
{
    struct nv_detail *k = &g->details[i];
    k->outcome = r->outcome, k->member = r->member, k->value = r->value, k->site = r->site;
}

/* Words of a table's head, and special states of a slot (netil::layout). */
enum { NV_CLOCK, NV_MASKED, NV_BUCKETS, NV_SEED0, NV_SEED1, NV_STASHED, NV_FILLED, NV_TIMEOUT, NV_READY, NV_QUIET, NV_LEAFNO, NV_PROBES = 64, NV_FAN = 16 };
enum { NV_FREE = 0, NV_DEAD = 1, NV_EPOCH = 2, NV_NO_END = 255 };
/* The latest time of packets in quick forms: then nothing runs over. In 2262. */
#define NV_LATEST 0x7fffffffffffffffull

/* How an exact table lies, and how long an entry lives that nothing uses, as declared: 0 is never; constants of the text. */
struct nv_exact {
    uint32_t state_bytes, key_bytes, stride, lasting; /* lasting: some entries have no end */
    uint64_t timeout;
};

/* Both halves of a product; a product of 128 bits some compilers put into memory and take it from there again. */
NV_INLINE uint64_t nv_mix(uint64_t a, uint64_t b)
{
#ifdef __x86_64__
    uint64_t high;
    __asm__("mulq %2" : "+a"(a), "=d"(high) : "rm"(b) : "cc");
    return high ^ a;
#else
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
#endif
}

NV_INLINE uint64_t nv_hash(const struct nv_table *t, unsigned __int128 key)
{
    return nv_mix((uint64_t)key ^ t->head[NV_SEED0], (uint64_t)(key >> 64) ^ t->head[NV_SEED1]);
}

/* The same, without computing it if it has been kept for that key. Where nothing was, kept is null. */
NV_INLINE uint64_t nv_hash_kept(const struct nv_table *t, struct nv_exact x, unsigned __int128 key, const struct nv_kept *kept)
{
    if (kept && kept->low == (uint64_t)key && (x.key_bytes <= 8 || kept->high == (uint64_t)(key >> 64)))
        return kept->hash;
    return nv_hash(t, key);
}

/* The slot where the search for a key with that hash begins. */
NV_INLINE uint64_t nv_home(const struct nv_table *t, uint64_t hash)
{
    const uint64_t *head = t->head;
    uint64_t bucket = hash & head[NV_MASKED];
    if (NV_RARELY(bucket >= head[NV_BUCKETS]))
        bucket &= head[NV_MASKED] >> 1;
    return bucket;
}

/* Whether that is an entry's key. The entry has more bytes than those of a short one, which are read with it. */
NV_INLINE int nv_same(const uint8_t *p, struct nv_exact x, unsigned __int128 key)
{
    uint64_t low = x.key_bytes < 8 && x.state_bytes + 8 <= x.stride ? nv_le(p, 8) & NV_MASK(8 * x.key_bytes)
                                                                    : nv_le(p, x.key_bytes < 8 ? x.key_bytes : 8);
    if (x.key_bytes <= 8)
        return low == (uint64_t)key;
    return low == (uint64_t)key && nv_le(p + 8, x.key_bytes - 8) == (uint64_t)(key >> 64);
}

NV_INLINE uint64_t nv_state(const uint8_t *p, struct nv_exact x)
{
    return x.state_bytes == 1 ? *p : nv_le(p, 8);
}

NV_INLINE int nv_is_live(struct nv_exact x, uint64_t state, uint64_t clock)
{
    return x.state_bytes == 1 ? state == NV_NO_END : state > clock;
}

NV_INLINE int nv_holds(const uint8_t *p, struct nv_exact x, unsigned __int128 key, uint64_t clock)
{
    return nv_is_live(x, nv_state(p, x), clock) && nv_same(p + x.state_bytes, x, key);
}

enum { NV_NOWHERE = -1, NV_UNCERTAIN = -2 };

/* The slot of the entry with a key, searched for from one on; a number less than 0 if there is none, or the runtime must be asked. */
NV_APART int64_t nv_search(const struct nv_table *t, struct nv_exact x, uint64_t low, uint64_t high, uint64_t slot)
{
    const unsigned __int128 key = (unsigned __int128)high << 64 | low;
    for (uint64_t end = slot + NV_PROBES; slot < end; slot++) {
        const uint8_t *p = t->slots + slot * x.stride;
        uint64_t found[2] = { 0, 0 };
        memcpy(found, p + x.state_bytes, x.key_bytes);
        if (nv_is_live(x, nv_state(p, x), t->head[NV_CLOCK]) && key == ((unsigned __int128)found[1] << 64 | found[0]))
            return (int64_t)slot;
        if (nv_state(p, x) == NV_FREE)
            return t->head[NV_STASHED] ? NV_UNCERTAIN : NV_NOWHERE;
    }
    return NV_UNCERTAIN;
}

/* A table's time never goes back, nor to the end of all time. It is then what this gives. */
NV_INLINE uint64_t nv_tick(const struct nv_table *t, uint64_t now)
{
    uint64_t clock = now + NV_EPOCH, before = t->head[NV_CLOCK];
    if (NV_RARELY(clock + 1 <= NV_EPOCH))
        clock = UINT64_MAX - 1;
    if (clock <= before)
        return before;
    t->head[NV_CLOCK] = clock;
    return clock;
}

/* The same of a time in a quick form, where it is far from there. */
NV_INLINE uint64_t nv_tick_on(const struct nv_table *t, uint64_t now)
{
    NV_ASSUME(now <= NV_LATEST);
    uint64_t clock = nv_tick(t, now);
    NV_ASSUME(clock != 0);
    return clock;
}

/* The number of the entry with a key and its hash, 0 for none; where the runtime must be asked *ask is set. `clock` is the table's time. Most are in the first slot or
   the second; the search for others is a function of its own, so that it takes no registers here. */
NV_INLINE uint32_t nv_find(const struct nv_table *t, struct nv_exact x, unsigned __int128 key, uint64_t hash, uint64_t clock, int use, int *ask)
{
    int64_t slot = (int64_t)nv_home(t, hash);
    uint64_t end;
    uint8_t *p = t->slots + (uint64_t)slot * x.stride;
    *ask = 0;
    if (!nv_holds(p, x, key, clock)) {
        slot++, p += x.stride;
        if (!nv_holds(p, x, key, clock)) {
            slot = nv_search(t, x, (uint64_t)key, (uint64_t)(key >> 64), (uint64_t)slot - 1);
            *ask = slot == NV_UNCERTAIN;
            if (slot < 0)
                return 0;
            p = t->slots + (uint64_t)slot * x.stride;
        }
    }
    if (use && x.timeout) {
        if (NV_RARELY(__builtin_add_overflow(clock, t->head[NV_TIMEOUT], &end)))
            end = UINT64_MAX;
        if (!x.lasting || end > nv_state(p, x))
            nv_put_le(p, 8, end);
    }
    NV_ASSUME((uint64_t)slot < 1u << 31);
    return (uint32_t)slot + 1;
}

/* Whether a table's accounts say that something in a slot ends then, or can be made to say so. */
NV_INLINE int nv_note_end(const struct nv_table *t, uint64_t slot, uint64_t end)
{
    const uint64_t block = slot / NV_FAN, leaves = t->head[NV_LEAFNO];
    uint8_t *const mark = t->groups + block / 8, *const leaf = t->index + 8 * block;
    if (*mark >> block % 8 & 1)
        return 1;
    if (!leaves || ~nv_le(t->index + 8 * (leaves + block / NV_FAN), 8) > end)
        return 0;
    *mark |= (uint8_t)(1u << block % 8);
    if (~nv_le(leaf, 8) > end)
        nv_put_le(leaf, 8, ~end);
    return 1;
}

/* Puts in an entry for a key that has none: its number, or 0 where the runtime must be asked. */
NV_APART uint32_t nv_enter(const struct nv_table *t, struct nv_exact x, uint64_t low, uint64_t high, uint64_t hash, uint64_t clock)
{
    const uint64_t home = nv_home(t, hash);
    uint64_t slot = home, end = NV_NO_END;
    uint8_t key[16], *p = t->slots + slot * x.stride;
    if (t->head[NV_FILLED] >= t->head[NV_READY] || t->head[NV_QUIET] <= clock || t->head[NV_STASHED])
        return 0;
    for (; nv_state(p, x) > NV_DEAD; p += x.stride)
        if (++slot == home + NV_PROBES)
            return 0;
    if (x.timeout && (__builtin_add_overflow(clock, t->head[NV_TIMEOUT], &end) || end == UINT64_MAX || !nv_note_end(t, slot, end)))
        return 0;
    memset(p, 0, x.stride);
    nv_put_le(key, 8, low), nv_put_le(key + 8, 8, high);
    if (x.state_bytes == 1)
        *p = (uint8_t)end;
    else
        nv_put_le(p, 8, end);
    memcpy(p + x.state_bytes, key, x.key_bytes);
    t->head[NV_FILLED]++;
    return (uint32_t)slot + 1;
}

/* The same as finding it for an insertion, which puts in what is not there. */
NV_INLINE uint32_t nv_insert(const struct nv_table *t, struct nv_exact x, unsigned __int128 key, uint64_t hash, uint64_t clock, int *ask)
{
    uint32_t entry = nv_find(t, x, key, hash, clock, 1, ask);
    if (NV_RARELY(!entry) && !*ask) {
        entry = nv_enter(t, x, (uint64_t)key, (uint64_t)(key >> 64), hash, clock);
        *ask = !entry;
    }
    return entry;
}

/* Words of a ternary table's head, and bytes of a mask's part of its index (netil::layout). */
enum { NV_ASK, NV_MASKS, NV_TERNARY_SEED, NV_MASK_BYTES = 40 };

/* The order and, above it, the number of the entry that a masked key of so many words has; all ones if it has none. */
NV_INLINE uint64_t nv_slot_of(const struct nv_table *t, const uint8_t *mask, unsigned words, uint64_t low, uint64_t high)
{
    const uint8_t *slots = t->groups + nv_le(mask + 16, 8);
    uint64_t last = nv_le(mask + 24, 8), stride = 8 * (words + 1);
    uint64_t at = nv_mix(low ^ t->head[NV_TERNARY_SEED], high ^ t->head[NV_TERNARY_SEED + 1]) & last;
    for (;; at = (at + 1) & last) {
        const uint8_t *p = slots + at * stride;
        uint64_t entry = nv_le(p + 8 * words, 8);
        if (NV_RARELY(entry >> 32 == 0))
            return UINT64_MAX;
        if (nv_le(p, 8) == low && (words == 1 || nv_le(p + 8, 8) == high))
            return entry;
    }
}

/* The number of the best entry that suits a key, 0 for none; where the runtime must be asked *ask is set. */
NV_INLINE uint32_t nv_ternary(const struct nv_table *t, unsigned words, unsigned __int128 key, int *ask)
{
    uint64_t low = (uint64_t)key, high = (uint64_t)(key >> 64);
    uint32_t best = UINT32_MAX, found = 0;
    *ask = t->head[NV_ASK] != 0;
    if (NV_RARELY(*ask))
        return 0;
    const uint8_t *mask = t->index;
    for (uint64_t n = t->head[NV_MASKS]; n > 0 && nv_le(mask + 32, 8) < best; n--, mask += NV_MASK_BYTES) {
        uint64_t entry = nv_slot_of(t, mask, words, low & nv_le(mask, 8), high & nv_le(mask + 8, 8));
        if ((uint32_t)entry < best)
            best = (uint32_t)entry, found = (uint32_t)(entry >> 32);
    }
    return found;
}

/* Fetches what a lookup will read first, and keeps the key's hash. */
NV_INLINE void nv_fetch(const struct nv_table *t, struct nv_exact x, unsigned __int128 key, struct nv_kept *kept)
{
    kept->low = (uint64_t)key, kept->hash = nv_hash(t, key);
    if (x.key_bytes > 8)
        kept->high = (uint64_t)(key >> 64);
    const uint8_t *p = t->slots + nv_home(t, kept->hash) * x.stride;
    __builtin_prefetch(p, 1);
    if (x.stride > 64)
        __builtin_prefetch(p + 64, 1);
}
