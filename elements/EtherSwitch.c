/*
 * EtherSwitch([keywords TIMEOUT, CAPACITY]) -- learning Ethernet switch
 *
 * Input and output of the same number belong to one LAN. The switch learns on which LAN a source address is. A frame to an address that it knows leaves by that
 * LAN's output, and is dropped if it came from there; a frame to any other address leaves by all outputs but its own LAN's.
 *
 * TIMEOUT is how long an address is known after its last frame, 300 seconds by default; with 0 nothing is learned. At most CAPACITY addresses (8,192) are
 * known at a time; frames to those that there was no room for leave by all outputs. Group addresses are never learned (IEEE 802.1D, 7.8).
 *
 * Handlers: table (read), lines ETH LAN of the addresses that are known; timeout (read, write) in seconds, above 0, unless TIMEOUT is 0; stations.count (read), how many are known.
 *
 * See also: EtherMirror.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(EtherSwitch, "2-/=", "h/h");
ELEMENT_FLOW("#/[^#]");
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM(u32, capacity, "CAPACITY", KEYWORD(8192));

enum { SAME_LAN };

TABLE_EXACT(stations, mac_t, u32, capacity, timeout);

/* The first bit on the wire, the lowest of the first byte. */
static bool is_group(mac_t mac)
{
    return (mac.byte[0] & 1) != 0;
}

static void learn(const struct ether *ether, int port)
{
    mac_t source = ether->src;
    u32 *station;

    if (is_group(ether->src))
        return;
    station = table_insert(stations, &source);
    if (station)
        *station = (u32) port;
}

static int port_of(const struct ether *ether)
{
    mac_t destination = ether->dst;
    const u32 *station = table_peek(stations, &destination);

    return station ? (int) *station : -1;
}

void push(int port)
{
    const struct ether *ether = header(struct ether, 0);
    int known = -1, last;

    if (timeout != 0) {
        learn(ether, port);
        known = port_of(ether);
    }
    if (known == port)
        drop(SAME_LAN);
    if (known >= 0)
        emit(known);
    last = port == NOUTPUTS - 1 ? NOUTPUTS - 2 : NOUTPUTS - 1;
    for (int i = 0; i < last; i++)
        if (i != port)
            clone(i);
    emit(last);
}
