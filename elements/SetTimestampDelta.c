/*
 * SetTimestampDelta([keyword TYPE]) -- sets packets' arrival time to what has passed since another time
 *
 *   TYPE  RANGE: since the first packet came, which is the default; NOW: up to now, which is 0, as the clock of a program is that of its packets; FIRST: since
 *         the annotation first_timestamp
 *
 * Packets without a time, which is 0, keep it. A time before the other one becomes 0.
 *
 * Handlers: first (read), the time of the first packet; reset (write), the next packet is the first.
 *
 * See also: SetTimestamp, TimeFilter.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetTimestampDelta, "1/1", "a/a");
PARAM(string, type, "TYPE", KEYWORD("RANGE"));
REQUIRE(text_is(type, "RANGE") || text_is(type, "NOW") || text_is(type, "FIRST"), "TYPE is not RANGE, NOW or FIRST");

static u64 first;

void packet(int port)
{
    u64 since = now();

    if (now() == 0)
        emit(0);
    if (first == 0)
        first = now();
    if (text_is(type, "RANGE"))
        since = first;
    else if (text_is(type, "FIRST"))
        since = info(first_timestamp);
    set_time(now() > since ? now() - since : 0);
    emit(0);
}

static void print_first(void)
{
    print_time(first);
}

static void reset(void)
{
    first = 0;
}

READ_CALL(first, text, print_first);
WRITE_CALL(reset, none, reset);
