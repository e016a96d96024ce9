/*
 * Gate(LIMIT, PERIOD) -- lets so many packets of each period go on, the others by output 1 if there is one
 *
 * A period begins with a packet. Other packets are counted without a look at the timer.
 */
#include <netvm.h>

ELEMENT(Gate, "1/1-2", "h/h");
PARAM(u32, limit, "LIMIT", REQUIRED);
PARAM_AS(SECONDS, u64, period, "PERIOD", REQUIRED);

static u32 passed, periods;

void packet(int port)
{
    if (passed == 0)
        timer_set(0, now() + period);
    passed += 1;
    if (passed <= limit)
        emit(0);
    if (NOUTPUTS > 1)
        emit(1);
}

void timer(int n)
{
    passed = 0;
    periods += 1;
}

READ(periods, u32, periods);
