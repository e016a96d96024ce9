/*
 * IPEncap(PROTO, SRC, DST, keywords TTL, TOS, DF) -- puts an IP header before packets
 *
 * PROTO is a protocol's number. The header has no options; its identification counts up from 0. The header is marked and DST becomes the destination
 * annotation; if DST is DST_ANNO, the annotation is the destination instead.
 *
 *   TTL   time to live, 250 by default
 *   TOS   type of service, 0 by default
 *   DF    true: must not be fragmented; false by default
 *
 * Example: IP in IP (RFC 2003): `IPEncap(4, 18.26.4.24, 140.247.60.147)`
 *
 * Click's keywords DSCP, ECT and CE are left out. See also: StripIPHeader, CheckIPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPEncap, "1/1", "a/a");
PARAM_AS(IP_PROTOCOL, u8, proto, "PROTO", REQUIRED);
PARAM(be32, source, "SRC", REQUIRED);
PARAM_AS(IP_OR_ANNO, be32, destination, "DST", REQUIRED);
PARAM(u8, time_to_live, "TTL", KEYWORD(250));
PARAM(u8, type_of_service, "TOS", KEYWORD(0));
PARAM(bool, whole, "DF", KEYWORD(false));

static u16 next_id;

static void fill(struct ip *ip, be32 dst)
{
    ip->version_ihl = 4 << 4 | sizeof(struct ip) / 4;
    ip->tos = type_of_service;
    ip->length = htons((u16) packet_length());
    ip->id = htons(next_id);
    ip->fragment = whole ? htons(IP_DONT_FRAGMENT) : htons(0);
    ip->ttl = time_to_live;
    ip->protocol = proto;
    ip->src = source;
    ip->dst = dst;
    next_id += 1;
}

void packet(int port)
{
    if (destination != htonl(0))
        info(dst_ip) = destination;
    packet_push(sizeof(struct ip));
    fill(header(struct ip, 0), info(dst_ip));
    ip_set_checksum(0);
    mark_ip(0);
    emit(0);
}
