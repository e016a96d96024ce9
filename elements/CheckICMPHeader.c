/*
 * CheckICMPHeader([keywords VERBOSE, DETAILS]) -- lets valid ICMP packets pass
 *
 * The IP header must be marked. The packet must be ICMP, of a length that its type has, and its checksum right (RFC 792): errors quote at least
 * an IP header and eight bytes, timestamps are 20 bytes, information requests 8.
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

#define TRANSPORT "ICMP"
#include "check_transport.h"

enum { LEAST_QUOTATION = sizeof(struct ip) + 8, TIMES = 12 };

static bool has_length(u8 type, u32 length)
{
    switch (type) {
    case ICMP_UNREACHABLE:
    case ICMP_SOURCE_QUENCH:
    case ICMP_REDIRECT:
    case ICMP_TIME_EXCEEDED:
    case ICMP_PARAMETER_PROBLEM: return length >= sizeof(struct icmp) + LEAST_QUOTATION;
    case ICMP_TIMESTAMP:
    case ICMP_TIMESTAMP_REPLY: return length == sizeof(struct icmp) + TIMES;
    case ICMP_INFO:
    case ICMP_INFO_REPLY: return length == sizeof(struct icmp);
    default: return true;
    }
}

static enum fault check(void)
{
    const struct ip *ip = header(struct ip, network_offset());
    u32 offset = network_offset() + ip_header_length(ip), length = ntohs(ip->length) - ip_header_length(ip);
    const struct icmp *icmp;

    if (ip->protocol != PROTOCOL_ICMP)
        return BAD_PROTOCOL;
    if (ntohs(ip->length) < ip_header_length(ip) + sizeof(struct icmp) || packet_length() < offset + length)
        return BAD_LENGTH;
    icmp = header(struct icmp, offset);
    if (!has_length(icmp->type, length))
        return BAD_LENGTH;
    return checksum_ok(offset, length) ? VALID : BAD_CHECKSUM;
}
