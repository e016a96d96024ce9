//! MIR: a control-flow graph in SSA form in which every operation says what it touches.
//!
//! ```text
//! func   = block*                          block 0 is the entry; its parameters are the handler's stack
//! block  = params, op*, terminator         parameters in place of phi functions
//! value  = iN (1 ≤ N ≤ 2048) | token       an operation defines at most one
//! check  = operation giving a token        traps at its site unless the bytes lie inside the memory
//! access = load | store, takes a token     of a check that covers it: checks are merged by moving tokens, never dropped
//! ```
//!
//! Invariants: a value is defined once, in a block that dominates its uses, or earlier in the same
//! block; edges carry as many arguments as the target has parameters, of their types; operations of
//! a block run in order. Calls are inlined by the translation, so a site (an instruction index of
//! the handler) names a place without more.
//!
//! A `switch` and a set test stay one operation until lowering, however many keys they have.

pub mod cfg;
pub mod check;
mod helper;
mod print;
pub mod states;

use netil::Module;
use netil::exec::DropReason;
use netil::module::HandlerKind;
use netil::ops::{BinOp, CmpOp, UnOp};
use netil::set::Set;
use netil::table::Space;
use std::fmt;
use std::ops::Range;

pub use helper::{FastPath, Helper, PacketUse, Row};

/// Index of the instruction that an operation comes from: where a trap is reported.
pub type Site = u32;

/// A value; printed `v7`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// A basic block; printed `block3`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(pub u32);

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// An unsigned integer of that many bits.
    Int(u16),
    /// Proof that a check has passed.
    Token,
    /// No value.
    Void,
}

/// Byte order of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

/// One byte range of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// First byte, a 32-bit value.
    pub addr: Value,
    /// Added to it without wrapping.
    pub offset: u32,
    /// Number of bytes.
    pub size: u32,
    /// Where the trap is reported.
    pub site: Site,
}

impl Extent {
    /// One past the last byte, relative to the address.
    pub fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.size)
    }
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant of at most 64 bits.
    Const(u64),
    /// A wider constant, in limbs.
    WideConst(Box<[u64]>),
    /// Two operands; not a division.
    Bin(BinOp, Value, Value),
    /// A division, with the token of a `NonZero` of its divisor.
    Div(BinOp, Value, Value, Value),
    /// A token, or a trap if the value is 0.
    NonZero(Value, Site),
    /// Checked 32-bit arithmetic, signed if true; traps where the exact result does not fit.
    Checked(BinOp, bool, Value, Value, Site),
    /// One operand.
    Un(UnOp, Value),
    /// Comparison, giving an i1.
    Cmp(CmpOp, Value, Value),
    /// Extension with zeros to the result's width.
    Zext(Value),
    /// Extension with the sign to the result's width.
    Sext(Value),
    /// The low bits.
    Trunc(Value),
    /// Bits from the given one up, as many as the result is wide.
    Slice(Value, u16),
    /// High ‖ low.
    Concat(Value, Value),
    /// The second operand if the first, an i1, is 1, else the third.
    Select(Value, Value, Value),
    /// True if the set with that number holds the value: see [`Func::set`].
    SetHas(u32, Value),
    /// A token, or a trap at the first extent that is not inside the memory. If there are several,
    /// one covers all.
    Check(Space, Box<[Extent]>),
    /// A token for extents that are known to lie inside the memory; costs nothing.
    Proved(Space, Box<[Extent]>),
    /// A load of as many bytes as the result is wide, from address + offset.
    Load(Space, Order, Value, u32, Value),
    /// A store to address + offset: space, order, address, offset, value, token.
    Store(Space, Order, Value, u32, Value, Value),
    /// The packet's captured length.
    PacketLen,
    /// The packet's length on the wire.
    WireLen,
    /// Arrival time, seconds.
    TimeSeconds,
    /// Arrival time, microseconds within the second.
    TimeMicros,
    /// Arrival time, nanoseconds in 64 bits.
    TimeNanos,
    /// The random number of that site for the packet's number.
    Random(Site),
    /// An entry of the exception table.
    ExceptionLoad(u32),
    /// Sets an entry of the exception table.
    ExceptionStore(u32, Value),
    /// Takes so many from the budget, or traps.
    Budget(Site, u32),
    /// Traps if there is no packet.
    Present(Site),
    /// Work done by the runtime.
    Helper(Helper, Box<[Value]>, Site),
}

