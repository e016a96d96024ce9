/*
 * StripToNetworkHeader -- takes off all before the network header
 *
 * The packet then begins with its marked network header. If that is before the head, as after Strip, those bytes are brought back.
 *
 * See also: Strip, MarkIPHeader, CheckIPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(StripToNetworkHeader, "1/1", "a/a");

void packet(int port)
{
    i32 offset = (i32) network_offset();

    if (offset >= 0)
        packet_pull((u32) offset);
    else
        packet_unpull((u32) -offset);
    emit(0);
}
