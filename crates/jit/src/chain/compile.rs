//! Functions of members' handlers: in one, as far as it does not get too large, and one of their prefetch slices.

use super::ahead::{self, Ahead};
use super::{Member, info_size};
use crate::frame::Frame;
use crate::lower::fused::Element;
use crate::lower::weight;
use crate::unit::Unit;
use compiler::cluster::{self, Counters};
use netil::cluster::Way;

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
    pub ahead: Option<Ahead>,
    pub counters: Counters,
}

/// Compiles members, whose first tables among all have these numbers, that packets enter at these ports.
///
/// # Errors
/// The number of a member that cannot be compiled.
pub(super) fn all(members: &[Member], first_tables: &[u32], entries: &[(u32, u32)], large: usize) -> Result<Compiled, usize> {
    let fused =
        members.iter().map(|Member { program, func, links, .. }| cluster::Member { program, func: (**func).clone(), links: links.clone() });
    let fused: Vec<cluster::Member<'_>> = fused.collect();
    let fused: Vec<&cluster::Member<'_>> = fused.iter().collect();
    let counters = Counters::plain(&fused);
    let (mut compiled, mut part_of) = (Vec::new(), vec![0; members.len()]);
    for (n, (of, unit)) in handlers(members, first_tables, &counters, entries)?.into_iter().enumerate() {
        of.iter().for_each(|member| part_of[*member] = n);
        compiled.push(Part::of(unit));
    }
    let slices = slices(members, &fused, first_tables, entries, large);
    let ahead = slices.map(|part| Ahead::new(part, large, info_size(members)));
    Ok(Compiled { parts: compiled, part_of, ahead, counters })
}

/// Slices of members that lead to lookups in tables of more than `large` bytes, as one function; `None` if there are none, or they are not for this machine.
fn slices(members: &[Member], fused: &[&cluster::Member<'_>], first_tables: &[u32], entries: &[(u32, u32)], large: usize) -> Option<Part> {
    let slices = cluster::slices_in_ssa(fused, large);
    let sliced: Vec<usize> = (0..members.len()).filter(|n| slices[*n].is_some()).collect();
    if sliced.is_empty() || !ahead::IS_WORTHWHILE {
        return None;
    }
    let all = members.iter().zip(&slices).zip(first_tables);
    let elements = all.map(|((member, slice), tables)| {
        let func = slice.as_ref().unwrap_or(&member.func);
        Element { func, module: member.program.module(), ways: &member.ways, counts: &[], tables: *tables }
    });
    Unit::fused(&elements.collect::<Vec<_>>(), entries, &sliced, Some(large)).ok().map(Part::of)
}

/// The functions of members' handlers, with which these are.
fn handlers(
    members: &[Member],
    first_tables: &[u32],
    counters: &Counters,
    entries: &[(u32, u32)],
) -> Result<Vec<(Vec<usize>, Unit)>, usize> {
    let place = |n: usize, port: usize| counters.at(n as u32, port as u32);
    let by_port = |(n, member): (usize, &Member)| (0..member.ways.len()).map(|port| place(n, port)).collect();
    let counts: Vec<Vec<Option<u32>>> = members.iter().enumerate().map(by_port).collect();
    let all = members.iter().zip(&counts).zip(first_tables);
    let elements = all.map(|((member, counts), tables)| Element {
        func: &member.func,
        module: member.program.module(),
        ways: &member.ways,
        counts,
        tables: *tables,
    });
    let elements: Vec<Element<'_>> = elements.collect();
    let (mut units, alone) = (Vec::new(), |n: usize| Unit::fused(&elements, entries, &[n], None).map_err(|_| n));
    for part in parts(members, entries) {
        match Unit::fused(&elements, entries, &part, None) {
            Ok(unit) => units.push((part, unit)),
            Err(_) if part.len() == 1 => return Err(part[0]),
            // One of them is what Cranelift refuses; each alone tells which.
            Err(_) => part.into_iter().try_for_each(|n| alone(n).map(|unit| units.push((vec![n], unit))))?,
        }
    }
    Ok(units)
}

/// Which members are in one function: those behind each other, as many as it may have.
fn parts(members: &[Member], entries: &[(u32, u32)]) -> Vec<Vec<usize>> {
    let (mut parts, mut weights) = (vec![Vec::new()], 0);
    for n in in_order(members, entries) {
        let own = weight(&members[n].func);
        if weights > 0 && weights + own > PART {
            parts.push(Vec::new());
            weights = 0;
        }
        weights += own;
        parts.last_mut().into_iter().for_each(|part| part.push(n));
    }
    parts.retain(|part| !part.is_empty());
    parts
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
        let behind =
            members[n].links.iter().rev().filter_map(|(_, way)| if let Way::Member(to, _) = way { Some(*to as usize) } else { None });
        next.extend(behind);
    }
    order
}
