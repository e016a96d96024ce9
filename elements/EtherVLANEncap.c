/*
 * EtherVLANEncap(ETHERTYPE, SRC, DST, VLAN_TCI [, VLAN_PCP, keywords VLAN_ID, NATIVE_VLAN]) -- puts an Ethernet header with VLAN tag before packets
 *
 * The tag is IEEE 802.1Q's; ETHERTYPE is that of what is inside. VLAN_TCI is the whole tag, or ANNO: then it is taken from the VLAN annotation.
 * Instead of it, VLAN_ID and VLAN_PCP (priority, 0 by default) give its parts. Packets of NATIVE_VLAN (0 by default; -1: none) get a
 * plain Ethernet header.
 *
 * Example: `EtherVLANEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, 1)`
 *
 * See also: EtherEncap, StripEtherVLANHeader, SetVLANAnno.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(EtherVLANEncap, "1/1", "a/a");
PARAM_AS(ETHERTYPE, u16, ethertype, "ETHERTYPE", REQUIRED);
PARAM(mac_t, source, "SRC", REQUIRED);
PARAM(mac_t, destination, "DST", REQUIRED);
PARAM_AS(VLAN_TCI, i32, whole_tag, "VLAN_TCI", OPTIONAL(0));
PARAM(u16, priority, "VLAN_PCP", OPTIONAL(0));
PARAM(u16, vlan_id, "VLAN_ID", KEYWORD(0));
PARAM(i32, native_vlan, "NATIVE_VLAN", KEYWORD(0));

enum { FROM_ANNOTATION = -1, ID_BITS = 0xfff };

static u16 tag(void)
{
    if (whole_tag == FROM_ANNOTATION)
        return info(vlan_tci);
    return (u16) (whole_tag | vlan_id | priority << 13);
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

static void encapsulate_with_tag(u16 tci)
{
    struct vlan *vlan;

    packet_push(sizeof(struct vlan));
    vlan = header(struct vlan, 0);
    vlan->dst = destination;
    vlan->src = source;
    vlan->tpid = htons(ETHERTYPE_VLAN);
    vlan->tci = htons(tci);
    vlan->type = htons(ethertype);
}

void packet(int port)
{
    u16 tci = tag();

    if ((tci & ID_BITS) == native_vlan)
        encapsulate();
    else
        encapsulate_with_tag(tci);
    set_mac_header(0);
    emit(0);
}
