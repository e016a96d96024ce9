/*
 * ICMP6Error(SRC, TYPE, CODE) -- answers IPv6 packets with ICMPv6 errors
 *
 * The packet, whose IPv6 header must be marked, becomes an ICMPv6 error to its sender: from SRC, with TYPE (1 unreachable, 2 too big, 3 time exceeded, 4 parameter problem, 137
 * redirect) and CODE, and with the first 568 bytes of the packet. An error of type 2 names an MTU of 1,500; one of type 4 and code 0 the byte in the annotation; a redirect the
 * destination annotation and the packet's destination. The destination annotation becomes the sender, and fix_ip_src is set.
 *
 * No error is sent about ICMPv6 errors, packets to multicast addresses, link-layer broadcasts and multicasts, and packets from multicast addresses, :: and ::1 (RFC 4443
 * 2.4): they are dropped.
 *
 * Example: `dt :: DecIP6HLIM;  dt[1] -> ICMP6Error(2001:db8::1, 3, 0) -> ...`
 *
 * Source: RFC 4443, RFC 4861 4.5. See also: DecIP6HLIM, ICMPError.
 */
#include <netvm.h>
#include "click.h"
#include "icmp6.h"

ELEMENT(ICMP6Error, "1/1", "a/a");
#define IS_KIND(type) (((type) >= ICMP6_UNREACHABLE && (type) <= ICMP6_PARAMETER_PROBLEM) || (type) == ICMP6_REDIRECT)
PARAM(in6_t, source, "SRC", REQUIRED);
PARAM(u8, error_type, "TYPE", REQUIRED);
PARAM(u8, error_code, "CODE", REQUIRED);
REQUIRE(IS_KIND(error_type), "TYPE is not that of an error or a redirect");

enum { NO_ERROR_ABOUT_THIS };
enum { LONGEST = 568, MTU = 1500, FIRST_OF_INFORMATION = 128, REDIRECT_BYTES = 32 };

static u8 original[LONGEST];

struct redirect_addresses { in6_t target; in6_t destination; };

static bool is_multicast(in6_t address)
{
    return address.byte[0] == 0xff;
}

static bool may_be_answered(u32 start)
{
    const struct ip6 *ip6 = header(struct ip6, start);
    u32 inner = start + (u32) sizeof(struct ip6);

    if (is_multicast(ip6->dst) || is_multicast(ip6->src) || ntoh128(ip6->src) <= 1)
        return false;
    if (info(packet_type) == TO_BROADCAST || info(packet_type) == TO_MULTICAST)
        return false;
    return ip6->next_header != PROTOCOL_ICMP6 || (packet_length() > inner && *header(u8, inner) >= FIRST_OF_INFORMATION);
}

/* What follows type, code and checksum. */
static be32 rest_of(u8 wrong_byte)
{
    if (error_type == ICMP6_TOO_BIG)
        return htonl(MTU);
    return error_type == ICMP6_PARAMETER_PROBLEM && error_code == 0 ? htonl(wrong_byte) : htonl(0);
}

static void put_addresses(u32 at, in6_t target, in6_t destination)
{
    struct redirect_addresses *addresses = header(struct redirect_addresses, at);

    addresses->target = target;
    addresses->destination = destination;
}

static void answer(u32 start)
{
    const struct ip6 *ip6 = header(struct ip6, start);
    in6_t sender = ip6->src, destination = ip6->dst, target = info(dst_ip6);
    u32 quoted = packet_length() - start < LONGEST ? packet_length() - start : LONGEST, at = sizeof(struct ip6) + sizeof(struct icmp6);
    be32 rest = rest_of(info(icmp_parameter_problem));
    u32 addresses = error_type == ICMP6_REDIRECT ? REDIRECT_BYTES : 0;
    struct icmp6 *icmp6;

    packet_read(original, start, quoted);
    packet_create(at + addresses + quoted);
    ip6_fill(0, PROTOCOL_ICMP6, source, sender);
    icmp6 = header(struct icmp6, sizeof(struct ip6));
    icmp6->type = error_type;
    icmp6->code = error_code;
    icmp6->rest = rest;
    if (addresses != 0)
        put_addresses(at, target, destination);
    packet_write(at + addresses, original, quoted);
    icmp6->checksum = htons(ip6_checksum(0, sizeof(struct ip6), packet_length() - (u32) sizeof(struct ip6)));
    set_network_header(0);
    set_transport_header(sizeof(struct ip6));
    info(dst_ip6) = sender;
    info(fix_ip_src) = 1;
}

void packet(int port)
{
    u32 start = network_offset();

    if (!may_be_answered(start))
        drop(NO_ERROR_ABOUT_THIS);
    answer(start);
    emit(0);
}
