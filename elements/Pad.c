/*
 * Pad([LENGTH]) -- makes packets longer with zeros
 *
 * Packets shorter than LENGTH get zeros at the end up to it; without LENGTH, up to the length that they had on the wire.
 *
 * Click's keyword ZERO is left out: bytes are always zero. See also: Truncate.
 */
#include <netvm.h>

ELEMENT(Pad, "1/1", "a/a");
PARAM(u32, least_length, "LENGTH", OPTIONAL(0));
PARAM(bool, length_given, "LENGTH", GIVEN);

void packet(int port)
{
    u32 least = length_given ? least_length : wire_length();

    if (packet_length() < least)
        packet_put(least - packet_length());
    emit(0);
}
