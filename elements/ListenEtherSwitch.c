/*
 * ListenEtherSwitch([keywords TIMEOUT, CAPACITY]) -- learning Ethernet switch with an output that hears everything
 *
 * An EtherSwitch whose last output has no input: it gets a copy of every frame, or the frame itself if it is for the LAN that it came from.
 *
 * TIMEOUT, CAPACITY and handlers are those of EtherSwitch.
 *
 * See also: EtherSwitch.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ListenEtherSwitch, "-/=+", "h/h");
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM(u32, capacity, "CAPACITY", KEYWORD(8192));

#include "stations.h"

void push(int port)
{
    int known = learn_and_find(port), listener = NOUTPUTS - 1;

    if (known == port)
        emit(listener);
    if (known >= 0) {
        clone(listener);
        emit(known);
    }
    for (int i = 0; i < listener; i++)
        if (i != port)
            clone(i);
    emit(listener);
}
