/*
 * What the hand-written applications share. Packets are copied one after the other into a ring of buffers, as a network card would put them there, handled
 * in bursts, and leave by a queue for each port. A packet that is in a queue is sent as soon as its burst is done.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    BURST = 256,
    BUFFERS = 4096,
    STRIDE = 2240,      /* of buffers: an odd number of cache lines */
    SLOT = 64,          /* bytes of a packet in a trace; it has LENGTH of them */
    LENGTH = 60,
    PORTS = 4,
    QUEUE = 1024,
};

/* Packets and, if they do not all arrive at port 0, where each arrives; the k-th of all that arrive comes at k * interval nanoseconds. */
struct trace {
    const uint8_t *packets;
    const uint8_t *ports;
    size_t count;
    uint64_t interval;
    size_t at_once;     /* packets of a burst, BURST at most */
};

/* Where sent packets are kept if somebody wants to see them. */
struct kept {
    uint8_t *packets;
    size_t count, room;
};

struct ports {
    uint8_t *buffers;
    size_t next;
    uint64_t arrived, dropped;
    uint64_t sent[PORTS];
    struct kept *kept;  /* one a port, or null */
    uint8_t *queue[PORTS][QUEUE];
};

/* Zeros in large pages, which are taken as they are written to; ends the program if there is no memory. They stay until the program ends. */
void *fresh(size_t size);
/* The same, all taken now. */
void *large(size_t size);
/* Keeps what a burst has put into queues, if that is wanted. `before`: what had been sent before. */
void keep(struct ports *ports, const uint64_t *before);

static inline uint16_t load16(const void *at) { uint16_t v; memcpy(&v, at, 2); return v; }
static inline uint32_t load32(const void *at) { uint32_t v; memcpy(&v, at, 4); return v; }
static inline uint64_t load64(const void *at) { uint64_t v; memcpy(&v, at, 8); return v; }
static inline void store16(void *at, uint16_t v) { memcpy(at, &v, 2); }
static inline void store32(void *at, uint32_t v) { memcpy(at, &v, 4); }

/* The next buffer with a packet in it. */
static inline uint8_t *arrive(struct ports *ports, const uint8_t *packet)
{
    uint8_t *buffer = ports->buffers + ports->next * STRIDE;
    memcpy(buffer, packet, SLOT);
    ports->next = (ports->next + 1) % BUFFERS;
    return buffer;
}

static inline void send(struct ports *ports, uint8_t *packet, uint32_t port)
{
    uint64_t at = ports->sent[port]++;
    ports->queue[port][at % QUEUE] = packet;
}

/* Is that an IPv4 header without options whose checksum is right, which the packet has all bytes of? A slow path would have all others. */
static inline int is_plain_ip(const uint8_t *packet)
{
    const uint8_t *ip = packet + 14;
    uint64_t sum = (uint64_t)load32(ip) + load32(ip + 4) + load32(ip + 8) + load32(ip + 12) + load32(ip + 16);
    uint32_t length = __builtin_bswap16(load16(ip + 2));
    return load16(packet + 12) == 8 && ip[0] == 0x45 && length >= 20 && length <= LENGTH - 14 && sum % 0xffff == 0;
}

/* A number modulo 65,535, which is how a checksum is folded; 0 is what 65,535 is. */
static inline uint16_t fold(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

/* Runs a trace: `burst` handles packets that arrive one after the other, the first of them at that time. */
#define RUN(burst, app, io, trace, passes) \
    for (uint64_t pass = 0; pass < (passes); pass++) \
        for (size_t i = 0; i < (trace)->count; i += (trace)->at_once) { \
            size_t n = (trace)->count - i < (trace)->at_once ? (trace)->count - i : (trace)->at_once; \
            uint64_t before[PORTS], now = ((io)->arrived + 1) * (trace)->interval; \
            memcpy(before, (io)->sent, sizeof before); \
            (io)->arrived += n; \
            burst(app, io, (trace)->packets + i * SLOT, (trace)->ports ? (trace)->ports + i : NULL, n, now, (trace)->interval); \
            if ((io)->kept) \
                keep(io, before); \
        }
