/*
 * Napt(EXTERNAL, keywords TIMEOUT, CAPACITY) -- translation of addresses and ports of TCP and UDP, and nothing else
 *
 * What Nat does with a packet if there is nothing special about it: no fragments, no ICMP, no hairpinning, and one timeout for everything. Input 0 takes IP packets of the
 * inside, input 1 those of the outside; the IP header must be marked. Output 0 leads outside, output 1 inside. Other packets, and those from outside that belong
 * to no mapping, are dropped.
 *
 * Each inside endpoint (address and port) is mapped to one external endpoint, whatever it talks to, and whoever sends there reaches it.
 *
 *   EXTERNAL     ADDR or ADDR/LEN: the external addresses, all of them; an inside address always gets the same one
 *   TIMEOUT      how long a mapping is kept after its last packet from inside, 300 seconds. Packets from outside may find none up to a 64th of it earlier
 *   CAPACITY     mappings at most, 1,048,576
 *
 * The packet's own port is taken where that is free, else another of the same parity above 1023. What checksums change by is kept with a mapping
 * (RFC 1624). On several cores each gives out ports of its own, by which answers find it.
 *
 * Source: RFC 3022, section 4; RFC 4787, REQ-1, 2, 3, 4, 6 and 8. See also: Nat.
 */
#include <netvm.h>
#include "click.h"
#include "share.h"

ELEMENT(Napt, "2/2", "h/h");
PARAM(struct ip_prefix, external, "EXTERNAL", REQUIRED);
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM(u32, capacity, "CAPACITY", KEYWORD(1048576));

enum { NO_MAPPING, NO_ROOM, NOT_TRANSLATED };
enum { INSIDE };
enum { MOST_TRIES = 1024, FIRST = 1024, PORTS = 65536, TURNS = 64 };

struct endpoint { be32 addr; be16 port; u8 protocol; };
/* Where an endpoint leads, and what one's complement sums change by that cover the address, or address and port. */
struct mapping { be32 addr; be16 port; u16 ip_change; u16 change; u32 refreshed; };
struct ports { be16 sport; be16 dport; };

TABLE_EXACT(outward, struct endpoint, struct mapping, capacity, timeout);
TABLE_EXACT(inward, struct endpoint, struct mapping, capacity, timeout);

static struct endpoint inner, outer;
static struct share share;
FLOW_STATE(PORTS, share, SOURCE, DESTINATION);

static struct endpoint endpoint(be32 addr, be16 port, u8 protocol)
{
    struct endpoint made;

    made.addr = addr;
    made.port = port;
    made.protocol = protocol;
    return made;
}

/* ---- Mappings ---- */

/* The complement of a checksum is the sum itself. */
static u16 change32(be32 from, be32 to)
{
    return (u16) ~checksum_update32(0xffff, ntohl(from), ntohl(to));
}

static u16 plus(u16 change, be16 from, be16 to)
{
    return (u16) ~checksum_update((u16) ~change, ntohs(from), ntohs(to));
}

static void lead(struct mapping *mapping, const struct endpoint *from, const struct endpoint *to)
{
    mapping->addr = to->addr;
    mapping->port = to->port;
    mapping->ip_change = change32(from->addr, to->addr);
    mapping->change = plus(mapping->ip_change, from->port, to->port);
}

/* The external address of an inside one: always the same. */
static be32 address_for(be32 inside)
{
    u32 count = ~ntohl(external.mask), first = ntohl(external.addr & external.mask);

    return htonl(first + (hash32(ntohl(inside)) & count));
}

/* Finds a free external port for `inner` and leaves it in `outer`; its own is the first that is tried. */
static bool choose_port(void)
{
    u32 own = ntohs(inner.port), first = random32();

    outer.addr = address_for(inner.addr);
    outer.protocol = inner.protocol;
    for (u32 i = 0; i < MOST_TRIES; i++) {
        u32 port = i == 0 ? own : FIRST + 2 * ((first + i) % ((PORTS - FIRST) / 2)) + (own & 1);

        outer.port = htons((u16) port);
        if (is_own_port(&share, outer.port) && !table_peek(inward, &outer))
            return true;
    }
    return false;
}

