/*
 * MarkIPCE([FORCE]) -- marks IP packets that met congestion
 *
 * The packet's ECN field becomes 3 (RFC 3168); the checksum is updated. The IP header must be marked. Packets whose sender does not know of this, whose
 * field is 0, are dropped unless FORCE is true.
 *
 * Handlers: drops (read), packets that were dropped.
 *
 * See also: SetIPDSCP.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(MarkIPCE, "1/1", "a/a");
PARAM(bool, forced, "FORCE", OPTIONAL(false));

enum { NO_ECN };
enum { ECN_BITS = 3 };

static u64 drops;

void packet(int port)
{
    u8 tos = header(struct ip, network_offset())->tos;

    if ((tos & ECN_BITS) == 0 && !forced) {
        drops += 1;
        drop(NO_ECN);
    }
    ip_set_tos(network_offset(), ECN_BITS, ECN_BITS);
    emit(0);
}

READ(drops, u64, drops);
