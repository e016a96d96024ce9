/*
 * ProtocolTranslator46 -- translates IPv4 packets to IPv6
 *
 * The packet begins with its IPv4 header. Its addresses become IPv4-mapped ones (::ffff:18.26.4.17). TCP, UDP and ICMP have their checksums made anew; messages of ICMP become those of
 * ICMPv6 (RFC 2765, 3.3). What a message says of another packet stays as it is. The IPv6 header is marked; its hop limit is the TTL less 191, so that a packet which began with 255 has
 * 64, as in Click. Options go.
 *
 * Dropped are other protocols and messages, fragments, and packets that are shorter than they say; Click passes other protocols with a header without one. The pointer of a parameter problem is in
 * network order here.
 *
 * Example: `... -> ProtocolTranslator46 -> [1] at :: AddressTranslator(...)`
 *
 * See also: ProtocolTranslator64, AddressTranslator.
 */
#include <netvm.h>
#include "click.h"
#include "icmp6.h"

ELEMENT(ProtocolTranslator46, "1/1", "a/a");

enum { OTHER_PROTOCOL, FRAGMENT, TOO_SHORT, OTHER_MESSAGE };
enum { ICMP6_ECHO = 128, ICMP6_ECHO_REPLY = 129, LESS_HOPS = 191 };

static in6_t source, destination;
static u8 hops;

static in6_t mapped(be32 address)
{
    return hton128((u128) 0xffff << 32 | ntohl(address));
}

/* Where a field of the IPv6 header is that one of the IPv4 header stands for. */
static u32 pointer_of(u8 offset)
{
    switch (offset) {
    case 0: return 0;
    case 2: return 4;
    case 8: return 7;
    case 9: return 6;
    case 12: return 8;
    case 16: return 24;
    default: return 0xffffffff;
    }
}

static u8 unreachable_code(u8 code)
{
    switch (code) {
    case 3: return 4;
    case 5: return 2;
    case 9: return 1;
    case 10: return 1;
    default: return 0;
    }
}

static void set_message(u8 type, u8 code, u32 rest)
{
    struct icmp6 *icmp = header(struct icmp6, 0);

    icmp->type = type;
    icmp->code = code;
    icmp->rest = htonl(rest);
}

static void translate_unreachable(u8 code)
{
    if (code == 2)
        set_message(ICMP6_PARAMETER_PROBLEM, 1, 6);
    else if (code == 4)
        set_message(ICMP6_TOO_BIG, 0, 0);
    else
        set_message(ICMP6_UNREACHABLE, unreachable_code(code), 0);
}

/* The message at the packet's head; false if ICMPv6 has none like it. */
static bool translate_message(void)
{
    struct icmp *icmp = header(struct icmp, 0);
    u32 rest = ntohl(icmp->rest);
    u8 code = icmp->code;

    switch (icmp->type) {
    case ICMP_ECHO: set_message(ICMP6_ECHO, 0, rest); break;
    case ICMP_ECHO_REPLY: set_message(ICMP6_ECHO_REPLY, 0, rest); break;
    case ICMP_UNREACHABLE: translate_unreachable(code); break;
    case ICMP_TIME_EXCEEDED: set_message(ICMP6_TIME_EXCEEDED, code, 0); break;
    case ICMP_PARAMETER_PROBLEM: set_message(ICMP6_PARAMETER_PROBLEM, 0, pointer_of((u8) (rest >> 24))); break;
    default: return false;
    }
    return true;
}

static void put_checksum(u8 protocol)
{
    u32 start = sizeof(struct ip6), length = packet_length() - start;
    u16 sum;

    if (protocol == PROTOCOL_TCP) {
        header(struct tcp, start)->checksum = htons(0);
        sum = ip6_checksum(0, start, length);
        header(struct tcp, start)->checksum = htons(sum);
    } else if (protocol == PROTOCOL_UDP) {
        header(struct udp, start)->checksum = htons(0);
        sum = ip6_checksum(0, start, length);
        header(struct udp, start)->checksum = htons(checksum_not_zero(sum));
    } else {
        header(struct icmp6, start)->checksum = htons(0);
        sum = ip6_checksum(0, start, length);
        header(struct icmp6, start)->checksum = htons(sum);
    }
}

void packet(int port)
{
    const struct ip *ip = header(struct ip, 0);
    u32 length = ntohs(ip->length), head = ip_header_length(ip);
    u8 protocol = ip->protocol;

    if (protocol != PROTOCOL_TCP && protocol != PROTOCOL_UDP && protocol != PROTOCOL_ICMP)
        drop(OTHER_PROTOCOL);
    if (ip_is_fragment(ip))
        drop(FRAGMENT);
    if (head < sizeof(struct ip) || length < head || packet_length() < length)
        drop(TOO_SHORT);
    source = mapped(ip->src);
    destination = mapped(ip->dst);
    hops = ip->ttl - LESS_HOPS;
    packet_trim(packet_length() - length);
    packet_pull(head);
    if (protocol == PROTOCOL_ICMP && !translate_message())
        drop(OTHER_MESSAGE);
    protocol = protocol == PROTOCOL_ICMP ? PROTOCOL_ICMP6 : protocol;
    packet_push(sizeof(struct ip6));
    ip6_fill(0, protocol, source, destination);
    header(struct ip6, 0)->hop_limit = hops;
    put_checksum(protocol);
    set_network_header(0);
    set_transport_header(sizeof(struct ip6));
    emit(0);
}
