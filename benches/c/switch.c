/*
 * A learning Ethernet switch by hand: stations in an open table by CRC32C of their addresses, half of it in use at most, with the time when each last sent.
 * One that has not sent for the timeout is not known; its slot is the first to be used again. A burst's hashes are computed and slots fetched, then
 * each packet teaches its source and goes where its destination is, in order.
 */
#include "burst.h"

#include <stdlib.h>

/* 0 where nobody is: the address 00:00:00:00:00:00 is nobody's. */
struct station {
    uint64_t address_port;      /* the address in the upper 48 bits, the port in the lower 16 */
    uint64_t seen;
};

struct bridge {
    struct station *stations;
    uint64_t mask, timeout, count;
};

/* For so many stations at most; nanoseconds. */
struct bridge *switch_new(uint64_t stations, uint64_t timeout)
{
    struct bridge *bridge = calloc(1, sizeof *bridge);
    uint64_t slots = 64;
    if (!bridge)
        abort();
    while (slots < 2 * stations)
        slots *= 2;
    bridge->stations = fresh(slots * sizeof *bridge->stations);
    bridge->mask = slots - 1;
    bridge->timeout = timeout;
    return bridge;
}

/* Its bytes in the upper 48 bits. */
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

static inline int is_old(const struct bridge *bridge, const struct station *station, uint64_t now)
{
    return now - station->seen >= bridge->timeout;
}

/* A station that is not where it would be first: it is new, has moved, or others stand there. */
static __attribute__((noinline)) void learn_slowly(struct bridge *bridge, uint64_t from, uint32_t port, uint64_t slot, uint64_t now)
{
    struct station *place = NULL, *station;
    for (;; slot = (slot + 1) & bridge->mask) {
        station = &bridge->stations[slot];
        if (!station->address_port || station->address_port >> 16 == from >> 16)
            break;
        if (!place && is_old(bridge, station, now))
            place = station;
    }
    if (!station->address_port && !place) {
        if (bridge->count > bridge->mask / 2)
            return;
        bridge->count++;
    }
    if (station->address_port || !place)
        place = station;
    *place = (struct station){ from | port, now };
}

static inline void learn(struct bridge *bridge, uint64_t from, uint32_t port, uint64_t slot, uint64_t now)
{
    struct station *station = &bridge->stations[slot];
    if (__builtin_expect(station->address_port == (from | port), 1))
        station->seen = now;
    else if (!(from >> 16 & 1)) /* group addresses send nothing */
        learn_slowly(bridge, from, port, slot, now);
}

/* The port of a station, PORTS if it is not known. */
static inline uint32_t find(const struct bridge *bridge, uint64_t to, uint64_t slot, uint64_t now)
{
    for (;; slot = (slot + 1) & bridge->mask) {
        const struct station *station = &bridge->stations[slot];
        if (__builtin_expect(station->address_port >> 16 == to >> 16, 1))
            return is_old(bridge, station, now) ? PORTS : station->address_port & 0xffff;
        if (!station->address_port)
            return PORTS;
    }
}

static void flood(struct ports *io, uint8_t *packet, uint32_t from)
{
    for (uint32_t port = 0; port < PORTS; port++)
        if (port != from)
            send(io, packet, port);
}

/* To the neighbour only: 01:80:c2:00:00:00 to 0f, which bridges do not forward (IEEE 802.1D, 7.12.6). */
static inline int is_reserved(const uint8_t *to)
{
    return (load64(to) & 0xf0ffffffffff) == 0x0000c28001;
}

static void burst(struct bridge *bridge, struct ports *io, const uint8_t *in, const uint8_t *ports, size_t n, uint64_t now, uint64_t interval)
{
    uint8_t *packets[BURST];
    uint32_t to[BURST], from[BURST];
    for (size_t i = 0; i < n; i++, in += SLOT) {
        packets[i] = arrive(io, in);
        to[i] = hash(address(in)) & bridge->mask;
        from[i] = hash(address(in + 6)) & bridge->mask;
        __builtin_prefetch(&bridge->stations[to[i]]);
        __builtin_prefetch(&bridge->stations[from[i]], 1);
    }
    for (size_t i = 0; i < n; i++, now += interval) {
        uint32_t arrived = ports ? ports[i] : 0;
        if (__builtin_expect(is_reserved(packets[i]), 0)) {
            io->dropped++;
            continue;
        }
        learn(bridge, address(packets[i] + 6), arrived, from[i], now);
        uint32_t port = find(bridge, address(packets[i]), to[i], now);
        if (__builtin_expect(port == PORTS, 0))
            flood(io, packets[i], arrived);
        else if (port == arrived)
            io->dropped++;
        else
            send(io, packets[i], port);
    }
}

void switch_run(struct bridge *bridge, struct ports *io, const struct trace *trace, uint64_t passes)
{
    RUN(burst, bridge, io, trace, passes)
}
