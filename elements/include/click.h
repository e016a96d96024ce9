/*
 * click.h -- what the elements of this library share: packet headers, annotations, and what several elements do alike
 *
 * Header views are made with header(struct ip, offset); members have the names of the RFCs: 791 (ip), 8200 (ip6), 792 (icmp), 768 (udp), 9293 (tcp),
 * 826 (arp). Annotations are info fields; those with a place in Click have the same meaning here. Positions of headers are kept so that
 * they stay true when bytes are taken off the packet's head or put before it.
 */
#pragma once

/* ---- Headers ---- */

struct ether { mac_t dst; mac_t src; be16 type; };
struct vlan { mac_t dst; mac_t src; be16 tpid; be16 tci; be16 type; };
struct arp { be16 hardware; be16 protocol; u8 hardware_size; u8 protocol_size; be16 operation; mac_t sender_mac; be32 sender_ip;
             mac_t target_mac; be32 target_ip; };
struct ip { u8 version_ihl; u8 tos; be16 length; be16 id; be16 fragment; u8 ttl; u8 protocol; be16 checksum; be32 src; be32 dst; };
struct ip6 { be32 version_class_flow; be16 length; u8 next_header; u8 hop_limit; in6_t src; in6_t dst; };
struct udp { be16 sport; be16 dport; be16 length; be16 checksum; };
struct tcp { be16 sport; be16 dport; be32 seq; be32 ack; u8 data_offset; u8 flags; be16 window; be16 checksum; be16 urgent; };
struct icmp { u8 type; u8 code; be16 checksum; be32 rest; };
struct icmp_echo { u8 type; u8 code; be16 checksum; be16 id; be16 seq; };

enum {
    ETHERTYPE_IP = 0x0800, ETHERTYPE_ARP = 0x0806, ETHERTYPE_VLAN = 0x8100, ETHERTYPE_IP6 = 0x86dd, ETHERTYPE_QINQ = 0x88a8,
};
enum { PROTOCOL_ICMP = 1, PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, PROTOCOL_ICMP6 = 58 };
enum { ARP_ETHER = 1, ARP_REQUEST = 1, ARP_REPLY = 2 };
enum { IP_DONT_FRAGMENT = 0x4000, IP_MORE_FRAGMENTS = 0x2000, IP_OFFSET = 0x1fff };
enum { IP_OPTION_END = 0, IP_OPTION_NOP = 1, IP_LOOSE_ROUTE = 131, IP_STRICT_ROUTE = 137 };
enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_PSH = 8, TCP_ACK = 16, TCP_URG = 32 };
enum { ICMP_ECHO_REPLY = 0, ICMP_UNREACHABLE = 3, ICMP_SOURCE_QUENCH = 4, ICMP_REDIRECT = 5, ICMP_ECHO = 8, ICMP_TIME_EXCEEDED = 11,
       ICMP_PARAMETER_PROBLEM = 12, ICMP_TIMESTAMP = 13, ICMP_TIMESTAMP_REPLY = 14, ICMP_INFO = 15, ICMP_INFO_REPLY = 16 };

/* ---- Annotations ---- */

/* How the frame was addressed, as far as the receiver cares. */
enum { TO_HOST = 0, TO_BROADCAST = 1, TO_MULTICAST = 2, TO_OTHER = 3, FROM_HOST = 4 };

INFO(u8, paint);
INFO(u8, icmp_parameter_problem);   /* which byte of the IP header is wrong */
INFO(u8, user18);
INFO(u8, fix_ip_src);               /* the router's own address has to be put in as source */
INFO(u8, user20);
INFO(u8, user21);
INFO(u8, user22);
INFO(u8, user23);
INFO(u16, vlan_tci);
INFO(u8, packet_type);
INFO(u32, aggregate);               /* the number of the flow or group that a packet is of */
INFO(u64, first_timestamp);         /* of packets that stand for several, nanoseconds since 1970 */
INFO(be32, dst_ip);                 /* where the packet goes next */
INFO(in6_t, dst_ip6);
INFO(i32, mac_header);              /* positions: offset + packet_moved() */
INFO(i32, network_header);
INFO(i32, transport_header);
INFO(bool, has_mac_header);
INFO(bool, has_network_header);
INFO(bool, has_transport_header);

