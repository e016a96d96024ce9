/*
 * meter.h -- meters that colour packets: one rate and two bursts (RFC 2697), or two rates with a burst each (RFC 2698)
 *
 * A meter is two buckets of tokens, which are full at first; a struct of zeros is one that has seen no packet, so that an entry of a table can be one as it is.
 * Rates are bytes a second, bursts bytes; time is the packets'. Both have a color-blind mode, in which every packet comes in green, and a
 * color-aware one. Tokens are counted in billionths, so that none is lost between packets.
 */
#pragma once

enum color { GREEN, YELLOW, RED };
enum { METER_SECOND = 1000000000 };

struct meter { u64 first, second, last; };

/* What comes in at that rate, at most so much. */
static inline u64 meter_earned(u64 elapsed, u64 rate, u64 room)
{
    if (rate == 0)
        return 0;
    return elapsed > room / rate ? room : elapsed * rate;
}

/* The time since the last packet; the first finds both buckets full. */
static inline u64 meter_elapsed(struct meter *meter, u64 first_burst, u64 second_burst)
{
    u64 time = now(), elapsed = meter->last != 0 && time > meter->last ? time - meter->last : 0;

    if (meter->last == 0) {
        meter->first = first_burst * METER_SECOND;
        meter->second = second_burst * METER_SECOND;
    }
    if (time > meter->last)
        meter->last = time;
    return elapsed;
}

/* RFC 2697: committed information rate, committed and excess burst. What the first bucket has no room for goes into the second. */
static inline u32 meter_one_rate(struct meter *meter, u64 rate, u64 committed, u64 excess, u32 bytes, u32 color)
{
    u64 elapsed = meter_elapsed(meter, committed, excess), wanted = (u64) bytes * METER_SECOND;
    u64 room = committed * METER_SECOND - meter->first, more = excess * METER_SECOND - meter->second;
    u64 earned = meter_earned(elapsed, rate, room + more);

    meter->first += earned < room ? earned : room;
    meter->second += earned < room ? 0 : earned - room;
    if (color == GREEN && meter->first >= wanted) {
        meter->first -= wanted;
        return GREEN;
    }
    if (color != RED && meter->second >= wanted) {
        meter->second -= wanted;
        return YELLOW;
    }
    return RED;
}

/* RFC 2698: peak and committed information rates, each with its burst. */
static inline u32 meter_two_rates(struct meter *meter, u64 rate, u64 burst, u64 peak_rate, u64 peak_burst, u32 bytes, u32 color)
{
    u64 elapsed = meter_elapsed(meter, burst, peak_burst), wanted = (u64) bytes * METER_SECOND;

    meter->first += meter_earned(elapsed, rate, burst * METER_SECOND - meter->first);
    meter->second += meter_earned(elapsed, peak_rate, peak_burst * METER_SECOND - meter->second);
    if (color == RED || meter->second < wanted)
        return RED;
    meter->second -= wanted;
    if (color == YELLOW || meter->first < wanted)
        return YELLOW;
    meter->first -= wanted;
    return GREEN;
}
