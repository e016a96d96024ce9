/*
 * Pad([LENGTH, keyword ZERO]) -- makes packets longer with zeros
 *
 * Packets shorter than LENGTH get zeros at the end up to it; without LENGTH, up to the length that they have on the wire,
 * which captures record. Then nothing of them is missing. ZERO false does not
 * say what the bytes are; they are zero nevertheless.
 *
 * See also: Truncate.
 */
#include <netvm.h>

ELEMENT(Pad, "1/1", "a/a");
PARAM(u32, least_length, "LENGTH", OPTIONAL(0));
PARAM(bool, length_given, "LENGTH", GIVEN);
PARAM(bool, zeros_asked_for, "ZERO", KEYWORD(true));

void packet(int port)
{
    u32 least = length_given ? least_length : wire_length();

    if (packet_length() < least)
        packet_put(least - packet_length());
    set_wire_length(packet_length());
    emit(0);
}
