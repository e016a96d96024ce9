/*
 * EtherEncap(ETHERTYPE, SRC, DST) -- puts an Ethernet header before packets
 *
 * All packets get the same header. The Ethernet header is marked.
 *
 * Handlers: ethertype (also called etht), src, dst (read/write).
 *
 * Example: `EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2)`
 *
 * See also: EtherVLANEncap, ARPQuerier, Strip.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(EtherEncap, "1/1", "a/a");
PARAM_AS(ETHERTYPE, u16, ethertype, "ETHERTYPE", REQUIRED);
PARAM(mac_t, source, "SRC", REQUIRED);
PARAM(mac_t, destination, "DST", REQUIRED);

static u16 current_type;
static mac_t current_source, current_destination;

void init(void)
{
    current_type = ethertype;
    current_source = source;
    current_destination = destination;
}

void packet(int port)
{
    struct ether *ether;

    packet_push(sizeof(struct ether));
    ether = header(struct ether, 0);
    ether->dst = current_destination;
    ether->src = current_source;
    ether->type = htons(current_type);
    set_mac_header(0);
    emit(0);
}

READ(ethertype, u16, current_type);
WRITE(ethertype, u16, current_type);
READ(etht, u16, current_type);
WRITE(etht, u16, current_type);
READ(src, mac_t, current_source);
WRITE(src, mac_t, current_source);
READ(dst, mac_t, current_destination);
WRITE(dst, mac_t, current_destination);
