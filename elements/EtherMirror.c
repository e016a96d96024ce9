/*
 * EtherMirror -- swaps Ethernet source and destination
 *
 * The Ethernet header is at the packet's head.
 *
 * See also: EtherEncap.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(EtherMirror, "1/1", "a/a");

void packet(int port)
{
    struct ether *ether = header(struct ether, 0);
    mac_t source = ether->src;

    ether->src = ether->dst;
    ether->dst = source;
    emit(0);
}
