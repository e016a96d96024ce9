/*
 * StoreIPAddress([ADDRESS,] OFFSET) -- puts an IP address into packets
 *
 * ADDRESS, or the destination annotation if there is none, is stored at OFFSET; if the annotation is 0.0.0.0, the packet stays as it is. If OFFSET is the word src or dst, that is the address of the marked IP header,
 * and checksums are updated (RFC 1624), those of TCP and UDP in first fragments, too. Packets that end before OFFSET leave by output 1 if that is connected, and
 * are dropped otherwise.
 *
 * Example: `StoreIPAddress(10.0.0.1, dst)`
 *
 * See also: GetIPAddress, SetIPAddress.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(StoreIPAddress, "1/1-2", "a/ah");
CONFIG(ADDRESS_PLACE, place);

enum { TOO_SHORT };
/* What place_offset is instead of an offset. */
enum { AT_SOURCE = -1, AT_DESTINATION = -2 };

static be32 stored(void)
{
    return place_given ? place_address : info(dst_ip);
}

static void store_in_header(void)
{
    struct ip *ip = header(struct ip, network_offset());
    u32 before = ntohl((int) place_offset == AT_SOURCE ? ip->src : ip->dst);

    update_segment_checksum(network_offset(), before, ntohl(stored()));
    if ((int) place_offset == AT_SOURCE)
        ip->src = stored();
    else
        ip->dst = stored();
    ip->checksum = htons(checksum_update32(ntohs(ip->checksum), before, ntohl(stored())));
}

void packet(int port)
{
    if (!place_given && info(dst_ip) == htonl(0))
        emit(0);
    if (place_offset < 0) {
        store_in_header();
        emit(0);
    }
    if (packet_length() < sizeof(be32) || (u32) place_offset > packet_length() - sizeof(be32)) {
        if (NOUTPUTS > 1)
            emit(1);
        drop(TOO_SHORT);
    }
    *header(be32, (u32) place_offset) = stored();
    emit(0);
}
