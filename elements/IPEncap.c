/*
 * IPEncap(PROTO, SRC, DST, keywords TTL, DSCP, ECT, CE, TOS, DF) -- puts an IP header before packets
 *
 * PROTO is a protocol's number. The header has no options; its identification counts up from 0. The header is marked and DST becomes the destination
 * annotation; if DST is DST_ANNO, the annotation is the destination instead.
 *
 *   TTL   time to live, 250 by default
 *   DSCP  class of the packet (RFC 2474), 0 to 63, 0 by default
 *   ECT   the transport knows of congestion (RFC 3168): true, false, or 2 for the other way of saying so; false by default
 *   CE    true: congestion was met; false by default
 *   TOS   these three as one number, instead of them
 *   DF    true: must not be fragmented; false by default
 *
 * Handlers: src, dst (read, write), the addresses.
 *
 * Example: IP in IP (RFC 2003): `IPEncap(4, 18.26.4.24, 140.247.60.147)`
 *
 * See also: StripIPHeader, CheckIPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPEncap, "1/1", "a/a");
PARAM_AS(IP_PROTOCOL, u8, proto, "PROTO", REQUIRED);
PARAM(be32, source, "SRC", REQUIRED);
PARAM_AS(IP_OR_ANNO, be32, destination, "DST", REQUIRED);
PARAM(u8, time_to_live, "TTL", KEYWORD(250));
PARAM_AS(DSCP, u8, service_class, "DSCP", KEYWORD(0));
PARAM(bool, has_service_class, "DSCP", GIVEN);
PARAM_AS(ECT, u8, capable, "ECT", KEYWORD(0));
PARAM(bool, congested, "CE", KEYWORD(false));
PARAM(u8, type_of_service, "TOS", KEYWORD(0));
PARAM(bool, has_type_of_service, "TOS", GIVEN);
PARAM(bool, whole, "DF", KEYWORD(false));
REQUIRE(!has_type_of_service || !has_service_class, "TOS and DSCP are the same bits: give one of them");
REQUIRE(!has_type_of_service || (capable == 0 && !congested), "TOS and ECT or CE are the same bits: give one of them");

/* As the header says it; ECT(1) and ECT(0) are as the argument says it. */
enum { MET_CONGESTION = 3 };

static u16 next_id;
static be32 current_source, current_destination;

void init(void)
{
    current_source = source;
    current_destination = destination;
}

static u8 congestion(void)
{
    if (congested)
        return MET_CONGESTION;
    return capable;
}

static void fill(struct ip *ip, be32 to)
{
    ip->version_ihl = 4 << 4 | sizeof(struct ip) / 4;
    ip->tos = has_type_of_service ? type_of_service : (u8) (service_class << 2 | congestion());
    ip->length = htons((u16) packet_length());
    ip->id = htons(next_id);
    ip->fragment = whole ? htons(IP_DONT_FRAGMENT) : htons(0);
    ip->ttl = time_to_live;
    ip->protocol = proto;
    ip->src = current_source;
    ip->dst = to;
    next_id += 1;
}

void packet(int port)
{
    if (current_destination != htonl(0))
        info(dst_ip) = current_destination;
    packet_push(sizeof(struct ip));
    fill(header(struct ip, 0), info(dst_ip));
    ip_set_checksum(0);
    mark_ip(0);
    emit(0);
}

READ(src, be32, current_source);
WRITE(src, be32, current_source);
READ(dst, be32, current_destination);
WRITE(dst, be32, current_destination);
