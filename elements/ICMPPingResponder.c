/*
 * ICMPPingResponder -- answers ICMP echo requests
 *
 * The IP header must be marked. An echo request leaves by output 0 as its reply: code 0, addresses swapped, time to live 255, no fragment flags, checksums updated, the paint
 * annotation 0 and the destination annotation set. Other packets leave by output 1 if there is one, and are dropped otherwise.
 *
 * Source: RFC 792, RFC 1122 3.2.2.6. Source routes are not reversed. See also: ICMPError.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(ICMPPingResponder, "1/1-2", "a/ah");

enum { NO_ECHO_REQUEST };
enum { REPLY_TTL = 255 };

static bool is_request(const struct ip *ip, u32 offset)
{
    return ip->protocol == PROTOCOL_ICMP && ip_is_first_fragment(ip) && packet_length() >= offset + sizeof(struct icmp)
        && header(struct icmp, offset)->type == ICMP_ECHO;
}

static void turn_round(struct ip *ip)
{
    be32 source = ip->src;
    u16 before = (u16) (ip->ttl << 8 | ip->protocol), after = REPLY_TTL << 8 | PROTOCOL_ICMP, sum = ntohs(ip->checksum);

    ip->src = ip->dst;
    ip->dst = source;
    ip->ttl = REPLY_TTL;
    sum = checksum_update(sum, ntohs(ip->fragment), 0);
    ip->fragment = htons(0);
    ip->checksum = htons(checksum_update(sum, before, after));
    info(dst_ip) = source;
    info(paint) = 0;
}

void packet(int port)
{
    struct ip *ip = header(struct ip, network_offset());
    u32 offset = network_offset() + ip_header_length(ip);

    if (is_request(ip, offset)) {
        struct icmp *icmp = header(struct icmp, offset);
        u16 before = (u16) (icmp->type << 8 | icmp->code);

        icmp->type = ICMP_ECHO_REPLY;
        icmp->code = 0;
        icmp->checksum = htons(checksum_not_zero(checksum_update(ntohs(icmp->checksum), before, ICMP_ECHO_REPLY << 8)));
        turn_round(ip);
        emit(0);
    }
    if (NOUTPUTS > 1)
        emit(1);
    drop(NO_ECHO_REQUEST);
}
