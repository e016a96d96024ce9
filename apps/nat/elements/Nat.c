/*
 * Nat(EXTERNAL, keywords TIMEOUT, TCP_TIMEOUT, CAPACITY) -- network address and port translation of TCP, UDP and ICMP
 *
 * Input 0 takes IP packets of the inside, input 1 those of the outside; the IP header must be marked. Output 0 leads outside, output 1 inside. Packets from
 * outside that belong to no mapping leave by output 2, if there is one, as they came (they may be for this machine), and are dropped otherwise.
 *
 * Each inside endpoint (address and port, or address and identifier of ICMP queries) is mapped to one external endpoint, whatever it talks to
 * (endpoint-independent mapping), and whoever sends there reaches it (endpoint-independent filtering).
 *
 *   EXTERNAL     ADDR or ADDR/LEN: the external addresses, all of them; an inside address always gets the same one
 *   TIMEOUT      how long a mapping of UDP, ICMP or a TCP connection that opens or closes is kept after its last packet from inside, 300 seconds
 *   TCP_TIMEOUT  the same for TCP connections that are open, 7,440 seconds. Packets from outside may find no mapping up to a 64th of its timeout earlier
 *   CAPACITY     mappings at most, of each of these two sorts, 1,048,576
 *
 * The packet's own port is taken where that is free, else another of the same parity on the same side of 1024. Packets between inside hosts that name
 * external addresses leave by output 0 as others do: lead them back to input 1 (hairpinning). ICMP errors are translated with what they quote. Fragments are translated when their
 * first one came before them. The destination annotation becomes the new destination. Checksums are updated (RFC 1624). On several cores each gives out ports of its own, by
 * which answers find it.
 *
 * Handlers: created, no_room, no_mapping (read): mappings made, packets dropped for want of a port or of room, packets without a mapping.
 *
 * Source: RFC 4787, 5382, 5508; apps/nat/README.md has each requirement. See also: IPRewriter.
 */
#include <netvm.h>
#include "click.h"
#include "share.h"

ELEMENT(Nat, "2/2-3", "h/h");
PARAM(struct ip_prefix, external, "EXTERNAL", REQUIRED);
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM_AS(SECONDS, u64, tcp_timeout, "TCP_TIMEOUT", KEYWORD(7440000000000));
PARAM(u32, capacity, "CAPACITY", KEYWORD(1048576));

/* What becomes of a packet: an output, or why it has none. */
enum { TO_OUTSIDE, TO_INSIDE, TO_ITSELF, NOT_TRANSLATED, NO_MAPPING, NO_ROOM, NO_FIRST_FRAGMENT, BAD_ICMP };
enum { INSIDE };
enum { MOST_TRIES = 1024, FIRST_HIGH = 1024, PORTS = 65536, FRAGMENTS = 8192, TURNS = 64 };

/* An address with a port, or with the identifier of ICMP queries. */
struct endpoint { be32 addr; be16 port; u8 protocol; };
/* What an inside endpoint is mapped to. */
struct outward { be32 addr; be16 port; bool closes; u32 refreshed; };
/* What an external endpoint stands for. */
struct inward { be32 addr; be16 port; };

/* Open TCP connections are in `lasting`, all else in `brief`: both directions of a mapping always in the same. */
TABLE_EXACT(brief, struct endpoint, struct outward, capacity, timeout);
TABLE_EXACT(lasting, struct endpoint, struct outward, capacity, tcp_timeout);
TABLE_EXACT(brief_back, struct endpoint, struct inward, capacity, timeout);
TABLE_EXACT(lasting_back, struct endpoint, struct inward, capacity, tcp_timeout);

/* Packets whose first fragment went through: what their source or destination becomes. */
struct datagram { be32 src; be32 dst; be16 id; u8 protocol; };
struct replaced { be32 src; be32 dst; int output; };
TABLE_EXACT(datagrams, struct datagram, struct replaced, FRAGMENTS, 30000000000);

static struct endpoint inner, outer;
static struct datagram this_datagram;
static struct outward moved;
static u64 created, no_room, no_mapping;
static struct share share;
FLOW_STATE(PORTS, share, SOURCE, DESTINATION);

