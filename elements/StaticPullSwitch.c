/*
 * StaticPullSwitch(INPUT) -- pulls from one of its inputs
 *
 * With a negative INPUT, or one that is not there, there is nothing. Unlike with PullSwitch it cannot be changed.
 *
 * See also: PullSwitch, StaticSwitch.
 */
#include <netvm.h>

ELEMENT(StaticPullSwitch, "-/1", "l/l");
PARAM(int, input, "INPUT", REQUIRED);

void pull(int port)
{
    if (packet_ask(input))
        emit(port);
}
