/*
 * VLANEncap([VLAN_TCI, VLAN_PCP, keywords VLAN_ID, NATIVE_VLAN, ETHERTYPE]) -- puts a VLAN tag into Ethernet packets
 *
 * The tag is IEEE 802.1Q's. VLAN_TCI is the whole tag, or ANNO: then it is taken from the VLAN annotation. Instead of it, VLAN_ID and VLAN_PCP
 * (priority, 0 by default) give its parts. Packets of NATIVE_VLAN (0 by default; -1: none) stay as they are. ETHERTYPE is the tag's, 0x8100 by
 * default. A packet without a whole Ethernet header is dropped (a trap).
 *
 * See also: VLANDecap, EtherVLANEncap, SetVLANAnno.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(VLANEncap, "1/1", "a/a");
PARAM_AS(VLAN_TCI, i32, whole_tag, "VLAN_TCI", OPTIONAL(0));
PARAM(u16, priority, "VLAN_PCP", OPTIONAL(0));
PARAM(u16, vlan_id, "VLAN_ID", KEYWORD(0));
PARAM(i32, native_vlan, "NATIVE_VLAN", KEYWORD(0));
REQUIRE(vlan_id <= 0xfff, "VLAN_ID is above 4095");
REQUIRE(priority <= 7, "VLAN_PCP is above 7");
REQUIRE(native_vlan >= -1 && native_vlan <= 0xfff, "NATIVE_VLAN is not -1 to 4095");
PARAM_AS(ETHERTYPE, u16, tag_type, "ETHERTYPE", KEYWORD(0x8100));

enum { FROM_ANNOTATION = -1, ID_BITS = 0xfff, TAG_BYTES = 4, ADDRESS_BYTES = 12 };

static u16 tag(void)
{
    if (whole_tag == FROM_ANNOTATION)
        return info(vlan_tci);
    return (u16) (whole_tag | vlan_id | priority << 13);
}

void packet(int port)
{
    u16 tci = tag();

    header(struct ether, 0);
    if ((tci & ID_BITS) != native_vlan) {
        struct vlan *vlan;

        packet_push(TAG_BYTES);
        packet_copy(0, TAG_BYTES, ADDRESS_BYTES);
        vlan = header(struct vlan, 0);
        vlan->tpid = htons(tag_type);
        vlan->tci = htons(tci);
    }
    set_mac_header(0);
    emit(0);
}
