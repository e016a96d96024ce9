/*
 * FlowWatcher(EXPRESSION) -- classifies TCP connections by a regular expression, and counts their bytes
 *
 * A connection is one of both directions. As long as it is not classified, and has had no more than ten packets, the payloads of its packets are searched. Frames of Ethernet.
 *
 * Source: the program Classifier of the NetTM paper, table 1. Left out: reassembly; a payload is searched by itself.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(FlowWatcher, "1/1", "a/ah");
PARAM(string, expression, "EXPRESSION", REQUIRED);
REGEX(wanted, expression);

enum { MOST_TRIES = 10, NO_TCP };
struct pair { be32 low; be32 high; be16 low_port; be16 high_port; };
struct watched { u64 bytes; u32 packets; u32 found; u64 last; };
TABLE_EXACT(flows, struct pair, struct watched, 65536, 60000000000);

void packet(int port)
{
    const struct ip *ip = header(struct ip, 14);
    u32 transport = 14 + ip_header_length(ip);
    struct pair name;
    struct watched *flow;
    const be16 *ports;
    bool turned;

    if (ip->protocol != PROTOCOL_TCP || packet_length() < transport + 20)
        drop(NO_TCP);
    ports = header_array(be16, transport, 2);
    turned = ntohl(ip->src) > ntohl(ip->dst);
    name.low = turned ? ip->dst : ip->src;
    name.high = turned ? ip->src : ip->dst;
    name.low_port = turned ? ports[1] : ports[0];
    name.high_port = turned ? ports[0] : ports[1];
    flow = table_insert(flows, &name);
    if (!flow)
        emit(0);
    flow->bytes += packet_length();
    flow->packets += 1;
    if (flow->found == 0 && flow->packets <= MOST_TRIES)
        if (regex_found(wanted, transport + 20, packet_length()))
            flow->found = 1;
    flow->last = now();
    emit(0);
}