/// A call of the runtime from compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// With so many operands of 32 bits.
    Helper(Helper, usize),
    /// With operands of these widths, 0 for none, and a result of that width.
    Wide(Helper, [u16; 2], u16),
    /// The random number of that site.
    Random(Site),
}

/// What an operation may touch besides its operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// May trap: it stays even if nobody uses its value, and stays in order with other effects.
    pub traps: bool,
    /// Reads a memory.
    pub reads: bool,
    /// Writes a memory, sends, or has another lasting effect.
    pub writes: bool,
    /// Changes the packet's length or place.
    pub geometry: bool,
}

/// A jump with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The target.
    pub block: Block,
    /// One per parameter of the target.
    pub args: Vec<Value>,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Terminator {
    /// Goes on elsewhere.
    Jump(Edge),
    /// Goes to the first edge if the i1 is 1, else to the second.
    Branch(Value, Edge, Edge),
    /// Goes to the edge of the key that the 32-bit value equals, else to the last.
    Switch(Value, Box<[(u32, Edge)]>, Edge),
    /// The packet leaves by that port.
    Send(u32),
    /// The packet leaves by the port that the 32-bit value places after the first, if the value is
    /// less than the count (second number); else it goes on.
    SendBy(Value, u32, u32, Edge),
    /// The packet is dropped.
    Drop(DropReason),
}

/// A value's type and origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Where it comes from.
    pub def: Def,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Def {
    /// A block's parameter.
    Param(Block),
    /// An operation.
    Op(Op),
}

/// A block's contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockData {
    /// Its parameters.
    pub params: Vec<Value>,
    /// Its operations, named by the values they define.
    pub ops: Vec<Value>,
    /// Its end.
    pub end: Terminator,
}

/// A handler in MIR.
#[derive(Clone, Debug)]
pub struct Func {
    /// Which handler.
    pub kind: HandlerKind,
    /// The blocks; unreachable ones may be left over until they are removed.
    pub blocks: Vec<BlockData>,
    /// The values; unused ones may be left over.
    pub values: Vec<ValueData>,
    /// How many sets the module has; those numbered from there on are the function's.
    pub module_sets: u32,
    /// Sets that passes made.
    pub sets: Vec<Set>,
}

impl Func {
    /// Adds a block without contents.
    pub fn new_block(&mut self, params: &[Type]) -> Block {
        let block = Block(u32::try_from(self.blocks.len()).expect("fewer than 2^32 blocks"));
        let params = params.iter().map(|ty| self.new_value(*ty, Def::Param(block))).collect();
        self.blocks.push(BlockData { params, ops: Vec::new(), end: Terminator::Drop(DropReason::Verdict) });
        block
    }

    /// Adds a value that no block holds yet.
    pub fn new_value(&mut self, ty: Type, def: Def) -> Value {
        let value = Value(u32::try_from(self.values.len()).expect("fewer than 2^32 values"));
        self.values.push(ValueData { ty, def });
        value
    }

    /// Appends an operation to a block.
    pub fn append(&mut self, block: Block, ty: Type, op: Op) -> Value {
        let value = self.new_value(ty, Def::Op(op));
        self.block_mut(block).ops.push(value);
        value
    }

