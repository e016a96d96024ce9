/*
 * ProtocolTranslator64 -- translates IPv6 packets to IPv4
 *
 * The packet begins with its IPv6 header, whose addresses are IPv4-mapped (::ffff:18.26.4.17): their last four bytes are the IPv4 addresses. TCP, UDP and ICMPv6 follow at once, with
 * checksums made anew; messages of ICMPv6 become those of ICMP (RFC 2765, 4.2). What a message says of another packet stays as it is. The IPv4 header is marked; it has no options,
 * DF, and the hop limit as TTL.
 *
 * Dropped are packets with other addresses, other protocols and messages, and ones that are shorter than they say; Click passes other protocols with a header without protocol and checksum.
 *
 * Example: `... -> CheckIP6Header -> [0] at :: AddressTranslator(...); at[0] -> ProtocolTranslator64 -> CheckIPHeader -> ...`
 *
 * See also: ProtocolTranslator46, AddressTranslator.
 */
#include <netvm.h>
#include "click.h"
#include "icmp6.h"

ELEMENT(ProtocolTranslator64, "1/1", "a/a");

enum { NOT_MAPPED, OTHER_PROTOCOL, TOO_SHORT, OTHER_MESSAGE };
enum { ICMP6_ECHO = 128, ICMP6_ECHO_REPLY = 129, NO_POINTER = 255 };

static be32 source, destination;
static u8 hops;

static bool is_mapped(in6_t address)
{
    return ntoh128(address) >> 32 == 0xffff && (u32) ntoh128(address) != 0;
}

/* Where a field of the IPv4 header is that one of the IPv6 header stands for. */
static u8 pointer_of(u32 offset)
{
    switch (offset) {
    case 4: return 2;
    case 6: return 9;
    case 7: return 8;
    case 8: return 12;
    case 24: return NO_POINTER;
    default: return 0;
    }
}

static u8 unreachable_code(u8 code)
{
    switch (code) {
    case 1: return 10;
    case 2: return 5;
    case 3: return 1;
    case 4: return 3;
    default: return 0;
    }
}

static void set_message(u8 type, u8 code, u32 rest)
{
    struct icmp *icmp = header(struct icmp, 0);

    icmp->type = type;
    icmp->code = code;
    icmp->rest = htonl(rest);
}

static bool translate_problem(u8 code, u32 pointer)
{
    if (code == 1)
        set_message(ICMP_UNREACHABLE, 2, 0);
    else if (code == 0 || code == 2)
        set_message(ICMP_PARAMETER_PROBLEM, 0, (u32) (code == 2 ? NO_POINTER : pointer_of(pointer)) << 24);
    return code <= 2;
}

/* The message at the packet's head; false if ICMP has none like it. */
static bool translate_message(void)
{
    struct icmp *icmp = header(struct icmp, 0);
    u32 rest = ntohl(icmp->rest);
    u8 code = icmp->code;

    switch (icmp->type) {
    case ICMP6_ECHO: set_message(ICMP_ECHO, 0, rest); break;
    case ICMP6_ECHO_REPLY: set_message(ICMP_ECHO_REPLY, 0, rest); break;
    case ICMP6_UNREACHABLE: set_message(ICMP_UNREACHABLE, unreachable_code(code), 0); break;
    case ICMP6_TOO_BIG: set_message(ICMP_UNREACHABLE, 4, 0); break;
    case ICMP6_TIME_EXCEEDED: set_message(ICMP_TIME_EXCEEDED, code, 0); break;
    case ICMP6_PARAMETER_PROBLEM: return translate_problem(code, rest);
    default: return false;
    }
    return true;
}

static void put_header(u8 protocol)
{
    struct ip *ip;

    packet_push(sizeof(struct ip));
    ip = header(struct ip, 0);
    ip->version_ihl = 0x45;
    ip->length = htons((u16) packet_length());
    ip->fragment = htons(IP_DONT_FRAGMENT);
    ip->ttl = hops;
    ip->protocol = protocol;
    ip->src = source;
    ip->dst = destination;
    ip->checksum = htons(checksum(0, sizeof(struct ip)));
}

static void put_checksum(u8 protocol)
{
    u32 start = sizeof(struct ip), length = packet_length() - start;
    u16 sum;

    if (protocol == PROTOCOL_TCP) {
        header(struct tcp, start)->checksum = htons(0);
        sum = segment_checksum(header(struct ip, 0), start, length);
        header(struct tcp, start)->checksum = htons(sum);
    } else if (protocol == PROTOCOL_UDP) {
        header(struct udp, start)->checksum = htons(0);
        sum = segment_checksum(header(struct ip, 0), start, length);
        header(struct udp, start)->checksum = htons(checksum_not_zero(sum));
    } else {
        header(struct icmp, start)->checksum = htons(0);
        sum = checksum(start, length);
        header(struct icmp, start)->checksum = htons(sum);
    }
}

void packet(int port)
{
    const struct ip6 *ip6 = header(struct ip6, 0);
    u32 length = ntohs(ip6->length);
    u8 protocol = ip6->next_header;

    if (!is_mapped(ip6->src) || !is_mapped(ip6->dst))
        drop(NOT_MAPPED);
    if (protocol != PROTOCOL_TCP && protocol != PROTOCOL_UDP && protocol != PROTOCOL_ICMP6)
        drop(OTHER_PROTOCOL);
    if (packet_length() < sizeof(struct ip6) + length)
        drop(TOO_SHORT);
    source = htonl((u32) ntoh128(ip6->src));
    destination = htonl((u32) ntoh128(ip6->dst));
    hops = ip6->hop_limit;
    packet_trim(packet_length() - (u32) sizeof(struct ip6) - length);
    packet_pull(sizeof(struct ip6));
    if (protocol == PROTOCOL_ICMP6 && !translate_message())
        drop(OTHER_MESSAGE);
    protocol = protocol == PROTOCOL_ICMP6 ? PROTOCOL_ICMP : protocol;
    put_header(protocol);
    put_checksum(protocol);
    mark_ip(0);
    emit(0);
}
