/*
 * SetUDPChecksum -- computes the checksum of UDP packets
 *
 * The IP header must be marked; the protocol is not looked at. A fragment, or a packet that is shorter than its UDP length, leaves by output 1 if
 * there is one, and is dropped otherwise. A sum of 0 is sent as 0xffff (RFC 768).
 *
 * See also: CheckUDPHeader, SetTCPChecksum, SetIPChecksum.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetUDPChecksum, "1/1-2", "a/ah");

enum { NO_WHOLE_UDP };

static bool is_whole(const struct ip *ip, u32 offset)
{
    u32 length;

    if (ip_is_fragment(ip) || packet_length() < offset + sizeof(struct udp))
        return false;
    length = ntohs(header(struct udp, offset)->length);
    return length >= sizeof(struct udp) && packet_length() >= offset + length;
}

void packet(int port)
{
    const struct ip *ip = header(struct ip, network_offset());
    u32 offset = network_offset() + ip_header_length(ip);

    if (is_whole(ip, offset)) {
        struct udp *udp = header(struct udp, offset);
        u16 sum;

        udp->checksum = htons(0);
        sum = segment_checksum(ip, offset, ntohs(udp->length));
        udp->checksum = htons(sum == 0 ? 0xffff : sum);
        emit(0);
    }
    if (NOUTPUTS > 1)
        emit(1);
    drop(NO_WHOLE_UDP);
}
