//! Clusters: elements of an application that run fused, as one function. What is decided about them
//! stands here, before anything is printed or lowered: `Fusion` has it all.
//!
//! A packet goes all the way before the next one starts, as in the reference schedule; header
//! tests, offsets and annotations of neighbouring elements are seen together. A handler has two
//! forms: the fast path for packets that have just arrived, and the slow path for everything. Where
//! the fast path needs the runtime (coprocessors, packets made anew, insertions that tables must be
//! asked for), it leaves by a side exit and re-enters on the slow path at the same operation.
//!
//! - `links`: where output ports lead; `dispatch`: whether a port's number tells it; `ports`:
//!   computed ports
//! - `identical`: identical-function merging
//! - `member`: the plan of one member: side exits, calls, prices
//! - [`counters`]: counter placement, from which `flows` finds all counts; `exit_queues`: where
//!   queues of exits lie; `copies`: copies that fused code makes
//! - `prefetch`: prefetch slices, with `shadow` memory and the `key_cache`
//! - `dead_work`, `silent_stores`, `checksums`: work that need not be done
//! - `tables`: tables that fused code looks into without the runtime
//!
//! Invariants: a member's code stands once for each form; copies go before their packet; data
//! memories, tables and the rest are each member's own. Source: NetVM paper, section 5.2 (NetPE
//! inlining and direct linking). Leaves out: pull handlers.

pub(crate) mod checksums;
pub(crate) mod copies;
pub mod counters;
pub(crate) mod dead_work;
pub(crate) mod dispatch;
pub(crate) mod exit_queues;
mod flows;
pub(crate) mod identical;
pub(crate) mod key_cache;
pub(crate) mod links;
pub(crate) mod member;
pub(crate) mod ports;
pub(crate) mod prefetch;
pub(crate) mod shadow;
mod silent_stores;
pub(crate) mod tables;

use crate::analysis::cost::CostModel;
use crate::mir::{Func, Op};
use netil::Verified;
use netil::cluster::LinkTarget;
use netil::exec::DropReason;
use netil::table::Space;
use std::cmp::Reverse;

pub use counters::{Count, Counters};
pub use flows::Flows;
pub use identical::Identical;
pub use prefetch::{LARGE, TURNS, bytes_now, is_large, prefetched, slices_in_ssa};
pub use shadow::Shadow;
pub use tables::{Access, access};

use copies::Copies;
use exit_queues::ExitQueues;
use member::MemberPlan;

/// An element to be fused.
pub struct Member<'a> {
    /// Its program.
    pub program: &'a Verified,
    /// Its push handler.
    pub func: Func,
    /// Where each output port leads, by the port's id.
    pub links: Vec<(u32, LinkTarget)>,
}

/// What is done, and from which sizes on. Tests have other sizes, which must change no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Lookups in tables of more bytes than that are prefetched. With 0 always.
    pub prefetch_above: usize,
    /// Operations of one function: the largest members are outlined where there are more.
    pub function: usize,
    /// Whether stores that change nothing are left out.
    pub silent_stores: bool,
    /// Bursts may end before their last packet although no member sets timers.
    pub short_bursts: bool,
    /// Packets' numbers are kept ([`netil::number`]): some element, of these or elsewhere, draws
    /// random numbers.
    pub numbers: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { prefetch_above: LARGE, function: CostModel::SERVER.function, silent_stores: true, short_bursts: false, numbers: false }
    }
}

/// All that is decided about a cluster.
pub(crate) struct Fusion<'a> {
    pub members: &'a [&'a Member<'a>],
    /// Where packets come in: member, port.
    pub entries: &'a [(u32, u32)],
    pub options: Options,
    /// By member its prefetch slice, if it has one.
    pub slices: Vec<Option<Func>>,
    pub identical: Identical,
    pub copies: Copies,
    pub plans: Vec<MemberPlan>,
    /// Packets that these members drop for that reason have queues of their own, behind those of
    /// exits.
    pub dropping: Vec<(u32, DropReason)>,
    pub counters: Counters,
    pub queues: ExitQueues,
    /// By place of the key cache the table, among those of all members.
    pub cached: Vec<u32>,
}

