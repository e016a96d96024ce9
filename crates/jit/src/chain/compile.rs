//! Functions of members' handlers: in one, as far as it does not get too large, and one of their
//! prefetch slices. Members with the same code share it (`Identical`), whatever their
//! configuration: that is in their memories. So a router of many ports is compiled about as fast as
//! one of few.

use super::prefetch::{self, Prefetch};
use super::{Member, constants, info_size};
use crate::JitError;
use crate::frame::Frame;
use crate::lower::fused::{Element, Elements, Instance};
use crate::lower::weight;
use crate::unit::Unit;
use compiler::cluster::{self, Counters, Identical, is_large};
use compiler::mir::Func;
use netil::Module;
use netil::cluster::LinkTarget;
use netil::module::Table;
use std::collections::BTreeSet;
use std::mem::discriminant;
use std::sync::Arc;
use std::thread;

impl Member {
    /// Whether the code of another member is this one's: they differ in constants, what is in their
    /// memories, and where their ports lead.
    fn shares_code(&self, other: &Self) -> bool {
        let (one, two) = (self.program.module(), other.program.module());
        let linked = |member: &Self| member.ways.iter().map(|way| way.as_ref().map(discriminant)).collect::<Vec<_>>();
        // What tables have from the start is in them.
        let tables = |module: &Module| module.tables.iter().map(|table| Table { entries: Vec::new(), ..table.clone() }).collect::<Vec<_>>();
        (one.data_size, one.info_size, one.shared_size(), one.data.len())
            == (two.data_size, two.info_size, two.shared_size(), two.data.len())
            && (Arc::ptr_eq(&self.func, &other.func) || constants::are_alike(&self.func, &other.func))
            && (&one.sets, &one.ports, &one.coprocessors) == (&two.sets, &two.ports, &two.coprocessors)
            && tables(one) == tables(two)
            && linked(self) == linked(other)
    }

    /// Whether lookups in one of its tables may be worth a prefetch.
    fn has_large(&self, large: usize) -> bool {
        self.program.module().tables.iter().any(|table| is_large(table, large))
    }
}

/// Operations of one function: Cranelift's time grows faster than they do.
const PART: usize = 1 << 12;

/// Members whose handlers are one function.
pub(super) struct Part {
    pub unit: Unit,
    pub code: Code,
}

pub(super) type Code = unsafe extern "C" fn(*mut Frame) -> u64;

impl Part {
    fn of(unit: Unit) -> Self {
        // SAFETY: the code was compiled in the shape that takes a frame and gives a number.
        let code = unsafe { std::mem::transmute::<*const u8, Code>(unit.code.entry()) };
        Self { unit, code }
    }
}

/// Members' functions.
pub(super) struct Compiled {
    pub parts: Vec<Part>,
    /// By member the part that it is in.
    pub part_of: Vec<usize>,
    pub prefetch: Option<Prefetch>,
    pub counters: Counters,
    /// By member its initialised memory with what its handler reads behind that; empty if that is
    /// nothing.
    pub initialised: Vec<Vec<u8>>,
}

/// Members to be compiled: those that share code, and where packets come in (member, port).
struct Fused<'a> {
    members: &'a [Member],
    first_tables: &'a [u32],
    entries: &'a [(u32, u32)],
    /// Those that stand for all with their code, by the number of the code.
    firsts: Vec<usize>,
    /// By number the code.
    funcs: Vec<Arc<Func>>,
    /// By member its initialised memory with what is read behind that; empty if that is nothing.
    initialised: Vec<Vec<u8>>,
    /// By member the number of its code.
    of_member: Vec<usize>,
    /// By member and port where packets are counted that go there.
    counts: Vec<Vec<Option<u32>>>,
}

/// Compiles members, whose first tables among all have these numbers, that packets enter at these
/// ports.
///
/// # Errors
/// The number of a member that cannot be compiled.
pub(super) fn all(members: &[Member], first_tables: &[u32], entries: &[(u32, u32)], large: usize) -> Result<Compiled, usize> {
    let (all, counters) = Fused::of(members, first_tables, entries);
    let (handlers, slices) = thread::scope(|scope| {
        let slices = all.may_have_slices(large).then(|| scope.spawn(|| all.slices(large)));
        (all.handlers(), slices.and_then(|slices| slices.join().ok().flatten()))
    });
    let (parts, part_of) = handlers?;
    let prefetch = slices.map(|part| Prefetch::new(part, large, info_size(members)));
    Ok(Compiled { parts, part_of, prefetch, counters, initialised: all.initialised })
}

