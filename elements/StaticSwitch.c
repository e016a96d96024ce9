/*
 * StaticSwitch(OUTPUT) -- sends all packets to one output
 *
 * A negative OUTPUT, or one that is not there, drops them. Unlike with Switch it cannot be changed, so that what is behind other outputs can be left out.
 *
 * See also: Switch.
 */
#include <netvm.h>

ELEMENT(StaticSwitch, "1/-", "h/h");
PARAM(int, output, "OUTPUT", REQUIRED);

enum { SWITCHED_OFF };

void push(int port)
{
    if (output < 0 || output >= NOUTPUTS)
        drop(SWITCHED_OFF);
    emit(output);
}
