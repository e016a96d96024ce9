/*
 * rate_output.h -- what Meter and BandwidthMeter share: which output the rate of arrival chooses, and the handlers
 *
 * The class has included rate.h and has the array `limits`, whose numbers rise.
 */

static struct rate arrivals;

static u64 rate_now(void)
{
    return rate_per_second(&arrivals);
}

/* The output, after so many units have come. */
static int rate_output(u32 units)
{
    u64 rate_before;
    u32 output = 0;

    rate_add(&arrivals, units);
    rate_before = rate_now();
    while (output < limits_count && rate_before >= limits[output])
        output += 1;
    return (int) output;
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
