/*
 * BandwidthMeter(RATE, ..., RATE) -- sorts packets by how many bytes come
 *
 * As Meter, for bytes a second: a RATE is a bandwidth such as `384 kbps` or `20kBps`, without unit bytes a second. While less than the first RATE comes, packets leave by output 0, from there to the second by output 1, and
 * so on; from the last RATE on they leave by the last output. Each RATE is above the one before.
 *
 * Example: all packets are dropped while more than 20,000 bytes come a second:
 *
 *     m :: BandwidthMeter(20kBps);  m[0] -> ...;  m[1] -> Discard;
 *
 * Handlers: rate (read), bytes a second lately; meters (read), the RATEs in bytes a second, one a line.
 *
 * See also: Meter, BandwidthShaper, BandwidthRatedSplitter.
 */
#include <netvm.h>
#include "rate.h"

ELEMENT(BandwidthMeter, "1/2-", "h/h");
CONFIG(RISING_BANDWIDTHS, limits);

#include "rate_output.h"

void push(int port)
{
    emit(rate_output(packet_length()));
}
