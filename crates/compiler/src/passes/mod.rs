//! The passes and their order.
//!
//! [`PIPELINE`] is the whole optimiser, top to bottom. A pass is one file with one function; its
//! header says the idea, the phases and the price. Every pass keeps the meaning: results, memory
//! effects and the place of every trap. Adding one is a file and a line in [`ALL`], and a place in
//! the pipeline.

mod branches;
mod byteswap;
mod chains;
mod checks;
mod coalesce;
mod compares;
mod dce;
mod decisions;
mod dispatch;
mod equals;
mod explain;
mod fold;
mod gvn;
mod jumps;
mod lengths;
mod paths;
mod rewrite;
mod select;
mod switches;
mod unreachable;
mod unroll;
mod widen;

pub use crate::target::Target;
pub use explain::{Explained, Size, explain, tests};
pub use unroll::{TooLarge, unroll};

use crate::analysis::guards;
use crate::mir::{Func, check};
use netil::Verified;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// What passes may ask about the program and the machine.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The program.
    pub program: &'a Verified,
    /// What code is made for.
    pub target: Target,
    /// Where passes say what they did and why, if somebody asks.
    pub notes: Option<&'a RefCell<Vec<String>>>,
}

impl<'a> Context<'a> {
    /// For code of a program.
    pub fn new(program: &'a Verified, target: Target) -> Self {
        Self { program, target, notes: None }
    }

    /// Notes what a pass did and why.
    fn note(&self, text: impl FnOnce() -> String) {
        if let Some(notes) = self.notes {
            notes.borrow_mut().push(text());
        }
    }
}

