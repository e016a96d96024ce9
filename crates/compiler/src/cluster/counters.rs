//! Counter placement: counters are placed only where flow conservation cannot derive the count.
//!
//! Packets that leave by an exit's queue need no counter if no other port leads there: the queue's
//! length tells. Of a member's other ports one needs none: what came in less all else went by it.
//! That is the one behind which most members are, as elements turn few packets away. Members that
//! share code (`super::identical`) have counters at the same ports. Source: Ball, Larus, "Optimally
//! Profiling and Tracing Programs" (1994).

use super::Member;
use super::dispatch::{alike, sends_copies};
use super::identical::Identical;
use super::links::{all_links, behind, reached};
use netil::cluster::LinkTarget;

/// How it is known how many packets went by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// They are counted, at this place.
    At(u32),
    /// All that left by this exit.
    Exit(u32),
    /// What came in and did not go elsewhere.
    Rest,
}

/// The counters of all members.
#[derive(Clone)]
pub struct Counters {
    /// By member and port's id, for ports that are linked.
    pub ports: Vec<Vec<(u32, Count)>>,
    /// Places.
    pub places: u32,
}

impl Counters {
    /// `makes_copies` tells of which members copies are made where packets are counted, `droppers`
    /// are members that give dropped packets the number behind their last port, which then has a
    /// place there.
    pub(super) fn of(members: &[&Member<'_>], identical: &Identical, droppers: &[u32], makes_copies: &dyn Fn(usize) -> bool) -> Self {
        let mut counters = Self { ports: Vec::new(), places: 0 };
        for (n, member) in members.iter().enumerate() {
            let uncounted = uncounted(members, identical, identical.first(n as u32), makes_copies);
            let ports = all_links(member).into_iter().zip(uncounted).filter(|((_, way), _)| *way != LinkTarget::AtOnce);
            let ports = ports.map(|((port, _), count)| (port, count.unwrap_or_else(|| counters.place()))).collect::<Vec<_>>();
            if droppers.contains(&(n as u32)) && ports.iter().any(|(_, count)| matches!(count, Count::At(_))) {
                counters.place();
            }
            counters.ports.push(ports);
        }
        // Exits of members that share code are their own.
        for (member, ports) in members.iter().zip(&mut counters.ports) {
            for (port, count) in ports.iter_mut().filter(|(_, count)| matches!(count, Count::Exit(_))) {
                if let Some((_, LinkTarget::Exit(exit) | LinkTarget::LastExit(exit))) = member.links.iter().find(|(id, _)| id == port) {
                    *count = Count::Exit(*exit);
                }
            }
        }
        counters
    }

    /// Of members whose copies go their way by themselves, from whatever member.
    pub fn with_copies(members: &[&Member<'_>], identical: &Identical) -> Self {
        Self::of(members, identical, &[], &|n| sends_copies(members[n]))
    }

    fn place(&mut self) -> Count {
        self.places += 1;
        Count::At(self.places - 1)
    }

    /// Where packets are counted that go by a port.
    pub fn at(&self, member: u32, port: u32) -> Option<u32> {
        match self.ports[member as usize].iter().find(|(id, _)| *id == port)?.1 {
            Count::At(place) => Some(place),
            _ => None,
        }
    }
}

/// For each output of members that share code how its count is known without a counter, if it is.
fn uncounted(members: &[&Member<'_>], identical: &Identical, first: usize, makes_copies: &dyn Fn(usize) -> bool) -> Vec<Option<Count>> {
    let all: Vec<Vec<(u32, LinkTarget)>> = identical.of_first(first).iter().map(|n| all_links(members[*n as usize])).collect();
    let exit = |k: usize| match all[0][k].1 {
        LinkTarget::Exit(exit) | LinkTarget::LastExit(exit) => {
            all.iter().all(|links| leads_nobody_else(members, links[k].1)).then_some(Count::Exit(exit))
        }
        _ => None,
    };
    let mut counts: Vec<Option<Count>> = (0..all[0].len()).map(exit).collect();
    // Where ports are all treated alike, all of them are counted, or none.
    if alike(members[first], identical).is_some() {
        return if counts.contains(&None) { vec![None; counts.len()] } else { counts };
    }
    // With copies, more goes out than came in.
    if makes_copies(first) {
        return counts;
    }
    // In a circle of members, which packets need not go round, one rest would be found by the
    // other.
    let circles = |k: usize| all.iter().zip(identical.of_first(first)).any(|(links, n)| reached(members, links[k].1)[n as usize]);
    let open = (0..counts.len()).filter(|k| counts[*k].is_none() && all[0][*k].1 != LinkTarget::AtOnce && !circles(*k));
    if let Some(rest) = open.rev().max_by_key(|k| behind(members, all[0][*k].1)) {
        counts[rest] = Some(Count::Rest);
    }
    counts
}

/// Whether only one port of all leads to an exit.
fn leads_nobody_else(members: &[&Member<'_>], to: LinkTarget) -> bool {
    members.iter().flat_map(|member| &member.links).filter(|(_, way)| *way == to).count() == 1
}
