/*
 * Sources -- numbers the packets of a sender; the key of one way has the address of the receiver, too
 */
#include <netvm.h>
#include "click.h"

ELEMENT(Sources, "1/1", "a/a");

struct ends { be32 src, dst; };
TABLE_EXACT(counts, struct ends, u32, 65536, 0);

static struct ends ends;

void packet(int port)
{
    const struct ip *ip = header(struct ip, network_offset());
    u32 *count;

    ends.src = ip->src;
    ends.dst = htonl(0);
    if (ip->protocol == PROTOCOL_TCP)
        ends.dst = ip->dst;
    count = table_insert(counts, &ends);
    if (count) {
        info(paint) = (u8) *count;
        *count += 1;
    }
    emit(0);
}
