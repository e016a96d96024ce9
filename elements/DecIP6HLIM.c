/*
 * DecIP6HLIM -- counts down the hop limit of IPv6 packets
 *
 * A packet whose hop limit is over (1 or 0) leaves by output 1 if there is one, and is dropped otherwise. All others leave by output 0 with a hop limit
 * that is one less. The header is where it was marked, else at the packet's head.
 *
 * Handlers: drops (read), packets whose hop limit was over.
 *
 * See also: CheckIP6Header, DecIPTTL.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(DecIP6HLIM, "1/1-2", "a/ah");

enum { HOP_LIMIT_EXPIRED };

static u64 drops;

void packet(int port)
{
    struct ip6 *ip6 = header(struct ip6, info(has_network_header) ? network_offset() : 0);

    if (ip6->hop_limit > 1) {
        ip6->hop_limit -= 1;
        emit(0);
    }
    drops += 1;
    if (NOUTPUTS > 1)
        emit(1);
    drop(HOP_LIMIT_EXPIRED);
}

READ(drops, u64, drops);
