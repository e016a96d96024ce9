/*
 * RatedSplitter(RATE, keywords BURST_DURATION, BURST_SIZE) -- lets so many packets a second go one way
 *
 * Up to RATE packets a second leave by output 0, all others by output 1, or are dropped. A token bucket decides: each packet takes a token, RATE tokens a second come
 * in, and it holds at most BURST_SIZE tokens, or those of BURST_DURATION (20 ms by default), at least one. It is full at first. Time is the
 * packets'.
 *
 * Handlers: rate (read, write), RATE; the bucket is full again then.
 *
 * See also: Meter, Counter.
 */
#include <netvm.h>

ELEMENT(RatedSplitter, "1/1-2", "h/h");
PARAM(u32, rate, "RATE", REQUIRED);
PARAM_AS(SECONDS, u64, burst_duration, "BURST_DURATION", KEYWORD(20000000));
PARAM(u32, burst_size, "BURST_SIZE", KEYWORD(0));

enum { SECOND = 1000000000 };

/* Billionths of tokens; the time up to which they have come in. */
static u64 credit, filled_until;
static u32 current_rate;

static u64 capacity(void)
{
    u64 tokens = burst_size != 0 ? burst_size : burst_duration * current_rate / SECOND;

    return (tokens > 0 ? tokens : 1) * SECOND;
}

void init(void)
{
    current_rate = rate;
    credit = capacity();
}

static void fill(void)
{
    u64 time = now(), elapsed = time > filled_until ? time - filled_until : 0;

    filled_until = time;
    if (current_rate == 0)
        return;
    if (elapsed >= (capacity() - credit) / current_rate + 1)
        credit = capacity();
    else
        credit += elapsed * current_rate;
}

void push(int port)
{
    fill();
    if (credit < SECOND)
        emit(1);
    credit -= SECOND;
    emit(0);
}

static void set_rate(u32 wanted)
{
    current_rate = wanted;
    credit = capacity();
}

READ(rate, u32, current_rate);
WRITE_CALL(rate, u32, set_rate);
