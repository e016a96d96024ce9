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
 * See also: BandwidthMeter, Counter.
 */
#include <netvm.h>
#include "rate.h"

ELEMENT(Meter, "1/2-", "h/h");
CONFIG(RISING, limits);

#include "rate_output.h"

void push(int port)
{
    emit(rate_output(1));
}
