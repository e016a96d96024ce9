/*
 * A network address and port translator by hand, TCP and UDP, mappings that do not depend on the other end (RFC 4787). Endpoints are in two open tables, inside and
 * outside ones, half in use at most, hashed by CRC32C; a mapping's entries have each other's addresses and the checksums' change, and the
 * time of the last packet from inside. One that was not used for the timeout is not there; its slot is the first to be used again.
 * Bursts: hashes are computed and slots fetched, then packets are translated in order. Packets from inside arrive at port 0 and leave by port 1, and back.
 */
#include "burst.h"

#include <stdlib.h>

enum { TCP = 6, UDP = 17, TRIES = 1024 };

/* Address, port and protocol as they are in packets, in one word; 0 where there is no mapping. */
struct mapping {
    uint64_t from, to;
    uint64_t used;
    uint32_t change;        /* of a checksum that covers address and port; of the IP header's in the upper half */
    uint32_t partner;       /* the slot of the way back */
};

struct table {
    struct mapping *slots;
    uint64_t mask, count;
};

struct nat {
    struct table inside, outside;
    uint64_t timeout;
    uint32_t first, addresses;          /* external ones; a power of 2 of them */
    uint8_t header[2][12];              /* destination and source of frames, by port */
    uint32_t random;
};

static struct table table_new(uint64_t entries)
{
    uint64_t slots = 64;
    while (slots < 2 * entries)
        slots *= 2;
    return (struct table){ fresh(slots * sizeof(struct mapping)), slots - 1, 0 };
}

struct nat *nat_new(uint64_t mappings, uint64_t timeout, uint32_t first, uint32_t addresses, const uint8_t *headers)
{
    struct nat *nat = calloc(1, sizeof *nat);
    if (!nat)
        abort();
    nat->inside = table_new(mappings);
    nat->outside = table_new(mappings);
    nat->timeout = timeout;
    nat->first = first;
    nat->addresses = addresses;
    memcpy(nat->header, headers, sizeof nat->header);
    return nat;
}

static inline uint64_t endpoint(const uint8_t *address, const uint8_t *port, uint8_t protocol)
{
    return load32(address) | (uint64_t)load16(port) << 32 | (uint64_t)protocol << 48;
}

static inline uint64_t hash(uint64_t key)
{
#ifdef __SSE4_2__
    return __builtin_ia32_crc32di(0, key);
#else
    return key * 0x9e3779b97f4a7c15 >> 32;
#endif
}

static inline int is_used(const struct nat *nat, const struct mapping *mapping, uint64_t now)
{
    return now - mapping->used < nat->timeout;
}

/* The mapping of an endpoint, or null. */
static inline struct mapping *find(const struct nat *nat, const struct table *table, uint64_t from, uint64_t slot, uint64_t now)
{
    for (;; slot = (slot + 1) & table->mask) {
        struct mapping *mapping = &table->slots[slot];
        if (__builtin_expect(mapping->from == from, 1))
            return is_used(nat, mapping, now) ? mapping : NULL;
        if (!mapping->from)
            return NULL;
    }
}

/* A slot for a new mapping: its own old one, one that is used no more, or a free one; null if half of them are in use. */
static struct mapping *place(const struct nat *nat, struct table *table, uint64_t from, uint64_t now)
{
    struct mapping *old = NULL, *mapping;
    for (uint64_t slot = hash(from) & table->mask;; slot = (slot + 1) & table->mask) {
        mapping = &table->slots[slot];
        if (!mapping->from || mapping->from == from)
            break;
        if (!old && !is_used(nat, mapping, now))
            old = mapping;
    }
    if (mapping->from == from)
        return mapping;
    if (old)
        return old;
    return table->count++ <= table->mask / 2 ? mapping : NULL;
}

/* MurmurHash3 of one word: an inside address always has the same external one. */
static uint32_t external(const struct nat *nat, uint32_t address)
{
    uint32_t h = __builtin_bswap32(address) * 0xcc9e2d51;
    h = (h << 15 | h >> 17) * 0x1b873593;
    h = (h << 13 | h >> 19) * 5 + 0xe6546b64;
    h = ((h ^ 4) ^ (h ^ 4) >> 16) * 0x85ebca6b;
    h = (h ^ h >> 13) * 0xc2b2ae35;
    return __builtin_bswap32(nat->first + ((h ^ h >> 16) & (nat->addresses - 1)));
}

/* A free external endpoint: with the port itself if that is free, else with one of the same parity; 0 if there is none. */
static uint64_t choose(struct nat *nat, uint64_t from, uint64_t now)
{
    uint64_t rest = external(nat, (uint32_t)from) | (from >> 48) << 48;
    uint32_t port = __builtin_bswap16((uint16_t)(from >> 32));
    for (int i = 0; i < TRIES; i++) {
        uint64_t to = rest | (uint64_t)__builtin_bswap16((uint16_t)port) << 32;
        if (!find(nat, &nat->outside, to, hash(to) & nat->outside.mask, now))
            return to;
        nat->random = nat->random * 1664525 + 1013904223;
        port = 1024 + (nat->random >> 8) % (65536 - 1024) / 2 * 2 + (port & 1);
    }
    return 0;
}

