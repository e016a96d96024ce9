/*
 * SetIPChecksum -- computes the checksum of IP headers
 *
 * The IP header must be marked. Elements that change headers keep the checksum right; this is for those that were made by hand.
 *
 * See also: CheckIPHeader, SetTCPChecksum, SetUDPChecksum.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetIPChecksum, "1/1", "a/a");

void packet(int port)
{
    ip_set_checksum(network_offset());
    emit(0);
}
