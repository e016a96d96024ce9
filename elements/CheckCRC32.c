/*
 * CheckCRC32 -- lets packets pass whose checksum is right
 *
 * The last four bytes are a CRC of those before, as SetCRC32 puts it there; they are taken off. Other packets are dropped.
 *
 * Handlers: drops (read), how many.
 *
 * See also: SetCRC32.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(CheckCRC32, "1/1", "a/a");
#include "frame_check.h"

enum { BAD_CHECKSUM };

static u64 drops;

void packet(int port)
{
    u32 length = packet_length();

    if (length < CHECK_BYTES || *header(be32, length - CHECK_BYTES) != htonl(frame_check(length - CHECK_BYTES))) {
        drops += 1;
        drop(BAD_CHECKSUM);
    }
    packet_trim(CHECK_BYTES);
    emit(0);
}

READ(drops, u64, drops);
