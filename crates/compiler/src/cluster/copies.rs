//! Copies that elements send, made by fused code: a copy goes on at once, into the queue of an exit
//! or on the slow path through the members behind, and then the element goes on. In the reference
//! schedule copies leave when the element has returned; that is the same where no member behind can
//! come back to it.
//!
//! - **Shared slots**: where all ports of a member that sends copies lead out, nobody behind looks
//!   at annotations, and the member changes nothing of the packet behind its first copy, no copy
//!   needs bytes of its own: it is its packet's slot in one more list ([`netil::pool`]). So are a
//!   switch's floods.
//! - **Turned copies**: a member whose last copy goes to a member and whose packet leaves then
//!   (`Tee`) sends the copy out, and the packet itself to the member, where it goes on the fast
//!   path. Nobody can tell: what leaves by exits is handed over when the burst is over.
//!
//! An arrival's copies are all made by fused code, or all by the runtime ([`Copies::most`] free
//! slots are needed), so that their order holds. Left to the runtime: copies where elements set
//! timers, those that leave the cluster at once or come back, or from behind which packets do so.

use super::dispatch::sets_timers;
use super::links::{all_links, link, reached};
use super::{Member, ops};
use crate::mir::cfg::Cfg;
use crate::mir::states::States;
use crate::mir::{Block, Edge, Func, Helper, Op, Terminator, Value};
use netil::cluster::LinkTarget;
use netil::table::Space;
use std::collections::{BTreeSet, HashMap};

/// The most copies of an arrival, and of its copies, that are made here; it also bounds how deep
/// the calls for copies of copies go.
const MOST: u64 = 512;

/// Which copies fused code makes.
pub(crate) struct Copies {
    /// By member, the ports that it sends them by, and where these lead.
    ways: Vec<Vec<(u32, LinkTarget)>>,
    /// By member whether its copies are in their packets' slots.
    shared: Vec<bool>,
    most: u64,
}

impl Copies {
    /// `numbers`: copies have numbers of their own.
    pub fn of(members: &[&Member<'_>], numbers: bool) -> Self {
        let timed = members.iter().any(|member| sets_timers(member));
        let ways: Vec<Vec<(u32, LinkTarget)>> =
            (0..members.len()).map(|n| ways(members, n).filter(|_| !timed).unwrap_or_default()).collect();
        let mut known = vec![None; members.len()];
        let most = (0..members.len()).map(|n| most(members, &ways, n, &mut known)).max().unwrap_or(0);
        let shared = members.iter().map(|member| !numbers && all_leave(member) && is_kept(&member.func)).collect();
        if most <= MOST { Self { ways, shared, most } } else { Self::none(members.len()) }
    }

    /// The runtime makes all copies.
    pub fn none(members: usize) -> Self {
        Self { ways: vec![Vec::new(); members], shared: vec![false; members], most: 0 }
    }

    /// Whether fused code makes a member's copies.
    pub fn made_here(&self, n: usize) -> bool {
        !self.ways[n].is_empty()
    }

    /// Whether a member's copies are in their packets' slots.
    pub fn is_shared(&self, n: usize) -> bool {
        self.shared[n]
    }

    /// Whether slots are in several lists.
    pub fn some_shared(&self) -> bool {
        self.shared.iter().zip(&self.ways).any(|(shared, ways)| *shared && !ways.is_empty())
    }

    /// The most copies that fused code makes of one arrival.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The ports by which copies are sent that compiled code makes: member, port, where it leads.
    pub fn each(&self) -> impl Iterator<Item = (usize, u32, LinkTarget)> {
        self.ways.iter().enumerate().flat_map(|(n, ways)| ways.iter().map(move |(port, way)| (n, *port, *way)))
    }
}

/// The ports by which copies are sent, one for each place in a member's code.
fn sent<'m>(member: &'m Member<'_>) -> impl Iterator<Item = u32> + 'm {
    ops(&member.func).filter_map(|op| if let Op::Helper(Helper::SendCopy(port), ..) = op { Some(*port) } else { None })
}

/// The ports by which a member sends copies, and where they lead, if fused code can make them.
fn ways(members: &[&Member<'_>], n: usize) -> Option<Vec<(u32, LinkTarget)>> {
    let links = all_links(members[n]);
    let stays = |way: LinkTarget| {
        let behind = reached(members, way);
        let leaves = |member: usize| all_links(members[member]).iter().any(|(_, way)| *way == LinkTarget::AtOnce);
        way != LinkTarget::AtOnce && !behind[n] && !(0..members.len()).any(|member| behind[member] && leaves(member))
    };
    let all_stay = links.iter().all(|(_, way)| stays(*way));
    let ports: BTreeSet<u32> = sent(members[n]).collect();
    let way = |port: u32| links.iter().find(|(id, _)| *id == port).copied();
    if all_stay && !loops(&members[n].func) { ports.into_iter().map(way).collect() } else { None }
}

/// Whether all that a member sends leaves the cluster and is not looked at but for its bytes.
fn all_leave(member: &Member<'_>) -> bool {
    all_links(member).iter().all(|(_, way)| matches!(way, LinkTarget::LastExit(_)))
}

/// Whether a handler that has sent a copy changes nothing of the packet any more.
fn is_kept(func: &Func) -> bool {
    let cfg = Cfg::new(func);
    let (mut behind, mut kept) = (BTreeSet::<u32>::new(), true);
    for block in &cfg.order {
        let mut copied = behind.contains(&block.0);
        for op in func.block(*block).ops.iter().filter_map(|v| func.op(*v)) {
            kept &= !(copied && changes(op));
            copied |= matches!(op, Op::Helper(Helper::SendCopy(_), ..));
        }
        if copied {
            behind.extend(func.block(*block).end.targets().map(|block| block.0));
        }
    }
    kept && !loops(func)
}

/// Whether an operation changes a packet's bytes, its time, or where it lies.
fn changes(op: &Op) -> bool {
    match op {
        Op::Store(space, ..) => *space == Space::Packet,
        Op::Helper(helper, ..) => helper.row().writes.meets(States::BUFFER),
        _ => false,
    }
}

/// A member with its copies turned where they are to be; where packets have numbers, it is seen
/// which is the copy.
pub fn turned<'m>(member: &Member<'m>, numbers: bool) -> Member<'m> {
    let mut func = member.func.clone();
    for n in 0..if numbers { 0 } else { func.blocks.len() as u32 } {
        if let Some((copy, op, port)) = to_turn(member, Block(n)) {
            func.set_op(copy, op);
            func.block_mut(Block(n)).end = Terminator::Send(port);
        }
    }
    Member { program: member.program, func, links: member.links.clone() }
}

