/*
 * MarkIPHeader([OFFSET]) -- marks where the IP header is
 *
 * It starts OFFSET bytes into the packet, 0 by default; the transport header follows after it. Nothing is checked but that a whole header
 * without options is there; otherwise the packet is dropped (a trap). CheckIPHeader checks everything.
 *
 * See also: CheckIPHeader, MarkMACHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(MarkIPHeader, "1/1", "a/a");
PARAM(u32, start, "OFFSET", OPTIONAL(0));

void packet(int port)
{
    mark_ip(start);
    emit(0);
}
