/*
 * SimplePullSwitch([INPUT]) -- pulls from one of its inputs, which can be changed
 *
 * The same as PullSwitch: what is asked for comes from INPUT, 0 by default. With a negative INPUT there is nothing.
 *
 * Handlers: switch (read/write), the input.
 *
 * See also: PullSwitch.
 */
#include <netvm.h>

ELEMENT(SimplePullSwitch, "-/1", "l/l");
PARAM(int, input, "INPUT", OPTIONAL(0));

static int current;

void init(void)
{
    current = input;
}

void pull(int port)
{
    if (packet_ask(current))
        emit(port);
}

READ(switch, int, current);
WRITE(switch, int, current);
