/*
 * FlowRecords([keywords TIMEOUT, CAPACITY, PRINT]) -- keeps records of flows, and tells each when its flow has ended
 *
 * A flow is what has the same addresses, protocol, and ports of TCP and UDP; the IP header must be marked. All packets pass. A flow of which nothing has come for TIMEOUT has
 * ended: a line is printed, `10.0.0.1.5000 > 10.0.0.2.53 17: 5 packets, 300 bytes, 1.000000 to 1.400000`, and by output 1, if there is one, a packet leaves with the record in the format
 * of NetFlow, version 5, for UDPIPEncap. Several that end at once come in the order of their addresses.
 *
 *   TIMEOUT   15 s by default
 *   CAPACITY  flows that are known at once, 65,536 by default; packets of others are only counted
 *   PRINT     false: nothing is printed; true by default
 *
 * Handlers: list (read), the flows that there are, a line each; ended (read), how many have ended; missed (read), packets that there was no room for.
 * Left out of NetFlow: next hops, interfaces, AS numbers; times count from the first packet on.
 *
 * Example: `... -> records :: FlowRecords(TIMEOUT 60s) -> ...; records[1] -> UDPIPEncap(10.0.0.1, 2055, 10.0.0.9, 2055) -> ...`
 *
 * See also: AggregateIPFlows, AggregateCounter.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(FlowRecords, "1/1-2", "a/ah");
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(15000000000));
PARAM(u32, capacity, "CAPACITY", KEYWORD(65536));
PARAM(bool, prints, "PRINT", KEYWORD(true));
REQUIRE(timeout > 0, "without TIMEOUT no flow ends");

enum { PORT_BYTES = 4, MICROSECOND = 1000, MILLISECOND = 1000000, SECOND = 1000000000 };

struct flow_key { be32 src; be32 dst; be16 sport; be16 dport; u8 protocol; };
struct flow_record { u64 first; u64 last; u32 packets; u32 bytes; u8 tcp_flags; u8 tos; };
TABLE_EXACT(flows, struct flow_key, struct flow_record, capacity, timeout);

/* NetFlow, version 5: the header of a datagram, and its one record. */
struct export_header {
    be16 version; be16 count; be32 uptime; be32 seconds; be32 nanoseconds; be32 sequence; u8 engine_type; u8 engine_id; be16 sampling;
};
struct export_record {
    be32 src; be32 dst; be32 next_hop; be16 input; be16 output; be32 packets; be32 bytes; be32 first; be32 last; be16 sport; be16 dport;
    u8 pad; u8 tcp_flags; u8 protocol; u8 tos; be16 src_as; be16 dst_as; u8 src_mask; u8 dst_mask; be16 rest;
};

static u64 begun, missed;
static u32 ended;
static bool has_begun;

static void print_flow(const struct flow_key *key, const struct flow_record *flow)
{
    print_ip(key->src);
    print(".");
    print_uint(ntohs(key->sport));
    print(" > ");
    print_ip(key->dst);
    print(".");
    print_uint(ntohs(key->dport));
    print(" ");
    print_uint(key->protocol);
    print(": ");
    print_uint(flow->packets);
    print(" packets, ");
    print_uint(flow->bytes);
    print(" bytes, ");
    print_time(flow->first);
    print(" to ");
    print_time(flow->last);
    print("\n");
}

static be32 uptime(u64 time)
{
    return htonl((u32) ((time - begun) / MILLISECOND));
}

static void export(const struct flow_key *key, const struct flow_record *flow)
{
    struct export_header *head;
    struct export_record *record;

    packet_create(sizeof(struct export_header) + sizeof(struct export_record));
    head = header(struct export_header, 0);
    head->version = htons(5);
    head->count = htons(1);
    head->uptime = uptime(now());
    head->seconds = htonl((u32) (now() / SECOND));
    head->nanoseconds = htonl((u32) (now() % SECOND));
    head->sequence = htonl(ended);
    record = header(struct export_record, sizeof(struct export_header));
    record->src = key->src;
    record->dst = key->dst;
    record->packets = htonl(flow->packets);
    record->bytes = htonl(flow->bytes);
    record->first = uptime(flow->first);
    record->last = uptime(flow->last);
    record->sport = key->sport;
    record->dport = key->dport;
    record->tcp_flags = flow->tcp_flags;
    record->protocol = key->protocol;
    record->tos = flow->tos;
    clone(1);
}

static void flow_ended(const struct flow_key *key, const struct flow_record *flow)
{
    if (prints)
        print_flow(key, flow);
    if (NOUTPUTS > 1)
        export(key, flow);
    ended += 1;
}

EXPIRED(flows, flow_ended);

static void print_flows(void)
{
    struct flow_key key;

    table_walk(flows);
    while (table_next(flows, &key)) {
        const struct flow_record *flow = table_peek(flows, &key);

        if (flow)
            print_flow(&key, flow);
    }
}

static void count(struct flow_record *flow, const struct ip *ip, u32 end)
{
    if (flow->packets == 0) {
        flow->first = now();
        flow->tos = ip->tos;
    }
    flow->last = now();
    flow->packets += 1;
    flow->bytes += ntohs(ip->length);
    if (ip->protocol == PROTOCOL_TCP && ip_is_first_fragment(ip) && packet_length() >= end + sizeof(struct tcp))
        flow->tcp_flags |= header(struct tcp, end)->flags;
}

void packet(int port)
{
    const struct ip *ip = header(struct ip, network_offset());
    u32 end = network_offset() + ip_header_length(ip);
    struct flow_key key = { .src = ip->src, .dst = ip->dst, .protocol = ip->protocol };
    struct flow_record *flow;

    if (!has_begun) {
        has_begun = true;
        begun = now();
    }
    if ((ip->protocol == PROTOCOL_TCP || ip->protocol == PROTOCOL_UDP) && ip_is_first_fragment(ip) && packet_length() >= end + PORT_BYTES) {
        const be16 *ports = header_array(be16, end, 2);

        key.sport = ports[0];
        key.dport = ports[1];
    }
    flow = table_insert(flows, &key);
    if (flow)
        count(flow, ip, end);
    else
        missed += 1;
    emit(0);
}

READ_CALL(list, text, print_flows);
READ(ended, u32, ended);
READ(missed, u64, missed);