/* What turns one's complement sums with `from` into sums with `to`. */
static uint32_t change(uint64_t from, uint64_t to)
{
    uint32_t ip = (uint16_t)~from + (uint16_t)~(from >> 16) + (uint16_t)to + (uint16_t)(to >> 16);
    uint32_t both = fold(ip) + (uint16_t)~(from >> 32) + (uint16_t)(to >> 32);
    return (uint32_t)fold(ip) << 16 | fold(both);
}

static __attribute__((noinline)) struct mapping *create(struct nat *nat, uint64_t from, uint64_t now)
{
    uint64_t to = choose(nat, from, now);
    struct mapping *out = to ? place(nat, &nat->inside, from, now) : NULL, *back = out ? place(nat, &nat->outside, to, now) : NULL;
    if (!back)
        return NULL;
    *out = (struct mapping){ from, to, now, change(from, to), (uint32_t)(back - nat->outside.slots) };
    *back = (struct mapping){ to, from, now, change(to, from), (uint32_t)(out - nat->inside.slots) };
    return out;
}

static inline uint16_t updated(uint16_t sum, uint32_t change)
{
    return (uint16_t)~fold((uint16_t)~sum + change);
}

/* Puts the endpoint that a mapping leads to in the place of the other, at the source of packets from inside, else at the destination. */
static inline void translate(uint8_t *packet, const struct mapping *mapping, int at)
{
    uint8_t *sum = packet + (packet[23] == TCP ? 50 : 40);
    uint32_t change = mapping->change;
    store32(packet + 26 + 4 * at, (uint32_t)mapping->to);
    store16(packet + 34 + 2 * at, (uint16_t)(mapping->to >> 32));
    store16(packet + 24, updated(load16(packet + 24), change >> 16));
    if (packet[23] == TCP || load16(sum)) {
        uint16_t after = updated(load16(sum), change & 0xffff);
        store16(sum, packet[23] == UDP && !after ? 0xffff : after);
    }
}

/* The time to live, one less. */
static inline void count_down(uint8_t *ip)
{
    uint32_t sum = load16(ip + 10) + 1u;
    ip[8]--;
    store16(ip + 10, (uint16_t)(sum >= 0xffff ? sum - 0xffff : sum));
}

/* About once a second the way back is kept in use, too. */
static inline void use(struct nat *nat, struct mapping *mapping, uint64_t now)
{
    if (__builtin_expect(mapping->used >> 30 != now >> 30, 0))
        nat->outside.slots[mapping->partner].used = now;
    mapping->used = now;
}

static void burst(struct nat *nat, struct ports *io, const uint8_t *in, const uint8_t *ports, size_t n, uint64_t now, uint64_t interval)
{
    uint8_t *packets[BURST];
    uint64_t keys[BURST], times[BURST];
    uint32_t slots[BURST];
    size_t good = 0;
    for (size_t i = 0; i < n; i++, in += SLOT, now += interval) {
        uint8_t *packet = arrive(io, in);
        int at = ports && ports[i];
        const struct table *table = at ? &nat->outside : &nat->inside;
        uint64_t key = endpoint(in + 26 + 4 * at, in + 34 + 2 * at, in[23]);
        uint32_t slot = hash(key) & table->mask;
        __builtin_prefetch(&table->slots[slot], 1);
        packets[good] = packet;
        keys[good] = key;
        slots[good] = slot << 1 | at;
        times[good] = now;
        /* A fragment, by the flag that more follow and the offset, has no ports. */
        const int whole = !(load16(in + 20) & 0xff3f);
        good += is_plain_ip(in) && !(in[0] & 1) && whole && (in[23] == TCP || in[23] == UDP) && in[22] > 1;
    }
    io->dropped += n - good;
    for (size_t i = 0; i < good; i++) {
        int at = slots[i] & 1;
        struct mapping *mapping = find(nat, at ? &nat->outside : &nat->inside, keys[i], slots[i] >> 1, times[i]);
        if (__builtin_expect(!mapping && !at, 0))
            mapping = create(nat, keys[i], times[i]);
        if (__builtin_expect(!mapping, 0)) {
            io->dropped++;
            continue;
        }
        if (!at)
            use(nat, mapping, times[i]);
        translate(packets[i], mapping, at);
        count_down(packets[i] + 14);
        memcpy(packets[i], nat->header[1 - at], 12);
        send(io, packets[i], 1 - at);
    }
}

void nat_run(struct nat *nat, struct ports *io, const struct trace *trace, uint64_t passes)
{
    RUN(burst, nat, io, trace, passes)
}
