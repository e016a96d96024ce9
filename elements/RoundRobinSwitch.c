/*
 * RoundRobinSwitch([keyword SPLITBATCH]) -- sends packets to its outputs in turn
 *
 * The first packet leaves by output 0, the next by output 1, and after the last output comes output 0 again.
 *
 *   SPLITBATCH  taken, and changes nothing: whatever comes together, one packet after the other is sent
 *
 * See also: Switch, HashSwitch, PaintSwitch.
 */
#include <netvm.h>

ELEMENT(RoundRobinSwitch, "1/1-", "h/h");
PARAM(bool, splits_bursts, "SPLITBATCH", KEYWORD(true));

static int next;

void push(int port)
{
    int chosen = next;

    next = chosen + 1 < NOUTPUTS ? chosen + 1 : 0;
    emit(chosen);
}
