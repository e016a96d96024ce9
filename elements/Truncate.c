/*
 * Truncate(LENGTH) -- limits packets' length
 *
 * Of longer packets only the first LENGTH bytes stay. The length on the wire, which captures record, is not changed: Click's EXTRA_LENGTH can be true only.
 * ToDump has an argument of that name for captures without it.
 *
 * Handlers: nbytes (read/write), the length.
 *
 * See also: Strip.
 */
#include <netvm.h>

ELEMENT(Truncate, "1/1", "a/a");
PARAM(u32, nbytes, "LENGTH", REQUIRED);
PARAM_AS(ALWAYS, bool, keeps_wire_length, "EXTRA_LENGTH", KEYWORD(true));

static u32 limit;

void init(void)
{
    limit = nbytes;
}

void packet(int port)
{
    if (packet_length() > limit)
        packet_trim(packet_length() - limit);
    emit(0);
}

READ(nbytes, u32, limit);
WRITE(nbytes, u32, limit);
