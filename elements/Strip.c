/*
 * Strip(LENGTH) -- takes bytes off the head of packets
 *
 * The first LENGTH bytes go. A packet that is shorter is dropped (a trap). Positions of marked headers stay true, and Unstrip can bring the
 * bytes back.
 *
 * Example: an Ethernet header goes: `Strip(14)`.
 *
 * See also: Unstrip, StripToNetworkHeader, Truncate.
 */
#include <netvm.h>

ELEMENT(Strip, "1/1", "a/a");
PARAM(u32, nbytes, "LENGTH", REQUIRED);

void packet(int port)
{
    packet_pull(nbytes);
    emit(0);
}
