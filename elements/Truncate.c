/*
 * Truncate(LENGTH) -- limits packets' length
 *
 * Of longer packets only the first LENGTH bytes stay. The length on the wire, which captures record, is not changed.
 *
 * See also: Strip.
 */
#include <netvm.h>

ELEMENT(Truncate, "1/1", "a/a");
PARAM(u32, nbytes, "LENGTH", REQUIRED);

void packet(int port)
{
    if (packet_length() > nbytes)
        packet_trim(packet_length() - nbytes);
    emit(0);
}