/* ---- Endpoints of packets ---- */

static bool is_query(u8 type)
{
    return type == ICMP_ECHO || type == ICMP_TIMESTAMP;
}

static bool is_answer(u8 type)
{
    return type == ICMP_ECHO_REPLY || type == ICMP_TIMESTAMP_REPLY;
}

static bool is_error(u8 type)
{
    return type == ICMP_UNREACHABLE || type == ICMP_SOURCE_QUENCH || type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER_PROBLEM;
}

struct ports { be16 sport; be16 dport; };

/* Puts the source, or the destination, of the packet whose IP header is there into an endpoint. The port of ICMP is its identifier. */
static void read_endpoint(struct endpoint *endpoint, u32 start, bool is_source)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);

    endpoint->addr = is_source ? ip->src : ip->dst;
    endpoint->protocol = ip->protocol;
    if (ip->protocol == PROTOCOL_ICMP)
        endpoint->port = header(struct icmp_echo, transport)->id;
    else if (is_source)
        endpoint->port = header(struct ports, transport)->sport;
    else
        endpoint->port = header(struct ports, transport)->dport;
}

/* ---- Rewriting ---- */

static u16 update_sum(u16 sum, be32 addr_before, be32 addr_after, be16 port_before, be16 port_after)
{
    sum = checksum_update(sum, ntohs(port_before), ntohs(port_after));
    return checksum_update32(sum, ntohl(addr_before), ntohl(addr_after));
}

static void replace_in_udp(u32 transport, bool is_source, be32 before, be32 after, be16 port)
{
    struct udp *udp = header(struct udp, transport);
    be16 old = is_source ? udp->sport : udp->dport;
    u16 sum = update_sum(ntohs(udp->checksum), before, after, old, port);

    if (is_source)
        udp->sport = port;
    else
        udp->dport = port;
    if (udp->checksum != htons(0))
        udp->checksum = htons(sum == 0 ? 0xffff : sum);
}

/* What an error quotes may end behind the ports. */
static void replace_in_tcp(u32 transport, bool is_source, be32 before, be32 after, be16 port)
{
    struct ports *ports = header(struct ports, transport);
    be16 old = is_source ? ports->sport : ports->dport;

    if (is_source)
        ports->sport = port;
    else
        ports->dport = port;
    if (packet_length() >= transport + sizeof(struct tcp)) {
        struct tcp *tcp = header(struct tcp, transport);

        tcp->checksum = htons(update_sum(ntohs(tcp->checksum), before, after, old, port));
    }
}

static void replace_in_icmp(u32 transport, be16 id)
{
    struct icmp_echo *icmp = header(struct icmp_echo, transport);

    icmp->checksum = htons(checksum_update(ntohs(icmp->checksum), ntohs(icmp->id), ntohs(id)));
    icmp->id = id;
}

/* Puts an address into the IP header there; returns what it was. */
static be32 replace_address(u32 start, bool is_source, be32 address)
{
    struct ip *ip = header(struct ip, start);
    be32 before = is_source ? ip->src : ip->dst;

    if (is_source)
        ip->src = address;
    else
        ip->dst = address;
    ip->checksum = htons(checksum_update32(ntohs(ip->checksum), ntohl(before), ntohl(address)));
    return before;
}

static void replace(u32 start, bool is_source, be32 address, be16 port)
{
    be32 before = replace_address(start, is_source, address);
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);
    u8 protocol = ip->protocol;

    if (protocol == PROTOCOL_TCP)
        replace_in_tcp(transport, is_source, before, address, port);
    else if (protocol == PROTOCOL_UDP)
        replace_in_udp(transport, is_source, before, address, port);
    else
        replace_in_icmp(transport, port);
}

/* ---- Mappings ---- */

/* What `outer` stands for; packets from outside refresh nothing. */
static const struct inward *find_inward(void)
{
    const struct inward *found = 0;

    if (outer.protocol == PROTOCOL_TCP)
        found = table_peek(lasting_back, &outer);
    return found ? found : table_peek(brief_back, &outer);
}

