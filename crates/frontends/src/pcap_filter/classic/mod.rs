//! Decision graph → classic BPF: the accumulator machine of McCanne and Jacobson, as libpcap and
//! the Linux kernel run it.
//!
//! Made from the graph of the terms as they stand, before lists are merged: sets and tests of the
//! captured length have no counterpart there. As in the filter language, a load past the end
//! rejects the packet, so loads need no checks. What A and X hold where a block begins follows from
//! the ways there, and is not loaded again (`values`). `layout` places blocks and makes long jumps.
//!
//! Invariants: jumps lead forward only; every memory word is written before it is read; no constant
//! divisor is 0, no constant shift is 32 or more. So the kernel's checker takes every program of up
//! to [`MAX_INSTRUCTIONS`].
//!
//! Source: S. McCanne, V. Jacobson: The BSD Packet Filter, USENIX 1993;
//! Documentation/networking/filter.rst of the Linux kernel; the printed forms are those of
//! `bpf_image` and `bpf_dump` of libpcap 1.10. Leaves out: `protochain`, which loops; the obsolete
//! `byte` terms with `&` and `|`, whose value depends on what was evaluated before.

mod layout;
mod text;
mod values;

use std::fmt;

pub use text::Form;

use self::layout::Layout;
use self::values::{Body, Generator};
use super::graph::{self, Graph, Target};
use super::ir::Ir;
use super::simplify;

/// The kernel takes no more (BPF_MAXINSNS).
pub const MAX_INSTRUCTIONS: usize = 4096;
/// Words of memory (BPF_MEMWORDS).
const MEMORY: u32 = 16;
/// Bytes of a packet that are accepted: tcpdump's default.
const ACCEPTED: u32 = 262_144;

/// An instruction, as `struct bpf_insn` and `struct sock_filter` have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// Class, operation and operand.
    pub code: u16,
    /// Instructions skipped if the test holds.
    pub jt: u8,
    /// Instructions skipped if it does not.
    pub jf: u8,
    /// The constant.
    pub k: u32,
}

impl Instruction {
    pub(self) fn new(code: u16, k: u32) -> Instruction {
        Instruction { code, jt: 0, jf: 0, k }
    }
}

/// A program in classic BPF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// At least one, at most [`MAX_INSTRUCTIONS`].
    pub instructions: Vec<Instruction>,
    /// The kernel's machine gives what libpcap's gives. They differ in offsets of 2 GiB and more,
    /// which are places of its own for the kernel, and in shifts by a variable of 32 or more.
    pub same_in_kernel: bool,
}

/// Why a filter cannot be said in classic BPF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// `protochain`.
    Loop,
    /// `byte` terms with `&` or `|`.
    Last,
    /// More memory words than there are.
    Memory,
    /// More instructions than the kernel takes.
    Size(usize),
    /// Values wider than 32 bits.
    Wide,
}

impl std::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Loop => {
                f.write_str("`protochain` is a loop, and classic BPF has none; name the protocol as `ip proto` or `ip6 proto`")
            }
            Refused::Last => f.write_str("`byte` with `&` or `|` depends on the term before it; write `link[OFFSET] & VALUE != 0`"),
            Refused::Memory => f.write_str("its arithmetic needs more than the 16 words of memory that classic BPF has"),
            Refused::Size(size) => write!(f, "it takes {size} instructions of classic BPF, of which the kernel takes {MAX_INSTRUCTIONS}"),
            Refused::Wide => f.write_str("it compares values wider than the 32 bits of classic BPF"),
        }
    }
}

/// The program of a filter; its terms stand as they were written.
pub(super) fn compile(ir: &Ir) -> Result<Program, Refused> {
    let mut ir = ir.clone();
    let root = ir.root;
    let graph = graph::build(&mut ir, root);
    let graph = simplify::simplify(&ir, graph);
    let (bodies, same_in_kernel) = bodies(&ir, &graph)?;
    let mut layout = Layout::new(graph.blocks.len(), ACCEPTED);
    for (id, body) in bodies.into_iter().enumerate() {
        if let Some(Body { instructions, end }) = body {
            layout.place(id, &instructions, end);
        }
    }
    let instructions = layout.finish(graph.entry, &initial(&ir));
    match instructions.len() {
        size @ 0..=MAX_INSTRUCTIONS => {
            debug_assert!(size > 0, "a program ends in a return");
            Ok(Program { instructions, same_in_kernel })
        }
        size => Err(Refused::Size(size)),
    }
}

/// Each block's code, in the order in which it comes to be known what A and X hold there; blocks
/// that nothing leads to have none.
fn bodies(ir: &Ir, graph: &Graph) -> Result<(Vec<Option<Body>>, bool), Refused> {
    let mut bodies: Vec<Option<Body>> = graph.blocks.iter().map(|_| None).collect();
    let mut arrived = vec![None; graph.blocks.len()];
    let mut generator = Generator::new(ir)?;
    if let Target::Block(entry) = graph.entry {
        arrived[entry as usize] = Some(values::Registers::default());
    }
    for id in graph.forward() {
        let Some(registers) = arrived[id].take() else { continue };
        let block = graph.blocks[id];
        let (body, after) = generator.block(registers, ir.test(block.test), block.yes, block.no)?;
        for target in body.targets() {
            if let Target::Block(next) = target {
                let place = &mut arrived[next as usize];
                *place = Some(place.map_or(after, |other: values::Registers| other.common(after)));
            }
        }
        bodies[id] = Some(body);
    }
    Ok((bodies, generator.same_in_kernel))
}

/// Variable offsets are 0 before they are set.
fn initial(ir: &Ir) -> Vec<Instruction> {
    if ir.slots == 0 {
        return Vec::new();
    }
    let zero = Instruction::new(values::LD_IMM, 0);
    std::iter::once(zero).chain((0..ir.slots).map(|slot| Instruction::new(values::ST, slot))).collect()
}
