//! How replicas share the state of an element that is not found by flow: with a lock, or by
//! transactions where the program is fit for them.
//!
//! Source: NetTM paper (seed 003), sections 3 and 4.

use super::super::accesses::Counters;
use super::super::scratch::Scratch;
use super::super::searches::SEARCHING;
use super::error::PlacementError;
use super::stage::{Order as Kept, Stage};
use compiler::mir::states::States;
use compiler::mir::{Func, Helper, Op, Order, Value};
use compiler::passes;
use netil::Verified;
use netil::app::Application;
use netil::module::HandlerKind;
use netil::table::Space;
use runtime::graph::transaction::MOST_MEMORY;
use runtime::graph::{Memory, Sum};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How runs of an element whose state replicas have in common come one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// What the program is fit for: its own state for each replica, as far as it is found by flow,
    /// divided by ports or added up; else transactions for long runs, and a lock for others.
    #[default]
    Auto,
    /// Each holds a lock.
    Lock,
    /// Each is a transaction, which begins again where it conflicts with another.
    Transaction,
    /// Each reads a copy of its replica, and holds a lock only if it changes something.
    Copies,
    /// Each replica has a state of its own, to which it does what the packets of all do.
    Replicate,
    /// Each replica has the state of its flows, without a lock: where that cannot be, the placement
    /// is refused.
    Affinity,
    /// Each replica has sums of its own, which are added when they are read: refused where there is
    /// more than sums.
    Shard,
}

impl Policy {
    /// Those that are for any order.
    const FOR_ANY: [Self; 3] = [Self::Auto, Self::Affinity, Self::Shard];

    /// As users write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Lock => "lock",
            Self::Transaction => "transaction",
            Self::Copies => "copies",
            Self::Replicate => "replicate",
            Self::Affinity => "affinity",
            Self::Shard => "shard",
        }
    }

    /// All of them.
    pub const ALL: [Self; 7] = [Self::Auto, Self::Lock, Self::Transaction, Self::Copies, Self::Replicate, Self::Affinity, Self::Shard];
}

/// Why the order of all packets has no locks.
const NOT_IN_ORDER: &str = "--state lock, transaction and copies are for --order flow: with them replicas take turns at an element as they come to it, which is not the order of the packets; \
     where that is kept, such elements run in order, on one thread, and there are replicate, affinity and shard";

/// Policies as a user gives them: for all elements, or for those of a name or class. The last that
/// fits counts.
#[derive(Clone, Debug, Default)]
pub struct Policies(pub Vec<(Option<String>, Policy)>);

impl Policies {
    /// That of an element.
    pub fn of(&self, name: &str, class: &str) -> Policy {
        let fits = |of: &Option<String>| of.as_deref().is_none_or(|of| of == name || of == class);
        self.0.iter().rev().find(|(of, _)| fits(of)).map_or(Policy::Auto, |(_, policy)| *policy)
    }

