//! Kin: linked members that do the same and keep nothing, such as the classifiers behind a switch's ports. They share one text, in which a number says which of them a
//! packet is in. So there is no branch where packets come in by several ways, which nobody could foretell; where their ways part again, the number chooses.
//!
//! Invariant: members are kin only if each of their ports leads to the same: to one member, to members that are kin in turn, or to exits of one kind.
//! Leaves out: what keeps state of its own.

use super::linked::Member;
use super::ways::all_links;
use crate::mir::{Helper, Op};
use netil::cluster::Way;
use netil::table::Space;

/// By member the first of its kin, itself if it has none.
pub(super) struct Kin(Vec<usize>);

/// One of several numbers, by an expression that counts them.
pub(super) fn pick(of: &[u32], by: &str) -> String {
    let first = of.first().copied().unwrap_or(0);
    if of.iter().all(|n| *n == first) {
        return first.to_string();
    }
    if (first..).zip(of).all(|(next, n)| next == *n) {
        return if first == 0 { by.to_owned() } else { format!("{by} + {first}") };
    }
    let list: Vec<String> = of.iter().map(u32::to_string).collect();
    format!("({{ static const uint32_t of[] = {{ {} }}; of[{by}]; }})", list.join(", "))
}

impl Kin {
    /// Nobody has any.
    pub fn none(members: usize) -> Self {
        Self((0..members).collect())
    }

    /// Those that do the same, less those whose ways part.
    pub fn of(members: &[&Member<'_>]) -> Self {
        let mut kin = Self(firsts(members.len(), |a, b| is_same(members[a], members[b])));
        loop {
            let leads: Vec<Vec<(u32, Lead)>> = members.iter().map(|member| kin.leads(member)).collect();
            let next = firsts(members.len(), |a, b| kin.0[a] == kin.0[b] && leads[a] == leads[b]);
            if next == kin.0 {
                return kin;
            }
            kin.0 = next;
        }
    }

    fn leads(&self, member: &Member<'_>) -> Vec<(u32, Lead)> {
        all_links(member).into_iter().map(|(port, way)| (port, self.lead(way))).collect()
    }

    fn lead(&self, way: Way) -> Lead {
        match way {
            Way::Member(to, _) => Lead::Member(self.first(to)),
            Way::Exit(_) => Lead::Exit,
            Way::LastExit(_) => Lead::LastExit,
            Way::AtOnce => Lead::AtOnce,
        }
    }

    /// Whether packets that go these ways come to the same text, or to the end of their way in the same way.
    pub fn meet(&self, ways: &[Way]) -> bool {
        let leads: Vec<Lead> = ways.iter().map(|way| self.lead(*way)).collect();
        leads.iter().all(|lead| *lead == leads[0] && *lead != Lead::AtOnce)
    }

    pub fn first(&self, member: u32) -> usize {
        self.0[member as usize]
    }

    /// Members that have a text, each for all its kin.
    pub fn firsts(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(n, first)| n == *first).map(|(n, _)| n)
    }

    /// All that share a text.
    pub fn of_first(&self, first: usize) -> Vec<u32> {
        (0..).zip(&self.0).filter(|(_, other)| **other == first).map(|(n, _)| n).collect()
    }

    /// Declares which of its kin a packet is in.
    pub fn variables(&self) -> String {
        let several = self.firsts().filter(|first| self.of_first(*first).len() > 1);
        several.map(|first| format!("    uint32_t kin{first} = 0;\n    (void)kin{first};\n")).collect()
    }

    /// Says where a packet enters that goes to one of these members, all kin, by these ports.
    pub fn enters(&self, to: &[(u32, u32)], by: &str) -> String {
        let (members, ports): (Vec<u32>, Vec<u32>) = to.iter().copied().unzip();
        let first = self.first(members[0]);
        let all = self.of_first(first);
        let place = |member: &u32| all.iter().position(|other| other == member).unwrap_or(0) as u32;
        let which = if all.len() > 1 {
            format!("kin{first} = {}; ", pick(&members.iter().map(place).collect::<Vec<_>>(), by))
        } else {
            String::new()
        };
        format!("{which}port = {};", pick(&ports, by))
    }
}

/// Where a port leads.
#[derive(PartialEq, Eq)]
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
    let ops = member.func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| member.func.op(*v));
    ops.into_iter().all(|op| match op {
        Op::Load(space, ..) | Op::Store(space, ..) | Op::Check(space, _) | Op::Proved(space, _) => !is_own(*space),
        Op::Random(_) | Op::ExceptionLoad(_) | Op::ExceptionStore(..) => false,
        Op::Helper(helper, ..) => is_of_packet(*helper),
        _ => true,
    })
}

fn is_own(space: Space) -> bool {
    matches!(space, Space::Data | Space::Shared)
}

/// What is done to a packet, without the runtime but for want of room.
fn is_of_packet(helper: Helper) -> bool {
    use Helper::{
        Checksum, ChecksumAdd, ChecksumSub, ChecksumValid, Hash, Inside, IsPresent, Moved, PullHead, PushHead, SetTime, SetWire, TrimTail,
        Unpull,
    };
    matches!(
        helper,
        Checksum
            | ChecksumAdd
            | ChecksumSub
            | ChecksumValid
            | Hash
            | Inside
            | IsPresent
            | Moved
            | PullHead
            | PushHead
            | SetTime
            | SetWire
            | TrimTail
            | Unpull
    )
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

    /// Whether two members of one program may share a text.
    fn share(code: &str) -> bool {
        let (one, other) = (program(code), program(code));
        let member = |program| {
            let (func, _) = crate::optimised(program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
            Member { program, func, links: Vec::new() }
        };
        is_same(&member(&one), &member(&other))
    }

    #[test]
    fn members_with_a_state_of_their_own_share_no_text() {
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
