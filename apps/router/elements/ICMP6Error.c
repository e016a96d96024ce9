/*
 * ICMP6Error(SRC, TYPE [, CODE, keyword MTU]) -- answers IPv6 packets with ICMPv6 errors
 *
 * The packet, whose IPv6 header must be marked, becomes an ICMPv6 error to its sender: from SRC, with TYPE and CODE (0 by default), and as much of the
 * packet as fits into 1,280 bytes. Types: 1 destination unreachable, 2 packet too big (which tells MTU), 3 time exceeded, 4 parameter problem. The IPv6
 * destination annotation becomes the sender.
 *
 * No error is sent about ICMPv6 errors, about redirects, to senders that are no single host, and about link-layer or IPv6 multicasts, but for packets too big
 * (RFC 4443, 2.4). ICMPv6 behind extension headers is not recognised. Such packets are dropped.
 *
 * Example: `hops :: DecIP6HLIM; hops[1] -> ICMP6Error(2001:db8::1, 3) -> ...`
 *
 * Source: RFC 4443. See also: ICMPError, DecIP6HLIM.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ICMP6Error, "1/1", "a/a");
PARAM(in6_t, source, "SRC", REQUIRED);
PARAM(u8, error_type, "TYPE", REQUIRED);
PARAM(u8, error_code, "CODE", OPTIONAL(0));
PARAM(u32, mtu, "MTU", KEYWORD(1280));

enum { NO_ERROR_ABOUT_THIS };
enum { LEAST_MTU = 1280, FIRST_INFORMATION = 128, REDIRECT = 137, TOO_BIG = 2, HOP_LIMIT = 64 };
enum { SOURCE_AT = 8, DESTINATION_AT = 24, ADDRESSES = 32 };

static u8 original[LEAST_MTU];
static in6_t nobody;

static bool is_multicast(u32 at)
{
    return *header(u8, at) == 0xff;
}

static bool is_about_error(const struct ip6 *ip6, u32 transport)
{
    u8 type;

    if (ip6->next_header != PROTOCOL_ICMP6)
        return false;
    if (packet_length() <= transport)
        return true;
    type = *header(u8, transport);
    return type < FIRST_INFORMATION || type == REDIRECT;
}

static bool may_be_answered(u32 start)
{
    const struct ip6 *ip6 = header(struct ip6, start);
    u32 transport = start + (u32) sizeof(struct ip6);
    bool is_group = is_multicast(start + DESTINATION_AT) || info(packet_type) == TO_BROADCAST || info(packet_type) == TO_MULTICAST;

    if (is_multicast(start + SOURCE_AT) || equal(ip6->src, nobody))
        return false;
    if (is_group && error_type != TOO_BIG)
        return false;
    return !is_about_error(ip6, transport);
}

/* The checksum with the pseudo-header (RFC 8200, 8.1); the addresses are bytes of the packet as well. */
static u16 sum_with_addresses(u32 length)
{
    u32 addresses = (u16) ~checksum(SOURCE_AT, ADDRESSES), message = (u16) ~checksum(sizeof(struct ip6), length);

    return (u16) ~checksum_fold(addresses + message + length + PROTOCOL_ICMP6);
}

static void fill_icmp(u32 quoted)
{
    struct icmp *icmp = header(struct icmp, sizeof(struct ip6));

    icmp->type = error_type;
    icmp->code = error_code;
    icmp->rest = htonl(error_type == TOO_BIG ? mtu : 0);
    packet_write((u32) (sizeof(struct ip6) + sizeof(struct icmp)), original, quoted);
    icmp->checksum = htons(sum_with_addresses((u32) sizeof(struct icmp) + quoted));
}

static void fill_ip6(in6_t destination)
{
    struct ip6 *ip6 = header(struct ip6, 0);

    ip6->version_class_flow = htonl(0x60000000);
    ip6->length = htons((u16) (packet_length() - sizeof(struct ip6)));
    ip6->next_header = PROTOCOL_ICMP6;
    ip6->hop_limit = HOP_LIMIT;
    ip6->src = source;
    ip6->dst = destination;
}

void packet(int port)
{
    u32 start = network_offset(), room = LEAST_MTU - (u32) (sizeof(struct ip6) + sizeof(struct icmp)), quoted;
    in6_t sender;

    if (!may_be_answered(start))
        drop(NO_ERROR_ABOUT_THIS);
    sender = header(struct ip6, start)->src;
    quoted = packet_length() - start < room ? packet_length() - start : room;
    packet_read(original, start, quoted);
    packet_create((u32) (sizeof(struct ip6) + sizeof(struct icmp)) + quoted);
    fill_ip6(sender);
    fill_icmp(quoted);
    set_network_header(0);
    set_transport_header(sizeof(struct ip6));
    info(dst_ip6) = sender;
    emit(0);
}
