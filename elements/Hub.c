/*
 * Hub -- sends a copy of each packet to every output but its own
 *
 * A packet that came in on input N leaves by all outputs but N.
 *
 * See also: Tee, EtherSwitch.
 */
#include <netvm.h>

ELEMENT(Hub, "-/=", "h/h");
ELEMENT_FLOW("#/[^#]");

enum { NO_OTHER_PORT };

void push(int port)
{
    int last = port == NOUTPUTS - 1 ? NOUTPUTS - 2 : NOUTPUTS - 1;

    if (last < 0)
        drop(NO_OTHER_PORT);
    for (int i = 0; i < NOUTPUTS; i++)
        if (i != port && i != last)
            clone(i);
    emit(last);
}
