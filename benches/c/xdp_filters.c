/* The filters f1 to f9 as XDP programs, for the kernel's compiler: XDP_PASS for what is selected, XDP_DROP for the rest.
 *
 * Each is a section of its own, without calls, maps and constants elsewhere, so that its machine code needs nothing of the kernel. Built by
 * clang for the BPF target. Headers are read through types that promise alignment, as XDP programs do it; lengths are
 * checked as libpcap means them. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NET16(v) ((__be16)__builtin_bswap16(v))
#define HOST32(v) __builtin_bswap32(v)
#define ADDRESS(a, b, c, d) ((__be32)((a) | (b) << 8 | (c) << 16 | (__u32)(d) << 24))
#else
#error "written for little-endian machines"
#endif

#define INLINE static inline __attribute__((always_inline))

/* A packet: where it begins and ends. */
struct packet {
    const void *data;
    const void *end;
};

struct ports {
    __be16 source, destination;
};

/* An ARP packet for IPv4, its addresses split since they are not aligned. */
struct arp {
    __be16 fixed[4], sender_mac[3], sender[2], target_mac[3], target[2];
};

/* Whether the packet has what lies before `to`. */
#define HAS(p, to) ((const void *)(to) <= (p).end)
/* The end of a field. */
#define AFTER(field) (&(field) + 1)

/* The kernel's struct ethhdr is packed, for which clang would read the type byte by byte. */
struct ethernet {
    __be16 destination[3], source[3], type;
};

INLINE const struct ethernet *ethernet(struct packet p) { return p.data; }
INLINE const struct iphdr *ipv4(struct packet p) { return p.data + sizeof(struct ethernet); }
INLINE const struct ipv6hdr *ipv6(struct packet p) { return p.data + sizeof(struct ethernet); }

INLINE int is(struct packet p, unsigned type) { return ethernet(p)->type == NET16(type); }

/* A packet of IPv4 that has the header's fields before `to`. */
#define IPV4_TO(p, to) (HAS(p, to) && is(p, ETH_P_IP))

/* What follows the IPv4 header. */
INLINE const void *payload(const struct iphdr *ip) { return (const void *)ip + ip->ihl * 4; }

INLINE int later_fragment(const struct iphdr *ip) { return ip->frag_off & NET16(0x1fff); }

