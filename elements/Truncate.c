/*
 * Truncate(LENGTH [, keyword EXTRA_LENGTH]) -- limits packets' length
 *
 * Of longer packets only the first LENGTH bytes stay.
 *
 *   EXTRA_LENGTH  true (default): the length on the wire, which captures record, stays; false: it becomes less by as much
 *
 * Handlers: nbytes (read/write), the length.
 *
 * See also: Strip, Pad, ToDump.
 */
#include <netvm.h>

ELEMENT(Truncate, "1/1", "a/a");
PARAM(u32, nbytes, "LENGTH", REQUIRED);
PARAM(bool, keeps_wire_length, "EXTRA_LENGTH", KEYWORD(true));

static u32 limit;

void init(void)
{
    limit = nbytes;
}

void packet(int port)
{
    u32 wire = wire_length();

    if (packet_length() > limit) {
        packet_trim(packet_length() - limit);
        if (keeps_wire_length)
            set_wire_length(wire);
    }
    emit(0);
}

READ(nbytes, u32, limit);
WRITE(nbytes, u32, limit);
