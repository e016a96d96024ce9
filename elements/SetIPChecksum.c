/*
 * SetIPChecksum -- computes the checksum of IP headers
 *
 * The IP header must be marked. Elements that change headers keep the checksum right; this is for those that were made by hand.
 *
 * A header that is shorter than 20 bytes, or longer than the packet, is dropped.
 *
 * Handlers: drops (read), packets that were dropped so.
 *
 * See also: CheckIPHeader, SetTCPChecksum, SetUDPChecksum.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetIPChecksum, "1/1", "a/a");

enum { BAD_HEADER };

static u64 drops;

void packet(int port)
{
    u32 start = network_offset(), length = ip_header_length(header(struct ip, start));

    if (length < sizeof(struct ip) || length > packet_length() - start) {
        drops += 1;
        drop(BAD_HEADER);
    }
    ip_set_checksum(start);
    emit(0);
}

READ(drops, u64, drops);
