/*
 * Search(PATTERN [, keywords STRIP_AFTER, SET_ANNO]) -- takes off what comes before a text
 *
 * The bytes up to the first PATTERN in the packet, and PATTERN itself, are taken off the head; how many, is added to an annotation, and UnstripAnno brings them back. Packets
 * without PATTERN leave by output 1, unchanged, and are dropped if it is not connected.
 *
 *   STRIP_AFTER  false: the packet begins with PATTERN
 *   SET_ANNO     false: the annotation stays
 *
 * Example: what HTTP carries: `Search("\r\n\r\n")`
 *
 * In FastClick the annotation can be chosen; that is left out.
 *
 * See also: UnstripAnno, Strip, StringSwitch. Source: the manual of FastClick's element.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(Search, "1/1-2", "h/h");
PARAM(string, pattern, "PATTERN", REQUIRED);
PARAM(bool, strips_pattern, "STRIP_AFTER", KEYWORD(true));
PARAM(bool, sets_anno, "SET_ANNO", KEYWORD(true));
REQUIRE(!text_is(pattern, ""), "PATTERN is empty");
STRINGS(wanted, pattern);
INFO(u16, taken_off);

enum { NOT_FOUND };

/* Where the first PATTERN ends: the fewest bytes of the head that have one. */
static u32 end_of_first(void)
{
    u32 low = 1, high = packet_length();

    while (low < high) {
        u32 middle = (low + high) / 2;

        if (strings_find(wanted, 0, middle) >= 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Where it begins: the last place before its end from which it is found. */
static u32 start_of(u32 end)
{
    u32 low = 0, high = end - 1;

    while (low < high) {
        u32 middle = (low + high + 1) / 2;

        if (strings_find(wanted, middle, end - middle) >= 0)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void push(int port)
{
    u32 length;

    if (strings_find(wanted, 0, packet_length()) < 0) {
        if (NOUTPUTS > 1)
            emit(1);
        drop(NOT_FOUND);
    }
    length = end_of_first();
    if (!strips_pattern)
        length = start_of(length);
    packet_pull(length);
    if (sets_anno)
        info(taken_off) += (u16) length;
    emit(0);
}
