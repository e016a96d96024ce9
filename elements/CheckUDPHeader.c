/*
 * CheckUDPHeader([keywords VERBOSE, DETAILS]) -- lets valid UDP packets pass
 *
 * The IP header must be marked. The packet must be UDP, its length fit the IP packet, and the checksum with pseudo-header be right, or 0 for none
 * (RFC 768).
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

ELEMENT(CheckUDPHeader, "1/1-2", "a/ah");
PARAM(bool, verbose, "VERBOSE", KEYWORD(false));
PARAM(bool, details, "DETAILS", KEYWORD(false));

#define TRANSPORT "UDP"
#include "check_transport.h"

static enum fault check(void)
{
    const struct ip *ip = header(struct ip, network_offset());
    u32 offset = network_offset() + ip_header_length(ip), length = ntohs(ip->length) - ip_header_length(ip);
    const struct udp *udp;

    if (ip->protocol != PROTOCOL_UDP)
        return BAD_PROTOCOL;
    if (ntohs(ip->length) < ip_header_length(ip) + sizeof(struct udp) || packet_length() < offset + length)
        return BAD_LENGTH;
    udp = header(struct udp, offset);
    if (ntohs(udp->length) < sizeof(struct udp) || ntohs(udp->length) > length)
        return BAD_LENGTH;
    if (udp->checksum == htons(0))
        return VALID;
    return segment_checksum(ip, offset, ntohs(udp->length)) == 0 ? VALID : BAD_CHECKSUM;
}
