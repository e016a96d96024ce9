/*
 * rate.h -- how many units a second: an exponentially weighted moving average
 *
 * Units are counted in epochs of a millisecond of packet time; at the end of each the average moves by a sixteenth of the way to what was counted.
 * Epochs without packets count as well. The average has ten binary places.
 */
#pragma once

enum { EPOCH_NS = 1000000, EPOCHS_A_SECOND = 1000, RATE_SCALE = 1024, RATE_WEIGHT = 16 };

struct rate { u64 epoch; u64 counted; u64 average; };

/* What one finished epoch does to an average; a fall always reaches 0. */
static inline u64 rate_mix(u64 average, u64 counted)
{
    u64 sample = counted * RATE_SCALE;

    if (sample >= average)
        return average + (sample - average) / RATE_WEIGHT;
    return average - (average - sample + RATE_WEIGHT - 1) / RATE_WEIGHT;
}

/* Brings the average to that time. */
static inline void rate_advance_to(struct rate *rate, u64 time)
{
    u64 epoch = time / EPOCH_NS;

    if (rate->epoch == 0 || epoch < rate->epoch)
        rate->epoch = epoch;
    if (rate->epoch == epoch)
        return;
    rate->average = rate_mix(rate->average, rate->counted);
    rate->counted = 0;
    rate->epoch += 1;
    while (rate->epoch < epoch && rate->average != 0) {
        rate->average = rate_mix(rate->average, 0);
        rate->epoch += 1;
    }
    rate->epoch = epoch;
}

/* Brings the average to the present. */
static inline void rate_advance(struct rate *rate)
{
    rate_advance_to(rate, now());
}

static inline void rate_add(struct rate *rate, u64 units)
{
    rate_advance(rate);
    rate->counted += units;
}

static inline u64 rate_per_second(struct rate *rate)
{
    rate_advance(rate);
    return rate->average * EPOCHS_A_SECOND / RATE_SCALE;
}
