/*
 * FixIPSrc(IPADDR) -- puts the router's own address into packets that ask for it
 *
 * Packets whose annotation fix_ip_src is set, as ICMPError does, get IPADDR as source and a new checksum; the annotation is cleared. It stands
 * before the interface with that address. The IP header must be marked.
 *
 * See also: ICMPError.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(FixIPSrc, "1/1", "a/a");
PARAM(be32, address, "IPADDR", REQUIRED);

void packet(int port)
{
    if (info(fix_ip_src)) {
        info(fix_ip_src) = 0;
        header(struct ip, network_offset())->src = address;
        ip_set_checksum(network_offset());
    }
    emit(0);
}
