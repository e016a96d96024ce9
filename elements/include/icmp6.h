/*
 * icmp6.h -- IPv6 headers that elements put before packets, their checksums, and messages of ICMPv6 (RFC 8200, 4443, 4861)
 */
#pragma once

struct icmp6 { u8 type; u8 code; be16 checksum; be32 rest; };
/* A neighbour solicitation with the option for the sender's address, and an advertisement with that for the target's. */
struct neighbour_message { u8 type; u8 code; be16 checksum; be32 flags; in6_t target; u8 option; u8 option_words; mac_t mac; };

enum { ICMP6_UNREACHABLE = 1, ICMP6_TOO_BIG = 2, ICMP6_TIME_EXCEEDED = 3, ICMP6_PARAMETER_PROBLEM = 4,
       ICMP6_SOLICITATION = 135, ICMP6_ADVERTISEMENT = 136, ICMP6_REDIRECT = 137 };
enum { SOURCE_OPTION = 1, TARGET_OPTION = 2, HOP_LIMIT = 255 };
/* This is a router, and somebody asked. */
static const u32 ROUTER_SOLICITED = 0xc0000000;

/* The header at that place, of a packet that ends where the whole does. */
static inline void ip6_fill(u32 offset, u8 protocol, in6_t src, in6_t dst)
{
    struct ip6 *ip6 = header(struct ip6, offset);

    ip6->version_class_flow = htonl(0x60000000);
    ip6->length = htons((u16) (packet_length() - offset - (u32) sizeof(struct ip6)));
    ip6->next_header = protocol;
    ip6->hop_limit = HOP_LIMIT;
    ip6->src = src;
    ip6->dst = dst;
}

static inline u32 ip6_words(in6_t address)
{
    u128 number = ntoh128(address);
    u32 sum = 0;

    for (u32 i = 0; i < 8; i++)
        sum += (u32) (number >> 16 * i) & 0xffff;
    return sum;
}

/* The checksum of what an IPv6 header at `start` is before, with its pseudo-header (RFC 8200 8.1), its checksum field included: 0 if that is right. */
static inline u16 ip6_checksum(u32 start, u32 offset, u32 length)
{
    const struct ip6 *ip6 = header(struct ip6, start);
    u32 pseudo = checksum_fold(ip6_words(ip6->src) + ip6_words(ip6->dst)) + ip6->next_header + (length >> 16) + (length & 0xffff);
    u16 bytes = (u16) ~checksum(offset, length);

    return (u16) ~checksum_fold(pseudo + bytes);
}
