/*
 * StoreTimestamp([OFFSET, keyword TAIL]) -- puts packets' arrival time into packets
 *
 * Eight bytes at OFFSET, or with TAIL true behind the last byte: nanoseconds since 1970, the least significant byte first, as Click on x86-64 has it in memory. A packet that ends before OFFSET + 8 becomes
 * longer; bytes between are 0. Exactly one of OFFSET and TAIL is given.
 *
 * See also: SetTimestamp, StoreData.
 */
#include <netvm.h>

ELEMENT(StoreTimestamp, "1/1", "a/a");
PARAM(u16, offset, "OFFSET", OPTIONAL(0));
PARAM(bool, offset_given, "OFFSET", GIVEN);
PARAM(bool, at_tail, "TAIL", KEYWORD(false));
REQUIRE(offset_given != at_tail, "exactly one of OFFSET and TAIL is wanted");

enum { BYTES = 8 };

void packet(int port)
{
    u32 place = at_tail ? packet_length() : offset;

    if (packet_length() < place + BYTES)
        packet_put(place + BYTES - packet_length());
    for (u32 i = 0; i < BYTES; i++)
        *header(u8, place + i) = (u8) (now() >> 8 * i);
    emit(0);
}
