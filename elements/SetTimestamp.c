/*
 * SetTimestamp([TIMESTAMP, keyword FIRST]) -- sets packets' arrival time
 *
 * TIMESTAMP is in seconds since 1970. Without it packets keep their time: the clock of a program is that of its packets.
 *
 *   FIRST  true: the annotation first_timestamp is set instead, without TIMESTAMP to the packet's own time; false by default
 *
 * See also: ToIPSummaryDump, which shows both.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetTimestamp, "1/1", "a/a");
PARAM_AS(SECONDS, u64, timestamp, "TIMESTAMP", OPTIONAL(0));
PARAM(bool, timestamp_given, "TIMESTAMP", GIVEN);
PARAM(bool, sets_first, "FIRST", KEYWORD(false));

void packet(int port)
{
    if (sets_first)
        info(first_timestamp) = timestamp_given ? timestamp : now();
    else if (timestamp_given)
        set_time(timestamp);
    emit(0);
}