    /// A block's contents.
    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block.0 as usize]
    }

    /// A block's contents, to change.
    pub fn block_mut(&mut self, block: Block) -> &mut BlockData {
        &mut self.blocks[block.0 as usize]
    }

    /// The operation that defines a value.
    pub fn op(&self, value: Value) -> Option<&Op> {
        match &self.values[value.0 as usize].def {
            Def::Op(op) => Some(op),
            Def::Param(_) => None,
        }
    }

    /// Replaces the operation that defines a value.
    pub fn set_op(&mut self, value: Value, op: Op) {
        self.values[value.0 as usize].def = Def::Op(op);
    }

    /// A value's type.
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.0 as usize].ty
    }

    /// The width of an integer value in bits; 0 for others.
    pub fn width(&self, value: Value) -> u16 {
        match self.ty(value) {
            Type::Int(w) => w,
            _ => 0,
        }
    }

    /// The number that a value is known to be, if it has at most 64 bits.
    pub fn constant(&self, value: Value) -> Option<u64> {
        match self.op(value) {
            Some(Op::Const(c)) => Some(*c),
            _ => None,
        }
    }

    /// The set with that number.
    pub fn set<'a>(&'a self, module: &'a Module, set: u32) -> &'a Set {
        match set.checked_sub(self.module_sets) {
            Some(own) => &self.sets[own as usize],
            None => &module.sets[set as usize],
        }
    }

    /// The number of a set, which is added unless it is there.
    pub fn add_set(&mut self, set: Set) -> u32 {
        let at = self.sets.iter().position(|s| *s == set).unwrap_or(self.sets.len());
        if at == self.sets.len() {
            self.sets.push(set);
        }
        self.module_sets + at as u32
    }

    /// All block ids.
    pub fn block_ids(&self) -> impl Iterator<Item = Block> + use<> {
        (0..self.blocks.len() as u32).map(Block)
    }

    /// True if random numbers are drawn.
    pub fn draws(&self) -> bool {
        self.blocks.iter().flat_map(|b| &b.ops).any(|v| matches!(self.op(*v), Some(Op::Random(_))))
    }

    /// True if an operation may change the packet's length or place.
    pub fn changes_geometry(&self) -> bool {
        let ops = self.blocks.iter().flat_map(|b| &b.ops);
        ops.filter_map(|v| self.op(*v)).any(|op| op.effects().geometry)
    }
}

impl Op {
    /// Calls `f` with each operand.
    pub fn operands(&self, mut f: impl FnMut(Value)) {
        let mut each = |vs: &[Value]| vs.iter().for_each(|v| f(*v));
        match self {
            Self::Const(_) | Self::WideConst(_) | Self::PacketLen | Self::WireLen => {}
            Self::TimeSeconds | Self::TimeMicros | Self::TimeNanos => {}
            Self::Random(_) | Self::ExceptionLoad(_) | Self::Budget(..) | Self::Present(_) => {}
            Self::NonZero(a, _) | Self::Un(_, a) | Self::Zext(a) | Self::Sext(a) | Self::Trunc(a) | Self::Slice(a, _) => each(&[*a]),
            Self::SetHas(_, a) | Self::ExceptionStore(_, a) => each(&[*a]),
            Self::Bin(_, a, b) | Self::Checked(_, _, a, b, _) | Self::Cmp(_, a, b) | Self::Concat(a, b) => each(&[*a, *b]),
            Self::Load(_, _, a, _, t) => each(&[*a, *t]),
            Self::Div(_, a, b, c) | Self::Select(a, b, c) | Self::Store(_, _, a, _, b, c) => each(&[*a, *b, *c]),
            Self::Check(_, extents) | Self::Proved(_, extents) => extents.iter().for_each(|e| each(&[e.addr])),
            Self::Helper(_, args, _) => each(args),
        }
    }

    /// Replaces each operand.
    pub fn map_operands(&mut self, mut f: impl FnMut(Value) -> Value) {
        let mut each = |vs: &mut [&mut Value]| vs.iter_mut().for_each(|v| **v = f(**v));
        match self {
            Self::Const(_) | Self::WideConst(_) | Self::PacketLen | Self::WireLen => {}
            Self::TimeSeconds | Self::TimeMicros | Self::TimeNanos => {}
            Self::Random(_) | Self::ExceptionLoad(_) | Self::Budget(..) | Self::Present(_) => {}
            Self::NonZero(a, _) | Self::Un(_, a) | Self::Zext(a) | Self::Sext(a) | Self::Trunc(a) | Self::Slice(a, _) => each(&mut [a]),
            Self::SetHas(_, a) | Self::ExceptionStore(_, a) => each(&mut [a]),
            Self::Bin(_, a, b) | Self::Checked(_, _, a, b, _) | Self::Cmp(_, a, b) | Self::Concat(a, b) => each(&mut [a, b]),
            Self::Load(_, _, a, _, t) => each(&mut [a, t]),
            Self::Div(_, a, b, c) | Self::Select(a, b, c) | Self::Store(_, _, a, _, b, c) => each(&mut [a, b, c]),
            Self::Check(_, extents) | Self::Proved(_, extents) => extents.iter_mut().for_each(|e| each(&mut [&mut e.addr])),
            Self::Helper(_, args, _) => args.iter_mut().for_each(|v| each(&mut [v])),
        }
    }

