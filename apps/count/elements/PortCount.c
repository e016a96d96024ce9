/*
 * PortCount -- counts packets and bytes by the destination ports of TCP and UDP
 *
 * The IP header must be marked; packets leave unchanged. Later fragments and other protocols are counted together.
 *
 * Handlers: top (read): the ten ports with most bytes, a line each: port, packets, bytes; others (read): packets without a port; port (write), packets, bytes
 * (read): chooses a port, and its counts.
 *
 * See also: FlowCount, Counter.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(PortCount, "1/1", "a/a");

enum { PORTS = 65536, LINES = 10, NO_PORT = PORTS };

struct ports { be16 sport; be16 dport; };
struct count { u64 packets; u64 bytes; };

static struct count counts[PORTS];
static u64 others;
static u16 chosen;

/* The destination port, or NO_PORT. */
static u32 port_of(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    u32 transport = start + ip_header_length(ip);

    if ((ip->protocol != PROTOCOL_TCP && ip->protocol != PROTOCOL_UDP) || !ip_is_first_fragment(ip) || packet_length() < transport + 4)
        return NO_PORT;
    return ntohs(header(struct ports, transport)->dport);
}

void packet(int port)
{
    u32 destination = port_of(network_offset());

    if (destination == NO_PORT) {
        others += 1;
        emit(0);
    }
    counts[destination].packets += 1;
    counts[destination].bytes += wire_length();
    emit(0);
}

static void print_count(u32 port)
{
    print_uint(port);
    print(" ");
    print_uint(counts[port].packets);
    print(" ");
    print_uint(counts[port].bytes);
    print("\n");
}

/* Does a port stand behind another in the list? By bytes, then by number. */
static bool is_behind(u32 port, u32 other)
{
    return counts[port].bytes < counts[other].bytes || (counts[port].bytes == counts[other].bytes && port > other);
}

static void print_top(void)
{
    u32 last = NO_PORT;

    for (u32 n = 0; n < LINES; n++) {
        u32 next = NO_PORT;

        for (u32 port = 0; port < PORTS; port++)
            if (counts[port].packets > 0 && (last == NO_PORT || is_behind(port, last)) && (next == NO_PORT || is_behind(next, port)))
                next = port;
        if (next == NO_PORT)
            return;
        print_count(next);
        last = next;
    }
}

static u64 chosen_packets(void)
{
    return counts[chosen].packets;
}

static u64 chosen_bytes(void)
{
    return counts[chosen].bytes;
}

READ_CALL(top, text, print_top);
READ(others, u64, others);
WRITE(port, u16, chosen);
READ_CALL(packets, u64, chosen_packets);
READ_CALL(bytes, u64, chosen_bytes);
