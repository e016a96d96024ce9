/* The filters f1 to f9 as a careful C programmer writes them: lengths checked as libpcap means them, constants swapped at compile time.
 *
 * Each is there twice: as a function of its own, called through a pointer for each packet as a generated filter would be, and
 * inlined into a loop over the burst, which is the best that C does.
 *
 * f9 is there in two ways: by a table of bits, which is the best known, and by a switch over the addresses, as most would write it. The
 * file is built by the system's compiler and, where it is there, by clang: then with other names for what it exports. */
#include "packet.h"
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE uint16_t get16(const uint8_t *p) { uint16_t v; memcpy(&v, p, sizeof v); return v; }
INLINE uint32_t get32(const uint8_t *p) { uint32_t v; memcpy(&v, p, sizeof v); return v; }

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NET16(v) ((uint16_t)((((v) & 0xff) << 8) | ((v) >> 8)))
#define ADDRESS(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define PORTS(from, to) ((uint32_t)NET16(from) | (uint32_t)NET16(to) << 16)
#else
#error "written for little-endian machines"
#endif

enum { ETHER = 14, ETHERTYPE = 12, FRAGMENT = 20, PROTOCOL = 23, SOURCE = 26, DESTINATION = 30, NEXT6 = 20, PORTS6 = 54 };
enum { TCP = 6, UDP = 17 };
#define IP4 NET16(0x0800)
#define IP6 NET16(0x86dd)
#define ARP NET16(0x0806)
#define RARP NET16(0x8035)

/* Where the IPv4 payload begins; 0 if the packet is a later fragment. */
INLINE uint32_t payload(const uint8_t *p)
{
    if (get16(p + FRAGMENT) & NET16(0x1fff))
        return 0;
    return ETHER + 4 * (p[ETHER] & 15);
}

/* f1: ip */
INLINE int f1(const uint8_t *p, uint32_t len) { return len >= 14 && get16(p + ETHERTYPE) == IP4; }

/* f2: ip src 10.1.1.1 */
INLINE int f2(const uint8_t *p, uint32_t len)
{
    return len >= 30 && get16(p + ETHERTYPE) == IP4 && get32(p + SOURCE) == ADDRESS(10, 1, 1, 1);
}

/* f3: ip and tcp */
INLINE int f3(const uint8_t *p, uint32_t len) { return len >= 24 && get16(p + ETHERTYPE) == IP4 && p[PROTOCOL] == TCP; }

/* f4: ip src 10.1.1.1 and ip dst 10.2.2.2 and tcp src port 20 and tcp dst port 30 */
INLINE int f4(const uint8_t *p, uint32_t len)
{
    if (len < 34 || get16(p + ETHERTYPE) != IP4)
        return 0;
    if (get32(p + SOURCE) != ADDRESS(10, 1, 1, 1) || get32(p + DESTINATION) != ADDRESS(10, 2, 2, 2) || p[PROTOCOL] != TCP)
        return 0;
    uint32_t at = payload(p);
    return at && len >= at + 4 && get32(p + at) == PORTS(20, 30);
}

/* f5: ip src 10.4.4.4 or ip src 10.3.3.3 or ip src 10.2.2.2 or ip src 10.1.1.1 */
INLINE int f5(const uint8_t *p, uint32_t len)
{
    if (len < 30 || get16(p + ETHERTYPE) != IP4)
        return 0;
    uint32_t a = get32(p + SOURCE);
    return a == ADDRESS(10, 4, 4, 4) || a == ADDRESS(10, 3, 3, 3) || a == ADDRESS(10, 2, 2, 2) || a == ADDRESS(10, 1, 1, 1);
}

INLINE int web(uint16_t port) { return port == NET16(80) || port == NET16(443); }

/* f6: tcp port 80 or tcp port 443 */
INLINE int f6(const uint8_t *p, uint32_t len)
{
    if (len < 24)
        return 0;
    uint32_t at = PORTS6;
    if (get16(p + ETHERTYPE) == IP4) {
        if (p[PROTOCOL] != TCP || !(at = payload(p)))
            return 0;
    } else if (get16(p + ETHERTYPE) != IP6 || p[NEXT6] != TCP) {
        return 0;
    }
    return len >= at + 2 && (web(get16(p + at)) || (len >= at + 4 && web(get16(p + at + 2))));
}

/* f7: ip6 and udp port 53 */
INLINE int f7(const uint8_t *p, uint32_t len)
{
    if (len < 56 || get16(p + ETHERTYPE) != IP6 || p[NEXT6] != UDP)
        return 0;
    return get16(p + PORTS6) == NET16(53) || (len >= 58 && get16(p + PORTS6 + 2) == NET16(53));
}

