/*
 * ColorMeter(CIR, CBS, EBS, keywords PIR, PBS, COLOR) -- sorts packets by whether they keep to an agreed rate
 *
 * Packets that keep to it are green and leave by output 0, those that exceed it by little are yellow and leave by output 1, all others are red and leave by
 * output 2. Without PIR that is the single rate three color marker: CIR bytes a second are agreed, with bursts of CBS bytes; what was not used of that allows
 * EBS bytes to be yellow. With PIR it is the two rate one: PIR bytes a second, with bursts of PBS, are not red, and EBS has no part. Rates are numbers of bytes or have
 * units (`1Mbps`). The length is that of the packet as it comes in.
 *
 *   PIR, PBS   peak rate and burst
 *   COLOR      an annotation that has the color that packets come with (0 green, 1 yellow, else red) and gets the one they leave with; by default all come green
 *
 * Handlers: green, yellow, red (read), how many packets were that.
 *
 * Example: 10 Mbit/s are let through, 2 kB more now and then at low priority:
 *
 *     m :: ColorMeter(10Mbps, 15000, 2000);  m[0] -> out;  m[1] -> SetIPDSCP(8) -> out;  m[2] -> Discard;
 *
 * See also: Meter, RatedSplitter. Source: RFC 2697, RFC 2698.
 */
#include <netvm.h>
#include "click.h"
#include "meter.h"

ELEMENT(ColorMeter, "1/3", "h/h");
PARAM_AS(BANDWIDTH, u32, committed_rate, "CIR", REQUIRED);
PARAM(u32, committed_burst, "CBS", REQUIRED);
PARAM(u32, excess_burst, "EBS", OPTIONAL(0));
PARAM_AS(BANDWIDTH, u32, peak_rate, "PIR", KEYWORD(0));
PARAM(bool, has_peak_rate, "PIR", GIVEN);
PARAM(u32, peak_burst, "PBS", KEYWORD(0));
PARAM_AS(ANNO, int, color_anno, "COLOR", KEYWORD(-1));

static struct meter agreed;
static u64 green, yellow, red;

static u32 measured(u32 color)
{
    if (has_peak_rate)
        return meter_two_rates(&agreed, committed_rate, committed_burst, peak_rate, peak_burst, packet_length(), color);
    return meter_one_rate(&agreed, committed_rate, committed_burst, excess_burst, packet_length(), color);
}

void push(int port)
{
    u32 color = measured(color_anno >= 0 ? annotation(color_anno) : GREEN);

    if (color_anno >= 0)
        set_annotation(color_anno, (u8) color);
    if (color == GREEN)
        green += 1;
    else if (color == YELLOW)
        yellow += 1;
    else
        red += 1;
    emit((int) color);
}

READ(green, u64, green);
READ(yellow, u64, yellow);
READ(red, u64, red);
