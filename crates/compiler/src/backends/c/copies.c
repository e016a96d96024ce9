
/* Copies of packets: each lies in a slot of its own, at the place where its packet lies in its. */

/* An arrival is at hand: copies of it are made here if there are slots for all that there may be, else by the runtime. */
NV_INLINE void nv_arrive(struct nv_graph *g, uint64_t n, uint64_t most)
{
    g->at = (uint32_t)n;
    g->plain = (uint64_t)(g->spares - g->spare) < most && !g->refill(g);
}

/* Copies bytes of one slot's memory to the same place of another's: short packets by lines, where those behind the last byte are the slot's own. */
NV_INLINE void nv_copy_bytes(uint8_t *to, const uint8_t *from, uint32_t at, uint32_t n)
{
    if (NV_RARELY(n > 256 || at + 320 > NV_HEAD + NV_LONGEST)) {
        memcpy(to + at, from + at, n);
        return;
    }
    for (uint32_t k = at; k < at + n; k += 64)
        memcpy(to + k, from + k, 64);
}

/* The number of a copy of packet i, whose own becomes another: `netil::number`. */
NV_INLINE uint64_t nv_number_of_copy(struct nv_graph *g, uint64_t i)
{
    uint64_t z = g->numbers[i] += NV_COPIED;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The slot of a copy of a packet that does not lie in its slot's memory, or has no room in a slot. */
NV_APART __attribute__((cold)) uint64_t nv_copy_large(struct nv_graph *g, uint64_t i, struct nv_run *r, const uint8_t *info)
{
    nv_store(g, r, info, i);
    const uint64_t j = g->duplicate(g, i);
    nv_locate(g, r, i);
    return j;
}

/* Whether packet i does not lie in its slot's memory, or has no room in a slot. */
NV_INLINE int nv_lies_apart(const struct nv_graph *g, uint64_t i, const struct nv_run *r)
{
    return r->memory != g->memory + i * NV_STRIDE + NV_ROOM || r->front + r->len > NV_LONGEST;
}

/* The slot of a copy of packet i, which is there. */
NV_INLINE uint64_t nv_copy(struct nv_graph *g, uint64_t i, struct nv_run *r, const uint8_t *info)
{
    if (NV_RARELY(nv_lies_apart(g, i, r)))
        return nv_copy_large(g, i, r, info);
    const uint64_t j = *g->spare++;
    if (NV_NUMBERS)
        g->numbers[j] = nv_number_of_copy(g, i);
    uint8_t *const to = g->memory + j * NV_STRIDE;
    struct nv_slot *const s = &g->slots[j];
    struct nv_detail *const d = &g->details[j];
    s->time_ns = g->slots[i].time_ns, s->len = r->len, s->kind = (g->slots[i].kind & NV_CUT) | NV_PRESENT | NV_COPY;
    d->head = nv_head(r), d->front = r->front, d->moved = r->moved, d->missing = g->details[i].missing;
    d->value = g->at;
    nv_copy_bytes(to + NV_ROOM, r->memory, d->head - r->front, r->front + r->len);
    if (NV_INFO > 0)
        *(struct nv_info *)to = *(const struct nv_info *)info;
    return j;
}

/* The same where nobody behind looks at annotations: nothing but bytes and length, if the packet begins where it was put. */
NV_INLINE uint64_t nv_copy_last(struct nv_graph *g, uint64_t i, struct nv_run *r, const uint8_t *info)
{
    if (NV_RARELY(nv_lies_apart(g, i, r)))
        return nv_copy_large(g, i, r, info);
    const uint64_t j = *g->spare++;
    if (NV_NUMBERS)
        g->numbers[j] = nv_number_of_copy(g, i);
    const uint32_t cut = g->slots[i].kind & NV_CUT, head = nv_head(r);
    struct nv_slot *const s = &g->slots[j];
    s->time_ns = g->slots[i].time_ns, s->len = r->len, s->kind = cut | NV_PRESENT | NV_COPY | NV_FRESH;
    g->details[j].value = g->at;
    if (NV_RARELY(cut || head != NV_HEAD || r->moved != 0 || r->front != 0)) {
        nv_place_at(s, &g->details[j], head, r->front, r->moved, r->len);
        g->details[j].missing = g->details[i].missing;
    }
    nv_copy_bytes(g->memory + j * NV_STRIDE + NV_ROOM, r->memory, head - r->front, r->front + r->len);
    return j;
}

/* The slot of a copy that nobody changes, as nobody changes the packet: its own, with the packet at its place. */
NV_INLINE uint64_t nv_share(struct nv_graph *g, uint64_t i, struct nv_run *r, const uint8_t *info)
{
    struct nv_slot *const s = &g->slots[i];
    if (NV_RARELY(nv_lies_apart(g, i, r)))
        return nv_copy_large(g, i, r, info);
    if (NV_RARELY(!(s->kind & NV_FRESH) || r->moved != 0 || r->front != 0 || r->len != s->len))
        nv_place(s, &g->details[i], r);
    g->more[i]++, g->shared++;
    return i;
}
