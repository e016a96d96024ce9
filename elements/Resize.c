/*
 * Resize([HEAD, TAIL]) -- makes packets longer or shorter at both ends
 *
 * HEAD zero bytes are put before the packet and TAIL behind it; negative numbers take bytes away, as many as there are.
 *
 * See also: Strip, Unstrip, Truncate, Pad.
 */
#include <netvm.h>

ELEMENT(Resize, "1/1", "a/a");
PARAM(i32, head, "HEAD", OPTIONAL(0));
PARAM(i32, tail, "TAIL", OPTIONAL(0));

static u32 at_most_all(i32 bytes)
{
    return (u32) bytes < packet_length() ? (u32) bytes : packet_length();
}

void packet(int port)
{
    if (head > 0)
        packet_push((u32) head);
    if (head < 0)
        packet_pull(at_most_all(-head));
    if (tail > 0)
        packet_put((u32) tail);
    if (tail < 0)
        packet_trim(at_most_all(-tail));
    emit(0);
}
