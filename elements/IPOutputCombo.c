/*
 * IPOutputCombo(COLOR, IPADDR, MTU) -- does what a router does with packets before they leave by an interface
 *
 * What DropBroadcasts, PaintTee(COLOR), IPGWOptions(IPADDR), FixIPSrc(IPADDR), DecIPTTL and CheckLength(MTU) do, one after the other. Packets leave by output 0; copies of those
 * that leave by the interface they came from by output 1; packets with a wrong option by output 2, with a time to live that is over by output 3, and those longer than MTU by
 * output 4. The IP header must be marked.
 *
 * See also: DropBroadcasts, PaintTee, IPGWOptions, FixIPSrc, DecIPTTL, CheckLength, IPFragmenter.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(IPOutputCombo, "1/5", "h/h");
PARAM(u8, color, "COLOR", REQUIRED);
PARAM(be32, my_address, "IPADDR", REQUIRED);
PARAM(u32, mtu, "MTU", REQUIRED);

enum { LINK_BROADCAST };
enum { ERROR_REDIRECT = 1, ERROR_OPTION = 2, ERROR_TTL = 3, TOO_LONG = 4 };

static bool is_mine(be32 address)
{
    return address == my_address;
}

#include "gw_options.h"

static void fix_source(struct ip *ip)
{
    if (info(fix_ip_src)) {
        info(fix_ip_src) = 0;
        ip->src = my_address;
        changed = true;
    }
}

void push(int port)
{
    u32 start = network_offset(), wrong;
    struct ip *ip = header(struct ip, start);

    if (info(packet_type) == TO_BROADCAST || info(packet_type) == TO_MULTICAST)
        drop(LINK_BROADCAST);
    if (info(paint) == color)
        clone(ERROR_REDIRECT);
    changed = false;
    wrong = process_all(start, ip_header_length(ip));
    if (wrong == NOTHING_WRONG)
        fix_source(ip);
    if (changed)
        ip_set_checksum(start);
    if (wrong != NOTHING_WRONG) {
        info(icmp_parameter_problem) = (u8) wrong;
        emit(ERROR_OPTION);
    }
    if (ip->ttl <= 1)
        emit(ERROR_TTL);
    ip->ttl -= 1;
    ip->checksum = htons(checksum_update(ntohs(ip->checksum), 0x100, 0));
    if (packet_length() > mtu)
        emit(TOO_LONG);
    emit(0);
}
