/*
 * GetIP6Address(OFFSET) -- sets the IPv6 destination annotation from the packet
 *
 * It becomes the 16 bytes from OFFSET; 24 is the destination of a packet that begins with its IPv6 header.
 *
 * See also: GetIPAddress, LookupIP6Route.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(GetIP6Address, "1/1", "a/a");
PARAM(u32, start, "OFFSET", REQUIRED);

void packet(int port)
{
    info(dst_ip6) = *header(in6_t, start);
    emit(0);
}
