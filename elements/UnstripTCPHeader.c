/*
 * UnstripTCPHeader -- brings back the TCP header that was taken off
 *
 * The transport header must be marked. If it stands before the packet's first byte, the bytes from there on come back; else the packet stays as it is.
 *
 * See also: StripTCPHeader, UnstripIPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(UnstripTCPHeader, "1/1", "a/a");

void packet(int port)
{
    i32 missing = packet_moved() - info(transport_header);

    if (info(has_transport_header) && missing > 0)
        packet_unpull((u32) missing);
    emit(0);
}
