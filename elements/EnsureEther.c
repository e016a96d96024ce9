/*
 * EnsureEther([ETHERTYPE, SRC, DST]) -- puts an Ethernet header before IP packets that have none
 *
 * Packets without a marked network header, and those whose Ethernet header of type IP or IPv6 stands before it, leave unchanged. Of others the bytes before the network header
 * are taken off. If an Ethernet header of one of these types was there and has been taken off, it comes back; else one of ETHERTYPE (0x0800), SRC (1:1:1:1:1:1) and DST (2:2:2:2:2:2) is put
 * before the packet.
 *
 * See also: EtherEncap, Unstrip.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(EnsureEther, "1/1", "a/a");
PARAM_AS(ETHERTYPE, u16, ethertype, "ETHERTYPE", OPTIONAL(0x0800));
PARAM(mac_t, source, "SRC", OPTIONAL("1:1:1:1:1:1"));
PARAM(mac_t, destination, "DST", OPTIONAL("2:2:2:2:2:2"));

static bool is_ip(const struct ether *ether)
{
    return ether->type == htons(ETHERTYPE_IP) || ether->type == htons(ETHERTYPE_IP6);
}

static void encapsulate(void)
{
    struct ether *ether;

    packet_push(sizeof(struct ether));
    ether = header(struct ether, 0);
    ether->dst = destination;
    ether->src = source;
    ether->type = htons(ethertype);
}

void packet(int port)
{
    u32 start = network_offset();

    if (start > packet_length())
        emit(0);
    if (start == sizeof(struct ether) && is_ip(header(struct ether, 0)))
        emit(0);
    if (start == 0 && packet_moved() >= (i32) sizeof(struct ether)) {
        packet_unpull(sizeof(struct ether));
        if (is_ip(header(struct ether, 0)))
            emit(0);
        packet_pull(sizeof(struct ether));
    }
    packet_pull(start);
    encapsulate();
    emit(0);
}
