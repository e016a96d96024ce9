/*
 * SetIPDSCP(DSCP) -- sets the class of IP packets
 *
 * DSCP, 0 to 63, becomes the upper six bits of the type-of-service byte (RFC 2474); the checksum is updated. The IP header must be marked.
 *
 * Handlers: dscp (read/write).
 *
 * See also: MarkIPCE.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetIPDSCP, "1/1", "a/a");
PARAM(u8, dscp, "DSCP", REQUIRED);

static u8 current;

void init(void)
{
    current = dscp;
}

void packet(int port)
{
    ip_set_tos(network_offset(), (u8) (current << 2), 0xfc);
    emit(0);
}

READ(dscp, u8, current);
WRITE(dscp, u8, current);
