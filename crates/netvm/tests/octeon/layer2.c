/* Layer-2 forwarding as a C programmer writes it for the Octeon: what crates/machine/x11/learner.netil does. A source address that is not known is learned, and a packet leaves by the port
 * of its destination (4 to 7), or by port 8 if that is not known.
 *
 * Stations are in an open table, twice as large as it may be full, by a multiplicative hash of their addresses, with the address and the port in one word. An address of zeros is not told from an empty place by
 * the word alone, so ports are counted from 1 there. Packets lie so that what follows their Ethernet header is aligned; FORM 1 does not rely on it, as in hand.c. */
#include "netvm.h"

enum { STATIONS = 4096, PLACES = 2 * STATIONS };

static uint64_t stations[PLACES];
static uint32_t count;

#if FORM == 1
#define FIELD(type, at) (((const struct { type v; } __attribute__((packed, may_alias)) *)(at))->v)
#else
#define FIELD(type, at) (*(const type __attribute__((may_alias)) *)(at))
#endif

/* The place of an address, whose bytes are the upper 48 bits, or the empty one where it would be. */
static inline __attribute__((always_inline)) uint64_t *place(uint64_t address)
{
    uint32_t at = (uint32_t)(address * 0x9e3779b97f4a7c15u >> 51);
    while (stations[at] && stations[at] >> 16 != address >> 16)
        at = (at + 1) % PLACES;
    return &stations[at];
}

void netvm_run(struct netvm_packet *packets, size_t number)
{
    for (struct netvm_packet *k = packets; k < packets + number; k++) {
        const uint8_t *p = k->buffer + k->at;
        k->element = 0;
        if (k->len < 12) {
            k->end = NETVM_TRAPPED, k->value = 1, k->site = 0;
            continue;
        }
        const uint64_t from = (uint64_t)FIELD(uint16_t, p + 10) << 16 | (uint64_t)FIELD(uint32_t, p + 6) << 32;
        const uint64_t to = (uint64_t)FIELD(uint16_t, p) << 48 | (uint64_t)FIELD(uint32_t, p + 2) << 16;
        uint64_t *station = place(from);
        if (!*station && count < STATIONS)
            count++, *station = from | (k->input + 1);
        station = place(to);
        k->end = NETVM_SENT;
        k->value = *station ? 3 + (uint32_t)(*station & 0xffff) : 8;
        k->site = 0;
    }
}
