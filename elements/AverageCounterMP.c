/*
 * AverageCounterMP([IGNORE]) -- counts packets and bytes and measures their average rate, on several cores
 *
 * An AverageCounter: counts of several cores are summed here whatever the class.
 *
 * Arguments and handlers are those of AverageCounter. Source: the manual of FastClick's element.
 */
#include <netvm.h>

ELEMENT(AverageCounterMP, "1/1", "a/a");
PARAM(u32, ignored, "IGNORE", OPTIONAL(0));

#include "average.h"
