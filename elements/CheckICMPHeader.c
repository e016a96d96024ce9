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

#define TRANSPORT "ICMP"
#include "check_transport.h"

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
        return BAD_PROTOCOL;
    if (ntohs(ip->length) < ip_header_length(ip) + sizeof(struct icmp) || packet_length() < offset + length)
        return BAD_LENGTH;
    icmp = header(struct icmp, offset);
    if (length < least_length(icmp->type))
        return BAD_LENGTH;
    return checksum_ok(offset, length) ? VALID : BAD_CHECKSUM;
}