#define FILTER(name)                                                                                         \
    INLINE int name(struct packet p);                                                                        \
    __attribute__((section(#name), used)) int xdp_##name(struct xdp_md *ctx)                                 \
    {                                                                                                        \
        struct packet p = {(const void *)(unsigned long)ctx->data, (const void *)(unsigned long)ctx->data_end}; \
        return name(p) ? XDP_PASS : XDP_DROP;                                                                \
    }                                                                                                        \
    INLINE int name(struct packet p)

/* ip */
FILTER(f1) { return HAS(p, ethernet(p) + 1) && is(p, ETH_P_IP); }

/* ip src 10.1.1.1 */
FILTER(f2) { return IPV4_TO(p, AFTER(ipv4(p)->saddr)) && ipv4(p)->saddr == ADDRESS(10, 1, 1, 1); }

/* ip and tcp */
FILTER(f3) { return IPV4_TO(p, AFTER(ipv4(p)->protocol)) && ipv4(p)->protocol == IPPROTO_TCP; }

/* ip src 10.1.1.1 and ip dst 10.2.2.2 and tcp src port 20 and tcp dst port 30 */
FILTER(f4)
{
    const struct iphdr *ip = ipv4(p);
    if (!IPV4_TO(p, AFTER(ip->daddr)) || ip->saddr != ADDRESS(10, 1, 1, 1) || ip->daddr != ADDRESS(10, 2, 2, 2))
        return 0;
    if (ip->protocol != IPPROTO_TCP || later_fragment(ip))
        return 0;
    const struct ports *ports = payload(ip);
    return HAS(p, ports + 1) && ports->source == NET16(20) && ports->destination == NET16(30);
}

/* ip src 10.4.4.4 or ip src 10.3.3.3 or ip src 10.2.2.2 or ip src 10.1.1.1 */
FILTER(f5)
{
    if (!IPV4_TO(p, AFTER(ipv4(p)->saddr)))
        return 0;
    __be32 a = ipv4(p)->saddr;
    return a == ADDRESS(10, 4, 4, 4) || a == ADDRESS(10, 3, 3, 3) || a == ADDRESS(10, 2, 2, 2) || a == ADDRESS(10, 1, 1, 1);
}

INLINE int web(__be16 port) { return port == NET16(80) || port == NET16(443); }

INLINE int web_ports(struct packet p, const struct ports *ports)
{
    if (!HAS(p, AFTER(ports->source)))
        return 0;
    return web(ports->source) || (HAS(p, ports + 1) && web(ports->destination));
}

/* tcp port 80 or tcp port 443 */
FILTER(f6)
{
    if (!HAS(p, AFTER(ipv4(p)->protocol)))
        return 0;
    if (is(p, ETH_P_IP)) {
        const struct iphdr *ip = ipv4(p);
        return ip->protocol == IPPROTO_TCP && !later_fragment(ip) && web_ports(p, payload(ip));
    }
    return is(p, ETH_P_IPV6) && ipv6(p)->nexthdr == IPPROTO_TCP && web_ports(p, (const void *)(ipv6(p) + 1));
}

/* ip6 and udp port 53 */
FILTER(f7)
{
    const struct ports *ports = (const void *)(ipv6(p) + 1);
    if (!HAS(p, AFTER(ports->source)) || !is(p, ETH_P_IPV6) || ipv6(p)->nexthdr != IPPROTO_UDP)
        return 0;
    return ports->source == NET16(53) || (HAS(p, ports + 1) && ports->destination == NET16(53));
}

/* tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and not src and dst net 10.0.0.0/8 */
FILTER(f8)
{
    enum { FLAGS = 13, SYN_OR_FIN = 3 };
    const struct iphdr *ip = ipv4(p);
    if (!IPV4_TO(p, AFTER(ip->protocol)) || ip->protocol != IPPROTO_TCP || later_fragment(ip))
        return 0;
    const __u8 *tcp = payload(ip);
    if (!HAS(p, tcp + FLAGS + 1) || !(tcp[FLAGS] & SYN_OR_FIN))
        return 0;
    if (!HAS(p, AFTER(ip->saddr)))
        return 0;
    if (*(const __u8 *)&ip->saddr != 10)
        return 1;
    return HAS(p, AFTER(ip->daddr)) && *(const __u8 *)&ip->daddr != 10;
}

INLINE int listed(__be32 address)
{
    switch (HOST32(address)) {
    case 0xac10000a ... 0xac100010:
    case 0xac100111 ... 0xac100117:
    case 0xac100218 ... 0xac10021e:
    case 0xac10031f ... 0xac100325:
    case 0xac100426 ... 0xac10042c:
    case 0xac10052d ... 0xac100533:
    case 0xac100634 ... 0xac10063a:
    case 0xac10073b:
        return 1;
    default:
        return 0;
    }
}

INLINE __be32 joined(const __be16 *halves) { return halves[0] | (__be32)halves[1] << 16; }

/* host 172.16.0.10 or host … (fifty of them) */
FILTER(f9)
{
    const struct iphdr *ip = ipv4(p);
    if (!HAS(p, AFTER(ip->daddr)))
        return 0;
    if (is(p, ETH_P_IP))
        return listed(ip->saddr) || listed(ip->daddr);
    const struct arp *arp = (const void *)(ethernet(p) + 1);
    if (!(is(p, ETH_P_ARP) || is(p, ETH_P_RARP)) || !HAS(p, arp + 1))
        return 0;
    return listed(joined(arp->sender)) || listed(joined(arp->target));
}
