//! From verified bytecode to SSA MIR, through the passes, to what back ends take.
//!
//! ```text
//! Verified ──translate──▶ mir::Func ──passes::PIPELINE──▶ mir::Func ──vector, cluster──▶ a back end (C here, Cranelift in netvm-jit)
//! ```
//!
//! - [`mir`]: the intermediate representation, its printer and its checker
//! - [`translate`]: bytecode to MIR
//! - `analysis`: what is found out about a function: ranges, effects, liveness, branch probability,
//!   costs, keys of tables
//! - [`passes`]: the optimiser
//! - [`cluster`]: elements that run fused; `vector`: filters for many packets at once
//! - [`backends`]: C, eBPF
//! - [`sets`], [`switches`]: how a set is tested and a switch is lowered, chosen by size and
//!   density
#![forbid(unsafe_code)]
mod analysis;
pub mod backends;
pub mod cluster;
pub mod host;
pub mod mir;
pub mod passes;
pub mod sets;
pub mod switches;
mod target;
pub mod translate;
mod vector;

pub use analysis::cost::CostModel;
pub use analysis::facts::each_block;
pub use analysis::keys;
pub use analysis::work::work;
pub use target::Target;

use netil::Verified;
use netil::module::HandlerKind;

/// A handler in optimised MIR; `None` if the program has no such handler.
pub fn optimised(
    program: &Verified,
    kind: HandlerKind,
    options: &passes::Options,
) -> Result<Option<(mir::Func, Vec<passes::Timing>)>, translate::TooLarge> {
    let Some(mut func) = translate::translate(program, kind)? else { return Ok(None) };
    debug_assert_eq!(passes::verify(&func), Ok(()), "after translation:\n{func}");
    let context = passes::Context::new(program, options.target);
    let timings = passes::optimise(&mut func, &context, options);
    Ok(Some((func, timings)))
}

/// A handler in optimised MIR, for code that makes copies of packets itself: where a handler sends
/// copies, loops that count to a constant are unrolled, so that it is known how many there may be.
///
/// # Errors
/// The handler is too large.
pub fn optimised_with_copies(
    program: &Verified,
    kind: HandlerKind,
    options: &passes::Options,
) -> Result<Option<mir::Func>, translate::TooLarge> {
    let Some(func) = translate::translate(program, kind)? else { return Ok(None) };
    let sends = func.blocks.iter().flat_map(|b| &b.ops).any(|v| matches!(func.op(*v), Some(mir::Op::Helper(mir::Helper::SendCopy(_), ..))));
    let unrolled = if sends { passes::unroll(func.clone()).ok() } else { None };
    let mut func = unrolled.unwrap_or(func);
    debug_assert_eq!(passes::verify(&func), Ok(()), "after translation:\n{func}");
    let context = passes::Context::new(program, options.target);
    passes::optimise(&mut func, &context, options);
    Ok(Some(func))
}

/// A handler in optimised MIR, and what each pass did; `None` if the program has no such handler.
pub fn explained(
    program: &Verified,
    kind: HandlerKind,
    options: &passes::Options,
) -> Result<Option<(mir::Func, Vec<passes::Explained>)>, translate::TooLarge> {
    let Some(mut func) = translate::translate(program, kind)? else { return Ok(None) };
    let context = passes::Context::new(program, options.target);
    let told = passes::explain(&mut func, &context, options);
    Ok(Some((func, told)))
}
