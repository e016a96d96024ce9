/*
 * Pause(TIME, LATER) -- lets packets go on, and makes one with their number when none has come for TIME; LATER behind the first another one
 *
 * Each packet sets the timer anew; every fifth switches the second one off.
 */
#include <netvm.h>

ELEMENT(Pause, "1/1", "h/h");
PARAM_AS(SECONDS, u64, time, "TIME", REQUIRED);
PARAM_AS(SECONDS, u64, later, "LATER", REQUIRED);

static u32 packets, pauses;

void packet(int port)
{
    packets += 1;
    timer_set(0, now() + time);
    if (packets % 5 == 0)
        timer_set(1, 0);
    emit(0);
}

void timer(int n)
{
    pauses += 1;
    if (n == 0)
        timer_set(1, now() + later);
    packet_create(60);
    *header(be32, 0) = htonl(packets);
    *header(be32, 4) = htonl(pauses);
    *header(u8, 8) = (u8) n;
    emit(0);
}

READ(pauses, u32, pauses);
