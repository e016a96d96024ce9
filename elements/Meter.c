/*
 * Meter(RATE, ..., RATE) -- sorts packets by how many come
 *
 * The rate of arrival, in packets a second, is a moving average over packet time. While it is below the first RATE, packets leave by output 0, from there to
 * the second by output 1, and so on; from the last RATE on they leave by the last output, whose number is that of the rates. Each RATE is above the
 * one before.
 *
 * Example: all packets are dropped while more than 10,000 come a second:
 *
 *     m :: Meter(10000);  m[0] -> ...;  m[1] -> Discard;
 *
 * Handlers: rate (read), packets a second lately; meters (read), the RATEs, one a line.
 *
 * See also: Counter.
 */
#include <netvm.h>
#include "rate.h"

ELEMENT(Meter, "1/2-", "h/h");
CONFIG(RISING, limits);

static struct rate arrivals;

static u64 rate_now(void)
{
    return rate_per_second(&arrivals);
}

void push(int port)
{
    u64 rate_before;
    u32 output = 0;

    rate_add(&arrivals, 1);
    rate_before = rate_now();
    while (output < limits_count && rate_before >= limits[output])
        output += 1;
    emit((int) output);
}

static void print_meters(void)
{
    for (u32 i = 0; i < limits_count; i++) {
        print_uint(limits[i]);
        print("\n");
    }
}

READ_CALL(rate, u64, rate_now);
READ_CALL(meters, text, print_meters);
