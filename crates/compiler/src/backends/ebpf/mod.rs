//! eBPF for the kernel's XDP hook, made from MIR without another compiler in between.
//!
//! ```text
//! mir::Func ──select──▶ instructions over virtual registers ──allocate──▶ machine registers, stack ──encode──▶ Program ──object──▶ ELF
//! ```
//!
//! The kernel loads a program only if its verifier proves that every access lies inside the packet
//! or a map. What MIR knows of bounds is said again in the form that the verifier follows:
//! `pointer + constant > data_end`, and for offsets that are computed a comparison with a constant
//! first (`proofs`). Where MIR knows more than the verifier can, a test is emitted that never
//! fails.
//!
//! Admitted: push handlers on the packet, initialised data, read-only sets, info memory (on the
//! stack), data and shared memory (an array map that all processors share without a lock), and
//! tables (maps with keys). Loops that count to a constant are unrolled; others are jumps backwards
//! that the kernel limits (`may_goto`, Linux 6.9). Elements of an application are functions of one
//! program ([`link()`]). Everything else is a [`Refused`] with the place and the reason. A packet
//! is what lies between `data` and `data_end`; its length on the wire is that.
//!
//! Source: the kernel's Documentation/bpf (verifier, instruction set, libbpf's program types). Left
//! out: tail calls, packets in fragments.

mod allocate;
mod btf;
mod divide;
mod encode;
mod layout;
mod link;
mod lir;
mod maps;
mod object;
mod proofs;
mod select;

use crate::Target;
use crate::mir::{Func, Op, Order, Site};
use crate::passes;
use crate::translate::translate;
use encode::Encoded;
use layout::Layout;
use maps::Maps;
use netil::Verified;
use netil::module::{Entry, HandlerKind, Table};
use select::{Exit, ExitAction, Frame, Unit};
use std::fmt;
use std::ops::Range;

pub use divide::{Divided, divide};
pub use encode::Reference;
pub use layout::{BUDGET_AT, CLOCK_AT, INTERFACE_AT, MEMORY_AT};
pub use link::{Application, Counted, Division, End, Fate, Linked, PAGE, QUEUES, Wrong, link};
pub use maps::{Keyed, Kind, Map, STATE, key_of};
pub use object::{entries, object};
pub use select::HEADER;

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
    /// Where the time comes from.
    pub world: World,
}

/// Where the time and the interface that a packet came in by come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum World {
    /// From the kernel; what the state map has at [`CLOCK_AT`] is added to its monotonic clock.
    #[default]
    Kernel,
    /// From the state map, at [`CLOCK_AT`] and [`INTERFACE_AT`]: for programs that are tried on
    /// packets.
    Map,
}