/// The last operation of a block, as it is to be, and where the packet goes then: if that operation
/// sends a copy to a member, and the packet leaves.
fn to_turn(member: &Member<'_>, block: Block) -> Option<(Value, Op, u32)> {
    let block = member.func.block(block);
    let Terminator::Send(leaves) = block.end else { return None };
    let copy = *block.ops.last()?;
    let Some(Op::Helper(Helper::SendCopy(port), args, site)) = member.func.op(copy) else { return None };
    let turns = matches!(link(member, *port), LinkTarget::Member(..))
        && matches!(link(member, leaves), LinkTarget::Exit(_) | LinkTarget::LastExit(_));
    turns.then(|| (copy, Op::Helper(Helper::SendCopy(leaves), args.clone(), *site), *port))
}

/// Whether a handler may run some block more than once.
fn loops(func: &Func) -> bool {
    let cfg = Cfg::new(func);
    let place: HashMap<u32, usize> = cfg.order.iter().map(|block| block.0).zip(0..).collect();
    let back = |from: usize, edge: &Edge| place.get(&edge.block.0).is_some_and(|to| *to <= from);
    cfg.order.iter().enumerate().any(|(from, block)| func.block(*block).end.edges().iter().any(|edge| back(from, edge)))
}

/// The most copies of a packet that comes to a member, and of these, that are made here.
fn most(members: &[&Member<'_>], ways: &[Vec<(u32, LinkTarget)>], n: usize, known: &mut Vec<Option<u64>>) -> u64 {
    if let Some(most) = known[n] {
        return most;
    }
    // In a circle there is no most.
    known[n] = Some(MOST + 1);
    let mut behind = |way: &LinkTarget| if let LinkTarget::Member(to, _) = way { most(members, ways, *to as usize, known) } else { 0 };
    let all = |sum: u64, more: u64| sum.saturating_add(more);
    let copies =
        sent(members[n]).filter_map(|port| ways[n].iter().find(|(id, _)| *id == port)).map(|(_, way)| behind(way).saturating_add(1));
    let copies = copies.fold(0, all);
    let further = all_links(members[n]).iter().map(|(_, way)| behind(way)).max().unwrap_or(0);
    known[n] = Some(copies.saturating_add(further));
    copies.saturating_add(further)
}