/* f8: tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and not src and dst net 10.0.0.0/8 */
INLINE int f8(const uint8_t *p, uint32_t len)
{
    if (len < 24 || get16(p + ETHERTYPE) != IP4 || p[PROTOCOL] != TCP)
        return 0;
    uint32_t at = payload(p);
    if (!at || len < at + 14 || !(p[at + 13] & 3))
        return 0;
    return p[SOURCE] != 10 || p[DESTINATION] != 10;
}

/* The fifty hosts 172.16.i.j of f9: bit j of word i. */
static const uint64_t HOSTS[8] = {
    0x000000000001fc00, 0x0000000000fe0000, 0x000000007f000000, 0x0000003f80000000,
    0x00001fc000000000, 0x000fe00000000000, 0x07f0000000000000, 0x0800000000000000,
};

INLINE int listed(const uint8_t *a)
{
    return get16(a) == NET16(0xac10) && a[2] < 8 && a[3] < 64 && (HOSTS[a[2]] >> a[3] & 1);
}

/* f9: host 172.16.0.10 or host … (fifty of them) */
INLINE int f9(const uint8_t *p, uint32_t len)
{
    if (len < 34)
        return 0;
    uint16_t type = get16(p + ETHERTYPE);
    if (type == IP4)
        return listed(p + SOURCE) || listed(p + DESTINATION);
    return (type == ARP || type == RARP) && len >= 42 && (listed(p + 28) || listed(p + 38));
}

/* The same hosts for the compiler to test as it likes. Swapped first: so neighbours are neighbours, and it tests eight ranges. */
INLINE int listed_in_switch(const uint8_t *a)
{
    switch (__builtin_bswap32(get32(a))) {
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

INLINE int f9_switch(const uint8_t *p, uint32_t len)
{
    if (len < 34)
        return 0;
    uint16_t type = get16(p + ETHERTYPE);
    if (type == IP4)
        return listed_in_switch(p + SOURCE) || listed_in_switch(p + DESTINATION);
    return (type == ARP || type == RARP) && len >= 42 && (listed_in_switch(p + 28) || listed_in_switch(p + 38));
}

typedef int filter(const uint8_t *, uint32_t);

#define EACH(X) X(f1) X(f2) X(f3) X(f4) X(f5) X(f6) X(f7) X(f8) X(f9) X(f9_switch)
#define OUT_OF_LINE(f) static __attribute__((noinline)) int f##_called(const uint8_t *p, uint32_t len) { return f(p, len); }
EACH(OUT_OF_LINE)

#define ADDRESS_OF(f) f##_called,
static filter *const FILTERS[] = { EACH(ADDRESS_OF) };

/* One bit per packet into whole words. */
#define LOOP(VERDICT)                                            \
    for (size_t i = 0; i < n; i += 64) {                         \
        size_t m = n - i < 64 ? n - i : 64;                      \
        uint64_t word = 0;                                       \
        for (size_t j = 0; j < m; j++) {                         \
            const struct packet *q = &packets[i + j];            \
            word |= (uint64_t)((VERDICT) != 0) << j;             \
        }                                                        \
        bits[i / 64] = word;                                     \
    }

/* Calls filter number `which` (from 0) through a pointer. */
void hand_called(uint32_t which, const struct packet *packets, size_t n, uint64_t *bits)
{
    filter *volatile chosen = FILTERS[which];
    filter *f = chosen;
    LOOP(f(q->bytes, q->len))
}

#define INLINED(f) \
    static __attribute__((noinline)) void f##_inlined(const struct packet *packets, size_t n, uint64_t *bits) { LOOP(f(q->bytes, q->len)) }
EACH(INLINED)

#define ADDRESS_OF_INLINED(f) f##_inlined,
static void (*const INLINED_FILTERS[])(const struct packet *, size_t, uint64_t *) = { EACH(ADDRESS_OF_INLINED) };

/* Runs filter number `which` (from 0), inlined into a loop of its own. */
void hand_inlined(uint32_t which, const struct packet *packets, size_t n, uint64_t *bits) { INLINED_FILTERS[which](packets, n, bits); }

/* Touches a byte of each packet, asking for later ones ahead. The bits are no verdicts. */
void touch_each(const struct packet *packets, size_t n, uint64_t *bits)
{
    enum { AHEAD = 32 };
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(packets[i + AHEAD].bytes);
        sum += packets[i].len > ETHERTYPE ? packets[i].bytes[ETHERTYPE] : 0;
    }
    bits[0] = sum;
}
