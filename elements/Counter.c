/*
 * Counter([keywords COUNT_CALL, BYTE_COUNT_CALL]) -- counts packets and bytes and measures their rate
 *
 * Packets leave unchanged.
 *
 *   COUNT_CALL        N HANDLER [TEXT]: that handler is written when the count reaches N, once until it is reset
 *   BYTE_COUNT_CALL   the same of bytes
 *
 * With either it is a CallingCounter, which the runtime knows itself: that one has no rates, and the handlers count_call and byte_count_call (write).
 *
 * Handlers:
 *   count, byte_count (read): packets and bytes since the start or the last reset
 *   rate, byte_rate, bit_rate (read): packets, bytes, bits a second lately, as a moving average over packet time
 *   reset, reset_counts (write): all of these become 0
 *
 * See also: CallingCounter, Meter.
 */
#include <netvm.h>
#include "rate.h"

ELEMENT(Counter, "1/1", "a/a");

static u64 count;
static u64 byte_count;
static struct rate packet_rate, bytes_rate;

void packet(int port)
{
    count += 1;
    byte_count += packet_length();
    rate_add(&packet_rate, 1);
    rate_add(&bytes_rate, packet_length());
    emit(0);
}

static u64 rate_now(void)
{
    return rate_per_second(&packet_rate);
}

static u64 byte_rate_now(void)
{
    return rate_per_second(&bytes_rate);
}

static u64 bit_rate_now(void)
{
    return rate_per_second(&bytes_rate) * 8;
}

static void reset_counts(void)
{
    count = 0;
    byte_count = 0;
    packet_rate.average = 0;
    packet_rate.counted = 0;
    bytes_rate.average = 0;
    bytes_rate.counted = 0;
}

READ(count, u64, count);
READ(byte_count, u64, byte_count);
READ_CALL(rate, u64, rate_now);
READ_CALL(byte_rate, u64, byte_rate_now);
READ_CALL(bit_rate, u64, bit_rate_now);
WRITE_CALL(reset, none, reset_counts);
WRITE_CALL(reset_counts, none, reset_counts);
