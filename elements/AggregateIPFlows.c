/*
 * AggregateIPFlows([keywords TCP_TIMEOUT, TCP_DONE_TIMEOUT, UDP_TIMEOUT, FRAGMENT_TIMEOUT, FRAGMENTS, ICMP, REAP, CAPACITY]) -- numbers packets by their flows
 *
 * The aggregate annotation of TCP and UDP packets becomes the number of their flow, from 1 on, the paint annotation 0 in the direction of a flow's first packet, and 1 in the other. A
 * flow that has been idle for its timeout, and one that is over when a packet with SYN comes, gets another number. Other packets, short ones, and those that there is no room for leave
 * by output 1 if there is one, and are dropped otherwise. The IP header must be marked.
 *
 *   TCP_TIMEOUT, TCP_DONE_TIMEOUT, UDP_TIMEOUT  how long flows may be idle: 24 hours; 30 s after FIN both ways; 60 s
 *   FRAGMENTS          true (the default): fragments behind the first get the number of their packet, for FRAGMENT_TIMEOUT (30 s) after the first; those that come before it leave by
 *                      output 1, since none is held back. false: all of them do
 *   ICMP               true: ICMP errors get the number of the flow that they are about, and paint 2 or 3; false by default
 *   CAPACITY           flows that are known at most, of TCP and of UDP each, 65,536 by default
 *   REAP               is taken and changes nothing
 *
 * Handlers: flows (read), how many were numbered. Left out: TRACEINFO and SOURCE, and holding fragments back.
 *
 * Example: `FromDump(FILE, STOP true, FORCE_IP true) -> AggregateIPFlows -> IPPrint(AGGREGATE true) -> Discard`
 *
 * See also: Paint, IPPrint.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(AggregateIPFlows, "1/1-2", "a/ah");
PARAM_AS(SECONDS, u64, tcp_timeout, "TCP_TIMEOUT", KEYWORD(86400000000000));
PARAM_AS(SECONDS, u64, tcp_done_timeout, "TCP_DONE_TIMEOUT", KEYWORD(30000000000));
PARAM_AS(SECONDS, u64, udp_timeout, "UDP_TIMEOUT", KEYWORD(60000000000));
PARAM_AS(SECONDS, u64, fragment_timeout, "FRAGMENT_TIMEOUT", KEYWORD(30000000000));
PARAM_AS(SECONDS, u64, reap, "REAP", KEYWORD(1200000000000));
PARAM(bool, fragments, "FRAGMENTS", KEYWORD(true));
PARAM(bool, with_errors, "ICMP", KEYWORD(false));
PARAM(u32, capacity, "CAPACITY", KEYWORD(65536));

enum { NO_FLOW };
enum { FORWARD_OVER = 1, BACK_OVER = 2, ALL_OVER = 3, PORT_BYTES = 4 };

/* The lower address first; of equal ones the lower port. */
struct pair { be32 low; be32 high; be16 low_port; be16 high_port; };
struct numbered { u32 number; bool reversed; u8 over; u64 last; };
TABLE_EXACT(tcp_flows, struct pair, struct numbered, capacity, tcp_timeout);
TABLE_EXACT(udp_flows, struct pair, struct numbered, capacity, udp_timeout);

struct datagram { be32 src; be32 dst; be16 id; u8 protocol; };
struct known { u32 number; u8 paint; };
TABLE_EXACT(datagrams, struct datagram, struct known, 4096, fragment_timeout);

static u32 numbers;
static struct pair this_pair;
static u32 found_number;
static u8 found_paint;

/* The pair of a packet's addresses and ports, into this_pair; true if they are the other way round. */
static bool find_pair(const struct ip *ip, be16 sport, be16 dport)
{
    bool turned = ntohl(ip->src) > ntohl(ip->dst) || (ip->src == ip->dst && ntohs(sport) > ntohs(dport));

    this_pair.low = turned ? ip->dst : ip->src;
    this_pair.high = turned ? ip->src : ip->dst;
    this_pair.low_port = turned ? dport : sport;
    this_pair.high_port = turned ? sport : dport;
    return turned;
}

static void begin(struct numbered *flow, bool turned)
{
    numbers += 1;
    flow->number = numbers;
    flow->reversed = turned;
    flow->over = 0;
}

