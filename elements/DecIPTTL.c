/*
 * DecIPTTL([keywords ACTIVE, MULTICAST]) -- counts down the time to live of IP packets
 *
 * The IP header must be marked. A packet whose time to live is over (1 or 0) leaves by output 1 if there is one, usually to an ICMPError, and is
 * dropped otherwise. All others leave by output 0 with a time to live that is one less; the checksum is updated (RFC 1624).
 *
 *   ACTIVE     false: packets leave unchanged; true by default
 *   MULTICAST  false: packets to multicast addresses leave unchanged; true by default
 *
 * Handlers: active (read/write); drops (read), packets whose time to live was over.
 *
 * Example: `... -> CheckIPHeader -> ttl :: DecIPTTL -> ...; ttl[1] -> ICMPError(18.26.4.24, timeexceeded) -> ...`
 *
 * See also: ICMPError, CheckIPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(DecIPTTL, "1/1-2", "a/ah");
PARAM(bool, active_at_start, "ACTIVE", KEYWORD(true));
PARAM(bool, multicast, "MULTICAST", KEYWORD(true));

enum { TTL_EXPIRED };

static bool active;
static u64 drops;

void init(void)
{
    active = active_at_start;
}

/* The time to live is the upper half of a word of the checksum: that becomes less by as much, whatever it is. */
static void decrement(struct ip *ip)
{
    ip->ttl -= 1;
    ip->checksum = htons(checksum_update(ntohs(ip->checksum), 0x100, 0));
}

void packet(int port)
{
    struct ip *ip = header(struct ip, network_offset());

    if (!active || (!multicast && ip_is_multicast(ip->dst)))
        emit(0);
    if (ip->ttl > 1) {
        decrement(ip);
        emit(0);
    }
    drops += 1;
    if (NOUTPUTS > 1)
        emit(1);
    drop(TTL_EXPIRED);
}

READ(active, bool, active);
WRITE(active, bool, active);
READ(drops, u64, drops);
