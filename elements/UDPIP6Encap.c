/*
 * UDPIP6Encap(SRC, SPORT, DST, DPORT) -- puts UDP and IPv6 headers before packets
 *
 * The IPv6 header has no extensions and hop limit 255; it is marked, and DST becomes the IPv6 destination annotation. If DST is DST_ANNO, the annotation is the destination
 * instead. UDP has its checksum, as IPv6 demands (RFC 8200 8.1).
 *
 * Handlers: src, sport, dst, dport (read, write), the arguments; a dst of :: is the annotation.
 *
 * Example: `UDPIP6Encap(2001:db8::1, 1234, 2001:db8::2, 1234)`
 *
 * See also: UDPIPEncap, Strip.
 */
#include <netvm.h>
#include "click.h"
#include "icmp6.h"

ELEMENT(UDPIP6Encap, "1/1", "a/a");
PARAM(in6_t, source, "SRC", REQUIRED);
PARAM_AS(IPPORT, u16, source_port, "SPORT", REQUIRED);
PARAM_AS(IP6_OR_ANNO, in6_t, destination, "DST", REQUIRED);
PARAM_AS(IPPORT, u16, destination_port, "DPORT", REQUIRED);

static in6_t current_source, current_destination, none;
static u16 current_sport, current_dport;

void init(void)
{
    current_source = source;
    current_destination = destination;
    current_sport = source_port;
    current_dport = destination_port;
}

static void put_udp(void)
{
    struct udp *udp;

    packet_push(sizeof(struct udp));
    udp = header(struct udp, 0);
    udp->sport = htons(current_sport);
    udp->dport = htons(current_dport);
    udp->length = htons((u16) packet_length());
}

static void put_checksum(void)
{
    struct udp *udp = header(struct udp, sizeof(struct ip6));
    u16 sum = ip6_checksum(0, sizeof(struct ip6), packet_length() - (u32) sizeof(struct ip6));

    udp->checksum = htons(checksum_not_zero(sum));
}

void packet(int port)
{
    bool annotated = equal(current_destination, none);
    in6_t to = annotated ? info(dst_ip6) : current_destination;

    put_udp();
    packet_push(sizeof(struct ip6));
    ip6_fill(0, PROTOCOL_UDP, current_source, to);
    put_checksum();
    set_network_header(0);
    set_transport_header(sizeof(struct ip6));
    info(dst_ip6) = to;
    emit(0);
}

READ(src, in6_t, current_source);
WRITE(src, in6_t, current_source);
READ(sport, u16, current_sport);
WRITE(sport, u16, current_sport);
READ(dst, in6_t, current_destination);
WRITE(dst, in6_t, current_destination);
READ(dport, u16, current_dport);
WRITE(dport, u16, current_dport);