/* One-byte annotations by their place in Click: 16 is paint, 17 the ICMP parameter problem, 19 fix_ip_src; 18 and 20 to 23 are free. */
static inline u8 annotation(int place)
{
    switch (place) {
    case 17: return info(icmp_parameter_problem);
    case 18: return info(user18);
    case 19: return info(fix_ip_src);
    case 20: return info(user20);
    case 21: return info(user21);
    case 22: return info(user22);
    case 23: return info(user23);
    default: return info(paint);
    }
}

static inline void set_annotation(int place, u8 value)
{
    switch (place) {
    case 17: info(icmp_parameter_problem) = value; break;
    case 18: info(user18) = value; break;
    case 19: info(fix_ip_src) = value; break;
    case 20: info(user20) = value; break;
    case 21: info(user21) = value; break;
    case 22: info(user22) = value; break;
    case 23: info(user23) = value; break;
    default: info(paint) = value; break;
    }
}

/* An address in the annotation that begins there; the destination is at 0, and the rest of an IPv6 destination behind it. */
static inline void set_address_annotation(int place, be32 address)
{
    if (place == 0) {
        info(dst_ip) = address;
    } else if (place < 16) {
        u32 shift = (u32) (12 - place) * 8;

        info(dst_ip6) = hton128((ntoh128(info(dst_ip6)) & ~((u128) 0xffffffff << shift)) | (u128) ntohl(address) << shift);
    } else {
        for (int i = 0; i < 4; i++)
            set_annotation(place + i, (u8) (ntohl(address) >> 8 * (3 - i)));
    }
}

/* ---- Positions of headers ---- */

static inline void set_mac_header(u32 offset)
{
    info(mac_header) = (i32) offset + packet_moved();
    info(has_mac_header) = true;
}

static inline void set_network_header(u32 offset)
{
    info(network_header) = (i32) offset + packet_moved();
    info(has_network_header) = true;
}

static inline void set_transport_header(u32 offset)
{
    info(transport_header) = (i32) offset + packet_moved();
    info(has_transport_header) = true;
}

/* The offset of a header that is not marked is beyond every packet's end, so that reading it is a trap. */
enum { NO_HEADER = 0x7fffff00 };

static inline u32 mac_offset(void)
{
    return info(has_mac_header) ? (u32) (info(mac_header) - packet_moved()) : NO_HEADER;
}

static inline u32 network_offset(void)
{
    return info(has_network_header) ? (u32) (info(network_header) - packet_moved()) : NO_HEADER;
}

static inline u32 transport_offset(void)
{
    return info(has_transport_header) ? (u32) (info(transport_header) - packet_moved()) : NO_HEADER;
}

/* ---- IP ---- */

static inline u32 ip_header_length(const struct ip *ip)
{
    return (ip->version_ihl & 15u) * 4;
}

static inline bool ip_is_first_fragment(const struct ip *ip)
{
    return (ip->fragment & htons(IP_OFFSET)) == 0;
}

static inline bool ip_is_fragment(const struct ip *ip)
{
    return (ip->fragment & htons(IP_OFFSET | IP_MORE_FRAGMENTS)) != 0;
}

/* Marks an IP header and what follows it. */
static inline void mark_ip(u32 offset)
{
    const struct ip *ip = header(struct ip, offset);

    set_network_header(offset);
    set_transport_header(offset + ip_header_length(ip));
}

/* The address given or one of the list's; lists are short. */
static inline bool ip_in_list(be32 address, const be32 *list, u32 count)
{
    for (u32 i = 0; i < count; i++)
        if (list[i] == address)
            return true;
    return false;
}

static inline bool ip_is_multicast(be32 address)
{
    return (address & htonl(0xf0000000)) == htonl(0xe0000000);
}

/* ---- Checksums ---- */

static inline u16 checksum_fold(u32 sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    return (u16) ((sum & 0xffff) + (sum >> 16));
}

static inline u32 checksum_words(be32 number)
{
    return (ntohl(number) >> 16) + (ntohl(number) & 0xffff);
}

/* The last hop of a source route that is not gone through yet; `destination` where there is none. Options are from `at` on, and the header ends at `end`. */
static inline be32 last_hop(u32 at, u32 end, be32 destination)
{
    const u8 *bytes = header_array(u8, 0, end);

    while (at < end && bytes[at] != IP_OPTION_END) {
        u32 length = bytes[at] == IP_OPTION_NOP ? 1 : at + 1 < end ? bytes[at + 1] : 0;

        if (length == 0 || at + length > end)
            return destination;
        if ((bytes[at] == IP_LOOSE_ROUTE || bytes[at] == IP_STRICT_ROUTE) && length >= 7)
            return bytes[at + 2] < length ? *header(be32, at + length - 4) : destination;
        at += length;
    }
    return destination;
}

