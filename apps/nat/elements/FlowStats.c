/*
 * FlowStats([keywords FLOWS, HOSTS, TIMEOUT, LIMIT]) -- what hosts inside and their flows send and get
 *
 * Input 0 takes IP packets from inside, input 1 those that go there, with the addresses that they have inside; the IP header must be marked. Both leave unchanged, by output 0 and 1.
 *
 *   FLOWS    flows that are counted at a time, 65,536 by default; packets of others are counted with their hosts only
 *   HOSTS    hosts inside, 16,384 by default; packets of others are counted as uncounted
 *   TIMEOUT  how long a flow is one after its last packet, 300 seconds by default; hosts are known for twelve times as long
 *   LIMIT    packets a second, both ways, above which a host raises an alarm; 0, the default: never
 *
 * A flow is addresses, protocol and, for TCP and UDP, ports; later fragments have ports 0. Rates are averages as those of Counter.
 *
 * Handlers: flows, hosts, uncounted, alarms (read): flows and hosts that were seen, packets of neither, how often a host's rate has come above LIMIT; alarm (read): the last such host; top
 * (read): the sixteen hosts with most bytes, a line each: address, flows, packets and bytes sent, packets and bytes received, packets a second when the last packet came; host (write)
 * chooses a host: host_rate, host_packets (read) are of it. The tables are the handlers flow_table.list and host_table.list.
 *
 * Source: the paper of NetTM, Table 1 (NAT). See also: Nat, Counter.
 */
#include <netvm.h>
#include "click.h"
#include "rate.h"

ELEMENT(FlowStats, "2/2", "a/a");
ELEMENT_FLOW("#/#");
PARAM(u32, flow_capacity, "FLOWS", KEYWORD(65536));
PARAM(u32, host_capacity, "HOSTS", KEYWORD(16384));
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM(u32, limit, "LIMIT", KEYWORD(0));

enum { TOP = 16, INSIDE = 0 };

struct flow { be32 inside, outside; be16 inside_port, outside_port; u8 protocol; };
struct sums { u64 sent_packets, sent_bytes, received_packets, received_bytes; };
struct host { struct sums sums; u32 flows; struct rate rate; u8 place; bool is_fast; };
TABLE_EXACT(flow_table, struct flow, struct sums, flow_capacity, timeout);
TABLE_EXACT(host_table, be32, struct host, host_capacity, timeout * 12);

struct ports { be16 sport, dport; };
struct great { be32 address; u64 bytes; };

static struct great top[TOP];
static u32 least;
static struct flow flow;
static be32 alarm, chosen;
static u64 flows, hosts, uncounted, alarms, last;

static void read_flow(u32 start, bool sent)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);
    be16 sport = htons(0), dport = htons(0);

    if ((ip->protocol == PROTOCOL_TCP || ip->protocol == PROTOCOL_UDP) && ip_is_first_fragment(ip) && packet_length() >= transport + 4) {
        sport = header(struct ports, transport)->sport;
        dport = header(struct ports, transport)->dport;
    }
    flow.protocol = ip->protocol;
    flow.inside = sent ? ip->src : ip->dst;
    flow.outside = sent ? ip->dst : ip->src;
    flow.inside_port = sent ? sport : dport;
    flow.outside_port = sent ? dport : sport;
}

static void add(struct sums *sums, bool sent)
{
    if (sent) {
        sums->sent_packets += 1;
        sums->sent_bytes += wire_length();
    } else {
        sums->received_packets += 1;
        sums->received_bytes += wire_length();
    }
}

/* Which of the greatest has least. */
static void find_least(void)
{
    least = 0;
    for (u32 i = 1; i < TOP; i++)
        if (top[i].bytes < top[least].bytes)
            least = i;
}

/* Keeps the list of the greatest; the host that is replaced there is told so. */
static void rank(struct host *host)
{
    u64 bytes = host->sums.sent_bytes + host->sums.received_bytes;
    struct host *other;

    if (host->place != 0) {
        top[host->place - 1].bytes = bytes;
        if (host->place - 1u != least)
            return;
    } else {
        if (bytes <= top[least].bytes)
            return;
        host->place = (u8) (least + 1);
        other = top[least].bytes > 0 ? table_peek(host_table, &top[least].address) : 0;
        if (other)
            other->place = 0;
        top[least].address = flow.inside;
        top[least].bytes = bytes;
    }
    find_least();
}

/* Measures the host's rate, and raises an alarm when it comes above the limit. */
static void watch(struct host *host)
{
    bool is_fast;

    rate_add(&host->rate, 1);
    if (limit == 0)
        return;
    is_fast = host->rate.average * EPOCHS_A_SECOND / RATE_SCALE > limit;
    if (is_fast && !host->is_fast) {
        alarms += 1;
        alarm = flow.inside;
    }
    host->is_fast = is_fast;
}

static bool is_new_host(const struct host *host)
{
    return host->sums.sent_packets + host->sums.received_packets == 0;
}

/* Counts the packet to its flow; true if that is a new one. */
static bool count_flow(bool sent)
{
    struct sums *sums = table_insert(flow_table, &flow);
    bool is_new;

    if (!sums)
        return false;
    is_new = sums->sent_packets + sums->received_packets == 0;
    add(sums, sent);
    flows += is_new;
    return is_new;
}

void packet(int port)
{
    bool sent = port == INSIDE, is_new;
    struct host *host;

    last = now();
    read_flow(network_offset(), sent);
    is_new = count_flow(sent);
    host = table_insert(host_table, &flow.inside);
    if (!host) {
        uncounted += 1;
        emit(port);
    }
    hosts += is_new_host(host);
    host->flows += is_new;
    add(&host->sums, sent);
    watch(host);
    rank(host);
    emit(port);
}

/* ---- Handlers ---- */

static u64 rate_of(be32 address)
{
    struct host *host = table_peek(host_table, &address);

    if (!host)
        return 0;
    rate_advance_to(&host->rate, last);
    return host->rate.average * EPOCHS_A_SECOND / RATE_SCALE;
}

static void print_number(u64 number)
{
    print(" ");
    print_uint(number);
}

static void print_host(be32 address)
{
    const struct host *host = table_peek(host_table, &address);

    if (!host)
        return;
    print_ip(address);
    print_number(host->flows);
    print_number(host->sums.sent_packets);
    print_number(host->sums.sent_bytes);
    print_number(host->sums.received_packets);
    print_number(host->sums.received_bytes);
    print_number(rate_of(address));
    print("\n");
}

/* Greatest first; of equal ones the one that stands first. */
static void print_top(void)
{
    u32 printed = 0;

    for (u32 n = 0; n < TOP; n++) {
        u32 next = TOP;

        for (u32 i = 0; i < TOP; i++)
            if ((printed >> i & 1) == 0 && top[i].bytes > 0 && (next == TOP || top[i].bytes > top[next].bytes))
                next = i;
        if (next == TOP)
            return;
        printed |= 1u << next;
        print_host(top[next].address);
    }
}

static u64 host_rate(void) { return rate_of(chosen); }

static u64 host_packets(void)
{
    const struct host *host = table_peek(host_table, &chosen);

    return host ? host->sums.sent_packets + host->sums.received_packets : 0;
}

READ(flows, u64, flows);
READ(hosts, u64, hosts);
READ(uncounted, u64, uncounted);
READ(alarms, u64, alarms);
READ(alarm, be32, alarm);
READ_CALL(top, text, print_top);
WRITE(host, be32, chosen);
READ_CALL(host_rate, u64, host_rate);
READ_CALL(host_packets, u64, host_packets);
