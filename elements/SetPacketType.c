/*
 * SetPacketType(TYPE) -- sets the packet type annotation
 *
 * TYPE is HOST, BROADCAST, MULTICAST, OTHERHOST or OUTGOING: how the frame was addressed, as far as the receiver cares.
 *
 * See also: DropBroadcasts, HostEtherFilter.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetPacketType, "1/1", "a/a");
PARAM(string, type_name, "TYPE", REQUIRED);

static u8 number(void)
{
    if (text_is(type_name, "BROADCAST"))
        return TO_BROADCAST;
    if (text_is(type_name, "MULTICAST"))
        return TO_MULTICAST;
    if (text_is(type_name, "OTHERHOST"))
        return TO_OTHER;
    if (text_is(type_name, "OUTGOING"))
        return FROM_HOST;
    return TO_HOST;
}

void packet(int port)
{
    info(packet_type) = number();
    emit(0);
}
