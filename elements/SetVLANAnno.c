/*
 * SetVLANAnno(VLAN_TCI [, VLAN_PCP, keyword VLAN_ID]) -- sets the VLAN annotation
 *
 * The annotation becomes VLAN_TCI with VLAN_PCP (0 to 7, 0 by default) as priority; VLAN_ID may be given instead of VLAN_TCI.
 *
 * Handlers: vlan_tci, vlan_id, vlan_pcp (read, write), the annotation and its parts; of numbers that are too large the lower bits count.
 *
 * See also: EtherVLANEncap, StripEtherVLANHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetVLANAnno, "1/1", "a/a");
PARAM(u16, whole_tag, "VLAN_TCI", OPTIONAL(0));
PARAM(u16, priority, "VLAN_PCP", OPTIONAL(0));
PARAM(u16, vlan_id, "VLAN_ID", KEYWORD(0));
REQUIRE(vlan_id <= 0xfff, "VLAN_ID is above 4095");
REQUIRE(priority <= 7, "VLAN_PCP is above 7");

#include "tag.h"

void init(void)
{
    current_tag = (u16) (whole_tag | vlan_id | priority << PRIORITY_SHIFT);
}

void packet(int port)
{
    info(vlan_tci) = current_tag;
    emit(0);
}

READ(vlan_tci, u16, current_tag);
WRITE(vlan_tci, u16, current_tag);
READ_CALL(vlan_id, u16, current_id);
WRITE_CALL(vlan_id, u16, set_id);
READ_CALL(vlan_pcp, u16, current_priority);
WRITE_CALL(vlan_pcp, u16, set_priority);
