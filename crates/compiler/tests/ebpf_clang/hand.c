/* Filters as a C programmer writes them for XDP: FILTER is the number of one in ebpf_clang.rs.
 *
 * Lengths are compared as pointers with the end, as the kernel's verifier wants it, and fields are read by aligned types. They are checked as libpcap means them: a filter that reads behind the end of a packet rejects it. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define INLINE static inline __attribute__((always_inline))
#define HAS(n) (p + (n) <= end)
#define HALF(at) (*(const u16 __attribute__((may_alias)) *)(p + (at)))
#define WORD(at) (*(const u32 __attribute__((may_alias)) *)(p + (at)))
#define LONG(at) (*(const u64 __attribute__((may_alias)) *)(p + (at)))
/* Constants in the order of the network, on a machine that has the other one. */
#define H(n) ((u16)__builtin_bswap16(n))
#define ADDRESS(a, b, c, d) ((u32)(a) | (u32)(b) << 8 | (u32)(c) << 16 | (u32)(d) << 24)

enum { IP = 0x0800, IP6 = 0x86dd, ARP = 0x0806, RARP = 0x8035, ICMP = 1, TCP = 6, UDP = 17, FRAGMENT = 44, ICMP6 = 58, SCTP = 132 };

INLINE int has_ports(u32 protocol) { return protocol == TCP || protocol == UDP || protocol == SCTP; }

INLINE int later(const u8 *p) { return HALF(20) & H(0x1fff); }

/* How far what is behind the IPv4 header is from the Ethernet header's end. */
INLINE u32 header(const u8 *p) { return (p[14] & 15) * 4; }

/* A protocol over IPv4 or IPv6. */
INLINE int over(const u8 *p, const u8 *end, u32 protocol, u32 protocol6)
{
    if (!HAS(14))
        return 0;
    if (HALF(12) == H(IP))
        return HAS(24) && p[23] == protocol;
    if (HALF(12) != H(IP6) || !HAS(21))
        return 0;
    return p[20] == protocol6 || (p[20] == FRAGMENT && HAS(55) && p[54] == protocol6);
}

/* The protocol over IPv4 or IPv6 of a packet with ports, which begin at *at; 0 for others. */
INLINE u32 ports(const u8 *p, const u8 *end, const u8 **at)
{
    u32 protocol;
    if (!HAS(24))
        return 0;
    if (HALF(12) == H(IP)) {
        protocol = p[23];
        if (!has_ports(protocol) || later(p))
            return 0;
        *at = p + header(p) + 14;
    } else if (HALF(12) == H(IP6)) {
        protocol = p[20];
        *at = p + 54;
    } else {
        return 0;
    }
    return protocol;
}

INLINE u16 port(const u8 *p) { return *(const u16 *)p; }

INLINE int filter(const u8 *p, const u8 *end)
{
#if FILTER == 0 /* ip */
    return HAS(14) && HALF(12) == H(IP);
#elif FILTER == 1 /* ip src 10.1.1.1 */
    return HAS(30) && HALF(12) == H(IP) && WORD(26) == ADDRESS(10, 1, 1, 1);
#elif FILTER == 2 /* ip and tcp */
    return HAS(24) && HALF(12) == H(IP) && p[23] == TCP;
#elif FILTER == 3 /* tcp port 80 */
    const u8 *at;
    if (ports(p, end, &at) != TCP || at + 2 > end)
        return 0;
    return port(at) == H(80) || (at + 4 <= end && port(at + 2) == H(80));
#elif FILTER == 4 /* udp */
    return over(p, end, UDP, UDP);
#elif FILTER == 5 /* host 10.1.2.3 and not port 22 */
    const u32 host = ADDRESS(10, 1, 2, 3);
    if (!HAS(30))
        return 0;
    if (HALF(12) != H(IP))
        return (HALF(12) == H(ARP) || HALF(12) == H(RARP)) && HAS(32) && (WORD(28) == host || (HAS(42) && WORD(38) == host));
    if (WORD(26) != host && !(HAS(34) && WORD(30) == host))
        return 0;
    if (!has_ports(p[23]) || later(p))
        return 1;
    const u8 *at = p + header(p) + 14;
    return at + 4 <= end && port(at) != H(22) && port(at + 2) != H(22);
#elif FILTER == 6 /* tcp[13] & 7 != 0 */
    if (!HAS(24) || HALF(12) != H(IP) || p[23] != TCP || later(p))
        return 0;
    const u8 *at = p + header(p) + 14;
    return at + 14 <= end && (at[13] & 7);
#elif FILTER == 7 /* icmp or icmp6 */
    return over(p, end, ICMP, ICMP6);
#elif FILTER == 8 /* src net 10.0.0.0/8 and dst port 53 */
    if (!HAS(30) || HALF(12) != H(IP) || p[26] != 10 || !has_ports(p[23]) || later(p))
        return 0;
    const u8 *at = p + header(p) + 14;
    return at + 4 <= end && port(at + 2) == H(53);
#elif FILTER == 9 /* ip6 host fe80::1 */
    const u64 high = 0x80fe, low = 1ull << 56;
    if (!HAS(38) || HALF(12) != H(IP6))
        return 0;
    return (LONG(22) == high && LONG(30) == low) || (HAS(54) && LONG(38) == high && LONG(46) == low);
#elif FILTER == 10 /* arp or rarp */
    return HAS(14) && (HALF(12) == H(ARP) || HALF(12) == H(RARP));
#elif FILTER == 11 /* len > 100 and udp */
    return HAS(101) && over(p, end, UDP, UDP);
#elif FILTER == 12 /* tcp port 80 or tcp port 443 or udp port 53 */
    const u8 *at;
    u32 protocol = ports(p, end, &at);
    if ((protocol != TCP && protocol != UDP) || at + 2 > end)
        return 0;
    u32 from = port(at), first = protocol == TCP ? H(80) : H(53);
    if (from == first)
        return 1;
    if (at + 4 > end)
        return 0;
    u32 to = port(at + 2);
    return to == first || (protocol == TCP && (from == H(443) || to == H(443)));
#elif FILTER == 13 /* vlan and ip */
    return HAS(18) && (HALF(12) == H(0x8100) || HALF(12) == H(0x88a8) || HALF(12) == H(0x9100)) && HALF(16) == H(IP);
#elif FILTER == 14 /* ip[8] < 5 */
    return HAS(23) && HALF(12) == H(IP) && p[22] < 5;
#elif FILTER == 15 /* portrange 6000-6010 */
    const u8 *at;
    if (!has_ports(ports(p, end, &at)) || at + 2 > end)
        return 0;
    if ((u32)(__builtin_bswap16(port(at)) - 6000) <= 10)
        return 1;
    return at + 4 <= end && (u32)(__builtin_bswap16(port(at + 2)) - 6000) <= 10;
#endif
}

struct context {
    u32 data, data_end;
};

__attribute__((section("xdp"))) int netvm(struct context *c)
{
    return filter((const u8 *)(long)c->data, (const u8 *)(long)c->data_end) ? 2 : 1;
}
