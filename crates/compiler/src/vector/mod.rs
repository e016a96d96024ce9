//! Vectorisation: a filter for many packets at once, a packet a lane. Which loads lanes do
//! together, which lanes leave for the scalar function and where, which regions are merged, and
//! what that costs. A back end prints or lowers the [plan](plan::VectorPlan).
//!
//! - [`plan`]: which blocks lanes can run, how many lanes reach each
//! - [`loads`]: vector loads
//! - [`guards`]: the function for lanes, with a length test before each vector load
//! - [`regions`]: region merging
//! - [`cost`]: whether a block is worth a test that steps over it

pub(crate) mod cost;
pub(crate) mod guards;
pub(crate) mod loads;
pub(crate) mod plan;
mod regions;

use crate::Target;
use crate::mir::Func;
use netil::Verified;

pub(crate) use guards::for_lanes;

/// What a filter costs for a group of packets, in operations on lanes; `None` where its shape does
/// not allow lanes.
pub(crate) fn cost(program: &Verified, func: &Func) -> Option<f64> {
    let func = for_lanes(func, program)?;
    let plan = plan::VectorPlan::new(&func, program.module())?;
    Some(cost::Cost { func: &func, plan: &plan, machine: Target::LANES.costs }.expected())
}