/* The external address of an inside one: always the same (RFC 4787, REQ-2). */
static be32 address_for(be32 inside)
{
    u32 count = ~ntohl(external.mask), first = ntohl(external.addr & external.mask);

    return htonl(first + (hash32(ntohl(inside)) & count));
}

/* Port number n of those that may be instead of a port: the same parity, the same side of 1024; there are `choices` of them. */
static u32 choices(u32 own)
{
    return (own < FIRST_HIGH ? FIRST_HIGH : PORTS - FIRST_HIGH) / 2;
}

static u32 choice(u32 own, u32 n)
{
    return (own < FIRST_HIGH ? 0 : FIRST_HIGH) + 2 * n + (own & 1);
}

/* Finds a free external port for `inner` and leaves it in `outer`; its own is the first that is tried. */
static bool choose_port(void)
{
    u32 own = ntohs(inner.port), count = choices(own), first = random32() % count;

    outer.addr = address_for(inner.addr);
    outer.protocol = inner.protocol;
    for (u32 i = 0; i <= count && i < MOST_TRIES; i++) {
        u32 port = i == 0 ? own : choice(own, (first + i) % count);

        outer.port = htons((u16) port);
        if ((port != 0 || own == 0) && is_own_port(&share, outer.port) && !find_inward())
            return true;
    }
    return false;
}

/* A mapping of `inner`, both directions or none. */
static struct outward *create(void)
{
    struct inward *back;
    struct outward *mapping;

    if (!choose_port())
        return 0;
    back = table_insert(brief_back, &outer);
    if (!back)
        return 0;
    back->addr = inner.addr;
    back->port = inner.port;
    mapping = table_insert(brief, &inner);
    if (!mapping) {
        table_delete(brief_back, &outer);
        return 0;
    }
    mapping->addr = outer.addr;
    mapping->port = outer.port;
    mapping->closes = false;
    created += 1;
    return mapping;
}

/* In each turn, up to a 64th of its timeout and a power of two, the way back of a mapping in use is refreshed once: where there are many, they are seldom in the cache. */
static u32 turn(bool lasts)
{
    return (u32) (lasts ? now() / power_of_two_within(tcp_timeout / TURNS + 1) : now() / power_of_two_within(timeout / TURNS + 1));
}

/* Refreshes the way back; false if the external endpoint has become another's meanwhile. */
static bool refresh_back(bool lasts)
{
    const struct inward *back = lasts ? table_find(lasting_back, &outer) : table_find(brief_back, &outer);

    return back != 0 && back->addr == inner.addr && back->port == inner.port;
}

static void forget(void)
{
    table_delete(lasting, &inner);
    table_delete(brief, &inner);
}

/* Moves the mapping of `inner`, which is `moved`, to the table where it belongs now; false if that is full: then it is gone. */
static bool move(bool lasts)
{
    struct inward *back;
    struct outward *mapping;

    if (lasts) {
        table_delete(brief, &inner);
        table_delete(brief_back, &outer);
        back = table_insert(lasting_back, &outer);
        mapping = table_insert(lasting, &inner);
    } else {
        table_delete(lasting, &inner);
        table_delete(lasting_back, &outer);
        back = table_insert(brief_back, &outer);
        mapping = table_insert(brief, &inner);
    }
    if (!back || !mapping)
        return false;
    back->addr = inner.addr;
    back->port = inner.port;
    *mapping = moved;
    return true;
}

/* Follows a TCP connection by the segments of its inside end: open once it acknowledges, closing from FIN or RST until the next SYN. */
static bool follow(struct outward *mapping, bool lasts, u8 flags)
{
    bool opens = (flags & TCP_SYN) != 0, closes = (flags & (TCP_FIN | TCP_RST)) != 0;
    bool should_last = !opens && !closes && !mapping->closes && (flags & TCP_ACK) != 0;

    mapping->closes = closes || (mapping->closes && !opens);
    if (should_last == lasts)
        return true;
    moved = *mapping;
    return move(should_last);
}

