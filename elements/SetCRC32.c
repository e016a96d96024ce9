/*
 * SetCRC32 -- puts a checksum behind packets
 *
 * Four bytes come behind the packet's last one: a CRC of all of it, as CheckCRC32 wants it.
 *
 * See also: CheckCRC32.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetCRC32, "1/1", "a/a");
#include "frame_check.h"

void packet(int port)
{
    u32 length = packet_length(), sum = frame_check(length);

    packet_put(CHECK_BYTES);
    *header(be32, length) = htonl(sum);
    emit(0);
}
