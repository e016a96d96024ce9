/*
 * Resize([HEAD, TAIL]) -- makes packets longer or shorter at both ends
 *
 * HEAD bytes are put before the packet, first those that were taken off there, then zeros; and TAIL zeros behind it. Negative numbers take bytes away, as many as
 * there are.
 *
 * Handlers: head, tail (read, write), the arguments.
 *
 * See also: Strip, Unstrip, Truncate, Pad.
 */
#include <netvm.h>

ELEMENT(Resize, "1/1", "a/a");
PARAM(i32, head, "HEAD", OPTIONAL(0));
PARAM(i32, tail, "TAIL", OPTIONAL(0));

static i32 current_head, current_tail;

void init(void)
{
    current_head = head;
    current_tail = tail;
}

static u32 at_most_all(i32 bytes)
{
    return (u32) bytes < packet_length() ? (u32) bytes : packet_length();
}

static void grow_head(u32 bytes)
{
    u32 taken = packet_moved() > 0 ? (u32) packet_moved() : 0;
    u32 back = bytes < taken ? bytes : taken;

    packet_unpull(back);
    packet_push(bytes - back);
}

void packet(int port)
{
    if (current_head > 0)
        grow_head((u32) current_head);
    if (current_head < 0)
        packet_pull(at_most_all(-current_head));
    if (current_tail > 0)
        packet_put((u32) current_tail);
    if (current_tail < 0)
        packet_trim(at_most_all(-current_tail));
    emit(0);
}

READ(head, i32, current_head);
WRITE(head, i32, current_head);
READ(tail, i32, current_tail);
WRITE(tail, i32, current_tail);
