/*
 * BandwidthRatedSplitter(RATE, keywords BURST_DURATION, BURST_BYTES) -- lets so many bytes a second go one way
 *
 * Packets of up to RATE bytes a second leave by output 0, all others by output 1, or are dropped where that is not connected.
 * A token bucket decides: a packet takes a token for each of its bytes, RATE tokens a second come in, and it holds at most
 * BURST_BYTES tokens, or those of BURST_DURATION (20 ms by default), at least one. A packet passes while there is a token, and
 * takes what there is if it is longer. The bucket is full at first. Time is the packets'.
 *
 * Handlers: rate (read, write), RATE in bytes a second; the bucket is full again then.
 *
 * See also: RatedSplitter, Meter.
 */
#include <netvm.h>

ELEMENT(BandwidthRatedSplitter, "1/1-2", "h/h");
PARAM_AS(BANDWIDTH, u32, rate, "RATE", REQUIRED);
PARAM_AS(SECONDS, u64, burst_duration, "BURST_DURATION", KEYWORD(20000000));
PARAM(u32, burst_size, "BURST_BYTES", KEYWORD(0));

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
    u64 price;

    fill();
    if (credit < SECOND)
        emit(1);
    price = (u64) packet_length() * SECOND;
    credit = credit > price ? credit - price : 0;
    emit(0);
}

static void set_rate(u32 wanted)
{
    current_rate = wanted;
    credit = capacity();
}

READ(rate, u32, current_rate);
WRITE_CALL(rate, u32, set_rate);
