/*
 * Connections([keywords TIMEOUT, TCP_TIMEOUT, CAPACITY]) -- knows which IP packets belong to connections that were admitted
 *
 *   input 0, 1   packets from inside and from outside; the IP header must be marked
 *   output 0, 1  packets of connections that are known, to the outside and to the inside
 *   output 2, 3  packets from inside and from outside that may begin a connection: a filter's business
 *   input 2, 3   those that the filter admits: they become connections and leave by outputs 0 and 1
 *
 * A connection is TCP, UDP or ICMP queries between two endpoints; packets both ways belong to it, whoever began, and so do ICMP errors that quote one. Other
 * protocols are connections between addresses. TCP begins with SYN only. Fragments go where the first one of their datagram went.
 *
 *   TIMEOUT      how long a connection is known after its last packet, 300 seconds
 *   TCP_TIMEOUT  the same for TCP connections that both sides have opened and none has closed, 7,440 seconds
 *   CAPACITY     connections at most, of each of these two sorts, 262,144
 *
 * TCP's sequence numbers are not looked at.
 *
 * Handlers: admitted, invalid (read): connections that were admitted, packets dropped because they can be part of none.
 *
 * See also: IPFilter. Source: RFC 2979, RFC 5382 (timeouts).
 */
#include <netvm.h>
#include "click.h"

ELEMENT(Connections, "4/4", "h/h");
FLOW_STATE(ADDRESSES);
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM_AS(SECONDS, u64, tcp_timeout, "TCP_TIMEOUT", KEYWORD(7440000000000));
PARAM(u32, capacity, "CAPACITY", KEYWORD(262144));

enum { TO_OUTSIDE, TO_INSIDE, NEW_FROM_INSIDE, NEW_FROM_OUTSIDE, INVALID, NO_ROOM, NO_FIRST_FRAGMENT, NOT_RELATED };
enum { FROM_INSIDE, FROM_OUTSIDE, ADMITTED_FROM_INSIDE, ADMITTED_FROM_OUTSIDE };

/* The same for both directions: the inside end stands first. Of ICMP queries both ports are the identifier. */
struct pair { be32 inside; be32 outside; be16 inside_port; be16 outside_port; u8 protocol; };
struct connection { bool began_inside; bool is_answered; bool closes; };
TABLE_EXACT(brief, struct pair, struct connection, capacity, timeout);
TABLE_EXACT(lasting, struct pair, struct connection, capacity, tcp_timeout);

/* Datagrams whose first fragment passed. */
struct datagram { be32 src; be32 dst; be16 id; u8 protocol; };
TABLE_EXACT(datagrams, struct datagram, u8, 8192, 30000000000);

struct ports { be16 sport; be16 dport; };

static struct pair pair;
static struct datagram datagram;
static struct connection moved;
static u64 admitted, invalid;

/* ---- What a packet belongs to ---- */

static bool is_query(u8 type)
{
    return type == ICMP_ECHO || type == ICMP_TIMESTAMP || type == ICMP_INFO;
}

static bool is_answer(u8 type)
{
    return type == ICMP_ECHO_REPLY || type == ICMP_TIMESTAMP_REPLY || type == ICMP_INFO_REPLY;
}

/* Puts the ends of the packet at `start` into `pair`; it goes to the inside or comes from there. */
static void read_pair(u32 start, bool from_inside)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);
    be16 source = htons(0), destination = htons(0);

    if (ip->protocol == PROTOCOL_TCP || ip->protocol == PROTOCOL_UDP) {
        source = header(struct ports, transport)->sport;
        destination = header(struct ports, transport)->dport;
    } else if (ip->protocol == PROTOCOL_ICMP) {
        source = header(struct icmp_echo, transport)->id;
        destination = source;
    }
    pair.inside = from_inside ? ip->src : ip->dst;
    pair.outside = from_inside ? ip->dst : ip->src;
    pair.inside_port = from_inside ? source : destination;
    pair.outside_port = from_inside ? destination : source;
    pair.protocol = ip->protocol;
}

static void read_datagram(u32 start)
{
    const struct ip *ip = header(struct ip, start);

    datagram.src = ip->src;
    datagram.dst = ip->dst;
    datagram.id = ip->id;
    datagram.protocol = ip->protocol;
}

/* ---- Connections ---- */

/* Moves the connection, which is `moved`, to the table where it belongs now; if that is full it is gone. */
static void move(bool lasts)
{
    struct connection *connection;

    if (lasts) {
        table_delete(brief, &pair);
        connection = table_insert(lasting, &pair);
    } else {
        table_delete(lasting, &pair);
        connection = table_insert(brief, &pair);
    }
    if (connection)
        *connection = moved;
}

