/*
 * CheckTCPHeader([keywords VERBOSE, DETAILS]) -- lets valid TCP packets pass
 *
 * The IP header must be marked. The packet must be TCP, the TCP header whole, its length field right, and the checksum with pseudo-header too
 * (RFC 9293).
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

ELEMENT(CheckTCPHeader, "1/1-2", "a/ah");
PARAM(bool, verbose, "VERBOSE", KEYWORD(false));
PARAM(bool, details, "DETAILS", KEYWORD(false));

#define TRANSPORT "TCP"
#include "check_transport.h"

static enum fault check(void)
{
    const struct ip *ip = header(struct ip, network_offset());
    u32 offset = network_offset() + ip_header_length(ip), length = ntohs(ip->length) - ip_header_length(ip);
    const struct tcp *tcp;
    u32 header_bytes;

    if (ip->protocol != PROTOCOL_TCP)
        return BAD_PROTOCOL;
    if (ntohs(ip->length) < ip_header_length(ip) + sizeof(struct tcp) || packet_length() < offset + length)
        return BAD_LENGTH;
    tcp = header(struct tcp, offset);
    header_bytes = (u32) (tcp->data_offset >> 4) * 4;
    if (header_bytes < sizeof(struct tcp) || header_bytes > length)
        return BAD_LENGTH;
    return segment_checksum(ip, offset, length) == 0 ? VALID : BAD_CHECKSUM;
}
