//! Where the output ports of members lead, and which members are behind them.

use super::Member;
use netil::cluster::LinkTarget;

/// Where each output port leads; packets that leave by ports which are not connected leave at once.
pub(crate) fn all_links(member: &Member<'_>) -> Vec<(u32, LinkTarget)> {
    let outputs = member.program.module().all_ports().into_iter().filter(|(_, port)| !port.kind.is_input()).map(|(id, _)| id);
    outputs.map(|id| (id, link(member, id))).collect()
}

/// Where an output port leads.
pub(crate) fn link(member: &Member<'_>, port: u32) -> LinkTarget {
    member.links.iter().find(|(id, _)| *id == port).map_or(LinkTarget::AtOnce, |(_, way)| *way)
}

/// How many members a packet may still come to that goes there.
pub(super) fn behind(members: &[&Member<'_>], to: LinkTarget) -> usize {
    reached(members, to).into_iter().filter(|seen| *seen).count()
}

/// Which members a packet may still come to that goes there.
pub(super) fn reached(members: &[&Member<'_>], to: LinkTarget) -> Vec<bool> {
    let (mut seen, mut next) = (vec![false; members.len()], vec![to]);
    while let Some(way) = next.pop() {
        if let LinkTarget::Member(member, _) = way
            && !std::mem::replace(&mut seen[member as usize], true)
        {
            next.extend(members[member as usize].links.iter().map(|(_, way)| *way));
        }
    }
    seen
}
