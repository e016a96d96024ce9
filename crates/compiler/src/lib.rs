//! From verified bytecode to SSA MIR, through the passes, to what back ends take.
//!
//! ```text
//! Verified ──translate──▶ mir::Func ──passes::PIPELINE──▶ mir::Func ──▶ a back end (Cranelift in netvm-jit)
//! ```
//!
//! - [`mir`]: the intermediate representation, its printer and its checker
//! - [`translate`]: bytecode to MIR
//! - [`passes`]: the optimiser
//! - [`sets`], [`switches`]: how a set is tested and a switch is lowered, chosen by size and density
#![forbid(unsafe_code)]
pub mod backends;
pub mod mir;
pub mod passes;
pub mod sets;
pub mod switches;
pub mod translate;

use netil::Verified;
use netil::module::HandlerKind;

/// The byte order of the machine this runs on.
pub const NATIVE: mir::Order = if cfg!(target_endian = "big") { mir::Order::Big } else { mir::Order::Little };

/// A handler in optimised MIR; `None` if the program has no such handler.
pub fn optimised(
    program: &Verified,
    kind: HandlerKind,
    options: &passes::Options,
) -> Result<Option<(mir::Func, Vec<passes::Timing>)>, translate::TooLarge> {
    let Some(mut func) = translate::translate(program, kind)? else { return Ok(None) };
    debug_assert_eq!(mir::check::check(&func), Ok(()), "after translation:\n{func}");
    let context = passes::Context { target: options.target, ..passes::Context::new(program, NATIVE) };
    let timings = passes::optimise(&mut func, &context, options);
    Ok(Some((func, timings)))
}

/// The same for code that makes copies of packets itself: where a handler sends copies, loops that count to a constant are unrolled, so that it is known how many there may be.
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
    let unrolled = if sends { backends::ebpf::unroll(func.clone()).ok() } else { None };
    let mut func = unrolled.unwrap_or(func);
    debug_assert_eq!(mir::check::check(&func), Ok(()), "after translation:\n{func}");
    let context = passes::Context { target: options.target, ..passes::Context::new(program, NATIVE) };
    passes::optimise(&mut func, &context, options);
    Ok(Some(func))
}

/// The same, saying what each pass did.
pub fn explained(
    program: &Verified,
    kind: HandlerKind,
    options: &passes::Options,
) -> Result<Option<(mir::Func, Vec<passes::Explained>)>, translate::TooLarge> {
    let Some(mut func) = translate::translate(program, kind)? else { return Ok(None) };
    let context = passes::Context { target: options.target, ..passes::Context::new(program, NATIVE) };
    let told = passes::explain(&mut func, &context, options);
    Ok(Some((func, told)))
}