/// A transformation of a function.
pub struct Pass {
    /// Name for options, timings and snapshots.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Does it.
    pub run: fn(&mut Func, &Context<'_>),
}

const DISPATCH: Pass =
    Pass { name: "dispatch", doc: "sends by a number: tests for few ports, and where the target looks none up", run: dispatch::run };
const COALESCE: Pass = Pass { name: "coalesce", doc: "copy coalescing: removes block parameters that have one source", run: coalesce::run };
const FOLD: Pass = Pass { name: "fold", doc: "constant propagation and folding, algebraic simplification, reassociation", run: fold::run };
const BRANCHES: Pass =
    Pass { name: "branches", doc: "branch simplification, jumps to jumps, straight lines into one block", run: branches::run };
const JUMPS: Pass = Pass { name: "jumps", doc: "jump threading: steps over branches that the way to them decides", run: jumps::run };
const PATHS: Pass = Pass { name: "paths", doc: "a copy of what follows a parser, for packets of which it read most", run: paths::run };
const CHAINS: Pass = Pass { name: "chains", doc: "if-chains of equalities to sets and switches", run: chains::run };
const SWITCHES: Pass =
    Pass { name: "switches", doc: "switch lowering: if-chain, set tests, jump table, perfect hash or binary search", run: switches::run };
const LENGTHS: Pass = Pass { name: "lengths", doc: "one length test for a header, not one for each of its fields", run: lengths::run };
const WIDEN: Pass = Pass { name: "widen", doc: "load widening: bytes that are put together are loaded together", run: widen::run };
const COMPARES: Pass =
    Pass { name: "compares", doc: "compare merging: neighbouring fields are compared at once, masked where needed", run: compares::run };
const SELECT: Pass = Pass { name: "select", doc: "if-conversion: branches that only choose between values", run: select::run };
const EQUALS: Pass = Pass { name: "equals", doc: "constants that branches tell: what is done only if x is 6 uses 6", run: equals::run };
const UNREACHABLE: Pass = Pass { name: "unreachable", doc: "removes code that no path reaches", run: unreachable::run };
const GVN: Pass = Pass { name: "gvn", doc: "value numbering: computes equal values once", run: gvn::run };
const CHECKS: Pass = Pass { name: "checks", doc: "bounds checks: drops what is known to hold, merges neighbours", run: checks::run };
const BYTESWAP: Pass = Pass { name: "byteswap", doc: "swaps constants at compile time instead of fields at run time", run: byteswap::run };
const DCE: Pass = Pass { name: "dce", doc: "removes values nobody uses", run: dce::run };

/// Every pass once, for options and tests.
pub const ALL: &[Pass] = &[
    DISPATCH,
    COALESCE,
    FOLD,
    BRANCHES,
    JUMPS,
    PATHS,
    CHAINS,
    SWITCHES,
    LENGTHS,
    WIDEN,
    COMPARES,
    SELECT,
    UNREACHABLE,
    EQUALS,
    GVN,
    CHECKS,
    BYTESWAP,
    DCE,
];

/// The optimiser. The second round sees what the checks pass turned into constants.
pub const PIPELINE: &[Pass] = &[
    DISPATCH,
    COALESCE,
    FOLD,
    BRANCHES,
    UNREACHABLE,
    COALESCE,
    EQUALS,
    GVN,
    CHECKS, // what holds on every path
    JUMPS,
    PATHS, // what follows from it stands below
    CHAINS,
    SWITCHES,
    LENGTHS, // what follows from it
    FOLD,
    BRANCHES,
    UNREACHABLE,
    COALESCE,
    CHECKS, // what ways that were threaded have seen
    GVN,
    FOLD,
    BRANCHES,
    UNREACHABLE,
    COALESCE,
    CHECKS, // what ways that were threaded have seen
    GVN,
    FOLD,
    BRANCHES,
    UNREACHABLE,
    COALESCE,
    DCE,
    WIDEN,
    COMPARES,
    SELECT,
    BRANCHES,
    UNREACHABLE,
    DCE, // now that blocks are few and constants in sight
    BYTESWAP,
    DCE, // whose uses must all be known; the constants it replaced
];

/// Says what is wrong with a function, if anything: its form, or an access that is not guarded.
///
/// # Errors
/// What is wrong, and where.
pub fn verify(func: &Func) -> Result<(), String> {
    check::check(func)?;
    guards::check(func)
}

/// What follows from a change that decides tests.
const CLEAN: &[Pass] = &[CHECKS, FOLD, BRANCHES, UNREACHABLE, COALESCE, GVN, BRANCHES, UNREACHABLE, DCE];

/// Tidies up after a back end's own changes.
pub(crate) fn clean(func: &mut Func, context: &Context<'_>) {
    for pass in CLEAN {
        (pass.run)(func, context);
        debug_assert_eq!(verify(func), Ok(()), "cleaning, after {}:\n{func}", pass.name);
    }
}

/// Removes branches that decide nothing and what only they used; for code that need not be right
/// ([`crate::cluster`], prefetch slices).
pub(crate) fn tidy(func: &mut Func, context: &Context<'_>) {
    for pass in [BRANCHES, UNREACHABLE, COALESCE, DCE] {
        (pass.run)(func, context);
    }
}

/// How to run the pipeline.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Stop after the first pass of that name.
    pub stop_after: Option<String>,
    /// Leave these out.
    pub disabled: Vec<String>,
    /// Run these, by name, instead of [`PIPELINE`]; names that no pass has are left out.
    pub order: Option<Vec<String>>,
    /// What code is made for.
    pub target: Target,
}

impl Options {
    /// For code that treats many packets at once.
    pub fn lanes() -> Self {
        Self { target: Target::LANES, ..Self::default() }
    }

    /// The passes to run, in order.
    fn passes(&self) -> Vec<&'static Pass> {
        let mut passes: Vec<&Pass> = match &self.order {
            None => PIPELINE.iter().collect(),
            Some(names) => names.iter().filter_map(|name| ALL.iter().find(|p| p.name == name)).collect(),
        };
        passes.retain(|p| !self.disabled.iter().any(|d| d == p.name));
        if let Some(last) = self.stop_after.as_ref().and_then(|name| passes.iter().position(|p| p.name == name)) {
            passes.truncate(last + 1);
        }
        passes
    }
}

/// Time spent in one pass.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Its name.
    pub pass: &'static str,
    /// Wall time.
    pub time: Duration,
}

/// Runs the pipeline.
pub fn optimise(func: &mut Func, context: &Context<'_>, options: &Options) -> Vec<Timing> {
    let run = |pass: &'static Pass| {
        let start = Instant::now();
        (pass.run)(func, context);
        let timing = Timing { pass: pass.name, time: start.elapsed() };
        debug_assert_eq!(verify(func), Ok(()), "after {}:\n{func}", pass.name);
        timing
    };
    options.passes().into_iter().map(run).collect()
}
