/*
 * Pairs([keyword TIMEOUT]) -- numbers the packets between two addresses, either way
 *
 * The IP header must be marked. The paint annotation becomes the number of the packet, from 0.
 *
 *   TIMEOUT  for how long numbers go on behind a packet, 0: for ever
 */
#include <netvm.h>
#include "click.h"

ELEMENT(Pairs, "1/1", "a/a");

PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(0));

struct pair { be32 low, high; u8 protocol; };
TABLE_EXACT(pairs, struct pair, u32, 65536, timeout);

static struct pair pair;

void packet(int port)
{
    const struct ip *ip = header(struct ip, network_offset());
    bool turned = ntohl(ip->src) > ntohl(ip->dst);
    u32 *count;

    pair.low = turned ? ip->dst : ip->src;
    pair.high = turned ? ip->src : ip->dst;
    pair.protocol = ip->protocol;
    count = table_insert(pairs, &pair);
    if (count) {
        info(paint) = (u8) *count;
        *count += 1;
    }
    emit(0);
}
