/*
 * AverageCounter([IGNORE]) -- counts packets and bytes and measures their average rate
 *
 * The rate is that between the first packet and the last one. With IGNORE the packets of the first IGNORE seconds are not counted, and these seconds are not
 * part of the time. Packets leave unchanged.
 *
 * Handlers: count, byte_count (read); rate, byte_rate (read), packets and bytes a second, whole numbers; reset (write), all begins anew.
 *
 * See also: Counter.
 */
#include <netvm.h>

ELEMENT(AverageCounter, "1/1", "a/a");
PARAM(u32, ignored, "IGNORE", OPTIONAL(0));

#include "average.h"
