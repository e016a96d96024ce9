/*
 * CheckICMPHeader([keywords VERBOSE, DETAILS]) -- lets valid ICMP packets pass
 *
 * The IP header must be marked. The packet must be ICMP, long enough for its type, and its checksum right (RFC 792).
 * Valid packets leave by output 0; others by output 1 if there is one, and are dropped otherwise.
 *
 *   VERBOSE  true: a line is printed for each packet that is not valid
 *   DETAILS  accepted; the details are always there
 *
 * Handlers: drops (read), packets that were not valid; drop_details (read), how many for which reason.
 *
 * See also: CheckIPHeader, MarkIPHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(CheckICMPHeader, "1/1-2", "a/ah");
PARAM(bool, verbose, "VERBOSE", KEYWORD(false));
PARAM(bool, details, "DETAILS", KEYWORD(false));

enum fault { VALID, NOT_ICMP, BAD_LENGTH, BAD_CHECKSUM, FAULTS };

static u64 drops;
static u64 counts[FAULTS];

/* Times follow in timestamp messages. */
static u32 least_length(u8 type)
{
    return type == ICMP_TIMESTAMP || type == ICMP_TIMESTAMP_REPLY ? 20 : sizeof(struct icmp);
}

static enum fault check(void)
{
    const struct ip *ip = header(struct ip, network_offset());
    u32 offset = network_offset() + ip_header_length(ip), length = ntohs(ip->length) - ip_header_length(ip);
    const struct icmp *icmp;

    if (ip->protocol != PROTOCOL_ICMP)
        return NOT_ICMP;
    if (ntohs(ip->length) < ip_header_length(ip) + sizeof(struct icmp) || packet_length() < offset + length)
        return BAD_LENGTH;
    icmp = header(struct icmp, offset);
    if (length < least_length(icmp->type))
        return BAD_LENGTH;
    return checksum_ok(offset, length) ? VALID : BAD_CHECKSUM;
}

static void print_fault(enum fault fault)
{
    switch (fault) {
    case NOT_ICMP: print("not ICMP"); break;
    case BAD_LENGTH: print("bad ICMP length"); break;
    default: print("bad ICMP checksum"); break;
    }
}

static void count_fault(enum fault fault)
{
    drops += 1;
    counts[fault] += 1;
    if (verbose) {
        print("CheckICMPHeader: ");
        print_fault(fault);
        print("\n");
    }
}

void packet(int port)
{
    enum fault fault = check();

    if (fault == VALID)
        emit(0);
    count_fault(fault);
    if (NOUTPUTS > 1)
        emit(1);
    switch (fault) {
    case NOT_ICMP: drop(NOT_ICMP);
    case BAD_LENGTH: drop(BAD_LENGTH);
    default: drop(BAD_CHECKSUM);
    }
}

static void drop_details(void)
{
    for (u32 fault = NOT_ICMP; fault < FAULTS; fault++) {
        print_uint(counts[fault]);
        print(" ");
        print_fault(fault);
        print("\n");
    }
}

READ(drops, u64, drops);
READ_CALL(drop_details, text, drop_details);