/* A mapping of `inner`, both directions or none. */
static struct mapping *create(void)
{
    struct mapping *mapping, *back;

    if (!choose_port())
        return 0;
    back = table_insert(inward, &outer);
    if (!back)
        return 0;
    lead(back, &outer, &inner);
    mapping = table_insert(outward, &inner);
    if (!mapping) {
        table_delete(inward, &outer);
        return 0;
    }
    lead(mapping, &inner, &outer);
    return mapping;
}

/* Refreshes the way back; false if the external endpoint has become another's meanwhile. */
static bool refresh_back(const struct mapping *mapping)
{
    const struct mapping *back;

    outer = endpoint(mapping->addr, mapping->port, inner.protocol);
    back = table_find(inward, &outer);
    return back != 0 && back->addr == inner.addr && back->port == inner.port;
}

/* In each turn, up to a 64th of the timeout and a power of two, the way back of a mapping in use is refreshed once. */
static u32 turn(void)
{
    return (u32) (now() / power_of_two_within(timeout / TURNS + 1));
}

/* The mapping of `inner`, if need be a new one. */
static const struct mapping *map(void)
{
    struct mapping *mapping = table_find(outward, &inner);

    if (mapping && mapping->refreshed == turn())
        return mapping;
    if (mapping && !refresh_back(mapping)) {
        table_delete(outward, &inner);
        mapping = 0;
    }
    if (!mapping)
        mapping = create();
    if (mapping)
        mapping->refreshed = turn();
    return mapping;
}

/* ---- Packets ---- */

/* A checksum with what it changes by. */
static be16 updated(be16 sum, u16 change)
{
    return htons(checksum_update(ntohs(sum), 0xffff, change));
}

/* Checksums with what a mapping changes them by. */
static void update(struct ip *ip, u32 transport, const struct mapping *mapping)
{
    ip->checksum = updated(ip->checksum, mapping->ip_change);
    if (ip->protocol == PROTOCOL_TCP) {
        struct tcp *tcp = header(struct tcp, transport);

        tcp->checksum = updated(tcp->checksum, mapping->change);
    } else {
        struct udp *udp = header(struct udp, transport);
        be16 sum = updated(udp->checksum, mapping->change);

        if (udp->checksum != htons(0))
            udp->checksum = sum == htons(0) ? htons(0xffff) : sum;
    }
}

/* The source gets its external endpoint; false if there is no room for a mapping. */
static bool translate_source(struct ip *ip, u32 transport)
{
    struct ports *ports = header(struct ports, transport);
    const struct mapping *mapping;

    inner = endpoint(ip->src, ports->sport, ip->protocol);
    mapping = map();
    if (!mapping)
        return false;
    update(ip, transport, mapping);
    ip->src = mapping->addr;
    ports->sport = mapping->port;
    return true;
}

/* The destination, an external endpoint, becomes what it stands for; false if that is nothing. */
static bool translate_destination(struct ip *ip, u32 transport)
{
    struct ports *ports = header(struct ports, transport);
    const struct mapping *mapping;

    outer = endpoint(ip->dst, ports->dport, ip->protocol);
    mapping = table_peek(inward, &outer);
    if (!mapping)
        return false;
    update(ip, transport, mapping);
    ip->dst = mapping->addr;
    ports->dport = mapping->port;
    return true;
}

void push(int port)
{
    u32 start = network_offset();
    struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);

    if (ip_is_fragment(ip) || (ip->protocol != PROTOCOL_TCP && ip->protocol != PROTOCOL_UDP))
        drop(NOT_TRANSLATED);
    if (port == INSIDE && !translate_source(ip, transport))
        drop(NO_ROOM);
    if (port != INSIDE && !translate_destination(ip, transport))
        drop(NO_MAPPING);
    info(dst_ip) = ip->dst;
    emit(port == INSIDE ? 0 : 1);
}
