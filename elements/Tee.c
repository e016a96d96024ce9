/*
 * Tee([N]) -- sends a copy of each packet to every output
 *
 * N says how many outputs there are; as many must be connected.
 *
 * See also: PullTee, PaintTee.
 */
#include <netvm.h>

ELEMENT(Tee, "1/1-", "h/h");
PARAM(u32, expected, "N", OPTIONAL(0));
PARAM(bool, is_expected, "N", GIVEN);
REQUIRE(!is_expected || expected == (u32) NOUTPUTS, "N is not the number of outputs that are connected");

void push(int port)
{
    for (int i = 0; i < NOUTPUTS - 1; i++)
        clone(i);
    emit(NOUTPUTS - 1);
}