impl Default for Options {
    fn default() -> Self {
        Self { ports: Vec::new(), send: Action::Pass, drop: Action::Drop, trap: Action::Drop, world: World::Kernel }
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
    /// Its functions: their names and first instructions. The program begins with the first.
    pub functions: Vec<(String, usize)>,
    /// Whether there are loops: only the kernel's verifier then knows whether it sees an end of
    /// them, and Linux 6.9 is the oldest that may.
    pub loops: bool,
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
    compile_apart(program, options, &[])
}

/// The program for XDP, with those bytes of data memory on the stack of each run: every run writes
/// them before it reads them.
///
/// # Errors
/// As [`compile`].
pub fn compile_apart(program: &Verified, options: &Options, scratch: &[Range<u32>]) -> Result<Program, Refused> {
    let mut func = optimised(program)?;
    let scratch = divide::without_dead(&mut func, scratch.to_vec());
    let layout = Layout { scratch, ..Layout::new(program, MEMORY_AT)? };
    let mut maps = Maps::default();
    let tables = table_maps(program, &layout, "", &mut maps, None);
    let ways = |exit| {
        let port = |port: u32| options.ports.iter().find(|(p, _)| *p == port).map_or(options.send, |(_, action)| *action);
        ExitAction::Action(match exit {
            Exit::Port(number) => port(number),
            Exit::Drop(_) => options.drop,
            Exit::Trap => options.trap,
        })
    };
    let frame = Frame { info: layout.info, ..needs(&func) };
    let (world, used) = (options.world, frame.size() + self::scratch(program) + layout.scratch_size());
    let unit = Unit { program, func: &func, layout: &layout, ways: &ways, frame, world, tables: &tables, called: false };
    let mut code = select::select(&unit, &mut maps)?;
    let made = finish(&mut code, used as usize / 8, allocate::PLACES)?.0;
    Ok(joined(vec![("netvm".to_owned(), made)], maps, &[&layout]))
}

/// Registers and bytes for a function; also how many places of the stack it takes.
fn finish(code: &mut lir::Code, used: usize, all: usize) -> Result<(Encoded, usize), Refused> {
    if !code.clean(allocate::MOST_LIVE) {
        return Err(allocate::too_much());
    }
    let places = allocate::allocate(code, used, all)?;
    Ok((encode::encode(code)?, places))
}

/// One program of functions, the first one's start its own.
fn joined(functions: Vec<(String, Encoded)>, mut maps: Maps, layouts: &[&Layout]) -> Program {
    let mut loops = false;
    let (mut insts, mut references, mut calls, mut starts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (name, made) in functions {
        let start = insts.len();
        references.extend(made.references.iter().map(|r| Reference { at: start + r.at, ..*r }));
        calls.extend(made.calls.iter().map(|call| (start + call.at, call.function)));
        loops |= made.loops;
        insts.extend(made.insts);
        starts.push((name, start));
    }
    for (at, function) in calls {
        let distance = starts[function as usize].1 as i64 - at as i64 - 1;
        insts[at][4..].copy_from_slice(&(distance as i32).to_le_bytes());
    }
    if let Some(state) = maps.list.iter_mut().find(|map| map.name == STATE) {
        state.data = layout::bytes(layouts);
    }
    Program { insts, references, maps: maps.list, functions: starts, loops }
}

/// A map for each table of a program that the kernel has one for; names begin as is said. Where a
/// process has the tables too, it takes out what has timed out, and those that the kernel's part
/// does not use have no map.
fn table_maps(program: &Verified, layout: &Layout, name: &str, maps: &mut Maps, part: Option<&Divided>) -> Vec<Result<u32, String>> {
    let name = |of: &str| if name.is_empty() { of.to_owned() } else { format!("{name}_{of}") };
    let mut map = |n: usize, table: &Table, entries: &[(Entry, bool)]| match part {
        Some(part) if !part.tables[n] => Err(format!("table '{}' is the process's", table.name)),
        _ => Ok(maps.keyed(&name(&table.name), maps::of_table(table, entries, part.is_some())?)),
    };
    let tables = program.module().tables.iter().zip(&layout.entries).enumerate();
    tables.map(|(n, (table, entries))| map(n, table, entries)).collect()
}

/// Bytes of the stack where keys of tables are put together.
fn scratch(program: &Verified) -> u32 {
    program.module().tables.iter().map(|table| maps::key_size(table).next_multiple_of(8)).max().unwrap_or(0)
}

/// What a handler needs of the frame, but for info memory.
fn needs(func: &Func) -> Frame {
    let ops = || func.blocks.iter().flat_map(|b| &b.ops).filter_map(|v| func.op(*v));
    let moves = func.changes_geometry();
    // Tables have times of last use.
    let times = ops().any(|op| matches!(op, Op::TimeSeconds | Op::TimeMicros | Op::TimeNanos | Op::Helper(..)));
    Frame { info: 0, moves, times }
}

/// The push handler as this back end takes it.
fn optimised(program: &Verified) -> Result<Func, Refused> {
    // Jumps through tables are not to be had; the search for a case is made with the instructions.
    let target = Target { numbered_ports: u32::MAX, ..Target::HERE.in_order(Order::Little) };
    let options = passes::Options { disabled: vec!["switches".to_owned()], target, ..passes::Options::default() };
    let translated = translate(program, HandlerKind::Push).map_err(|e| Refused::whole(e.to_string()))?;
    let func = translated.ok_or_else(|| Refused::whole("a program without a push handler: packets come by themselves"))?;
    // What cannot be unrolled stays a loop.
    let mut func = passes::unroll(func.clone()).unwrap_or(func);
    debug_assert_eq!(passes::verify(&func), Ok(()), "after unrolling:\n{func}");
    passes::optimise(&mut func, &passes::Context::new(program, options.target), &options);
    let size = func.blocks.iter().map(|b| b.ops.len() + b.end.edges().len()).sum::<usize>();
    if size > MAX_OPERATIONS {
        return Err(Refused::whole(format!("a program of {size} operations and branches; {MAX_OPERATIONS} are the most")));
    }
    Ok(func)
}
