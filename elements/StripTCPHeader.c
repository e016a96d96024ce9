/*
 * StripTCPHeader -- takes off all that is before the payload of TCP
 *
 * The IP and transport headers must be marked. The packet then begins behind its TCP header, or that of UDP or ICMP; of other protocols with the transport header.
 *
 * See also: UnstripTCPHeader, StripIPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(StripTCPHeader, "1/1", "a/a");

/* The IP header may have been taken off already. */
static void bring_back(void)
{
    i32 missing = packet_moved() - info(network_header);

    if (info(has_network_header) && missing > 0)
        packet_unpull((u32) missing);
}

void packet(int port)
{
    u32 start;
    u8 protocol;

    bring_back();
    start = transport_offset();
    protocol = header(struct ip, network_offset())->protocol;

    if (protocol == PROTOCOL_TCP)
        packet_pull(start + (header(struct tcp, start)->data_offset >> 4) * 4u);
    else if (protocol == PROTOCOL_UDP || protocol == PROTOCOL_ICMP)
        packet_pull(start + sizeof(struct udp));
    else
        packet_pull(start);
    emit(0);
}
