//! eBPF for the kernel's XDP hook, made from MIR without another compiler in between.
//!
//! ```text
//! mir::Func ──select──▶ instructions over virtual registers ──allocate──▶ machine registers, stack ──encode──▶ Program ──object──▶ ELF
//! ```
//!
//! The kernel loads a program only if its verifier proves that every access lies inside the packet or a map. What MIR knows of bounds is said
//! again in the form that the verifier follows: `pointer + constant > data_end`, and for offsets that are computed a comparison with a constant
//! first (`proofs`). Where MIR knows more than the verifier can, a test is emitted that never fails.
//!
//! Admitted: push handlers whose loops count to a constant, on the packet, initialised data, read-only sets, info memory (on the stack), data and
//! shared memory (an array map that all processors share without a lock). Everything else is a [`Refused`] with the place and the reason. A packet is what lies between `data` and `data_end`; its length on the wire is the same.
//!
//! Source: the kernel's Documentation/bpf (verifier, instruction set, libbpf's program types). Left out: loops, tail calls, packets in fragments.

mod allocate;
mod encode;
mod layout;
mod lir;
mod object;
mod proofs;
mod select;
mod unroll;

use crate::mir::{Func, Order, Site, check};
use crate::passes;
use crate::translate::translate;
use netil::Verified;
use netil::module::HandlerKind;
use std::fmt;

pub use encode::Reference;
pub use object::object;

/// The most operations of MIR; what is made of more is larger than the kernel takes.
const MAX_OPERATIONS: usize = 1 << 15;

/// What XDP does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Drops it and tells the tracepoint `xdp:xdp_exception`.
    Aborted,
    /// Drops it.
    Drop,
    /// Gives it to the kernel's network stack.
    Pass,
    /// Sends it back by the interface that it came in by.
    Transmit,
    /// Sends it by the interface with that index.
    Redirect(u32),
}

/// What is done with packets.
#[derive(Clone, Debug)]
pub struct Options {
    /// With those that leave by a port, by its number.
    pub ports: Vec<(u32, Action)>,
    /// With those that leave by another port.
    pub send: Action,
    /// With those that are dropped.
    pub drop: Action,
    /// With those whose handler traps.
    pub trap: Action,
}

impl Default for Options {
    fn default() -> Self {
        Self { ports: Vec::new(), send: Action::Pass, drop: Action::Drop, trap: Action::Drop }
    }
}

/// A program that the kernel can load, but for its maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Instructions of eight bytes; a constant of 64 bits takes two.
    pub insts: Vec<[u8; 8]>,
    /// Which of them refer to maps.
    pub references: Vec<Reference>,
    /// The maps.
    pub maps: Vec<Map>,
}

/// A map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// Its name, also the section that it is made of.
    pub name: String,
    /// Its one value from the start.
    pub data: Vec<u8>,
    /// Whether nobody writes to it.
    pub read_only: bool,
}

/// What the target does not admit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What, and where it helps to know, how much would be admitted.
    pub reason: String,
    /// The instruction of the handler.
    pub site: Option<Site>,
}

impl Refused {
    fn whole(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), site: None }
    }

    fn at(site: Site, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), site: Some(site) }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.site {
            Some(site) => write!(f, "push handler, instruction {site}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for Refused {}

/// The program for XDP.
///
/// # Errors
/// It does what the target does not admit, or is too large.
pub fn compile(program: &Verified, options: &Options) -> Result<Program, Refused> {
    let func = optimised(program)?;
    emit(program, &func, options)
}

/// The push handler as this back end takes it.
fn optimised(program: &Verified) -> Result<Func, Refused> {
    // Jumps through tables are not to be had; the search for a case is made with the instructions.
    let options = passes::Options { disabled: vec!["switches".to_owned()], ..passes::Options::default() };
    let translated = translate(program, HandlerKind::Push).map_err(|e| Refused::whole(e.to_string()))?;
    let func = translated.ok_or_else(|| Refused::whole("a program without a push handler: packets come by themselves"))?;
    let mut func = unroll::unroll(func)?;
    debug_assert_eq!(check::check(&func), Ok(()), "after unrolling:\n{func}");
    passes::optimise(&mut func, &passes::Context::new(program, Order::Little), &options);
    Ok(func)
}

fn emit(program: &Verified, func: &Func, options: &Options) -> Result<Program, Refused> {
    let size = func.blocks.iter().map(|b| b.ops.len() + b.end.edges().len()).sum::<usize>();
    if size > MAX_OPERATIONS {
        return Err(Refused::whole(format!("a program of {size} operations and branches; {MAX_OPERATIONS} are the most")));
    }
    let layout = layout::Layout::new(program)?;
    let (mut code, maps) = select::select(program, func, options, &layout)?;
    code.clean();
    allocate::allocate(&mut code, layout.info as usize / 8)?;
    let (insts, references) = encode::encode(&code)?;
    Ok(Program { insts, references, maps })
}