    /// What it may touch.
    pub fn effects(&self) -> Effects {
        let pure = Effects::default();
        match self {
            Self::NonZero(..) | Self::Checked(..) | Self::Check(..) | Self::Present(_) => Effects { traps: true, ..pure },
            Self::Budget(..) => Effects { traps: true, writes: true, ..pure },
            Self::Load(..) | Self::PacketLen | Self::WireLen | Self::ExceptionLoad(_) => Effects { reads: true, ..pure },
            // A copy that is sent changes the packet's number, and so does another packet.
            Self::Random(_) => Effects { reads: true, ..pure },
            Self::Store(..) | Self::ExceptionStore(..) => Effects { writes: true, ..pure },
            Self::Helper(helper, ..) => helper.effects(),
            _ => pure,
        }
    }

    /// True where two equal operations give the same value whatever lies between them.
    pub fn is_pure(&self) -> bool {
        self.effects() == Effects::default()
    }
}

impl Terminator {
    /// The edges out.
    pub fn edges(&self) -> Vec<&Edge> {
        match self {
            Self::Jump(e) | Self::SendBy(.., e) => vec![e],
            Self::Branch(_, a, b) => vec![a, b],
            Self::Switch(_, cases, default) => cases.iter().map(|c| &c.1).chain([default]).collect(),
            Self::Send(_) | Self::Drop(_) => Vec::new(),
        }
    }

    /// The ports by which packets leave there.
    pub fn ports(&self) -> Range<u32> {
        match self {
            Self::Send(port) => *port..port + 1,
            Self::SendBy(_, first, count, _) => *first..first + count,
            _ => 0..0,
        }
    }

    /// How a [`Self::SendBy`] whose value is that number ends.
    pub fn sent_by(number: u64, first: u32, count: u32, default: &Edge) -> Self {
        if number < u64::from(count) { Self::Send(first + number as u32) } else { Self::Jump(default.clone()) }
    }

    /// The blocks that edges lead to, in their order.
    pub fn targets(&self) -> impl Iterator<Item = Block> {
        (0..).map_while(|n| self.edge(n)).map(|edge| edge.block)
    }

    /// The edge out with that number, in the order of [`Self::edges`].
    pub fn edge(&self, n: usize) -> Option<&Edge> {
        match (self, n) {
            (Self::Jump(e) | Self::SendBy(.., e) | Self::Branch(_, e, _), 0) | (Self::Branch(_, _, e), 1) => Some(e),
            (Self::Switch(_, cases, default), n) => cases.get(n).map(|c| &c.1).or_else(|| (n == cases.len()).then_some(default)),
            _ => None,
        }
    }

    /// The edge out with that number, to change.
    pub fn edge_mut(&mut self, n: usize) -> Option<&mut Edge> {
        match (self, n) {
            (Self::Jump(e) | Self::SendBy(.., e) | Self::Branch(_, e, _), 0) | (Self::Branch(_, _, e), 1) => Some(e),
            (Self::Switch(_, cases, default), n) if n == cases.len() => Some(default),
            (Self::Switch(_, cases, _), n) => cases.get_mut(n).map(|c| &mut c.1),
            _ => None,
        }
    }

    /// The edges out, to change.
    pub fn edges_mut(&mut self) -> Vec<&mut Edge> {
        match self {
            Self::Jump(e) | Self::SendBy(.., e) => vec![e],
            Self::Branch(_, a, b) => vec![a, b],
            Self::Switch(_, cases, default) => cases.iter_mut().map(|c| &mut c.1).chain([default]).collect(),
            Self::Send(_) | Self::Drop(_) => Vec::new(),
        }
    }

    /// Replaces each value used.
    pub fn map_values(&mut self, mut f: impl FnMut(Value) -> Value) {
        if let Self::Branch(v, ..) | Self::Switch(v, ..) | Self::SendBy(v, ..) = self {
            *v = f(*v);
        }
        self.edges_mut().into_iter().flat_map(|e| &mut e.args).for_each(|v| *v = f(*v));
    }

    /// Calls `f` with each value used.
    pub fn values(&self, mut f: impl FnMut(Value)) {
        if let Self::Branch(v, ..) | Self::Switch(v, ..) | Self::SendBy(v, ..) = self {
            f(*v);
        }
        self.edges().into_iter().flat_map(|e| &e.args).for_each(|v| f(*v));
    }
}

impl Edge {
    /// An edge without arguments.
    pub fn to(block: Block) -> Self {
        Self { block, args: Vec::new() }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block{}", self.0)
    }
}
