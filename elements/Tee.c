/*
 * Tee([N]) -- sends a copy of each packet to every output
 *
 * N says how many outputs are expected and is for readers only: there are as many as are connected.
 *
 * See also: PullTee, PaintTee.
 */
#include <netvm.h>

ELEMENT(Tee, "1/1-", "h/h");
PARAM(u32, expected, "N", OPTIONAL(0));

void push(int port)
{
    for (int i = 0; i < NOUTPUTS - 1; i++)
        clone(i);
    emit(NOUTPUTS - 1);
}
