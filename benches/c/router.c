/*
 * An IPv4 router's forward path by hand: routes in an array of 24 bits and, for longer ones, arrays of 8 (DIR-24-8: Gupta, Lin, McKeown 1998); next hops
 * with the Ethernet header that they get. A burst's packets are checked and their routes' cache lines fetched, then each is looked up and written.
 */
#include "burst.h"

#include <stdlib.h>

enum { HOPS = 1 << 15, DEEPER = 1 << 15, GROUPS = 4096 };

struct hop {
    uint8_t header[14];
    uint16_t port;
};

struct router {
    uint16_t *first;    /* by the first 24 bits: a hop, 0 for none; or a group of the second */
    uint16_t *second;
    uint32_t groups;
    struct hop hops[HOPS];
};

struct router *router_new(void)
{
    struct router *router = calloc(1, sizeof *router);
    if (!router)
        abort();
    router->first = large(sizeof(uint16_t) << 24);
    router->second = large(sizeof(uint16_t) * 256 * GROUPS);
    return router;
}

/* A next hop, from 1 on: the frame's destination, its source, and the port. */
void router_hop(struct router *router, uint32_t hop, const uint8_t *macs, uint32_t port)
{
    memcpy(router->hops[hop].header, macs, 12);
    memcpy(router->hops[hop].header + 12, "\x08", 2);
    router->hops[hop].port = (uint16_t)port;
}

/* The slots of a prefix that is longer than 24 bits. */
static uint16_t *group(struct router *router, uint32_t prefix)
{
    uint16_t *entry = &router->first[prefix >> 8];
    if (!(*entry & DEEPER)) {
        if (router->groups == GROUPS)
            abort();
        for (int i = 0; i < 256; i++)
            router->second[router->groups * 256 + i] = *entry;
        *entry = (uint16_t)(DEEPER | router->groups++);
    }
    return &router->second[(*entry & ~DEEPER) * 256];
}

/* A route; shorter ones come before longer ones. */
void router_add(struct router *router, uint32_t prefix, uint32_t length, uint32_t hop)
{
    uint32_t long_one = length > 24;
    uint16_t *slots = long_one ? group(router, prefix) + (prefix & 255) : &router->first[prefix >> 8];
    for (uint32_t i = 0; i < 1u << ((long_one ? 32 : 24) - length); i++)
        slots[i] = (uint16_t)hop;
}

/* The time to live, one less; the checksum's change is that of RFC 1624. */
static inline void count_down(uint8_t *ip)
{
    uint32_t sum = load16(ip + 10) + 1u;
    ip[8]--;
    store16(ip + 10, (uint16_t)(sum >= 0xffff ? sum - 0xffff : sum));
}

static inline uint32_t look_up(const struct router *router, uint32_t address)
{
    uint32_t hop = router->first[address >> 8];
    if (__builtin_expect(hop & DEEPER, 0))
        hop = router->second[(hop & ~DEEPER) * 256 + (address & 255)];
    return hop;
}

static inline void forward(const struct router *router, struct ports *io, uint8_t *packet, uint32_t address)
{
    uint32_t hop = look_up(router, address);
    if (__builtin_expect(!hop, 0)) {
        io->dropped++;
        return;
    }
    count_down(packet + 14);
    memcpy(packet, router->hops[hop].header, 14);
    send(io, packet, router->hops[hop].port);
}

static void burst(struct router *router, struct ports *io, const uint8_t *in, const uint8_t *ports, size_t n, uint64_t now, uint64_t interval)
{
    uint8_t *packets[BURST];
    uint32_t addresses[BURST];
    size_t good = 0;
    (void)ports, (void)now, (void)interval;
    for (size_t i = 0; i < n; i++, in += SLOT) {
        uint8_t *packet = arrive(io, in);
        uint32_t address = __builtin_bswap32(load32(in + 30));
        __builtin_prefetch(&router->first[address >> 8]);
        packets[good] = packet;
        addresses[good] = address;
        /* Not to a group, from an address that may send, and not at the end of its time. */
        good += is_plain_ip(in) && !(in[0] & 1) && load32(in + 26) != 0xffffffff && in[22] > 1;
    }
    io->dropped += n - good;
    for (size_t i = 0; i < good; i++)
        forward(router, io, packets[i], addresses[i]);
}

void router_run(struct router *router, struct ports *io, const struct trace *trace, uint64_t passes)
{
    RUN(burst, router, io, trace, passes)
}
