/*
 * StripEtherVLANHeader([NATIVE_VLAN]) -- takes off an Ethernet header, with VLAN tag or without
 *
 * The VLAN annotation becomes the tag (IEEE 802.1Q), or NATIVE_VLAN (0 by default) if there is none. With NATIVE_VLAN -1, packets without a tag are
 * dropped.
 *
 * See also: EtherVLANEncap, SetVLANAnno, Strip.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(StripEtherVLANHeader, "1/1", "a/a");
PARAM(i32, native_vlan, "NATIVE_VLAN", OPTIONAL(0));

enum { NO_TAG };

void packet(int port)
{
    if (header(struct ether, 0)->type == htons(ETHERTYPE_VLAN)) {
        info(vlan_tci) = ntohs(header(struct vlan, 0)->tci);
        packet_pull(sizeof(struct vlan));
        emit(0);
    }
    if (native_vlan < 0)
        drop(NO_TAG);
    info(vlan_tci) = (u16) native_vlan;
    packet_pull(sizeof(struct ether));
    emit(0);
}
