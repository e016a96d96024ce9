/*
 * MarkEtherHeader([OFFSET]) -- marks where the Ethernet header is
 *
 * It starts OFFSET bytes into the packet, 0 by default; the network header follows after it, behind an IEEE 802.1Q tag if there is one.
 * A packet that ends before is dropped (a trap).
 *
 * See also: MarkMACHeader, MarkIPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(MarkEtherHeader, "1/1", "a/a");
PARAM(u32, start, "OFFSET", OPTIONAL(0));

void packet(int port)
{
    const struct ether *ether = header(struct ether, start);
    bool tagged = ether->type == htons(ETHERTYPE_VLAN);

    set_mac_header(start);
    set_network_header(start + (tagged ? (u32) sizeof(struct vlan) : (u32) sizeof(struct ether)));
    emit(0);
}