/* Is it another flow than the one that was known? */
static bool is_new(const struct numbered *flow, bool is_tcp, u8 flags)
{
    u64 limit = !is_tcp ? udp_timeout : flow->over == ALL_OVER ? tcp_done_timeout : tcp_timeout;

    return flow->number == 0 || (now() > flow->last && now() - flow->last > limit) || (flow->over == ALL_OVER && (flags & TCP_SYN) != 0);
}

/* Finds the flow's number and the direction; false if there is no room. `flags` are those of TCP, and of what packets are only about none. */
static bool find_flow(bool turned, bool is_tcp, u8 flags)
{
    struct numbered *flow = is_tcp ? table_insert(tcp_flows, &this_pair) : table_insert(udp_flows, &this_pair);

    if (!flow)
        return false;
    if (is_new(flow, is_tcp, flags))
        begin(flow, turned);
    flow->last = now();
    found_number = flow->number;
    found_paint = turned != flow->reversed;
    if ((flags & TCP_FIN) != 0)
        flow->over |= found_paint == 0 ? FORWARD_OVER : BACK_OVER;
    if ((flags & TCP_RST) != 0)
        flow->over = ALL_OVER;
    return true;
}

static bool has_flow(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);
    bool is_tcp = ip->protocol == PROTOCOL_TCP;
    const be16 *ports;
    u8 flags = 0;

    if ((!is_tcp && ip->protocol != PROTOCOL_UDP) || (ip->src == htonl(0) && ip->dst == htonl(0)))
        return false;
    if (!ip_is_first_fragment(ip) || packet_length() < transport + PORT_BYTES)
        return false;
    if (is_tcp && packet_length() >= transport + sizeof(struct tcp))
        flags = header(struct tcp, transport)->flags;
    ports = header_array(be16, transport, 2);
    return find_flow(find_pair(ip, ports[0], ports[1]), is_tcp, flags);
}

static void name_datagram(const struct ip *ip, struct datagram *name)
{
    name->src = ip->src;
    name->dst = ip->dst;
    name->id = ip->id;
    name->protocol = ip->protocol;
}

/* A fragment behind the first has the number that the first one got. */
static bool has_first(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    struct datagram name;
    const struct known *known;

    if (!fragments || ip_is_first_fragment(ip))
        return false;
    name_datagram(ip, &name);
    known = table_find(datagrams, &name);
    if (!known)
        return false;
    found_number = known->number;
    found_paint = known->paint;
    return true;
}

static void note_first(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    struct datagram name;
    struct known *known;

    if (!fragments || !ip_is_fragment(ip))
        return;
    name_datagram(ip, &name);
    known = table_insert(datagrams, &name);
    if (known) {
        known->number = found_number;
        known->paint = found_paint;
    }
}

/* An ICMP error about a flow: its packet's header is in it. */
static bool is_about_flow(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    u32 at = start + ip_header_length(ip), inner = at + (u32) sizeof(struct icmp);
    const struct ip *about;
    const be16 *ports;
    u8 type;

    if (!with_errors || ip->protocol != PROTOCOL_ICMP || !ip_is_first_fragment(ip) || packet_length() < inner + sizeof(struct ip))
        return false;
    type = *header(u8, at);
    if (type != ICMP_UNREACHABLE && type != ICMP_TIME_EXCEEDED && type != ICMP_PARAMETER_PROBLEM && type != ICMP_SOURCE_QUENCH && type != ICMP_REDIRECT)
        return false;
    about = header(struct ip, inner);
    if ((about->protocol != PROTOCOL_TCP && about->protocol != PROTOCOL_UDP) || packet_length() < inner + ip_header_length(about) + PORT_BYTES)
        return false;
    ports = header_array(be16, inner + ip_header_length(about), 2);
    if (!find_flow(find_pair(about, ports[0], ports[1]), about->protocol == PROTOCOL_TCP, 0))
        return false;
    found_paint += 2;
    return true;
}

void packet(int port)
{
    u32 start = network_offset();

    if (has_flow(start))
        note_first(start);
    else if (!has_first(start) && !is_about_flow(start)) {
        if (NOUTPUTS > 1)
            emit(1);
        drop(NO_FLOW);
    }
    info(aggregate) = found_number;
    info(paint) = found_paint;
    emit(0);
}

READ(flows, u32, numbers);
