/*
 * InputSwitch([INPUT]) -- lets packets pass that come in by one input, which can be changed
 *
 * Packets of other inputs than INPUT, 0 by default, are dropped; with a negative INPUT all are.
 *
 * Handlers: switch (read, write), the input.
 *
 * See also: Switch, PullSwitch, Bypass.
 */
#include <netvm.h>

ELEMENT(InputSwitch, "-/1", "h/h");
PARAM(int, input, "INPUT", OPTIONAL(0));
REQUIRE(input < NINPUTS, "there is no such INPUT");

enum { SWITCHED_OFF };

static int current;

void init(void)
{
    current = input;
}

void push(int port)
{
    if (port != current)
        drop(SWITCHED_OFF);
    emit(0);
}

READ(switch, int, current);
WRITE(switch, int, current);
