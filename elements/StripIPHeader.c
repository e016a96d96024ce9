/*
 * StripIPHeader -- takes off the IP header
 *
 * The packet then begins after its marked IP header, options included.
 *
 * See also: CheckIPHeader, StripToNetworkHeader, IPEncap.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(StripIPHeader, "1/1", "a/a");

void packet(int port)
{
    u32 length = ip_header_length(header(struct ip, network_offset()));

    packet_pull(network_offset() + length);
    emit(0);
}
