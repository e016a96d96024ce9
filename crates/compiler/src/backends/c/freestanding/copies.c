
/* A copy of a packet, until it has gone its way. */
struct nv_copy {
    struct netvm_packet k;
    struct nv_run r;
    uint32_t port;
    struct nv_copy *next;
    uint8_t info[NV_INFO] __attribute__((aligned(8)));
    NV_COPY_BYTES
};

/* What a run of a handler has copied, and the port by which the packet goes on. */
struct nv_copies {
    struct nv_copy *first, *last;
    uint32_t count;
    uint64_t bytes, goes;
};

#define NV_ENDED UINT64_MAX

static struct nv_copy nv_all_copies[NETVM_COPIES];
static struct nv_copy *nv_free_copies;
static uint32_t nv_used_copies;

/* The bytes of a packet, with so many before it that can be brought back, to a buffer of the copy's own;
   false if there is none. */
static int nv_copy_bytes(struct nv_copy *c, const struct nv_run *r, uint32_t front);
/* A copy has gone its way. */
static void nv_copy_left(struct nv_copy *c);

/* The number of a copy of a packet, whose own becomes another: `netil::number`. */
static uint64_t nv_number_of_copy(uint64_t *number)
{
    uint64_t z = *number += NV_COPIED;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Copies a packet; false if there is no room. */
static int nv_copy(struct nv_copies *all, const struct netvm_packet *k, struct nv_run *r, uint8_t *info, uint32_t port)
{
    struct nv_copy *c = nv_free_copies;
    if (c)
        nv_free_copies = c->next;
    else if (nv_used_copies < NETVM_COPIES)
        c = &nv_all_copies[nv_used_copies++];
    else
        return 0;
    memcpy(c->info, info, NV_INFO);
    c->k = *k, c->r = *r, c->port = port, c->next = 0, c->r.front = r->front < r->at ? r->front : r->at;
    if (!nv_copy_bytes(c, r, c->r.front)) {
        c->next = nv_free_copies, nv_free_copies = c;
        return 0;
    }
    c->r.number = nv_number_of_copy(&r->number);
#ifdef NV_NUMBER_AT
    nv_put_le(c->info + NV_NUMBER_AT, 8, c->r.number);
    nv_put_le(info + NV_NUMBER_AT, 8, r->number);
#endif
    if (all->last)
        all->last->next = c;
    else
        all->first = c;
    all->last = c, all->count++;
    return 1;
}

/* The copies go on, the first one first. */
static void nv_go_copies(struct nv_copies *all, void (*by)(struct netvm_packet *, struct nv_run *, uint8_t *, uint32_t))
{
    for (struct nv_copy *c = all->first, *next; c; c = next) {
        next = c->next;
        by(&c->k, &c->r, c->info, c->port);
        nv_copy_left(c);
        c->next = nv_free_copies, nv_free_copies = c;
    }
}