/* The checksum of a TCP or UDP segment with its pseudo-header (RFC 768, 9293), its checksum field included: 0 if that is right. The destination is where the packet goes in
 * the end (RFC 9293 3.1). */
static inline u16 segment_checksum(const struct ip *ip, u32 offset, u32 length)
{
    u32 options = ip_header_length(ip) - (u32) sizeof(struct ip);
    be32 destination = options == 0 ? ip->dst : last_hop(offset - options, offset, ip->dst);
    u32 pseudo = checksum_words(ip->src) + checksum_words(destination) + ip->protocol + length;
    u16 bytes = (u16) ~checksum(offset, length);

    return (u16) ~checksum_fold(pseudo + bytes);
}

/* The checksum once a 32-bit number has changed. */
static inline u16 checksum_update32(u16 sum, u32 before, u32 after)
{
    sum = checksum_update(sum, (u16) (before >> 16), (u16) (after >> 16));
    return checksum_update(sum, (u16) before, (u16) after);
}

/* The checksum of a TCP or UDP packet once an address has changed: the pseudo-header has them, too. */
/* An updated checksum of what may be nothing but zeros, whose checksum is 0xffff: wherever an update gives 0, 0xffff is right as well (RFC 1624, section 3). */
static inline u16 checksum_not_zero(u16 sum)
{
    return sum == 0 ? 0xffff : sum;
}

static inline void update_segment_checksum(u32 start, u32 before, u32 after)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);

    if (!ip_is_first_fragment(ip))
        return;
    if (ip->protocol == PROTOCOL_TCP && packet_length() >= transport + sizeof(struct tcp)) {
        struct tcp *tcp = header(struct tcp, transport);

        tcp->checksum = htons(checksum_update32(ntohs(tcp->checksum), before, after));
    } else if (ip->protocol == PROTOCOL_UDP && packet_length() >= transport + sizeof(struct udp)) {
        struct udp *udp = header(struct udp, transport);
        u16 sum = checksum_update32(ntohs(udp->checksum), before, after);

        if (udp->checksum != htons(0))
            udp->checksum = htons(sum == 0 ? 0xffff : sum);
    }
}

static inline void ip_set_checksum(u32 offset)
{
    struct ip *ip = header(struct ip, offset);

    ip->checksum = htons(0);
    ip->checksum = htons(checksum(offset, ip_header_length(ip)));
}

/* Sets the masked bits of the type-of-service byte. */
static inline void ip_set_tos(u32 offset, u8 bits, u8 mask)
{
    struct ip *ip = header(struct ip, offset);
    u16 before = (u16) (ip->version_ihl << 8 | ip->tos);

    ip->tos = (u8) ((ip->tos & ~mask) | (bits & mask));
    ip->checksum = htons(checksum_update(ntohs(ip->checksum), before, (u16) (ip->version_ihl << 8 | ip->tos)));
}

/* Puts an IP header without options before the packet and marks it; time to live 250, as Click has it. */
static inline void ip_encapsulate(u8 protocol, be32 src, be32 dst, u16 id)
{
    struct ip *ip;

    packet_push(sizeof(struct ip));
    ip = header(struct ip, 0);
    ip->version_ihl = 4 << 4 | sizeof(struct ip) / 4;
    ip->length = htons((u16) packet_length());
    ip->id = htons(id);
    ip->ttl = 250;
    ip->protocol = protocol;
    ip->src = src;
    ip->dst = dst;
    ip_set_checksum(0);
    mark_ip(0);
    info(dst_ip) = dst;
}

/* ---- Numbers ---- */

/* The largest power of two that is not above a number, 0 for 0. Without loops, so that it is a constant where the number is one. */
static inline u64 power_of_two_within(u64 n)
{
    n |= n >> 1;
    n |= n >> 2;
    n |= n >> 4;
    n |= n >> 8;
    n |= n >> 16;
    n |= n >> 32;
    return n - (n >> 1);
}

/* ---- Text ---- */

/* A number with spaces before it, to at least four places. */
static inline void print_padded(u32 value)
{
    if (value < 1000)
        print(" ");
    if (value < 100)
        print(" ");
    if (value < 10)
        print(" ");
    print_uint(value);
}
