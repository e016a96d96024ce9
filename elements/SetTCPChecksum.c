/*
 * SetTCPChecksum([FIXOFF]) -- computes the checksum of TCP packets
 *
 * The IP header must be marked; the protocol is not looked at. With FIXOFF true, a data offset that is too small or too large for the packet is set
 * first, so that the header ends within it. A packet without a whole TCP header is dropped.
 *
 * See also: CheckTCPHeader, SetUDPChecksum, SetIPChecksum.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetTCPChecksum, "1/1", "a/a");
PARAM(bool, fixes_offset, "FIXOFF", OPTIONAL(false));

enum { NO_WHOLE_TCP };

static void fix_offset(struct tcp *tcp, u32 length)
{
    u32 words = tcp->data_offset >> 4;

    if (words < 5)
        words = 5;
    if (words * 4 > length)
        words = length / 4;
    tcp->data_offset = (u8) (words << 4 | (tcp->data_offset & 15u));
}

void packet(int port)
{
    const struct ip *ip = header(struct ip, network_offset());
    u32 offset = network_offset() + ip_header_length(ip), end = network_offset() + ntohs(ip->length);
    struct tcp *tcp;

    if (end > packet_length() || end < offset + sizeof(struct tcp))
        drop(NO_WHOLE_TCP);
    tcp = header(struct tcp, offset);
    if (fixes_offset)
        fix_offset(tcp, end - offset);
    tcp->checksum = htons(0);
    tcp->checksum = htons(segment_checksum(ip, offset, end - offset));
    emit(0);
}
