/*
 * UnstripIPHeader -- brings back the IP header that was taken off
 *
 * The IP header must be marked. If it stands before the packet's first byte, the bytes from there on come back; else the packet stays as it is.
 *
 * See also: StripIPHeader, Unstrip.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(UnstripIPHeader, "1/1", "a/a");

void packet(int port)
{
    i32 missing = packet_moved() - info(network_header);

    if (info(has_network_header) && missing > 0)
        packet_unpull((u32) missing);
    emit(0);
}