/* Puts what `inner` is mapped to into `outer`. */
static void use(const struct outward *mapping)
{
    outer.addr = mapping->addr;
    outer.port = mapping->port;
    outer.protocol = inner.protocol;
}

/* Finds or makes the mapping of `inner` and leaves what it is mapped to in `outer`; false if there is no room. */
static bool map(u8 tcp_flags)
{
    bool is_tcp = inner.protocol == PROTOCOL_TCP, lasts, is_there;
    struct outward *mapping = 0;

    /* On no way is there anything left of another packet's. */
    outer = inner;
    if (is_tcp)
        mapping = table_find(lasting, &inner);
    lasts = mapping != 0;
    if (!mapping)
        mapping = table_find(brief, &inner);
    is_there = mapping != 0;
    if (mapping) {
        use(mapping);
        is_there = mapping->refreshed == turn(lasts) || refresh_back(lasts);
    }
    if (!is_there) {
        forget();
        lasts = false;
        mapping = create();
    }
    if (!mapping)
        return false;
    mapping->refreshed = turn(lasts);
    return !is_tcp || follow(mapping, lasts, tcp_flags);
}

/* ---- Fragments ---- */

static void name_datagram(u32 start)
{
    const struct ip *ip = header(struct ip, start);

    this_datagram.src = ip->src;
    this_datagram.dst = ip->dst;
    this_datagram.id = ip->id;
    this_datagram.protocol = ip->protocol;
}

/* Nothing is left of another packet's. */
static void name_none(void)
{
    this_datagram.src = this_datagram.dst = htonl(0);
    this_datagram.id = htons(0);
    this_datagram.protocol = 0;
}

/* Notes what a first fragment has become, for those that follow it. */
static void note_datagram(u32 start, int output)
{
    const struct ip *ip = header(struct ip, start);
    struct replaced *replaced = table_insert(datagrams, &this_datagram);

    if (!replaced)
        return;
    replaced->src = ip->src;
    replaced->dst = ip->dst;
    replaced->output = output;
}

static int translate_later_fragment(u32 start)
{
    const struct replaced *replaced = table_find(datagrams, &this_datagram);
    be32 src, dst;

    if (!replaced)
        return NO_FIRST_FRAGMENT;
    src = replaced->src;
    dst = replaced->dst;
    replace_address(start, true, src);
    replace_address(start, false, dst);
    return replaced->output;
}

/* ---- ICMP errors ---- */

/* Where the packet begins that an error quotes, if that is whole enough and the error right; else 0. */
static u32 quoted(u32 start, u32 transport)
{
    u32 quote = transport + (u32) sizeof(struct icmp), behind;
    const struct ip *ip;

    if (packet_length() < quote + sizeof(struct ip) + 8 || !checksum_ok(transport, packet_length() - transport))
        return 0;
    ip = header(struct ip, quote);
    behind = quote + ip_header_length(ip);
    if (ip->version_ihl >> 4 != 4 || ip_header_length(ip) < sizeof(struct ip) || packet_length() < behind + 8 || !ip_is_first_fragment(ip))
        return 0;
    if (ip->protocol == PROTOCOL_TCP || ip->protocol == PROTOCOL_UDP)
        return quote;
    return ip->protocol == PROTOCOL_ICMP && (is_query(*header(u8, behind)) || is_answer(*header(u8, behind))) ? quote : 0;
}

static void sum_error(u32 transport)
{
    struct icmp *icmp = header(struct icmp, transport);

    icmp->checksum = htons(0);
    icmp->checksum = htons(checksum(transport, packet_length() - transport));
}

/* An error about a packet that went outside: its sender is found by what is quoted as source. False if nobody is. */
static bool enter_inside(u32 start, u32 quote)
{
    const struct inward *back;
    be32 addr;

    read_endpoint(&outer, quote, true);
    back = find_inward();
    if (!back)
        return false;
    addr = back->addr;
    replace(quote, true, addr, back->port);
    replace_address(start, false, addr);
    return true;
}

