/*
 * DRRSched([QUANTUM]) -- pulls from its inputs in turn, as many bytes from each
 *
 * Deficit round robin (Shreedhar and Varghese, 1995). Each time that an input has its turn it may give QUANTUM bytes, 500 by default, and those that it did not use
 * the times before; one that has nothing loses them. A packet that is too long for that is kept here until its input's next turn.
 *
 * See also: RoundRobinSched, StrideSched, PrioSched.
 */
#include <netvm.h>

ELEMENT(DRRSched, "1-256/1", "l/l");
PARAM(u32, quantum, "QUANTUM", OPTIONAL(500));

/* Bytes that each input may give now. */
static u32 deficit[256];
static int next;

void pull(int port)
{
    /* Inputs in a row that have nothing. */
    int empty = 0;

    while (empty < NINPUTS) {
        if (!packet_take(next) && !packet_ask(next)) {
            deficit[next] = 0;
            empty += 1;
        } else if (packet_length() <= deficit[next]) {
            deficit[next] -= packet_length();
            emit(port);
        } else {
            packet_hold(next);
            empty = 0;
        }
        next = (next + 1) % NINPUTS;
        deficit[next] += quantum > 0 ? quantum : 1;
    }
}
