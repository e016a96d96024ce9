/*
 * Unstrip(LENGTH) -- brings back bytes that Strip took off the head
 *
 * The LENGTH bytes before the packet's head are part of it again. If there are fewer, or if something else was written there, the packet is
 * dropped (a trap).
 *
 * Example: an Ethernet header is off while the IP part is looked at: `Strip(14) -> ... -> Unstrip(14)`.
 *
 * See also: Strip, EtherEncap.
 */
#include <netvm.h>

ELEMENT(Unstrip, "1/1", "a/a");
PARAM(u32, nbytes, "LENGTH", REQUIRED);

void packet(int port)
{
    packet_unpull(nbytes);
    emit(0);
}
