/*
 * MarkMACHeader([OFFSET, LENGTH]) -- marks where the link-layer header is
 *
 * It starts OFFSET bytes into the packet, 0 by default. With a LENGTH above 0 the network header follows after so many bytes. A packet that ends
 * before is dropped (a trap).
 *
 * See also: MarkEtherHeader, MarkIPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(MarkMACHeader, "1/1", "a/a");
PARAM(u32, start, "OFFSET", OPTIONAL(0));
PARAM(u32, nbytes, "LENGTH", OPTIONAL(0));

void packet(int port)
{
    header_array(u8, start, nbytes);
    set_mac_header(start);
    if (nbytes > 0)
        set_network_header(start + nbytes);
    emit(0);
}
