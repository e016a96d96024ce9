/* How a burst is run. */

/* Where a packet comes in; the same for all if there is one entry. */
NV_INLINE uint32_t nv_entry(const struct nv_slot *slots, uint64_t i)
{
    return NV_ENTRIES == 1 ? 0 : slots[i].kind >> NV_ENTRY;
}

/* Whether it is known how many packets come in by each entry before they do: there is one, or sources take turns. But timers make bursts shorter. */
NV_INLINE int nv_is_counted(uint64_t turns)
{
    return !NV_TIMERS && (NV_ENTRIES == 1 || turns > 0);
}

/* Where a packet comes in, which is counted. */
NV_INLINE uint32_t nv_come(const struct nv_graph *g, const struct nv_slot *slots, uint64_t i, uint64_t turns)
{
    const uint32_t entry = nv_entry(slots, i);
    if (!nv_is_counted(turns))
        g->begun[entry]++;
    return entry;
}

/* The same for all packets of a burst. */
NV_INLINE void nv_all_come(const struct nv_graph *g)
{
    const uint64_t turns = g->turns ? g->turns : 1;
    for (uint64_t turn = 0; nv_is_counted(g->turns) && turn < turns && g->count > 0; turn++)
        g->begun[nv_entry(g->slots, g->burst[turn])] += g->count / turns;
}

/* Whether quick forms may be run: there is enough of the budget, what they look into lies in memory, no packet comes at the end of all time, and nobody wants to know
   of each element when it runs. */
NV_INLINE int nv_quick(const struct nv_graph *g)
{
    int there = 1;
    for (unsigned n = 0; n < NV_TABLES; n++)
        there &= !nv_direct[n] || g->tables[n].head;
    return there && g->budget >= NV_NEED && g->latest <= NV_LATEST && !g->tell;
}

NV_INLINE uint64_t nv_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Packets that are copied into their slots ahead of the one that is run: more than slices look at. With a multiple of 64 those that are read and those that are written would
   be at the same place in their pages, which processors take for the same memory (a router: 0.7 ns a packet). */
enum { NV_AHEAD = NV_PLACES + 8 };

/* Lines of packets that come next, which are fetched while others are run; and of this burst, if they are still to be copied: by source the next one's, where sources take turns. */
struct nv_coming {
    const uint8_t *at, *to;
    const struct nv_expected *others, *nothing;
    const uint8_t *late[NV_TURNS];
    uint64_t turn, turns, beyond;
};

/* One of them, into the second-level cache: the first is for the packets at hand. */
NV_INLINE void nv_fetch_next(struct nv_coming *c)
{
    if (c->at < c->to)
        __builtin_prefetch(c->at, 0, 2), c->at += 64;
    else if (c->others < c->nothing)
        c->at = c->others->from, c->to = c->others++->to;
}

/* A cache line, in registers of the largest size that there is. */
typedef uint8_t nv_line __attribute__((vector_size(64), aligned(1), may_alias));

/* Copies the next of the packets that are still to be copied into a slot, and fetches the one that comes in its place in the next burst. */
NV_INLINE void nv_bring(struct nv_coming *c, uint8_t *memory, uint64_t i)
{
    const uint8_t *from = c->late[c->turn];
    *(nv_line *)(memory + i * NV_STRIDE + NV_ROOM + NV_HEAD) = *(const nv_line *)from;
    __builtin_prefetch(from + c->beyond, 0, 2);
    c->late[c->turn] = from + sizeof(nv_line);
    c->turn = c->turn + 1 < c->turns ? c->turn + 1 : 0;
}

/* The same of some packets of a burst. */
NV_INLINE void nv_bring_all(const struct nv_graph *g, struct nv_coming *c, uint64_t n, uint64_t upto)
{
    for (; c->turns && n < upto; n++)
        nv_bring(c, g->memory, g->burst[n]);
}

/* The n-th packet of a burst of so many. */
NV_INLINE int next(struct nv_graph *g, const struct nv_near *k, const uint32_t *burst, uint64_t n, uint64_t count, struct nv_kept *kept, struct nv_coming *c)
{
    if (NV_RARELY(!c->turns))
        nv_fetch_next(c);
    else if (NV_MOSTLY(n + NV_AHEAD < count))
        nv_bring(c, k->memory, burst[n + NV_AHEAD]);
    if (NV_COPIES > 0)
        nv_arrive(g, n, NV_COPIES);
    return one(g, k, burst[n], nv_come(g, k->slots, burst[n], c->turns), kept);
}

/* How many packets are run: timers make bursts shorter, and longer again when they are put off. */
NV_INLINE uint64_t nv_count(const struct nv_graph *g, uint64_t count)
{
    return NV_TIMERS ? g->count : count;
}

/* Packets up to the last that is run; how many these were. */
NV_INLINE uint64_t nv_run(struct nv_graph *g, struct nv_near *k, uint64_t count, struct nv_coming *c)
{
    const uint32_t *const burst = g->burst;
    const int far = NV_SLICED && nv_far(k);
    uint64_t fetched = 0, n = 0;
    if (NV_KEPT > 0 && !far) {
        /* Nothing is fetched ahead and nothing kept: a text of its own, in which no lookup asks for that. */
        for (; n < nv_count(g, count); n++)
            if (NV_RARELY(next(g, k, burst, n, count, 0, c)))
                nv_again(g, k);
        return n;
    }
    const uint64_t last = far ? NV_PLACES - 1 : 0; /* of those packets that places are for */
    nv_places kept[NV_PLACES];
    nv_keep_nothing(k, kept, nv_least(last + 1, count));
    while (n < nv_count(g, count)) {
        const uint64_t upto = far ? nv_least(n + NV_PLACES, nv_count(g, count)) : 0, end = n + NV_GROUP;
        for (; fetched < upto; fetched++)
            ahead(g, k, burst[fetched], nv_entry(k->slots, burst[fetched]), kept[fetched & (NV_PLACES - 1)]);
        for (; n < nv_least(end, nv_count(g, count)); n++)
            if (NV_RARELY(next(g, k, burst, n, count, kept[n & last], c)))
                nv_again(g, k);
    }
    return n;
}

void netvm_linked(struct nv_graph *g)
{
    struct nv_near near, *k = &near;
    const uint64_t count = g->count;
    struct nv_coming coming = { 0, 0, g->expected, g->nothing, { 0 }, 0, g->turns, g->beyond }, *c = &coming;
    for (uint64_t turn = 0; turn < g->turns; turn++)
        c->late[turn] = g->late[turn];
    nv_all_come(g);
    if (NV_RARELY(!nv_quick(g))) {
        nv_bring_all(g, c, 0, count);
        for (uint64_t n = 0; n < g->count; n++) {
            if (NV_COPIES > 0)
                nv_arrive(g, n, NV_COPIES);
            enter(g, g->burst[n], nv_come(g, g->slots, g->burst[n], g->turns));
        }
    } else {
        nv_begin(g, k);
        nv_bring_all(g, c, 0, nv_least(NV_AHEAD, count));
        nv_bring_all(g, c, nv_run(g, k, count, c) + NV_AHEAD, count);
    }
}
