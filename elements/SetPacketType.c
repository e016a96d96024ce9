/*
 * SetPacketType(TYPE) -- sets the packet type annotation
 *
 * TYPE is HOST, BROADCAST, MULTICAST, OTHERHOST, OUTGOING or LOOPBACK, in any case: how the frame was addressed, as far as the receiver cares.
 *
 * See also: DropBroadcasts, HostEtherFilter.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetPacketType, "1/1", "a/a");
PARAM_AS(PACKET_TYPE, u8, type, "TYPE", REQUIRED);

void packet(int port)
{
    info(packet_type) = type;
    emit(0);
}
