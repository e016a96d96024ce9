/*
 * EtherVLANEncap(ETHERTYPE, SRC, DST, VLAN_TCI [, VLAN_PCP, keywords VLAN_ID, NATIVE_VLAN]) -- puts an Ethernet header with VLAN tag before packets
 *
 * The tag is IEEE 802.1Q's; ETHERTYPE is that of what is inside. VLAN_TCI is the whole tag, or ANNO: then it is taken from the VLAN annotation.
 * Instead of it, VLAN_ID and VLAN_PCP (priority, 0 by default) give its parts. Packets of NATIVE_VLAN (0 by default; -1: none) get a
 * plain Ethernet header.
 *
 * Handlers: src, dst, ethertype, vlan_tci, vlan_id, vlan_pcp, native_vlan (read, write), the arguments; of numbers that are too large the lower bits count. Writing
 * vlan_tci ends that tags come from the annotation.
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
REQUIRE(vlan_id <= 0xfff, "VLAN_ID is above 4095");
REQUIRE(priority <= 7, "VLAN_PCP is above 7");
REQUIRE(native_vlan >= -1 && native_vlan <= 0xfff, "NATIVE_VLAN is not -1 to 4095");

enum { FROM_ANNOTATION = -1 };
#include "tag.h"

static mac_t current_source, current_destination;
static u16 current_ethertype;
static i32 current_native;
static bool annotated;

void init(void)
{
    current_source = source;
    current_destination = destination;
    current_ethertype = ethertype;
    annotated = whole_tag == FROM_ANNOTATION;
    current_tag = annotated ? 0 : (u16) (whole_tag | vlan_id | priority << PRIORITY_SHIFT);
    current_native = native_vlan;
}

static void encapsulate(void)
{
    struct ether *ether;

    packet_push(sizeof(struct ether));
    ether = header(struct ether, 0);
    ether->dst = current_destination;
    ether->src = current_source;
    ether->type = htons(current_ethertype);
}

static void encapsulate_with_tag(u16 tci)
{
    struct vlan *vlan;

    packet_push(sizeof(struct vlan));
    vlan = header(struct vlan, 0);
    vlan->dst = current_destination;
    vlan->src = current_source;
    vlan->tpid = htons(ETHERTYPE_VLAN);
    vlan->tci = htons(tci);
    vlan->type = htons(current_ethertype);
}

void packet(int port)
{
    u16 tci = annotated ? info(vlan_tci) : current_tag;

    if ((tci & ID_BITS) == current_native)
        encapsulate();
    else
        encapsulate_with_tag(tci);
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

READ(src, mac_t, current_source);
WRITE(src, mac_t, current_source);
READ(dst, mac_t, current_destination);
WRITE(dst, mac_t, current_destination);
READ(ethertype, u16, current_ethertype);
WRITE(ethertype, u16, current_ethertype);
READ_CALL(vlan_tci, text, print_tag);
WRITE_CALL(vlan_tci, u16, set_tag);
READ_CALL(vlan_id, u16, current_id);
WRITE_CALL(vlan_id, u16, set_id);
READ_CALL(vlan_pcp, u16, current_priority);
WRITE_CALL(vlan_pcp, u16, set_priority);
READ(native_vlan, i32, current_native);
WRITE(native_vlan, i32, current_native);
