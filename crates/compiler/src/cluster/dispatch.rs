//! Whether the number of its port is all that must be known to send a packet on.

use super::identical::Identical;
use super::links::all_links;
use super::{Member, ops};
use crate::mir::{Helper, Op};
use netil::cluster::LinkTarget;

/// The first port of a member, and where it and those behind it lead, if there are several and all
/// lead to the same code.
pub(crate) fn alike(member: &Member<'_>, identical: &Identical) -> Option<(u32, Vec<LinkTarget>)> {
    let (ports, ways): (Vec<u32>, Vec<LinkTarget>) = all_links(member).into_iter().unzip();
    let first = *ports.first()?;
    let in_order = (first..).zip(&ports).all(|(next, port)| next == *port);
    (ports.len() > 1 && in_order && identical.meet(&ways)).then_some((first, ways))
}

/// As [`alike`], of a member whose code is no other's: then the port's number tells all of a
/// packet's way.
pub(crate) fn numbered(member: &Member<'_>, identical: &Identical, n: usize) -> Option<(u32, Vec<LinkTarget>)> {
    alike(member, identical).filter(|_| identical.of_first(n).len() == 1)
}

/// A member's first port and how many there are, if all lead out of the cluster, each packet by the
/// number of its port.
pub(crate) fn by_exit(member: &Member<'_>, identical: &Identical, n: usize) -> Option<(u32, u32)> {
    let (first, ways) = numbered(member, identical, n)?;
    matches!(ways[0], LinkTarget::Exit(_) | LinkTarget::LastExit(_)).then_some((first, ways.len() as u32))
}

/// Whether a member's handler has a helper of a kind.
pub(crate) fn has(member: &Member<'_>, what: fn(&Helper) -> bool) -> bool {
    ops(&member.func).any(|op| matches!(op, Op::Helper(helper, ..) if what(helper)))
}

/// Whether a member sets timers, so that packets behind one may have to wait.
pub(crate) fn sets_timers(member: &Member<'_>) -> bool {
    has(member, |helper| matches!(helper, Helper::SetTimer(_)))
}

/// Whether a member sends copies.
pub(crate) fn sends_copies(member: &Member<'_>) -> bool {
    has(member, |helper| matches!(helper, Helper::SendCopy(_)))
}
