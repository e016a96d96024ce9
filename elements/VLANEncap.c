/*
 * VLANEncap([VLAN_TCI, VLAN_PCP, keywords VLAN_ID, NATIVE_VLAN, ETHERTYPE]) -- puts a VLAN tag into Ethernet packets
 *
 * The tag is IEEE 802.1Q's. VLAN_TCI is the whole tag, or ANNO: then it is taken from the VLAN annotation. Instead of it, VLAN_ID and VLAN_PCP
 * (priority, 0 by default) give its parts. Packets of NATIVE_VLAN (0 by default; -1: none) stay as they are. ETHERTYPE is the tag's, 0x8100 by
 * default. A packet without a whole Ethernet header is dropped (a trap).
 *
 * Handlers: vlan_tci, vlan_id, vlan_pcp, native_vlan, ethertype (read, write), the arguments; of numbers that are too large the lower bits count. Writing vlan_tci ends that
 * tags come from the annotation.
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

enum { FROM_ANNOTATION = -1, TAG_BYTES = 4, ADDRESS_BYTES = 12 };
#include "tag.h"

static u16 current_type;
static i32 current_native;
static bool annotated;

void init(void)
{
    annotated = whole_tag == FROM_ANNOTATION;
    current_tag = annotated ? 0 : (u16) (whole_tag | vlan_id | priority << PRIORITY_SHIFT);
    current_type = tag_type;
    current_native = native_vlan;
}

void packet(int port)
{
    u16 tci = annotated ? info(vlan_tci) : current_tag;

    header(struct ether, 0);
    if ((tci & ID_BITS) != current_native) {
        struct vlan *vlan;

        packet_push(TAG_BYTES);
        packet_copy(0, TAG_BYTES, ADDRESS_BYTES);
        vlan = header(struct vlan, 0);
        vlan->tpid = htons(current_type);
        vlan->tci = htons(tci);
    }
    set_mac_header(0);
    emit(0);
}

/* ---- Handlers ---- */

static void print_tag(void)
{
    if (annotated)
        print("ANNO");
    else
        print_uint(current_tag);
}

static void set_tag(u16 tag)
{
    annotated = false;
    current_tag = tag;
}

READ_CALL(vlan_tci, text, print_tag);
WRITE_CALL(vlan_tci, u16, set_tag);
READ_CALL(vlan_id, u16, current_id);
WRITE_CALL(vlan_id, u16, set_id);
READ_CALL(vlan_pcp, u16, current_priority);
WRITE_CALL(vlan_pcp, u16, set_priority);
READ(native_vlan, i32, current_native);
WRITE(native_vlan, i32, current_native);
READ(ethertype, u16, current_type);
WRITE(ethertype, u16, current_type);