impl<'a> Fused<'a> {
    /// These members, and where their packets are counted.
    fn of(members: &'a [Member], first_tables: &'a [u32], entries: &'a [(u32, u32)]) -> (Self, Counters) {
        let fused = members.iter().map(|Member { program, func, links, .. }| cluster::Member {
            program,
            func: (**func).clone(),
            links: links.clone(),
        });
        let fused: Vec<cluster::Member<'_>> = fused.collect();
        let fused: Vec<&cluster::Member<'_>> = fused.iter().collect();
        let identical = Identical::by(&fused, |a, b| members[a].shares_code(&members[b]));
        let counters = Counters::with_copies(&fused, &identical);
        let firsts: Vec<usize> = identical.firsts().collect();
        let number = |member: usize| firsts.iter().position(|first| *first == identical.first(member as u32)).unwrap_or(0);
        let of_member: Vec<usize> = (0..members.len()).map(number).collect();
        let by_port = |(n, member): (usize, &Member)| (0..member.ways.len()).map(|port| counters.at(n as u32, port as u32)).collect();
        let counts = members.iter().enumerate().map(by_port).collect();
        let mut initialised = vec![Vec::new(); members.len()];
        let funcs = firsts.iter().map(|first| shared(members, &identical.of_first(*first), &mut initialised)).collect();
        (Self { members, first_tables, entries, firsts, funcs, initialised, of_member, counts }, counters)
    }
}

impl Fused<'_> {
    /// All elements with the functions that they have of the code with each number.
    fn elements<'f>(&'f self, func: impl Fn(usize) -> &'f Func) -> Elements<'f> {
        let instance = |member: u32| Instance {
            member,
            tables: self.first_tables[member as usize],
            ways: &self.members[member as usize].ways,
            counts: &self.counts[member as usize],
        };
        let instances =
            |code: usize| (0..).zip(&self.of_member).filter(|(_, of)| **of == code).map(|(member, _)| instance(member)).collect();
        let element = |(code, first): (usize, &usize)| {
            let module = self.members[*first].program.module();
            let initialised = module.data.len().max(self.initialised[*first].len()) as u32;
            Element { func: func(code), module, initialised, instances: instances(code) }
        };
        Elements { all: self.firsts.iter().enumerate().map(element).collect(), of_member: &self.of_member, entries: self.entries }
    }

    /// Whether some member looks into a large table, on a machine where slices are worth their
    /// while.
    fn may_have_slices(&self, large: usize) -> bool {
        prefetch::IS_WORTHWHILE && self.firsts.iter().any(|first| self.members[*first].has_large(large))
    }

    /// Slices of members that lead to lookups in tables of more than `large` bytes, as one
    /// function; `None` if there are none.
    fn slices(&self, large: usize) -> Option<Part> {
        let to_code = |(port, way): &(u32, LinkTarget)| match way {
            LinkTarget::Member(to, input) => (*port, LinkTarget::Member(self.of_member[*to as usize] as u32, *input)),
            other => (*port, *other),
        };
        let member = |(first, func): (&usize, &Arc<Func>)| {
            let Member { program, links, .. } = &self.members[*first];
            cluster::Member { program, func: (**func).clone(), links: links.iter().map(to_code).collect() }
        };
        let members = self.firsts.iter().zip(&self.funcs).map(member);
        let members: Vec<cluster::Member<'_>> = members.collect();
        let slices = cluster::slices_in_ssa(&members.iter().collect::<Vec<_>>(), large);
        let sliced: Vec<usize> = (0..members.len()).filter(|n| slices[*n].is_some()).collect();
        if sliced.is_empty() {
            return None;
        }
        let elements = self.elements(|code| slices[code].as_ref().unwrap_or(&members[code].func));
        Unit::fused(&elements, &sliced, Some(large)).ok().map(Part::of)
    }

    /// The functions of members' handlers, and by member which it is in.
    fn handlers(&self) -> Result<(Vec<Part>, Vec<usize>), usize> {
        let elements = self.elements(|code| &self.funcs[code]);
        let (mut units, alone) = (Vec::new(), |code: usize| Unit::fused(&elements, &[code], None).map_err(|_| self.firsts[code]));
        for (part, unit) in all_at_once(self.parts(), &elements) {
            match unit {
                Ok(unit) => units.push((part, unit)),
                Err(_) if part.len() == 1 => return Err(self.firsts[part[0]]),
                // One of them is what Cranelift refuses; each alone tells which.
                Err(_) => part.into_iter().try_for_each(|code| alone(code).map(|unit| units.push((vec![code], unit))))?,
            }
        }
        let part_of = |code: &usize| units.iter().position(|(part, _)| part.contains(code)).unwrap_or(0);
        let part_of = self.of_member.iter().map(part_of).collect();
        Ok((units.into_iter().map(|(_, unit)| Part::of(unit)).collect(), part_of))
    }

    /// Which code is in one function: that of members behind each other, as much as it may have.
    fn parts(&self) -> Vec<Vec<usize>> {
        let (mut parts, mut weights, mut seen) = (vec![Vec::new()], 0, BTreeSet::new());
        for n in in_order(self.members, self.entries) {
            let own = weight(&self.funcs[self.of_member[n]]);
            if !seen.insert(self.of_member[n]) {
                continue;
            }
            if weights > 0 && weights + own > PART {
                parts.push(Vec::new());
                weights = 0;
            }
            weights += own;
            parts.last_mut().into_iter().for_each(|part| part.push(self.of_member[n]));
        }
        parts.retain(|part| !part.is_empty());
        parts
    }
}

