/*
 * Fragments(FOUND) -- counts packets of flows, and those in which something was found
 *
 * A short access to the flow's entry, before or behind a search that needs no state. Frames of Ethernet with IPv4.
 *
 * Source: the program Intruder2 of the NetTM paper, table 1. Left out: putting messages together.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(Fragments, "1/1", "a/ah");
PARAM(u32, found, "FOUND", REQUIRED);

struct ends { be32 src; be32 dst; };
struct counted { u32 packets; u32 found; u64 last; };
TABLE_EXACT(flows, struct ends, struct counted, 4096, 60000000000);

void packet(int port)
{
    const struct ip *ip = header(struct ip, 14);
    struct ends name;
    struct counted *flow;

    name.src = ip->src;
    name.dst = ip->dst;
    flow = table_insert(flows, &name);
    if (flow) {
        flow->packets += 1;
        flow->found += found;
        flow->last = now();
    }
    emit(0);
}