/* An error about a packet that came inside, from its receiver or a router on the way there: both have the receiver's external address. False if nobody has. */
static bool leave_inside(u32 start, u32 quote)
{
    const struct outward *mapping;
    be32 addr;

    read_endpoint(&inner, quote, false);
    mapping = inner.protocol == PROTOCOL_TCP ? table_peek(lasting, &inner) : 0;
    if (!mapping)
        mapping = table_peek(brief, &inner);
    if (!mapping)
        return false;
    addr = mapping->addr;
    replace(quote, false, addr, mapping->port);
    replace_address(start, true, addr);
    return true;
}

static int translate_error(u32 start, u32 transport, bool from_inside)
{
    u32 quote = quoted(start, transport);

    if (quote == 0)
        return BAD_ICMP;
    if (from_inside ? !leave_inside(start, quote) : !enter_inside(start, quote))
        return NO_MAPPING;
    sum_error(transport);
    return from_inside ? TO_OUTSIDE : TO_INSIDE;
}

/* ---- Packets ---- */

/* The source gets its external endpoint; false if there is none. */
static bool replace_source(u32 start, u32 transport)
{
    u8 flags = 0;

    if (header(struct ip, start)->protocol == PROTOCOL_TCP)
        flags = header(struct tcp, transport)->flags;
    read_endpoint(&inner, start, true);
    if (!map(flags))
        return false;
    replace(start, true, outer.addr, outer.port);
    return true;
}

/* The destination, an external endpoint, becomes what it stands for; false if that is nothing. */
static bool replace_destination(u32 start)
{
    const struct inward *back;

    read_endpoint(&outer, start, false);
    back = find_inward();
    if (!back)
        return false;
    replace(start, false, back->addr, back->port);
    return true;
}

/* What becomes of a packet that is no error. */
static int translate_plain(u32 start, u32 transport, bool from_inside)
{
    if (from_inside)
        return replace_source(start, transport) ? TO_OUTSIDE : NO_ROOM;
    return replace_destination(start) ? TO_INSIDE : NO_MAPPING;
}

/* The packet's output, or why it has none. */
static int translate(u32 start, bool from_inside)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);
    u8 protocol = ip->protocol;

    if (protocol == PROTOCOL_ICMP) {
        u8 type = header(struct icmp, transport)->type;

        if (is_error(type))
            return translate_error(start, transport, from_inside);
        if (from_inside ? !is_query(type) : !is_answer(type))
            return NOT_TRANSLATED;
    } else if (protocol != PROTOCOL_TCP && protocol != PROTOCOL_UDP) {
        return NOT_TRANSLATED;
    }
    return translate_plain(start, transport, from_inside);
}

/* The same for fragments, too: those behind the first go where that went. */
static int translate_any(u32 start, bool from_inside)
{
    const struct ip *ip = header(struct ip, start);
    bool is_fragment = ip_is_fragment(ip), is_first = ip_is_first_fragment(ip);
    int output;

    if (is_fragment)
        name_datagram(start);
    else
        name_none();
    if (!is_first)
        return translate_later_fragment(start);
    output = translate(start, from_inside);
    if (is_fragment && (output == TO_OUTSIDE || output == TO_INSIDE))
        note_datagram(start, output);
    return output;
}

void push(int port)
{
    u32 start = network_offset();
    bool from_inside = port == INSIDE;
    int output = translate_any(start, from_inside);

    if (output == TO_OUTSIDE || output == TO_INSIDE) {
        info(dst_ip) = header(struct ip, start)->dst;
        emit(output);
    }
    if (!from_inside && NOUTPUTS > 2 && (output == NO_MAPPING || output == NOT_TRANSLATED))
        emit(TO_ITSELF);
    no_mapping += output == NO_MAPPING;
    no_room += output == NO_ROOM;
    switch (output) {
    case NO_MAPPING: drop(NO_MAPPING);
    case NO_ROOM: drop(NO_ROOM);
    case NO_FIRST_FRAGMENT: drop(NO_FIRST_FRAGMENT);
    case BAD_ICMP: drop(BAD_ICMP);
    default: drop(NOT_TRANSLATED);
    }
}

READ(created, u64, created);
READ(no_room, u64, no_room);
READ(no_mapping, u64, no_mapping);
