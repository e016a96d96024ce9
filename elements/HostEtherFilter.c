/*
 * HostEtherFilter(ETHER [, DROP_OWN, DROP_OTHER, keyword OFFSET]) -- lets frames pass that are for this host
 *
 * Sets the packet type annotation by the frame's destination: ETHER, broadcast, multicast, or another host. Frames for other hosts leave by output 1
 * if there is one, and are dropped otherwise, unless DROP_OTHER is false (true by default). With DROP_OWN true (false by default) the same
 * happens to frames from ETHER. The Ethernet header starts OFFSET bytes into the packet, 0 by default; it is marked.
 *
 * Handlers: ether (read, write), the address.
 *
 * See also: DropBroadcasts, SetPacketType.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(HostEtherFilter, "1/1-2", "a/ah");
PARAM(mac_t, address, "ETHER", REQUIRED);
PARAM(bool, drops_own, "DROP_OWN", OPTIONAL(false));
PARAM(bool, drops_other, "DROP_OTHER", OPTIONAL(true));
PARAM(u32, start, "OFFSET", KEYWORD(0));

enum { NOT_FOR_US };

static mac_t current_address;

void init(void)
{
    current_address = address;
}

struct mac_words { be16 high; be32 low; };

/* The first bit on the wire, the lowest of the first byte, marks groups; all ones is everybody. */
static u8 type_of(const struct ether *ether)
{
    const struct mac_words *words = header(struct mac_words, start);

    if (equal(ether->dst, current_address))
        return TO_HOST;
    if (words->high == htons(0xffff) && words->low == htonl(0xffffffff))
        return TO_BROADCAST;
    return (words->high & htons(0x0100)) != 0 ? TO_MULTICAST : TO_OTHER;
}

void packet(int port)
{
    const struct ether *ether = header(struct ether, start);
    u8 type = type_of(ether);
    bool is_own = equal(ether->src, current_address);

    set_mac_header(start);
    info(packet_type) = type;
    if (!(drops_own && is_own) && !(drops_other && type == TO_OTHER))
        emit(0);
    if (NOUTPUTS > 1)
        emit(1);
    drop(NOT_FOR_US);
}

READ(ether, mac_t, current_address);
WRITE(ether, mac_t, current_address);
