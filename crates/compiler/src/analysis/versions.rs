//! Which state of a memory an operation sees.
//!
//! Idea: each change gives the memory that it is of a new version, and so does a place where ways
//! with different versions meet. Two operations that see the same version, one of which dominates
//! the other, see the same bytes. Source: memory versions of static single assignment, Cytron et
//! al. (1991), Novillo, "Memory SSA" (2007); here as a forward analysis. Phases: what each block
//! changes, then versions at the begin of blocks until nothing changes any more. Price: linear in
//! practice, blocks × nesting of loops.

use crate::mir::cfg::Cfg;
use crate::mir::states::States;
use crate::mir::{Block, Func, Op, Value};

/// What has versions of its own: the memories, the packet's length, that on the wire, and its time.
const VERSIONED: [States; KINDS] =
    [States::PACKET, States::INFO, States::DATA, States::SHARED, States::INITIALISED, States::LENGTH, States::WIRE, States::TIME];
const KINDS: usize = 8;

/// A state: the operation or the block that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Version {
    First,
    Of(Value),
    At(Block),
}

/// The versions at some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State([Version; KINDS]);

impl State {
    /// The version that an operation depends on; none if it depends on nothing that changes.
    pub fn seen_by(&self, op: &Op) -> Option<Version> {
        let seen = match op {
            Op::Load(space, ..) => States::memory(*space),
            Op::PacketLen => States::LENGTH,
            Op::WireLen => States::WIRE,
            Op::TimeSeconds | Op::TimeMicros | Op::TimeNanos => States::TIME,
            _ => return None,
        };
        VERSIONED.iter().position(|state| *state == seen).map(|kind| self.0[kind])
    }

    /// The state behind an operation.
    pub fn step(&mut self, v: Value, op: &Op) {
        let changed = changes(op);
        VERSIONED.iter().zip(&mut self.0).filter(|(state, _)| state.meets(changed)).for_each(|(_, version)| *version = Version::Of(v));
    }

    /// Where ways meet that lead to a block.
    fn meet(&self, other: &Self, block: Block) -> Self {
        let one = |(a, b): (&Version, &Version)| if a == b { *a } else { Version::At(block) };
        let mut met = *self;
        met.0.iter_mut().zip(self.0.iter().zip(&other.0)).for_each(|(to, both)| *to = one(both));
        met
    }
}

/// What an operation changes of that.
fn changes(op: &Op) -> States {
    match op {
        Op::Store(space, ..) => States::memory(*space),
        Op::Helper(helper, ..) => helper.row().writes,
        _ => States::NONE,
    }
}

/// The versions at the begin of each block.
pub(crate) struct Versions(Vec<Option<State>>);

impl Versions {
    pub fn new(func: &Func, cfg: &Cfg) -> Self {
        let (mut begin, mut behind) = (vec![None; func.blocks.len()], vec![None; func.blocks.len()]);
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for b in &cfg.order {
                let met = entered(cfg, *b, begin[b.0 as usize], &behind);
                if met != begin[b.0 as usize] {
                    begin[b.0 as usize] = met;
                    behind[b.0 as usize] = met.map(|state| left(func, *b, state));
                    changed = true;
                }
            }
        }
        Self(begin)
    }

    /// At the begin of a block that is reached.
    pub fn at(&self, b: Block) -> State {
        self.0[b.0 as usize].unwrap_or(State([Version::At(b); KINDS]))
    }
}

/// What all ways to a block that are known so far agree on. A version that it made itself stays: it
/// must not come and go.
fn entered(cfg: &Cfg, b: Block, before: Option<State>, behind: &[Option<State>]) -> Option<State> {
    let first = (b.0 == 0).then_some(State([Version::First; KINDS]));
    let ways = first.into_iter().chain(cfg.predecessors[b.0 as usize].iter().filter_map(|p| behind[p.0 as usize]));
    let mut met = ways.reduce(|a, other| a.meet(&other, b))?;
    let own = before.map_or([false; KINDS], |before| before.0.map(|version| version == Version::At(b)));
    met.0.iter_mut().zip(own).filter(|(_, own)| *own).for_each(|(version, _)| *version = Version::At(b));
    Some(met)
}

/// The state behind a block.
fn left(func: &Func, b: Block, mut state: State) -> State {
    for v in &func.block(b).ops {
        if let Some(op) = func.op(*v) {
            state.step(*v, op);
        }
    }
    state
}
