/*
 * GetIPAddress(OFFSET [, ANNO]) or GetIPAddress(IP src|dst [, ANNO]) -- sets the destination annotation from the packet
 *
 * The four bytes from OFFSET become the destination annotation: 16 is an IP packet's destination. Instead of OFFSET, `IP src` or `IP dst` names a field
 * of the marked IP header. A packet that ends before is dropped (a trap).
 *
 *   ANNO  another annotation for it, by Click's name (MISC_IP) or place: 0, the destination, by default, 1 to 12, in an IPv6 destination, or 16 to 20, the first of
 *         four bytes
 *
 * See also: SetIPAddress, StaticIPLookup, ARPQuerier.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(GetIPAddress, "1/1", "a/a");
PARAM(u32, at, "OFFSET", OPTIONAL(0));
PARAM(bool, is_offset, "OFFSET", GIVEN);
PARAM_AS(ADDRESS_ANNO, int, place, "ANNO", OPTIONAL(0));
PARAM(string, field, "IP", KEYWORD(""));
REQUIRE(is_offset != (text_is(field, "src") || text_is(field, "dst")), "give either OFFSET or IP, which is src or dst");

static be32 address(void)
{
    if (text_is(field, "src"))
        return header(struct ip, network_offset())->src;
    if (text_is(field, "dst"))
        return header(struct ip, network_offset())->dst;
    return *header(be32, at);
}

void packet(int port)
{
    set_address_annotation(place, address());
    emit(0);
}
