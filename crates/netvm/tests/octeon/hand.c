/* Filters as a C programmer writes them for the Octeon: FILTER is the number of one, FORM how fields of packets are read.
 *
 * The Octeon is big-endian, so constants need no swap. Lengths are checked as libpcap means them: a filter that reads behind the end of a packet rejects it. */
#include "netvm.h"

/* Bytes are put together by the compiler (memcpy), or read as what may lie anywhere (a packed structure), or as what is known to be aligned, because the Ethernet header is at a place that is 2 modulo 4. */
#if FORM == 0
#define FIELD(type, at) ({ type v_; __builtin_memcpy(&v_, at, sizeof v_); v_; })
#elif FORM == 1
#define FIELD(type, at) (((const struct { type v; } __attribute__((packed, may_alias)) *)(at))->v)
#else
#define FIELD(type, at) (*(const type __attribute__((may_alias)) *)(at))
#endif
#define HALF(at) FIELD(uint16_t, at)
#define WORD(at) FIELD(uint32_t, at)
#define ADDRESS(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

enum { IP = 0x0800, IP6 = 0x86dd, ARP = 0x0806, RARP = 0x8035, TCP = 6, UDP = 17, ICMP = 1, ICMP6 = 58 };

#define INLINE static inline __attribute__((always_inline))

INLINE int is_ip(const uint8_t *p) { return HALF(p + 12) == IP; }

/* Where what the IPv4 header is followed by begins. */
INLINE uint32_t behind(const uint8_t *p) { return 14 + (p[14] & 15) * 4; }

INLINE int later(const uint8_t *p) { return HALF(p + 20) & 0x1fff; }

INLINE int has_ports(int protocol) { return protocol == TCP || protocol == UDP || protocol == 132; }

/* A TCP packet of IPv4 or IPv6 with that port at either end. */
INLINE int tcp_port(const uint8_t *p, uint32_t len, uint32_t port)
{
    if (len < 24)
        return 0;
    uint32_t at = 54, type = HALF(p + 12);
    if (type == IP) {
        if (p[23] != TCP || later(p))
            return 0;
        at = behind(p);
    } else if (type != IP6 || p[20] != TCP) {
        return 0;
    }
    if (len < at + 2)
        return 0;
    return HALF(p + at) == port || (len >= at + 4 && HALF(p + at + 2) == port);
}

INLINE int filter(const uint8_t *p, uint32_t len)
{
#if FILTER == 0 /* ip */
    return len >= 14 && is_ip(p);
#elif FILTER == 1 /* ip src 10.1.1.1 */
    return len >= 30 && is_ip(p) && WORD(p + 26) == ADDRESS(10, 1, 1, 1);
#elif FILTER == 2 /* ip and tcp */
    return len >= 24 && is_ip(p) && p[23] == TCP;
#elif FILTER == 3 /* ip src 10.1.1.1 and ip dst 10.2.2.2 and tcp src port 20 and tcp dst port 30 */
    if (len < 34 || !is_ip(p) || WORD(p + 26) != ADDRESS(10, 1, 1, 1) || WORD(p + 30) != ADDRESS(10, 2, 2, 2) || p[23] != TCP || later(p))
        return 0;
    uint32_t at = behind(p);
    return len >= at + 4 && HALF(p + at) == 20 && HALF(p + at + 2) == 30;
#elif FILTER == 4 /* ip src 10.4.4.4 or ip src 10.3.3.3 or ip src 10.2.2.2 or ip src 10.1.1.1 */
    if (len < 30 || !is_ip(p))
        return 0;
    uint32_t from = WORD(p + 26);
    return from == ADDRESS(10, 4, 4, 4) || from == ADDRESS(10, 3, 3, 3) || from == ADDRESS(10, 2, 2, 2) || from == ADDRESS(10, 1, 1, 1);
#elif FILTER == 5 /* tcp port 80 */
    return tcp_port(p, len, 80);
#elif FILTER == 6 /* udp */
    if (len < 24)
        return len >= 21 && HALF(p + 12) == IP6 && p[20] == UDP;
    if (is_ip(p))
        return p[23] == UDP;
    return HALF(p + 12) == IP6 && (p[20] == UDP || (p[20] == 44 && len >= 55 && p[54] == UDP));
#elif FILTER == 7 /* tcp[13] & 7 != 0 */
    if (len < 24 || !is_ip(p) || p[23] != TCP || later(p))
        return 0;
    uint32_t flags = behind(p) + 13;
    return len > flags && (p[flags] & 7);
#elif FILTER == 8 /* src net 10.0.0.0/8 and udp dst port 53 */
    if (len < 30)
        return 0;
    if (!is_ip(p) || p[26] != 10 || p[23] != UDP || later(p))
        return 0;
    uint32_t to = behind(p) + 2;
    return len >= to + 2 && HALF(p + to) == 53;
#elif FILTER == 9 /* arp or rarp */
    return len >= 14 && (HALF(p + 12) == ARP || HALF(p + 12) == RARP);
#elif FILTER == 10 /* ip[8] < 5 */
    return len >= 23 && is_ip(p) && p[22] < 5;
#elif FILTER == 11 /* vlan and ip */
    if (len < 18)
        return 0;
    uint32_t tag = HALF(p + 12);
    return (tag == 0x8100 || tag == 0x88a8 || tag == 0x9100) && HALF(p + 16) == IP;
#endif
}

void netvm_run(struct netvm_packet *packets, size_t count)
{
    for (struct netvm_packet *k = packets; k < packets + count; k++) {
        const int is = filter(k->buffer + k->at, k->len);
        k->end = is ? NETVM_SENT : NETVM_DROPPED;
        k->element = 0;
        k->value = (uint32_t)is;
        k->site = 0;
    }
}
