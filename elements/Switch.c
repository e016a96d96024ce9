/*
 * Switch([OUTPUT]) -- sends all packets to one output, which can be changed
 *
 * Packets leave by OUTPUT, 0 by default. A negative OUTPUT drops them.
 *
 * Handlers: switch (read/write), the output.
 *
 * See also: PaintSwitch, RoundRobinSwitch, HashSwitch.
 */
#include <netvm.h>

ELEMENT(Switch, "1/-", "h/h");
PARAM(int, output, "OUTPUT", OPTIONAL(0));
REQUIRE(output < NOUTPUTS, "there is no such OUTPUT");

enum { SWITCHED_OFF };

static int current;

void init(void)
{
    current = output;
}

void push(int port)
{
    if (current < 0 || current >= NOUTPUTS)
        drop(SWITCHED_OFF);
    emit(current);
}

READ(switch, int, current);
WRITE(switch, int, current);
