/*
 * ProtocolCount -- counts flows, packets and bytes of each application protocol, and their rates
 *
 * For packets from AppClassifier, whose paint annotation names the protocol; they leave unchanged. When a flow's protocol becomes known, what came of it before is counted to
 * that as well.
 *
 * Handlers: table (read): a line for each protocol that was seen: name, flows, packets, bytes, packets a second, bits a second. Rates are those at
 * the last packet, averages as those of Counter.
 *
 * See also: AppClassifier, Counter.
 */
#include <netvm.h>
#include "click.h"
#include "rate.h"
#include "protocols.h"

ELEMENT(ProtocolCount, "1/1", "a/a");

struct total { u64 flows; u64 packets; u64 bytes; struct rate packet_rate; struct rate byte_rate; };
static struct total totals[PROTOCOLS];
static u64 last;

void packet(int port)
{
    u8 protocol = info(paint) < PROTOCOLS ? info(paint) : UNKNOWN;

    if (info(decides)) {
        totals[protocol].flows += 1;
        totals[protocol].packets += info(earlier_packets);
        totals[protocol].bytes += info(earlier_bytes);
        totals[UNDECIDED].packets -= info(earlier_packets);
        totals[UNDECIDED].bytes -= info(earlier_bytes);
    }
    totals[protocol].packets += 1;
    totals[protocol].bytes += wire_length();
    last = now();
    rate_add(&totals[protocol].packet_rate, 1);
    rate_add(&totals[protocol].byte_rate, wire_length());
    emit(0);
}

/* How many units a second there were when the last packet came. */
static u64 rate_at_last(struct rate *rate)
{
    rate_advance_to(rate, last);
    return rate->average * EPOCHS_A_SECOND / RATE_SCALE;
}

static void print_total(u32 protocol)
{
    print_protocol(protocol);
    print(" ");
    print_uint(totals[protocol].flows);
    print(" ");
    print_uint(totals[protocol].packets);
    print(" ");
    print_uint(totals[protocol].bytes);
    print(" ");
    print_uint(rate_at_last(&totals[protocol].packet_rate));
    print(" ");
    print_uint(rate_at_last(&totals[protocol].byte_rate) * 8);
    print("\n");
}

static void print_totals(void)
{
    for (u32 protocol = 0; protocol < PROTOCOLS; protocol++)
        if (totals[protocol].packets > 0)
            print_total(protocol);
}

READ_CALL(table, text, print_totals);
