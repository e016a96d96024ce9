/*
 * EtherSwitch([keywords TIMEOUT, CAPACITY]) -- learning Ethernet switch
 *
 * Input and output of the same number belong to one LAN. The switch learns on which LAN a source address is. A frame to an address that it knows leaves by that
 * LAN's output, and is dropped if it came from there; a frame to any other address leaves by all outputs but its own LAN's.
 *
 * TIMEOUT is how long an address is known after its last frame, 300 seconds by default; with 0 nothing is learned. At most CAPACITY addresses (8,192) are
 * known at a time; frames to those that there was no room for leave by all outputs. Group addresses are never learned (IEEE 802.1D, 7.8).
 *
 * Handlers: table (read), lines ETH LAN of the addresses that are known; timeout (read, write) in seconds, above 0, unless TIMEOUT is 0; stations.count (read), how many are known.
 *
 * See also: EtherMirror.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(EtherSwitch, "2-/=", "h/h");
ELEMENT_FLOW("#/[^#]");
PARAM_AS(SECONDS, u64, timeout, "TIMEOUT", KEYWORD(300000000000));
PARAM(u32, capacity, "CAPACITY", KEYWORD(8192));

enum { SAME_LAN };

#include "stations.h"

void push(int port)
{
    int known = learn_and_find(port), last;

    if (known == port)
        drop(SAME_LAN);
    if (known >= 0)
        emit(known);
    last = port == NOUTPUTS - 1 ? NOUTPUTS - 2 : NOUTPUTS - 1;
    for (int i = 0; i < NOUTPUTS; i++)
        if (i != port && i != last)
            clone(i);
    emit(last);
}
