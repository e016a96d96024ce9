/*
 * average.h -- the body of AverageCounter and AverageCounterMP
 *
 * The class has declared `ignored`, seconds at the beginning whose packets are not counted.
 */
/* Click counts time in ticks of a millisecond. */
enum { TICK_NS = 1000000, TICKS = 1000 };

static u64 count, byte_count, first, last;

void packet(int port)
{
    u64 tick = now() / TICK_NS;

    if (first == 0)
        first = tick;
    if (tick - first >= (u64) ignored * TICKS) {
        count += 1;
        byte_count += packet_length();
    }
    last = tick;
    emit(0);
}

static u64 per_second(u64 units)
{
    u64 ignored_ticks = (u64) ignored * TICKS, ticks = last - first > ignored_ticks ? last - first - ignored_ticks : 1;

    return units * TICKS / ticks;
}

static u64 rate(void)
{
    return per_second(count);
}

static u64 byte_rate(void)
{
    return per_second(byte_count);
}

static void reset(void)
{
    count = 0;
    byte_count = 0;
    first = 0;
    last = 0;
}

READ(count, u64, count);
READ(byte_count, u64, byte_count);
READ_CALL(rate, u64, rate);
READ_CALL(byte_rate, u64, byte_rate);
WRITE_CALL(reset, none, reset);
