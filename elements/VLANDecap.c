/*
 * VLANDecap([keywords ANNO, ETHERTYPE]) -- takes the VLAN tag out of Ethernet packets
 *
 * The VLAN annotation becomes the tag (IEEE 802.1Q), or 0 if there is none, unless ANNO is false. ETHERTYPE is the tag's, 0x8100 by default. A packet
 * without a whole Ethernet header is dropped (a trap).
 *
 * See also: VLANEncap, StripEtherVLANHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(VLANDecap, "1/1", "a/a");
PARAM(bool, sets_annotation, "ANNO", KEYWORD(true));
PARAM_AS(ETHERTYPE, u16, tag_type, "ETHERTYPE", KEYWORD(0x8100));

enum { TAG_BYTES = 4, ADDRESS_BYTES = 12 };

void packet(int port)
{
    u16 tci = 0;

    if (header(struct ether, 0)->type == htons(tag_type)) {
        tci = ntohs(header(struct vlan, 0)->tci);
        packet_copy(TAG_BYTES, 0, ADDRESS_BYTES);
        packet_pull(TAG_BYTES);
        set_mac_header(0);
    }
    if (sets_annotation)
        info(vlan_tci) = tci;
    emit(0);
}
