/*
 * GetIPAddress([OFFSET, keyword IP]) -- sets the destination annotation from the packet
 *
 * The four bytes from OFFSET become the destination annotation: 16 is an IP packet's destination. Instead of OFFSET, `IP src` or `IP dst` names a field
 * of the marked IP header. A packet that ends before is dropped (a trap).
 *
 * Click's argument ANNO is left out.
 *
 * See also: SetIPAddress, StaticIPLookup, ARPQuerier.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(GetIPAddress, "1/1", "a/a");
PARAM(u32, at, "OFFSET", OPTIONAL(16));
PARAM(string, field, "IP", KEYWORD(""));

void packet(int port)
{
    if (text_is(field, "src"))
        info(dst_ip) = header(struct ip, network_offset())->src;
    else if (text_is(field, "dst"))
        info(dst_ip) = header(struct ip, network_offset())->dst;
    else
        info(dst_ip) = *header(be32, at);
    emit(0);
}
