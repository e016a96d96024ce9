//! The passes and their order.
//!
//! [`PIPELINE`] is the whole optimiser, top to bottom. A pass is one file with one function; its header says the idea, the phases and
//! the price. Every pass keeps the meaning: results, memory effects and the place of every trap. Adding one is a file and
//! a line in [`ALL`], and a place in the pipeline.

mod branches;
mod byteswap;
mod checks;
mod coalesce;
mod dce;
mod fold;
mod gvn;
mod rewrite;
mod unreachable;
mod values;

use crate::mir::{Func, Order, check};
use netil::Verified;
use std::time::{Duration, Instant};

/// What passes may ask about the program and the machine.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The program.
    pub program: &'a Verified,
    /// Byte order of the machine that will run it.
    pub native: Order,
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

const COALESCE: Pass = Pass { name: "coalesce", doc: "copy coalescing: removes block parameters that have one source", run: coalesce::run };
const FOLD: Pass = Pass { name: "fold", doc: "constant propagation and folding, algebraic simplification, reassociation", run: fold::run };
const BRANCHES: Pass =
    Pass { name: "branches", doc: "branch simplification, jumps to jumps, straight lines into one block", run: branches::run };
const UNREACHABLE: Pass = Pass { name: "unreachable", doc: "removes code that no path reaches", run: unreachable::run };
const GVN: Pass = Pass { name: "gvn", doc: "value numbering: computes equal values once", run: gvn::run };
const CHECKS: Pass = Pass { name: "checks", doc: "bounds checks: drops what is known to hold, merges neighbours", run: checks::run };
const BYTESWAP: Pass = Pass { name: "byteswap", doc: "swaps constants at compile time instead of fields at run time", run: byteswap::run };
const DCE: Pass = Pass { name: "dce", doc: "removes values nobody uses", run: dce::run };

/// Every pass once, for options and tests.
pub const ALL: &[Pass] = &[COALESCE, FOLD, BRANCHES, UNREACHABLE, GVN, CHECKS, BYTESWAP, DCE];

/// The optimiser. The second round sees what the checks pass turned into constants.
pub const PIPELINE: &[Pass] = &[
    COALESCE,
    FOLD,
    BRANCHES,
    UNREACHABLE,
    COALESCE,
    GVN,
    CHECKS, // what holds on every path
    FOLD,
    BRANCHES,
    UNREACHABLE,
    COALESCE,
    DCE, // what follows from it
    BYTESWAP,
    DCE, // whose uses must all be known; the constants it replaced
];

/// What follows from a change that decides tests.
const CLEAN: &[Pass] = &[CHECKS, FOLD, BRANCHES, UNREACHABLE, COALESCE, GVN, BRANCHES, UNREACHABLE, DCE];

/// Tidies up after a back end's own changes.
pub(crate) fn clean(func: &mut Func, context: &Context<'_>) {
    for pass in CLEAN {
        (pass.run)(func, context);
        debug_assert_eq!(check::check(func), Ok(()), "cleaning, after {}:\n{func}", pass.name);
    }
}

/// How to run the pipeline.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Stop after the first pass of that name.
    pub stop_after: Option<String>,
    /// Leave these out.
    pub disabled: Vec<String>,
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
    let mut timings = Vec::new();
    for pass in PIPELINE.iter().filter(|p| !options.disabled.iter().any(|d| d == p.name)) {
        let start = Instant::now();
        (pass.run)(func, context);
        timings.push(Timing { pass: pass.name, time: start.elapsed() });
        debug_assert_eq!(check::check(func), Ok(()), "after {}:\n{func}", pass.name);
        if options.stop_after.as_deref() == Some(pass.name) {
            break;
        }
    }
    timings
}
