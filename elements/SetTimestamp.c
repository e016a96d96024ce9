/*
 * SetTimestamp([TIMESTAMP]) -- sets packets' arrival time
 *
 * TIMESTAMP is in seconds since 1970. Without it packets keep their time: the clock of a program is that of its packets.
 *
 * The keyword FIRST of Click is left out.
 */
#include <netvm.h>

ELEMENT(SetTimestamp, "1/1", "a/a");
PARAM_AS(SECONDS, u64, timestamp, "TIMESTAMP", OPTIONAL(0));
PARAM(bool, timestamp_given, "TIMESTAMP", GIVEN);

void packet(int port)
{
    if (timestamp_given)
        set_time(timestamp);
    emit(0);
}