impl<'a> Fusion<'a> {
    /// Of members that packets enter at these ports: member, port.
    pub fn of(members: &'a [&'a Member<'a>], entries: &'a [(u32, u32)], options: Options) -> Self {
        let slices = prefetch::slices(members, options.prefetch_above);
        let (identical, copies) = (Identical::of(members), Copies::of(members, options.numbers));
        let outlined = outlined(members, &identical, options.function);
        let (mut plans, mut cached, mut tables) = (Vec::<MemberPlan>::new(), Vec::new(), 0);
        for (n, member) in members.iter().enumerate() {
            let shared = identical.of_first(identical.first(n as u32)).len() > 1;
            let made = member::Made { slow: copies.made_here(n), fast: copies.made_here(n) && !shared };
            let place = member::MemberLayout { tables, keys: cached.len() as u32, outlined: outlined[n], copies: made };
            let by_exit = dispatch::by_exit(member, &identical, n);
            let plan = MemberPlan::of(member, place, (by_exit, hot_port(members, n)), slices[n].as_ref(), options);
            cached.extend(plan.keys.tables.iter().map(|table| tables + table));
            tables += member.program.module().tables.len() as u32;
            plans.push(plan);
        }
        let dropping: Vec<(u32, DropReason)> = (0..).zip(&plans).filter_map(|(n, plan)| Some((n, plan.dropped?))).collect();
        let droppers: Vec<u32> = dropping.iter().map(|(member, _)| *member).collect();
        let counters = Counters::of(members, &identical, &droppers, &|n| copies.made_here(n));
        let queues = ExitQueues::of(members, &identical, &droppers, exits(members));
        Self { members, entries, options, slices, identical, copies, plans, dropping, counters, queues, cached }
    }

    /// Whether a member has a prefetch slice.
    pub fn is_sliced(&self, member: u32) -> bool {
        self.slices.get(member as usize).is_some_and(Option::is_some)
    }

    /// Whether bursts may end before their last packet: after some, others may have to wait for a
    /// timer.
    pub fn may_end_early(&self) -> bool {
        self.options.short_bursts || self.members.iter().any(|member| dispatch::sets_timers(member))
    }

    /// The budget with which fast paths may run.
    pub fn budget(&self) -> u32 {
        self.plans.iter().map(|plan| plan.budget).max().unwrap_or(0)
    }

    /// Bytes of info memory, which all members of an application have in common.
    pub fn info_size(&self) -> usize {
        info_size(self.members)
    }

    /// Packets that have fewer bytes go by the slow path, so that fast paths need not ask for each
    /// part of a header that all packets have: Ethernet's and one of IPv4.
    pub fn shortest(&self) -> u32 {
        const HEADERS: u32 = 14 + 20;
        let asks = |member: &&Member<'_>| ops(&member.func).any(|op| matches!(op, Op::Check(Space::Packet, _) | Op::PacketLen));
        if self.members.iter().any(asks) { HEADERS } else { 0 }
    }

    /// How many tables all members have.
    pub fn tables(&self) -> usize {
        self.members.iter().map(|member| member.program.module().tables.len()).sum()
    }
}

/// How many exits members have.
pub fn exits(members: &[&Member<'_>]) -> u32 {
    exits_of(members.iter().flat_map(|member| &member.links).map(|(_, way)| way))
}

fn exits_of<'w>(ways: impl Iterator<Item = &'w LinkTarget>) -> u32 {
    let number = |way: &LinkTarget| if let LinkTarget::Exit(n) | LinkTarget::LastExit(n) = way { *n + 1 } else { 0 };
    ways.map(number).max().unwrap_or(0)
}

fn info_size(members: &[&Member<'_>]) -> usize {
    members.iter().map(|member| member.program.module().info_size as usize).max().unwrap_or(0)
}

/// How large a handler is, in operations and ends of blocks.
pub(crate) fn size(func: &Func) -> usize {
    func.blocks.iter().map(|block| block.ops.len() + 1).sum()
}

/// All operations of a handler.
pub(crate) fn ops(func: &Func) -> impl Iterator<Item = &Op> {
    func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| func.op(*v))
}

/// The port of a member behind which most others are, the first of these: elements turn few packets
/// away.
fn hot_port(members: &[&Member<'_>], n: usize) -> Option<u32> {
    let by_port = members[n].links.iter().map(|(port, way)| (links::behind(members, *way), Reverse(*port)));
    by_port.max().map(|(_, Reverse(port))| port)
}

/// Of which members the fast path is a function of its own: of the largest, where there is too much
/// for one.
fn outlined(members: &[&Member<'_>], identical: &Identical, most: usize) -> Vec<bool> {
    let mut by_size: Vec<(usize, usize)> = identical.firsts().map(|n| (size(&members[n].func), n)).collect();
    by_size.sort_unstable();
    let (mut outlined, mut inlined) = (vec![false; members.len()], 0);
    for (size, n) in by_size {
        inlined += size;
        outlined[n] = inlined > most;
    }
    outlined
}
