/*
 * ResetIPChecksum([L4]) -- computes the checksum of IP headers, and of what they carry
 *
 * The IP header must be marked. With L4 true, false by default, the checksums of whole TCP and UDP packets are computed, too; others, and fragments, keep theirs. In FastClick the device
 * computes them; here they are right at once.
 *
 * A header that is shorter than 20 bytes, or longer than the packet, is dropped.
 *
 * See also: SetIPChecksum, SetTCPChecksum, SetUDPChecksum. Source: the manual of FastClick's element.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ResetIPChecksum, "1/1", "a/a");
PARAM(bool, with_transport, "L4", OPTIONAL(false));

enum { BAD_HEADER };

static void set_tcp(const struct ip *ip, u32 offset, u32 length)
{
    struct tcp *tcp = header(struct tcp, offset);

    tcp->checksum = htons(0);
    tcp->checksum = htons(segment_checksum(ip, offset, length));
}

static void set_udp(const struct ip *ip, u32 offset, u32 length)
{
    struct udp *udp = header(struct udp, offset);
    u16 sum;

    udp->checksum = htons(0);
    sum = segment_checksum(ip, offset, length);
    udp->checksum = htons(sum == 0 ? 0xffff : sum);
}

static void set_transport(u32 start)
{
    const struct ip *ip = header(struct ip, start);
    u32 offset = start + ip_header_length(ip), end = start + ntohs(ip->length);

    if (ip_is_fragment(ip) || end > packet_length())
        return;
    if (ip->protocol == PROTOCOL_TCP && end >= offset + sizeof(struct tcp))
        set_tcp(ip, offset, end - offset);
    else if (ip->protocol == PROTOCOL_UDP && end >= offset + sizeof(struct udp))
        set_udp(ip, offset, end - offset);
}

void packet(int port)
{
    u32 start = network_offset(), length = ip_header_length(header(struct ip, start));

    if (length < sizeof(struct ip) || length > packet_length() - start)
        drop(BAD_HEADER);
    ip_set_checksum(start);
    if (with_transport)
        set_transport(start);
    emit(0);
}
