//! What the verifier says: which instruction, near which label, on which line, and why.

use crate::module::{HandlerKind, Module, as_entry};
use crate::table::Space;
use std::fmt;

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// Why.
    pub reason: Reason,
    /// In which handler; none for a declaration.
    pub handler: Option<HandlerKind>,
    /// At which instruction of it.
    pub inst: u32,
    place: String,
}

/// Why a module is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Something is larger than the limit allows: what, size, limit.
    TooLarge(&'static str, u64, u64),
    /// Something declared is wrong: what and how.
    Declaration(String),
    /// The instruction may not stand in this handler.
    Place,
    /// A branch goes to an instruction that does not exist.
    Target(u32),
    /// A path runs past the last instruction.
    FallsOff,
    /// The immediate names something that does not exist: what, number.
    Missing(&'static str, u32),
    /// The immediate cannot be used here.
    Immediate(String),
    /// Fewer elements than the instruction takes: wanted, there.
    Underflow(usize, usize),
    /// More elements than `.maxstacksize`.
    Overflow(u32),
    /// An operand's width: wanted, found, position from the top.
    Type(u16, u16, usize),
    /// Paths meet with different stacks.
    Join(String),
    /// One instruction sees different types on different paths.
    Polymorphic([u16; 2], [u16; 2]),
    /// A local is read before it is written on some path.
    Uninitialised(u32),
    /// A constant address outside a memory: which, first byte, size, size of the memory.
    OutOfBounds(Space, u64, u64, u64),
    /// A subroutine calls itself.
    Recursion,
    /// Too many nested calls.
    CallDepth(u32),
}

impl VerifyError {
    pub(super) fn declaration(reason: Reason) -> Self {
        Self { reason, handler: None, inst: 0, place: "module".to_owned() }
    }

    pub(super) fn at(module: &Module, kind: HandlerKind, inst: u32, reason: Reason) -> Self {
        Self { reason, handler: Some(kind), inst, place: place(module, kind, inst) }
    }
}

/// The name of a place in code: `.push instruction 4 'upload.16' (2 after 'loop', line 17)`.
pub(super) fn place(module: &Module, kind: HandlerKind, inst: u32) -> String {
    let handler = module.handler(kind);
    let mnemonic = handler.and_then(|h| h.code.get(inst as usize)).map_or("end", |i| i.op.row().mnemonic);
    let near = handler.and_then(|h| h.label_before(inst)).map(|(name, distance)| match distance {
        0 => format!("at '{name}'"),
        n => format!("{n} after '{name}'"),
    });
    let line = handler.map(|h| h.line(inst)).filter(|l| *l > 0).map(|l| match module.source.as_str() {
        "" => format!("line {l}"),
        file => format!("{file}:{l}"),
    });
    let detail: Vec<String> = near.into_iter().chain(line).collect();
    let detail = if detail.is_empty() { String::new() } else { format!(" ({})", detail.join(", ")) };
    format!(".{} instruction {inst} '{mnemonic}'{detail}", kind.name())
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

impl std::error::Error for VerifyError {}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(what, size, limit) => write!(f, "{what} of {size} exceeds the limit of {limit}"),
            Self::Declaration(what) | Self::Immediate(what) => f.write_str(what),
            Self::Place => f.write_str("may not stand in this handler"),
            Self::Target(t) => write!(f, "branches to instruction {t}, which does not exist"),
            Self::FallsOff => f.write_str("runs past the end of the handler; end every path with ret, exit, pkt.send or pkt.drop"),
            Self::Missing(what, n) => write!(f, "no {what} {n}"),
            Self::Underflow(wanted, there) => write!(f, "takes {wanted} stack elements, {there} there"),
            Self::Overflow(max) => write!(f, "stack exceeds the declared {max} elements (.maxstacksize)"),
            Self::Type(wanted, found, depth) => {
                write!(f, "wants {} at stack position {depth} from the top, finds {}", type_name(*wanted), type_name(*found))
            }
            Self::Join(how) => write!(f, "paths meet with different stacks: {how}"),
            Self::Polymorphic(a, b) => write!(f, "sees {} here, {} on another path", types(*a), types(*b)),
            Self::Uninitialised(local) => {
                write!(f, "local {local} may be read before it is written; store something into it on every way that leads here")
            }
            Self::OutOfBounds(space, at, size, have) => {
                write!(f, "bytes {at}..{} lie outside {}, which has {have}{}", at + size, space.name(), declared_by(*space))
            }
            Self::Recursion => f.write_str("recursion"),
            Self::CallDepth(max) => write!(f, "calls nest more than {max} deep"),
        }
    }
}

/// What declares more of a memory.
fn declared_by(space: Space) -> &'static str {
    match space {
        Space::Info => "; .info_size in segment .metadata declares more",
        Space::Data => "; .datamem_size declares more",
        Space::Shared => "; .shared_size in segment .metadata declares more",
        Space::Packet | Space::Initialised => "",
    }
}

/// The types of top and second, if the instruction looks at both.
fn types([top, second]: [u16; 2]) -> String {
    if second == 0 { type_name(top) } else { format!("{} on {}", type_name(top), type_name(second)) }
}

/// Marks the type of a reference to an entry that has ended.
pub(super) const ENDED: u16 = 0x4000;

/// A type in words.
pub(super) fn type_name(ty: u16) -> String {
    match (as_entry(ty), as_entry(ty & !ENDED)) {
        (Some(_), Some(table)) if ty & ENDED != 0 => format!("an entry of table {table} that an insertion or deletion has ended"),
        (Some(table), _) => format!("an entry of table {table}"),
        (None, _) => format!("i{ty}"),
    }
}
