/*
 * SetIPAddress(IPADDR [, keyword ANNO]) -- sets the destination annotation
 *
 * Every packet's next destination is IPADDR, whatever its header says.
 *
 *   ANNO  another annotation for it, by Click's name (MISC_IP) or place: 0, the destination, by default, or 16 to 20, the first of four bytes
 *
 * Handlers: addr (read/write), the address.
 *
 * See also: GetIPAddress, ARPQuerier.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetIPAddress, "1/1", "a/a");
PARAM(be32, address, "IPADDR", REQUIRED);
PARAM_AS(ADDRESS_ANNO, int, place, "ANNO", KEYWORD(0));

static be32 current;

void init(void)
{
    current = address;
}

void packet(int port)
{
    set_address_annotation(place, current);
    emit(0);
}

READ(addr, be32, current);
WRITE(addr, be32, current);
