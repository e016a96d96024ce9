/*
 * SetIPAddress(ADDR) -- sets the destination annotation
 *
 * Every packet's next destination is ADDR, whatever its header says. Click's argument ANNO is left out.
 *
 * Handlers: addr (read/write), the address.
 *
 * See also: GetIPAddress, ARPQuerier.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetIPAddress, "1/1", "a/a");
PARAM(be32, address, "ADDR", REQUIRED);

static be32 current;

void init(void)
{
    current = address;
}

void packet(int port)
{
    info(dst_ip) = current;
    emit(0);
}

READ(addr, be32, current);
WRITE(addr, be32, current);
