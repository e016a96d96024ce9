/*
 * DropBroadcasts -- drops packets that came as link-layer broadcast or multicast
 *
 * A router must not forward those (RFC 1812, 5.3.4). The packet type annotation, which devices and HostEtherFilter set, tells which they are. They
 * leave by output 1 if there is one, and are dropped otherwise.
 *
 * Handlers: drops (read), how many came so.
 *
 * See also: HostEtherFilter, SetPacketType.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(DropBroadcasts, "1/1-2", "a/ah");

enum { LINK_BROADCAST };

static u64 drops;

void packet(int port)
{
    u8 type = info(packet_type);

    if (type != TO_BROADCAST && type != TO_MULTICAST)
        emit(0);
    drops += 1;
    if (NOUTPUTS > 1)
        emit(1);
    drop(LINK_BROADCAST);
}

READ(drops, u64, drops);