    /// Whether they are for replicas that keep that order.
    ///
    /// # Errors
    /// One is not; a name that no element and no class has.
    pub(super) fn check(&self, application: &Application, order: Kept) -> Result<(), PlacementError> {
        if let Some(unknown) = self.unknown(application) {
            return Err(PlacementError::Asked(format!("--state {unknown}: no element has that name or class")));
        }
        match order {
            Kept::Flow if self.has(Policy::Replicate) => {
                Err(PlacementError::Asked("--state replicate keeps the order of all packets: leave out --order flow".to_owned()))
            }
            Kept::Total if self.0.iter().any(|(_, policy)| *policy != Policy::Replicate && !Policy::FOR_ANY.contains(policy)) => {
                Err(PlacementError::Asked(NOT_IN_ORDER.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Whether some element may have that one.
    pub fn has(&self, policy: Policy) -> bool {
        self.0.iter().any(|(_, its)| *its == policy)
    }

    /// A name that no element and no class has.
    pub fn unknown(&self, application: &Application) -> Option<&str> {
        let known = |of: &&str| application.instances.iter().any(|instance| instance.name == **of || instance.class == **of);
        self.0.iter().filter_map(|(of, _)| of.as_deref()).find(|of| !known(of))
    }
}

/// Operations of a handler from which on its runs take so long that copying what they read costs
/// less than holding up others: transactions of microseconds.
const LONG: usize = 4000;

/// Whether runs of a program are long.
pub(super) fn is_long(program: &Verified) -> bool {
    let optimised = compiler::optimised(program, HandlerKind::Push, &passes::Options::default());
    matches!(optimised, Ok(Some((func, _))) if ops(&func).count() >= LONG)
}

/// Of elements with a lock those that run by themselves: behind an element of the replicas that
/// takes long, or searches, a lock held for a burst of the two would hold up all replicas. One
/// before such an element is better held for bursts: all packets take it.
pub(super) fn apart(
    application: &Application,
    stages: &[Stage],
    policies: &BTreeMap<usize, (runtime::graph::Policy, Option<String>)>,
) -> BTreeSet<u32> {
    let is_dear = |program: &Arc<Verified>| {
        let units = &program.module().coprocessors;
        units.iter().any(|unit| SEARCHING.contains(&unit.name.as_str())) || is_long(program)
    };
    let locked = |at: &u32| matches!(policies.get(&(*at as usize)), Some((runtime::graph::Policy::Lock, _)));
    let replicas = application.instances.iter().zip(stages).zip(0..).filter(|((_, stage), _)| **stage == Stage::Replica);
    let dear = replicas.filter(|((instance, _), _)| instance.program().is_some_and(is_dear)).map(|(_, at)| at);
    let (mut behind, mut open): (BTreeSet<u32>, Vec<u32>) = (BTreeSet::new(), dear.collect());
    while let Some(from) = open.pop() {
        let next = application.wires.iter().filter(|wire| wire.from.instance == from).map(|wire| wire.to.instance);
        open.extend(next.filter(|to| behind.insert(*to)));
    }
    behind.into_iter().filter(locked).collect()
}

/// The largest array of sums that are told apart.
const MOST_SUMS: u64 = 512;
/// Coprocessors that keep nothing of packets.
const LASTING: &[&str] = &["console", "regexp", "stringmatching"];

/// What a program's memory is for where it runs as transactions.
///
/// # Errors
/// Why it cannot.
pub(super) fn memory(program: &Verified) -> Result<Memory, String> {
    let module = program.module();
    coprocessors(program)?;
    if module.data_size as usize > MOST_MEMORY || program.shared_size() > 0 {
        return Err(format!("its variables are shared, or more than {MOST_MEMORY} bytes"));
    }
    let optimised = compiler::optimised(program, HandlerKind::Push, &passes::Options::default()).map_err(|error| error.to_string())?;
    let (func, _) = optimised.ok_or("packets are pulled through it")?;
    // Packets that a run holds are held when it commits.
    let holds = |op: &Op| matches!(op, Op::Helper(Helper::Hold | Helper::Take, ..));
    match ops(&func).filter(|(_, op)| !holds(op)).find_map(|(_, op)| lasting(op)) {
        Some(what) => Err(what.to_owned()),
        None => Ok(Memory { sums: sums(program, &func), scratch: Scratch::of(program).ranges() }),
    }
}

/// Whether its coprocessors keep nothing of packets.
fn coprocessors(program: &Verified) -> Result<(), String> {
    let keeps = |unit: &&netil::module::CoproUse| !LASTING.contains(&unit.name.as_str());
    match program.module().coprocessors.iter().find(keeps) {
        Some(unit) => Err(format!("coprocessor {} keeps state", unit.name)),
        None => Ok(()),
    }
}

/// Why what a program does to its state cannot be done again elsewhere, on packets that only look
/// the same; none if it can. Random numbers can: they follow from the packet's number.
pub(super) fn not_again(program: &Verified) -> Option<String> {
    if let Err(why) = coprocessors(program) {
        return Some(why);
    }
    match compiler::optimised(program, HandlerKind::Push, &passes::Options::default()) {
        Ok(Some((func, _))) => ops(&func).find_map(|(_, op)| lasting(op)).map(str::to_owned),
        Ok(None) => Some("packets are pulled through it".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

fn ops(func: &Func) -> impl Iterator<Item = (Value, &Op)> {
    func.blocks.iter().flat_map(|block| &block.ops).filter_map(|value| Some((*value, func.op(*value)?)))
}

/// What cannot be undone.
fn lasting(op: &Op) -> Option<&'static str> {
    match op {
        Op::Helper(Helper::Hold | Helper::Take, ..) => Some("it holds packets"),
        Op::Helper(helper, ..) if helper.row().writes.meets(States::QUEUES) => Some("it takes packets that wait"),
        Op::ExceptionLoad(_) | Op::ExceptionStore(..) => Some("it uses the exception table"),
        _ => None,
    }
}

/// Numbers in data memory that packets only add to.
pub(super) fn sums_of(program: &Verified) -> Vec<Sum> {
    match compiler::optimised(program, HandlerKind::Push, &passes::Options::default()) {
        Ok(Some((func, _))) => sums(program, &func),
        _ => Vec::new(),
    }
}

/// Numbers in data memory that are only added to.
fn sums(program: &Verified, func: &Func) -> Vec<Sum> {
    let mut sums = Vec::new();
    for place in Counters::of(program, func).sums(func).into_iter().filter(|place| place.space == Space::Data && place.bytes <= 8) {
        let step = place.at.step.max(1);
        if (place.at.high - place.at.low) / step < MOST_SUMS {
            let places = (place.at.low..=place.at.high).step_by(step as usize);
            let big_endian = place.order == Order::Big;
            sums.extend(places.map(|at| Sum { at: at as usize, bytes: place.bytes as usize, big_endian }));
        }
    }
    sums.sort_unstable();
    sums.dedup();
    sums
}
