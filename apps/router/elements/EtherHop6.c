/*
 * EtherHop6(SRC, HOPS, ETHERS) -- puts an Ethernet header before IPv6 packets, by next hop
 *
 * Stands for Neighbour Discovery where the neighbours are known beforehand. The IPv6 destination annotation names the next hop; the address of the list ETHERS
 * that stands where the hop stands in the list HOPS becomes the destination of the Ethernet header, SRC the source. Both lists are separated by spaces.
 * Packets to other hops leave by output 1 if there is one, and are dropped otherwise.
 *
 * Example: `EtherHop6(02:00:00:00:00:01, 2001:db8::2 2001:db8::3, 02:00:00:00:00:02 02:00:00:00:00:03)`
 *
 * See also: EtherHop, EtherEncap.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(EtherHop6, "1/1-2", "h/h");
PARAM(mac_t, source, "SRC", REQUIRED);
PARAM_LIST(in6_t, hops, "HOPS", REQUIRED);
PARAM_LIST(mac_t, ethers, "ETHERS", REQUIRED);

TABLE_EXACT(neighbours, in6_t, mac_t, 65536, 0);

enum { NO_NEIGHBOUR };

void init(void)
{
    for (u32 i = 0; i < hops_count && i < ethers_count; i++) {
        in6_t hop = hops[i];
        mac_t *mac = table_insert(neighbours, &hop);

        if (mac)
            *mac = ethers[i];
    }
}

void push(int port)
{
    in6_t hop = info(dst_ip6);
    const mac_t *mac = table_find(neighbours, &hop);
    struct ether *ether;

    if (mac) {
        packet_push(sizeof(struct ether));
        ether = header(struct ether, 0);
        ether->dst = *mac;
        ether->src = source;
        ether->type = htons(ETHERTYPE_IP6);
        set_mac_header(0);
        emit(0);
    }
    if (NOUTPUTS > 1)
        emit(1);
    drop(NO_NEIGHBOUR);
}
