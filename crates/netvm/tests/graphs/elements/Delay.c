/*
 * Delay(TIME, keyword MOST) -- lets packets go on TIME after the first one that waits came, all at once
 *
 * No more than MOST wait, 100 if that is not said; others are dropped.
 */
#include <netvm.h>

ELEMENT(Delay, "1/1", "h/h");
PARAM_AS(SECONDS, u64, time, "TIME", REQUIRED);
PARAM(u32, most, "MOST", KEYWORD(100));

enum { FULL };

static u32 waiting;

void packet(int port)
{
    if (waiting >= most)
        drop(FULL);
    if (waiting == 0)
        timer_set(0, now() + time);
    if (packet_hold(0))
        waiting += 1;
}

void timer(int n)
{
    for (; waiting > 1 && packet_take(0); waiting -= 1)
        clone(0);
    waiting = 0;
    if (packet_take(0))
        emit(0);
}

READ(length, u32, waiting);