/// The handler of members that share code; notes what is behind their initialised memories then.
fn shared(members: &[Member], sharing: &[u32], initialised: &mut [Vec<u8>]) -> Arc<Func> {
    let funcs: Vec<&Func> = sharing.iter().map(|n| &*members[*n as usize].func).collect();
    let first = &members[sharing[0] as usize];
    if sharing.iter().all(|n| Arc::ptr_eq(&members[*n as usize].func, &first.func)) {
        return Arc::clone(&first.func);
    }
    let (func, behind) = constants::shared(&funcs, first.program.module().data.len());
    for (n, behind) in sharing.iter().zip(behind).filter(|(_, behind)| !behind.is_empty()) {
        initialised[*n as usize] = [&members[*n as usize].program.module().data[..], &behind].concat();
    }
    Arc::new(func)
}

/// Compiles parts on a thread each, but for the first.
fn all_at_once(parts: Vec<Vec<usize>>, elements: &Elements<'_>) -> Vec<(Vec<usize>, Result<Unit, JitError>)> {
    let compile = |part: Vec<usize>| {
        let unit = Unit::fused(elements, &part, None);
        (part, unit)
    };
    thread::scope(|scope| {
        let mut parts = parts.into_iter();
        let first = parts.next();
        let others: Vec<_> = parts.map(|part| (part.clone(), scope.spawn(|| compile(part)))).collect();
        let lost = |part| (part, Err(JitError::Backend("its thread was lost".to_owned())));
        let others = others.into_iter().map(|(part, thread)| thread.join().unwrap_or_else(|_| lost(part)));
        first.map(compile).into_iter().chain(others).collect()
    })
}

/// All members, each before those that packets go on to.
fn in_order(members: &[Member], entries: &[(u32, u32)]) -> Vec<usize> {
    let (mut order, mut seen) = (Vec::new(), vec![false; members.len()]);
    let mut next: Vec<usize> = (0..members.len()).rev().chain(entries.iter().rev().map(|(member, _)| *member as usize)).collect();
    while let Some(n) = next.pop() {
        if std::mem::replace(&mut seen[n], true) {
            continue;
        }
        order.push(n);
        let behind = members[n]
            .links
            .iter()
            .rev()
            .filter_map(|(_, way)| if let LinkTarget::Member(to, _) = way { Some(*to as usize) } else { None });
        next.extend(behind);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JitEngine;
    use netil::asm::assemble;
    use netil::verify;

    /// A member that adds a number of its own to a count, and sends packets somewhere: a constant,
    /// and what its init handler has stored.
    fn member(number: u32, way: LinkTarget) -> Member {
        let number = number + 3;
        let ports = "segment .ports push_input in push_output out ends segment .metadata .datamem_size 8 ends";
        let text = format!(
            "{ports} segment .init push {number} push 0 mstore.32 ret ends segment .push pop push 0 umload.32 push {number} xor push 4 umload.32 add push 4 mstore.32 pkt.send out ends"
        );
        let program = verify(assemble(&text, "").unwrap()).unwrap();
        Member::of(&JitEngine::new(Arc::new(program)).unwrap(), &[(1, way)]).unwrap()
    }

    fn codes(members: &[Member]) -> Vec<usize> {
        Fused::of(members, &vec![0; members.len()], &[(0, 0)]).0.of_member
    }

    #[test]
    fn members_share_code_unless_their_packets_go_on_differently() {
        let exits = |n: u32| member(n, LinkTarget::Exit(n));
        assert_eq!(codes(&[exits(0), exits(1), exits(2)]), [0, 0, 0]);
        assert_eq!(codes(&[exits(0), member(1, LinkTarget::AtOnce), exits(2)]), [0, 1, 0]);
        // The second is behind the first.
        assert_eq!(codes(&[member(0, LinkTarget::Member(1, 0)), exits(1)]), [0, 1]);
        let before = |n: u32| member(n, LinkTarget::Member(n + 2, 0));
        assert_eq!(codes(&[before(0), before(1), exits(2), exits(3)]), [0, 0, 1, 1]);
    }
}