/* Notes a packet of a connection. One of TCP lasts while it is answered and not closed. */
static void note(struct connection *connection, bool lasts, bool from_inside, u8 flags)
{
    bool should_last;

    if (from_inside != connection->began_inside)
        connection->is_answered = true;
    if (pair.protocol != PROTOCOL_TCP)
        return;
    if ((flags & (TCP_FIN | TCP_RST)) != 0)
        connection->closes = true;
    else if ((flags & TCP_SYN) != 0 && from_inside == connection->began_inside)
        connection->closes = false;
    should_last = connection->is_answered && !connection->closes;
    if (should_last == lasts)
        return;
    moved = *connection;
    move(should_last);
}

/* Is this a packet of a known connection? It is noted there. */
static bool is_known(bool from_inside, u8 flags)
{
    struct connection *connection = 0;
    bool lasts;

    if (pair.protocol == PROTOCOL_TCP)
        connection = table_find(lasting, &pair);
    lasts = connection != 0;
    if (!connection)
        connection = table_find(brief, &pair);
    if (!connection)
        return false;
    note(connection, lasts, from_inside, flags);
    return true;
}

static bool is_related(void)
{
    return (pair.protocol == PROTOCOL_TCP && table_peek(lasting, &pair) != 0) || table_peek(brief, &pair) != 0;
}

static int admit(bool from_inside)
{
    struct connection *connection = table_insert(brief, &pair);

    if (!connection)
        return NO_ROOM;
    connection->began_inside = from_inside;
    admitted += 1;
    return from_inside ? TO_OUTSIDE : TO_INSIDE;
}

/* ---- Packets ---- */

/* An ICMP error goes on if it quotes a packet of a known connection, which went the other way. */
static int judge_error(u32 transport, bool from_inside)
{
    u32 quote = transport + (u32) sizeof(struct icmp);
    const struct ip *ip;

    if (packet_length() < quote + sizeof(struct ip) + 8)
        return INVALID;
    ip = header(struct ip, quote);
    if (ip->version_ihl >> 4 != 4 || packet_length() < quote + ip_header_length(ip) + 8)
        return INVALID;
    read_pair(quote, !from_inside);
    if (!is_related())
        return NOT_RELATED;
    return from_inside ? TO_OUTSIDE : TO_INSIDE;
}

/* May a packet begin a connection? */
static bool may_begin(u32 transport, u8 flags)
{
    if (pair.protocol == PROTOCOL_TCP)
        return (flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) == TCP_SYN;
    return pair.protocol != PROTOCOL_ICMP || is_query(header(struct icmp, transport)->type);
}

static int judge(u32 start, bool from_inside, bool is_admitted)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);
    u8 protocol = ip->protocol, flags = 0;

    if (protocol == PROTOCOL_TCP)
        flags = header(struct tcp, transport)->flags;
    if (protocol == PROTOCOL_ICMP) {
        u8 type = header(struct icmp, transport)->type;

        if (!is_query(type) && !is_answer(type))
            return judge_error(transport, from_inside);
    }
    read_pair(start, from_inside);
    if (is_admitted)
        return admit(from_inside);
    if (is_known(from_inside, flags))
        return from_inside ? TO_OUTSIDE : TO_INSIDE;
    if (!may_begin(transport, flags))
        return INVALID;
    return from_inside ? NEW_FROM_INSIDE : NEW_FROM_OUTSIDE;
}

/* The same for fragments, too: those behind the first go where that went. */
static int judge_any(u32 start, bool from_inside, bool is_admitted)
{
    const struct ip *ip = header(struct ip, start);
    bool is_fragment = ip_is_fragment(ip), is_first = ip_is_first_fragment(ip);
    int output = from_inside ? TO_OUTSIDE : TO_INSIDE;

    if (!is_first) {
        read_datagram(start);
        return table_find(datagrams, &datagram) != 0 ? output : NO_FIRST_FRAGMENT;
    }
    output = judge(start, from_inside, is_admitted);
    if (is_fragment && (output == TO_OUTSIDE || output == TO_INSIDE)) {
        read_datagram(start);
        table_insert(datagrams, &datagram);
    }
    return output;
}

void push(int port)
{
    u32 start = network_offset();
    bool from_inside = port == FROM_INSIDE || port == ADMITTED_FROM_INSIDE, is_admitted = port >= ADMITTED_FROM_INSIDE;
    int output = judge_any(start, from_inside, is_admitted);

    if (output <= NEW_FROM_OUTSIDE)
        emit(output);
    invalid += 1;
    switch (output) {
    case NO_ROOM: drop(NO_ROOM);
    case NO_FIRST_FRAGMENT: drop(NO_FIRST_FRAGMENT);
    case NOT_RELATED: drop(NOT_RELATED);
    default: drop(INVALID);
    }
}

READ(admitted, u64, admitted);
READ(invalid, u64, invalid);
