/*
 * IPMirror([DST_ANNO]) -- swaps source and destination of IP packets
 *
 * Addresses, and where the packet has them the ports of TCP and UDP and the sequence and acknowledgement numbers of TCP, change places; checksums stay right. The IP header must be
 * marked. The destination annotation becomes the new destination, unless DST_ANNO is false.
 *
 * See also: EtherMirror.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPMirror, "1/1", "a/a");
PARAM(bool, sets_annotation, "DST_ANNO", OPTIONAL(true));

/* What is at the beginning of both. */
static void swap_ports(u32 offset)
{
    struct udp *udp = header(struct udp, offset);
    be16 sport = udp->sport;

    udp->sport = udp->dport;
    udp->dport = sport;
}

static void swap_numbers(u32 offset)
{
    struct tcp *tcp = header(struct tcp, offset);
    be32 seq = tcp->seq;

    tcp->seq = tcp->ack;
    tcp->ack = seq;
}

void packet(int port)
{
    struct ip *ip = header(struct ip, network_offset());
    u32 transport = network_offset() + ip_header_length(ip);
    be32 source = ip->src;

    ip->src = ip->dst;
    ip->dst = source;
    if ((ip->protocol == PROTOCOL_TCP || ip->protocol == PROTOCOL_UDP) && ip_is_first_fragment(ip) && packet_length() >= transport + sizeof(struct udp))
        swap_ports(transport);
    if (ip->protocol == PROTOCOL_TCP && ip_is_first_fragment(ip) && packet_length() >= transport + sizeof(struct tcp))
        swap_numbers(transport);
    if (sets_annotation)
        info(dst_ip) = source;
    emit(0);
}
