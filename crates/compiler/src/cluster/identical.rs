//! Identical-function merging: members with the same code and no state, such as the classifiers
//! behind a switch's ports, share one function, in which a number says which member a packet is in.
//! So there is no branch where packets come in by several inputs, which no processor could predict;
//! where the members' ports lead to different places, the number chooses.
//!
//! Machine code finds a member's state by its number, too, and so merges members with state of
//! their own ([`Identical::by`]).
//!
//! Invariant: members are merged only if each of their ports leads to the same: to one member, to
//! members that are merged in turn, or to exits of one kind. Source: identical code folding of
//! linkers; Tallam et al., "Safe ICF" (2010). Leaves out: members with state of their own in C.

use super::links::all_links;
use super::{Member, ops};
use crate::mir::{FastPath, Op};
use netil::cluster::LinkTarget;
use netil::table::Space;
use std::collections::HashMap;

/// By member the first of those that share its code, itself if none do.
pub struct Identical(Vec<usize>);

impl Identical {
    /// Each has its own code.
    pub fn none(members: usize) -> Self {
        Self((0..members).collect())
    }

    /// Members with the same code, less those whose ports lead to different code.
    pub(crate) fn of(members: &[&Member<'_>]) -> Self {
        Self::by(members, |a, b| is_same(members[a], members[b]))
    }

    /// Members that are the same by the number of each, less those whose ports lead to different
    /// code.
    pub fn by(members: &[&Member<'_>], same: impl Fn(usize, usize) -> bool) -> Self {
        let mut all = Self(firsts(members.len(), same));
        loop {
            // A chain of elements that are alike takes as many rounds as it is long.
            let mut known = HashMap::new();
            let alike = members.iter().enumerate().map(|(n, member)| *known.entry((all.0[n], all.leads(member))).or_insert(n));
            let next: Vec<usize> = alike.collect();
            if next == all.0 {
                return all;
            }
            all.0 = next;
        }
    }

    fn leads(&self, member: &Member<'_>) -> Vec<(u32, Lead)> {
        all_links(member).into_iter().map(|(port, way)| (port, self.lead(way))).collect()
    }

    fn lead(&self, way: LinkTarget) -> Lead {
        match way {
            LinkTarget::Member(to, _) => Lead::Member(self.first(to)),
            LinkTarget::Exit(_) => Lead::Exit,
            LinkTarget::LastExit(_) => Lead::LastExit,
            LinkTarget::AtOnce => Lead::AtOnce,
        }
    }

    /// Whether packets that go these ways come to the same code, or leave in the same way.
    pub(crate) fn meet(&self, ways: &[LinkTarget]) -> bool {
        let leads: Vec<Lead> = ways.iter().map(|way| self.lead(*way)).collect();
        leads.iter().all(|lead| *lead == leads[0] && *lead != Lead::AtOnce)
    }

    /// The first of those that share a member's code.
    pub fn first(&self, member: u32) -> usize {
        self.0[member as usize]
    }

    /// Members that have code, each for all that share it.
    pub fn firsts(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(n, first)| n == *first).map(|(n, _)| n)
    }

    /// All that share the code of one.
    pub fn of_first(&self, first: usize) -> Vec<u32> {
        (0..).zip(&self.0).filter(|(_, other)| **other == first).map(|(n, _)| n).collect()
    }

    /// The place of a member among all that share its code.
    pub(crate) fn position(&self, member: u32) -> u32 {
        self.of_first(self.first(member)).iter().position(|other| *other == member).unwrap_or(0) as u32
    }

    /// The first of each group of several.
    pub(crate) fn groups(&self) -> impl Iterator<Item = usize> {
        self.firsts().filter(|first| self.of_first(*first).len() > 1)
    }
}

/// Where a port leads.
#[derive(PartialEq, Eq, Hash)]
enum Lead {
    Member(usize),
    Exit,
    LastExit,
    AtOnce,
}

/// By number the first that is the same.
fn firsts(count: usize, same: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    (0..count).map(|n| (0..n).find(|first| same(*first, n)).unwrap_or(n)).collect()
}

/// Whether two members do the same, whatever came before.
fn is_same(a: &Member<'_>, b: &Member<'_>) -> bool {
    let (of, with) = (a.program.module(), b.program.module());
    let code = |m: &Member<'_>| (m.func.blocks.len(), m.func.values.len());
    code(a) == code(b)
        && (&a.func.blocks, &a.func.values, &a.func.sets) == (&b.func.blocks, &b.func.values, &b.func.sets)
        && (&of.data, &of.sets, of.info_size) == (&with.data, &with.sets, with.info_size)
        && keeps_nothing(a)
}

/// Whether it has no state of its own.
fn keeps_nothing(member: &Member<'_>) -> bool {
    ops(&member.func).all(|op| match op {
        Op::Load(space, ..) | Op::Store(space, ..) | Op::Check(space, _) | Op::Proved(space, _) => !is_own(*space),
        Op::Random(_) | Op::ExceptionLoad(_) | Op::ExceptionStore(..) => false,
        // What is done to a packet, without the runtime but for want of room.
        Op::Helper(helper, ..) => helper.is_of_packet() && helper.row().fast != FastPath::Runtime,
        _ => true,
    })
}

fn is_own(space: Space) -> bool {
    matches!(space, Space::Data | Space::Shared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes;
    use netil::Verified;
    use netil::asm::assemble;
    use netil::module::HandlerKind;

    fn program(code: &str) -> Verified {
        let head = "segment .metadata .datamem_size 16 .shared_size 16 ends segment .ports push_input a push_output b ends";
        netil::verify(assemble(&format!("{head} segment .push pop {code} pkt.send b ends"), "").unwrap()).unwrap()
    }

    /// Whether two members of one program may share code.
    fn share(code: &str) -> bool {
        let (one, other) = (program(code), program(code));
        let member = |program| {
            let (func, _) = crate::optimised(program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
            Member { program, func, links: Vec::new() }
        };
        is_same(&member(&one), &member(&other))
    }

    #[test]
    fn members_with_a_state_of_their_own_share_no_code() {
        assert!(share("push 1 push 2 pstore.8"));
        for code in [
            "pbl push 0 mstore.32",
            "push 0 umload.32 push 0 pstore.32",
            "pbl push 0 sstore.32",
            "push 0 ssload.32 push 0 pstore.32",
            "rnd push 0 pstore.32",
        ] {
            assert!(!share(code), "{code}");
        }
    }
}
