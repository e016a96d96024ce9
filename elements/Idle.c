/*
 * Idle -- never sends a packet
 *
 * Packets that come in are dropped. Any number of inputs and outputs; it keeps ports busy that must be connected and should do nothing.
 *
 * See also: Discard.
 */
#include <netvm.h>

ELEMENT(Idle, "-/-", "a/a");
ELEMENT_FLOW("x/y");

enum { IDLE };

void packet(int port)
{
    drop(IDLE);
}
