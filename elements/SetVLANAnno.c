/*
 * SetVLANAnno(VLAN_TCI [, VLAN_PCP, keyword VLAN_ID]) -- sets the VLAN annotation
 *
 * The annotation becomes VLAN_TCI with VLAN_PCP (0 to 7, 0 by default) as priority; VLAN_ID may be given instead of VLAN_TCI.
 *
 * See also: EtherVLANEncap, StripEtherVLANHeader.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SetVLANAnno, "1/1", "a/a");
PARAM(u16, whole_tag, "VLAN_TCI", OPTIONAL(0));
PARAM(u16, priority, "VLAN_PCP", OPTIONAL(0));
PARAM(u16, vlan_id, "VLAN_ID", KEYWORD(0));

void packet(int port)
{
    info(vlan_tci) = (u16) (whole_tag | vlan_id | priority << 13);
    emit(0);
}
