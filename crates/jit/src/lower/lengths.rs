//! How long packets are at least: what checks of one element tell the elements behind it, so that
//! those need not check again.
//!
//! A forward analysis over the handlers of a function: packets that come in may have any length;
//! behind a check of bytes at a constant place there are as many, behind a pull fewer by that,
//! behind a push more. Where ways meet, the least counts.
//!
//! Source: Cousot, Cousot, "Abstract Interpretation" (1977), of a lower bound. Leaves out: places
//! that are computed, comparisons with the length.

use super::fused::{Element, Elements};
use compiler::mir::cfg::Cfg;
use compiler::mir::states::States;
use compiler::mir::{Func, Helper, Op, Value};
use netil::cluster::LinkTarget;
use netil::table::Space;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Nothing is known to come here.
const NOWHERE: u32 = u32::MAX;
/// After so many rounds what still changes is taken to be 0.
const ROUNDS: usize = 4;

/// What is known of packets in a handler.
#[derive(Default)]
pub(super) struct Lengths {
    /// Operations that find the bytes which they ask for.
    pub passing: HashSet<Value>,
    /// By port how long packets are at least that leave there.
    sent: HashMap<u32, u32>,
}

/// By element what is known of packets there; `given` are members of a part to which packets of any
/// length come.
pub(super) fn of(elements: &Elements<'_>, part: &[usize], cfgs: &[Cfg], given: &BTreeSet<u32>) -> Vec<Lengths> {
    let mut least = vec![NOWHERE; elements.all.len()];
    given.iter().for_each(|member| least[elements.of_member[*member as usize]] = 0);
    let mut all: Vec<Lengths> = elements.all.iter().map(|_| Lengths::default()).collect();
    for round in 0.. {
        let before = least.clone();
        for (n, cfg) in part.iter().zip(cfgs) {
            let element = &elements.all[*n];
            all[*n] = Lengths::in_handler(element.func, cfg, least[*n]);
            for (to, length) in leads(element, &all[*n].sent) {
                let least = &mut least[elements.of_member[to as usize]];
                *least = if round < ROUNDS || length >= *least { length.min(*least) } else { 0 };
            }
        }
        if least == before {
            return all;
        }
    }
    all
}

/// The members behind an element, with the lengths of what comes there.
fn leads<'e>(element: &'e Element<'_>, sent: &'e HashMap<u32, u32>) -> impl Iterator<Item = (u32, u32)> + 'e {
    let ways = element.instances.iter().flat_map(|instance| (0..).zip(instance.ways));
    ways.filter_map(|(port, way): (u32, _)| match way {
        Some(LinkTarget::Member(to, _)) => Some((*to, sent.get(&port).copied().unwrap_or(NOWHERE))),
        _ => None,
    })
}

impl Lengths {
    /// In a handler to which packets come of so many bytes at least.
    fn in_handler(func: &Func, cfg: &Cfg, least: u32) -> Self {
        let mut begin = vec![NOWHERE; func.blocks.len()];
        begin[0] = least;
        for round in 0.. {
            let (mut changed, mut lengths) = (false, Self::default());
            for block in &cfg.order {
                let data = func.block(*block);
                let end = data.ops.iter().fold(begin[block.0 as usize], |length, v| lengths.behind(func, *v, length));
                for port in data.end.ports() {
                    let least = lengths.sent.entry(port).or_insert(NOWHERE);
                    *least = end.min(*least);
                }
                for edge in data.end.edges() {
                    let begin = &mut begin[edge.block.0 as usize];
                    if end < *begin {
                        (*begin, changed) = (if round < ROUNDS { end } else { 0 }, true);
                    }
                }
            }
            if !changed {
                return lengths;
            }
        }
        Self::default()
    }

    /// The least length behind an operation.
    fn behind(&mut self, func: &Func, v: Value, length: u32) -> u32 {
        match func.op(v) {
            Some(Op::Check(Space::Packet, extents) | Op::Proved(Space::Packet, extents)) => {
                let ends = extents.iter().map(|extent| func.constant(extent.addr).map(|at| at + extent.end()));
                let most = ends.clone().flatten().max().unwrap_or(0).min(u64::from(NOWHERE - 1)) as u32;
                if length != NOWHERE && most <= length && ends.clone().all(|end| end.is_some()) {
                    self.passing.insert(v);
                }
                length.max(most)
            }
            Some(Op::Helper(helper, args, _)) => self.behind_helper(func, (v, *helper, args), length),
            _ => length,
        }
    }

    fn behind_helper(&mut self, func: &Func, (v, helper, args): (Value, Helper, &[Value]), length: u32) -> u32 {
        let by = args.first().and_then(|n| func.constant(*n)).map(|n| n.min(u64::from(NOWHERE - 1)) as u32);
        match (helper, by) {
            _ if length == NOWHERE => length,
            (Helper::PullHead | Helper::TrimTail, Some(by)) => {
                if by <= length {
                    self.passing.insert(v);
                }
                length.saturating_sub(by)
            }
            (Helper::PushHead | Helper::Unpull | Helper::GrowTail, by) => length.saturating_add(by.unwrap_or(0)).min(NOWHERE - 1),
            _ if helper.row().writes.meets(States::LENGTH) => 0,
            _ => length,
        }
    }
}
