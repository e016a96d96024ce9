/*
 * FlowCount([CAPACITY]) -- counts packets and bytes of each flow of IP packets
 *
 * A flow is addresses, protocol and, for TCP and UDP, ports; later fragments have ports 0. The IP header must be marked; packets leave unchanged. At most
 * CAPACITY flows (1,048,576) are counted; packets of others are counted together.
 *
 * Handlers: flows, uncounted (read): flows there are, packets that belong to none of them; top (read): the sixteen flows with most bytes, a line each:
 * bytes, packets, protocol, source, destination. The table itself is the handler counts.list.
 *
 * See also: PortCount, Counter.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(FlowCount, "1/1", "a/a");
PARAM(u32, capacity, "CAPACITY", OPTIONAL(1048576));

enum { TOP = 16 };

struct flow { be32 src; be32 dst; be16 sport; be16 dport; u8 protocol; };
/* Place in the list of the greatest, from 1; 0: not in it. */
struct count { u64 bytes; u64 packets; u8 place; };
TABLE_EXACT(counts, struct flow, struct count, capacity, 0);

struct ports { be16 sport; be16 dport; };
struct great { struct flow flow; u64 bytes; u64 packets; };

static struct great top[TOP];
static struct flow flow;
static u32 least;
static u64 flows, uncounted;

static void read_flow(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);

    flow.src = ip->src;
    flow.dst = ip->dst;
    flow.protocol = ip->protocol;
    flow.sport = htons(0);
    flow.dport = htons(0);
    if ((ip->protocol == PROTOCOL_TCP || ip->protocol == PROTOCOL_UDP) && ip_is_first_fragment(ip) && packet_length() >= transport + 4) {
        flow.sport = header(struct ports, transport)->sport;
        flow.dport = header(struct ports, transport)->dport;
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

/* Keeps the list of the greatest; the flow that is replaced there is told so. */
static void rank(struct count *count)
{
    u64 bytes = count->bytes, packets = count->packets;
    struct count *other;

    if (count->place != 0) {
        top[count->place - 1].bytes = bytes;
        top[count->place - 1].packets = packets;
        if (count->place - 1u == least)
            find_least();
        return;
    }
    if (bytes <= top[least].bytes)
        return;
    count->place = (u8) (least + 1);
    other = top[least].packets > 0 ? table_peek(counts, &top[least].flow) : 0;
    if (other)
        other->place = 0;
    top[least].flow = flow;
    top[least].bytes = bytes;
    top[least].packets = packets;
    find_least();
}

void packet(int port)
{
    struct count *count;

    read_flow(network_offset());
    count = table_insert(counts, &flow);
    if (!count) {
        uncounted += 1;
        emit(0);
    }
    flows += count->packets == 0;
    count->packets += 1;
    count->bytes += wire_length();
    rank(count);
    emit(0);
}

static void print_endpoint(be32 address, be16 port)
{
    print_ip(address);
    print(":");
    print_uint(ntohs(port));
}

static void print_great(const struct great *great)
{
    print_uint(great->bytes);
    print(" ");
    print_uint(great->packets);
    print(" ");
    print_uint(great->flow.protocol);
    print(" ");
    print_endpoint(great->flow.src, great->flow.sport);
    print(" ");
    print_endpoint(great->flow.dst, great->flow.dport);
    print("\n");
}

/* Greatest first; of equal ones the one that stands first. */
static void print_top(void)
{
    u32 printed = 0;

    for (u32 n = 0; n < TOP; n++) {
        u32 next = TOP;

        for (u32 i = 0; i < TOP; i++)
            if ((printed >> i & 1) == 0 && top[i].packets > 0 && (next == TOP || top[i].bytes > top[next].bytes))
                next = i;
        if (next == TOP)
            return;
        printed |= 1u << next;
        print_great(&top[next]);
    }
}

READ(flows, u64, flows);
READ(uncounted, u64, uncounted);
READ_CALL(top, text, print_top);
