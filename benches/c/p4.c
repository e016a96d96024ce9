/*
 * What the P4 programs of the benchmark do, by hand: IPv4 forwarding (forward.p4) and a switch whose stations are known (switch.p4). Nothing is checked that
 * the programs do not check; the header's checksum is computed anew, as they do it. Routes lie in an array of 24 bits and, for longer ones, arrays of 8
 * (DIR-24-8: Gupta, Lin, McKeown 1998), stations in an open table by CRC32C, half of it in use at most. A burst's cache lines are fetched first.
 */
#include "burst.h"

#include <stdlib.h>

enum { HOPS = 1 << 15, DEEPER = 1 << 15, GROUPS = 4096, NOBODY = PORTS };

/* Where packets go: the address of their next hop, and the port. */
struct next {
    uint8_t mac[6];
    uint16_t port;
};

struct forwarder {
    uint16_t *first;    /* by the first 24 bits: a next hop, 0 for none; or a group of the second */
    uint16_t *second;
    uint32_t groups;
    struct next hops[HOPS];
};

struct forwarder *forwarder_new(void)
{
    struct forwarder *all = calloc(1, sizeof *all);
    if (!all)
        abort();
    all->first = large(sizeof(uint16_t) << 24);
    all->second = large(sizeof(uint16_t) * 256 * GROUPS);
    return all;
}

/* A next hop, from 1 on: its address, and the port. */
void forwarder_hop(struct forwarder *all, uint32_t hop, const uint8_t *mac, uint32_t port)
{
    memcpy(all->hops[hop].mac, mac, 6);
    all->hops[hop].port = (uint16_t)port;
}

/* A route; shorter ones come before longer ones. */
void forwarder_add(struct forwarder *all, uint32_t prefix, uint32_t length, uint32_t hop)
{
    uint16_t *slots = &all->first[prefix >> 8];
    if (length > 24) {
        if (!(*slots & DEEPER)) {
            if (all->groups == GROUPS)
                abort();
            for (int i = 0; i < 256; i++)
                all->second[all->groups * 256 + i] = *slots;
            *slots = (uint16_t)(DEEPER | all->groups++);
        }
        slots = &all->second[(*slots & ~DEEPER) * 256 + (prefix & 255)];
    }
    for (uint32_t i = 0; i < 1u << ((length > 24 ? 32 : 24) - length); i++)
        slots[i] = (uint16_t)hop;
}

/* The checksum of a header of 20 bytes, of which that field counts as 0. */
static inline uint16_t header_sum(const uint8_t *ip)
{
    uint64_t sum = (uint64_t)load32(ip) + load32(ip + 4) + load16(ip + 8) + load32(ip + 12) + load32(ip + 16);
    return (uint16_t)~fold(sum);
}

static inline void forward(const struct forwarder *all, struct ports *io, uint8_t *packet, uint32_t address)
{
    uint32_t hop = all->first[address >> 8];
    if (__builtin_expect(hop & DEEPER, 0))
        hop = all->second[(hop & ~DEEPER) * 256 + (address & 255)];
    if (__builtin_expect(!hop, 0)) {
        io->dropped++;
        return;
    }
    const struct next *next = &all->hops[hop];
    memcpy(packet + 6, packet, 6);
    memcpy(packet, next->mac, 6);
    packet[22]--;
    store16(packet + 24, header_sum(packet + 14));
    send(io, packet, next->port);
}

static void forward_burst(struct forwarder *all, struct ports *io, const uint8_t *in, const uint8_t *ports, size_t n, uint64_t now, uint64_t interval)
{
    uint8_t *packets[BURST];
    uint32_t addresses[BURST];
    (void)ports, (void)now, (void)interval;
    for (size_t i = 0; i < n; i++, in += SLOT) {
        packets[i] = arrive(io, in);
        addresses[i] = __builtin_bswap32(load32(in + 30));
        __builtin_prefetch(&all->first[addresses[i] >> 8]);
    }
    for (size_t i = 0; i < n; i++)
        if (__builtin_expect(load16(packets[i] + 12) == 8, 1))
            forward(all, io, packets[i], addresses[i]);
        else
            send(io, packets[i], 0);
}

void forwarder_run(struct forwarder *all, struct ports *io, const struct trace *trace, uint64_t passes)
{
    RUN(forward_burst, all, io, trace, passes)
}

/* Stations: the address in the upper 48 bits, the port and one in the lower 16; 0 where nobody is. */
struct stations {
    uint64_t *slots;
    uint64_t mask;
};

struct stations *stations_new(uint64_t count)
{
    struct stations *all = calloc(1, sizeof *all);
    uint64_t slots = 64;
    if (!all)
        abort();
    while (slots < 2 * count)
        slots *= 2;
    all->slots = large(slots * sizeof *all->slots);
    all->mask = slots - 1;
    return all;
}

static inline uint64_t address(const uint8_t *at)
{
    return (uint64_t)load32(at) << 16 | (uint64_t)load16(at + 4) << 48;
}

static inline uint64_t hash(uint64_t address)
{
#ifdef __SSE4_2__
    return __builtin_ia32_crc32di(0, address);
#else
    return address * 0x9e3779b97f4a7c15 >> 32;
#endif
}

void stations_add(struct stations *all, const uint8_t *mac, uint32_t port)
{
    uint64_t slot = hash(address(mac)) & all->mask;
    while (all->slots[slot])
        slot = (slot + 1) & all->mask;
    all->slots[slot] = address(mac) | (port + 1);
}

static inline uint32_t find(const struct stations *all, uint64_t to, uint64_t slot)
{
    for (;; slot = (slot + 1) & all->mask) {
        uint64_t station = all->slots[slot];
        if (__builtin_expect(station >> 16 == to >> 16, 1))
            return (uint32_t)(station & 0xffff) - 1;
        if (!station)
            return NOBODY;
    }
}

static void switch_burst(struct stations *all, struct ports *io, const uint8_t *in, const uint8_t *ports, size_t n, uint64_t now, uint64_t interval)
{
    uint8_t *packets[BURST];
    uint32_t slots[BURST];
    (void)now, (void)interval;
    for (size_t i = 0; i < n; i++, in += SLOT) {
        packets[i] = arrive(io, in);
        slots[i] = (uint32_t)(hash(address(in)) & all->mask);
        __builtin_prefetch(&all->slots[slots[i]]);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t arrived = ports ? ports[i] : 0, port = find(all, address(packets[i]), slots[i]);
        if (__builtin_expect(port == NOBODY, 0)) {
            for (uint32_t other = 0; other < PORTS; other++)
                if (other != arrived)
                    send(io, packets[i], other);
        } else if (port == arrived)
            io->dropped++;
        else
            send(io, packets[i], port);
    }
}

void stations_run(struct stations *all, struct ports *io, const struct trace *trace, uint64_t passes)
{
    RUN(switch_burst, all, io, trace, passes)
}
