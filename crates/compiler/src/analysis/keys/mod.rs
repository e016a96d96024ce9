//! Of what the keys of tables are made: for each byte of a key, which byte of the packet it is.
//!
//! The handler is run on bytes that stand for themselves: a value is a number from a known place
//! on, or a row of bytes of the packet, known or unknown. Ways through the handler are followed
//! one by one: on one a key may have its ends exchanged. Of too many ways [`looks`] says nothing.
//!
//! Source: Maestro (NSDI 2024, section 3.3). Left out: IPv6, loops that count, hashes of fields.

mod uses;

use crate::analysis::liveness;
use crate::mir::cfg::Cfg;
use crate::mir::states::States;
use crate::mir::{Block, Edge, Func, Helper, Op, Order, Site, Terminator, Value};
use netil::Module;
use netil::ops::{BinOp, CmpOp, UnOp};
use netil::table::Space;
use std::collections::{BTreeMap, BTreeSet};
use uses::Relevant;

/// From where bytes of a packet are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Base {
    /// The packet's first byte.
    Start,
    /// The IP header.
    Network,
    /// What follows the IP header.
    Transport,
}

/// A byte of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Byte {
    /// It is 0.
    Zero,
    /// No byte of an address: constants, lengths, times, parts of other fields.
    Plain,
    /// That byte of the packet, as it arrived at the handler.
    Packet(Base, u32),
    /// Nothing is known of it.
    Unknown,
}

/// An operation on a table by a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// The table's number.
    pub table: u32,
    /// The key's bytes, the lowest first.
    pub key: Vec<Byte>,
    /// The protocol of the IP header, where the way tells it.
    pub protocol: Option<u8>,
    /// The input that the packet came by, where the way tells it and ways are told apart by it.
    pub input: Option<u32>,
    /// Where it stands.
    pub site: Site,
}

/// What is found out about a handler.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    /// Operations on tables, each with all keys that it may have.
    pub accesses: BTreeSet<Access>,
    /// It may change the addresses of the IP header.
    pub readdresses: bool,
    /// It says where the IP header is.
    pub marks: bool,
    /// It makes a header and says that this is the IP header.
    pub encapsulates: bool,
    /// It may move the packet's head.
    pub moves: bool,
    /// It may change bytes of the packet.
    pub stores: bool,
    /// Bytes that it takes away at the packet's head at most; none if that is not known.
    pub takes: Option<u32>,
}

/// Ways that are followed at most, to one block, and those whose numbers are told apart.
const WAYS: usize = 20_000;
const WAYS_TO_BLOCK: usize = 96;
const NUMBERS: usize = 24;
/// The addresses of the IP header.
const ADDRESSES: std::ops::Range<i64> = 12..20;
const PROTOCOL: u32 = 9;
/// Ethernet's addresses stand first in a frame: what is stored there is in no IP header.
const ETHERNET: i64 = 12;
/// The field of info memory that marks the IP header.
const MARK: &str = "network_header";
const FAR: i64 = 1 << 24;

/// Looks at a handler; none if it has too many ways.
pub fn looks(module: &Module, func: &Func) -> Option<Looks> {
    walked(module, func, None)
}

/// Looks at a handler, with ways told apart by the input that packets come by; none if too many.
pub fn looks_by_input(module: &Module, func: &Func) -> Option<Looks> {
    let port = func.blocks.first()?.params.first().copied()?;
    let inputs = module.all_ports().iter().filter(|(_, port)| port.kind.is_input()).count() as u32;
    walked(module, func, Some(Input { port, inputs }))
}

/// The value that is the input's number, and how many inputs there are.
#[derive(Clone, Copy)]
struct Input {
    port: Value,
    inputs: u32,
}

fn walked(module: &Module, func: &Func, input: Option<Input>) -> Option<Looks> {
    let mark = module
        .info_fields
        .iter()
        .find(|field| field.name == MARK)
        .map(|field| i64::from(field.offset)..i64::from(field.offset + field.size));
    let cfg = Cfg::new(func);
    let live = liveness::at_starts(func, &cfg);
    let looks = Looks { takes: Some(0), ..Looks::default() };
    let mut walk = Walk { func, mark, live, relevant: Relevant::of(func), input, looks };
    walk.run()?;
    Some(walk.looks)
}

/// What a number is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Zero,
    Network,
    Transport,
    /// What the annotation says.
    Mark,
    /// By how much the head has moved.
    Moved,
    /// The length of the IP header.
    Length,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Number(Origin, i64),
    /// The lowest byte first.
    Bytes(Vec<Byte>),
}

/// What is known on a way.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    values: BTreeMap<Value, Known>,
    /// Bytes of data memory that were stored on the way.
    data: BTreeMap<i64, Byte>,
    /// Bytes of the packet that were stored; all.
    stored: BTreeSet<(Base, i64)>,
    is_changed: bool,
    /// The annotation was written.
    is_marked: bool,
    /// The head is not where it was.
    is_moved: bool,
    /// New bytes at the head.
    pushed: i64,
    taken: i64,
    protocol: Option<u8>,
    input: Option<u32>,
}

struct Walk<'f> {
    func: &'f Func,
    mark: Option<std::ops::Range<i64>>,
    live: Vec<BTreeSet<Value>>,
    relevant: Relevant,
    /// Whether ways are told apart by it.
    input: Option<Input>,
    looks: Looks,
}

impl Walk<'_> {
    fn run(&mut self) -> Option<()> {
        let mut seen: Vec<BTreeSet<State>> = vec![BTreeSet::new(); self.func.blocks.len()];
        let mut open = vec![(Block(0), 0, State::default())];
        for _ in 0..WAYS {
            let Some((block, from, state)) = open.pop() else { return Some(()) };
            if from == 0 && !seen[block.0 as usize].insert(state.clone()) {
                continue;
            }
            if seen[block.0 as usize].len() > WAYS_TO_BLOCK {
                return None;
            }
            for (edge, state) in self.block(block, from, state, &mut open) {
                let many = seen[edge.block.0 as usize].len() > NUMBERS;
                open.push((edge.block, 0, self.enter(&state, &edge, many)));
            }
        }
        None
    }

    /// Runs a block from an operation on; where that has two results, the ways are put off.
    fn block(&mut self, block: Block, from: usize, mut state: State, open: &mut Vec<(Block, usize, State)>) -> Vec<(Edge, State)> {
        let data = self.func.block(block);
        for (n, value) in data.ops.iter().enumerate().skip(from) {
            let Some(op) = self.func.op(*value) else { continue };
            if let Op::Select(condition, a, b) = op
                && self.relevant.values.contains(value)
                && let Some(fork) = self.fork(&state, *condition, (*a, *b))
            {
                open.extend(fork.map(|state| (block, n, state)));
                return Vec::new();
            }
            if !self.operation(&mut state, *value, op) {
                return Vec::new();
            }
        }
        self.ends(&state, &data.end)
    }

    /// Both ways of a choice, if it matters and is open.
    fn fork(&self, state: &State, condition: Value, (a, b): (Value, Value)) -> Option<[State; 2]> {
        if self.number(state, condition).is_some() || self.known(state, a) == self.known(state, b) {
            return None;
        }
        Some([1, 0].map(|is| self.assume(state, condition, is)))
    }

    fn assume(&self, state: &State, condition: Value, is: i64) -> State {
        let mut state = state.clone();
        state.values.insert(condition, Known::Number(Origin::Zero, is));
        self.came_by(&mut state, condition, is);
        match self.func.op(condition) {
            Some(Op::Cmp(CmpOp::Eq, x, y)) if is == 1 => self.equal(&mut state, *x, *y),
            Some(Op::Cmp(CmpOp::Ne, x, y)) if is == 0 => self.equal(&mut state, *x, *y),
            _ => {}
        }
        state
    }

    /// What a condition says of the input: of two, it is the other if it is not one.
    fn came_by(&self, state: &mut State, condition: Value, is: i64) {
        let Some(Input { port, inputs }) = self.input else { return };
        let one = match self.func.op(condition) {
            Some(Op::Cmp(CmpOp::Eq, x, y)) if *x == port => self.func.constant(*y).map(|number| (number, is == 1)),
            Some(Op::Cmp(CmpOp::Ne, x, y)) if *x == port => self.func.constant(*y).map(|number| (number, is == 0)),
            _ if condition == port => Some((0, is == 0)),
            _ => None,
        };
        match one {
            Some((number, true)) => state.input = u32::try_from(number).ok(),
            Some((number, false)) if inputs == 2 && number < 2 => state.input = Some(1 - number as u32),
            _ => {}
        }
    }

    fn equal(&self, state: &mut State, x: Value, y: Value) {
        if let Some(number) = self.func.constant(y) {
            self.is(state, x, number);
        }
    }

    /// A value is known to be a number here.
    fn is(&self, state: &mut State, value: Value, number: u64) {
        if self.input.is_some_and(|input| input.port == value) {
            state.input = u32::try_from(number).ok();
        }
        match self.bytes(state, value).split_first() {
            Some((Byte::Packet(Base::Network, PROTOCOL), rest)) if rest.iter().all(|byte| *byte == Byte::Zero) => {
                state.protocol = u8::try_from(number).ok();
            }
            _ if self.relevant.values.contains(&value) && self.known(state, value).is_none() => {
                _ = state.values.insert(value, Known::Number(Origin::Zero, number as i64))
            }
            _ => {}
        }
    }

    fn ends(&self, state: &State, end: &Terminator) -> Vec<(Edge, State)> {
        match end {
            Terminator::Jump(edge) | Terminator::SendBy(.., edge) => vec![(edge.clone(), state.clone())],
            Terminator::Branch(condition, then, other) => match self.number(state, *condition) {
                Some((Origin::Zero, is)) => vec![(if is != 0 { then } else { other }.clone(), state.clone())],
                _ => vec![(then.clone(), self.assume(state, *condition, 1)), (other.clone(), self.assume(state, *condition, 0))],
            },
            Terminator::Switch(value, cases, default) => {
                let case = |(number, edge): &(u32, Edge)| {
                    let mut state = state.clone();
                    self.is(&mut state, *value, (*number).into());
                    (edge.clone(), state)
                };
                cases.iter().map(case).chain([(default.clone(), state.clone())]).collect()
            }
            Terminator::Send(_) | Terminator::Drop(_) => Vec::new(),
        }
    }

    /// What is known behind an edge, without what is needed no more.
    fn enter(&self, state: &State, edge: &Edge, many: bool) -> State {
        let params = &self.func.block(edge.block).params;
        let live = &self.live[edge.block.0 as usize];
        let mut next = state.clone();
        next.values.retain(|value, known| live.contains(value) && (self.relevant.values.contains(value) || is_protocol(known)));
        for (param, arg) in params.iter().zip(&edge.args).filter(|(param, _)| self.relevant.values.contains(param)) {
            match self.known(state, *arg) {
                Some(Known::Number(Origin::Zero, _)) if many => {}
                Some(known) => _ = next.values.insert(*param, known),
                None => {}
            }
        }
        next
    }
}

/// Values.
impl Walk<'_> {
    fn known(&self, state: &State, value: Value) -> Option<Known> {
        let signed = |number| if self.func.width(value) <= 32 { i64::from(number as i32) } else { number as i64 };
        let constant = || self.func.constant(value).map(|number| Known::Number(Origin::Zero, signed(number)));
        state.values.get(&value).cloned().or_else(constant)
    }

    fn number(&self, state: &State, value: Value) -> Option<(Origin, i64)> {
        match self.known(state, value)? {
            Known::Number(origin, number) => Some((origin, number)),
            Known::Bytes(_) => None,
        }
    }

    fn bytes(&self, state: &State, value: Value) -> Vec<Byte> {
        let size = usize::from(self.func.width(value).div_ceil(8));
        match (self.known(state, value), self.func.op(value)) {
            (Some(Known::Bytes(bytes)), _) => bytes,
            (Some(Known::Number(Origin::Zero, number)), _) => {
                (0..size).map(|n| if n < 8 && number >> (8 * n) & 0xff != 0 { Byte::Plain } else { Byte::Zero }).collect()
            }
            (Some(_), _) | (_, Some(Op::WideConst(_))) => vec![Byte::Plain; size],
            _ => vec![Byte::Unknown; size],
        }
    }

    /// Runs an operation. False if no packet goes on behind it.
    fn operation(&mut self, state: &mut State, value: Value, op: &Op) -> bool {
        match op {
            Op::Check(Space::Packet, extents) => {
                let beyond = |at| matches!(self.number(state, at), Some((Origin::Zero, at)) if !(0..FAR).contains(&at));
                return !extents.iter().any(|extent| beyond(extent.addr));
            }
            Op::Store(space, order, at, offset, stored, _) => {
                let place = self.number(state, *at).map(|(origin, at)| (origin, at + i64::from(*offset)));
                self.store(state, *space, (*order, place), *stored);
            }
            Op::Helper(helper, args, site) => self.helper(state, *helper, args, *site),
            _ => {}
        }
        if self.relevant.values.contains(&value) || self.relevant.tested.contains(&value) {
            match self.result(state, value, op) {
                Some(known) => _ = state.values.insert(value, known),
                None => _ = state.values.remove(&value),
            }
        }
        true
    }

    fn result(&self, state: &State, value: Value, op: &Op) -> Option<Known> {
        let bytes = |value: &Value| self.bytes(state, *value);
        let size = usize::from(self.func.width(value).div_ceil(8));
        let known = match op {
            Op::PacketLen | Op::WireLen | Op::TimeSeconds | Op::TimeMicros | Op::TimeNanos | Op::Random(_) => vec![Byte::Plain; size],
            Op::Helper(Helper::Moved, ..) => return Some(Known::Number(Origin::Moved, 0)),
            Op::Load(space, order, at, offset, _) => return self.load(state, *space, *order, (*at, *offset), size),
            Op::Select(condition, a, b) => match self.number(state, *condition) {
                Some((_, is)) => return self.known(state, if is != 0 { *a } else { *b }),
                None => return self.known(state, *a),
            },
            Op::Zext(a) => match self.number(state, *a) {
                Some((origin, number)) if number >= 0 => return Some(Known::Number(origin, number)),
                _ => padded(bytes(a), size),
            },
            Op::Trunc(a) => bytes(a).into_iter().take(size).collect(),
            Op::Slice(a, low) if low.is_multiple_of(8) => bytes(a).into_iter().skip(usize::from(low / 8)).take(size).collect(),
            Op::Concat(high, low) if self.func.width(*low).is_multiple_of(8) => [bytes(low), bytes(high)].concat(),
            Op::Un(UnOp::Bswap, a) => bytes(a).into_iter().rev().collect(),
            Op::Bin(op, a, b) => return self.binary(state, value, *op, (*a, *b)),
            Op::Cmp(op, a, b) => return self.compared(state, *op, *a, *b),
            _ => return None,
        };
        Some(Known::Bytes(known))
    }

    fn compared(&self, state: &State, op: CmpOp, a: Value, b: Value) -> Option<Known> {
        let (Some((Origin::Zero, a)), Some((Origin::Zero, b))) = (self.number(state, a), self.number(state, b)) else { return None };
        match op {
            CmpOp::Eq => Some(Known::Number(Origin::Zero, i64::from(a == b))),
            CmpOp::Ne => Some(Known::Number(Origin::Zero, i64::from(a != b))),
            _ => None,
        }
    }

    fn binary(&self, state: &State, value: Value, op: BinOp, (a, b): (Value, Value)) -> Option<Known> {
        if self.is_header_length(state, value) {
            return Some(Known::Number(Origin::Length, 0));
        }
        if let Some((a, b)) = self.number(state, a).zip(self.number(state, b))
            && let Some((origin, number)) = sum(op, a, b)
        {
            return Some(Known::Number(origin, number));
        }
        let (left, right) = (self.bytes(state, a), self.bytes(state, b));
        let by = self.func.constant(b).filter(|by| by.is_multiple_of(8)).map(|by| (by / 8) as usize);
        Some(Known::Bytes(match (op, by) {
            (BinOp::Shl, Some(by)) => {
                padded(std::iter::repeat_n(Byte::Zero, by).chain(left.iter().copied()).take(left.len()).collect(), left.len())
            }
            (BinOp::UShr, Some(by)) => padded(left.iter().copied().skip(by).collect(), left.len()),
            (BinOp::Or, _) => left.iter().zip(&right).map(|(a, b)| either(*a, *b)).collect(),
            (BinOp::And, _) => {
                let mask = self.func.constant(b)?;
                left.iter().enumerate().map(|(n, byte)| masked(*byte, if n < 8 { (mask >> (8 * n)) as u8 } else { 0 })).collect()
            }
            _ => vec![if left.iter().chain(&right).all(|byte| is_plain(*byte)) { Byte::Plain } else { Byte::Unknown }; left.len()],
        }))
    }

    /// Whether it is four times the low half of the IP header's first byte.
    fn is_header_length(&self, state: &State, value: Value) -> bool {
        let by = |value: &Value, number| self.func.constant(*value) == Some(number);
        let is_first = |value: &Value| self.bytes(state, *value).first() == Some(&Byte::Packet(Base::Network, 0));
        let is_masked = |value: &Value, mask| matches!(self.func.op(*value), Some(Op::Bin(BinOp::And, x, m)) if by(m, mask) && is_first(x));
        let narrow = |value: &Value| if let Some(Op::Zext(x)) = self.func.op(*value) { *x } else { *value };
        match self.func.op(value) {
            Some(Op::Bin(BinOp::Shl, x, n)) if by(n, 2) => is_masked(x, 15) || is_masked(&narrow(x), 15),
            Some(Op::Bin(BinOp::Mul, x, n)) if by(n, 4) => is_masked(x, 15) || is_masked(&narrow(x), 15),
            Some(Op::Bin(BinOp::And, x, m)) if by(m, 60) => {
                matches!(self.func.op(*x), Some(Op::Bin(BinOp::Shl, x, n)) if by(n, 2) && is_first(x))
            }
            _ => false,
        }
    }
}

/// Memories and helpers.
impl Walk<'_> {
    fn load(&self, state: &State, space: Space, order: Order, (at, offset): (Value, u32), size: usize) -> Option<Known> {
        let (origin, at) = self.number(state, at)?;
        let at = at + i64::from(offset);
        let places = at..at + size as i64;
        let mut bytes: Vec<Byte> = match (space, origin) {
            (Space::Info, Origin::Zero) if self.mark.as_ref() == Some(&places) && !state.is_marked => {
                return Some(Known::Number(Origin::Mark, 0));
            }
            (Space::Packet, _) => places.map(|at| packet_byte(state, origin, at)).collect(),
            (Space::Data, Origin::Zero) => places.map(|at| state.data.get(&at).copied().unwrap_or(Byte::Unknown)).collect(),
            (Space::Initialised, Origin::Zero) => vec![Byte::Plain; size],
            _ => return None,
        };
        if order == Order::Big {
            bytes.reverse();
        }
        Some(Known::Bytes(bytes))
    }

    fn store(&mut self, state: &mut State, space: Space, (order, place): (Order, Option<(Origin, i64)>), value: Value) {
        let size = i64::from(self.func.width(value) / 8);
        match (space, place) {
            (Space::Packet, place) => self.store_in_packet(state, place, size),
            (Space::Data, Some((Origin::Zero, at))) => {
                let mut bytes = self.bytes(state, value);
                if order == Order::Big {
                    bytes.reverse();
                }
                state.data.extend((at..).zip(bytes).filter(|(at, _)| self.relevant.holds(*at)));
            }
            (Space::Data, _) => state.data.clear(),
            (Space::Info, Some((Origin::Zero, at))) if !self.mark.as_ref().is_some_and(|mark| at < mark.end && mark.start < at + size) => {}
            (Space::Info, _) => self.mark(state),
            _ => {}
        }
    }

    fn mark(&mut self, state: &mut State) {
        state.is_marked = true;
        self.looks.marks = true;
        self.looks.encapsulates |= state.pushed > 0;
    }

    fn store_in_packet(&mut self, state: &mut State, place: Option<(Origin, i64)>, size: i64) {
        self.looks.stores = true;
        let stored = |base, at: i64| (at..at + size).map(move |at| (base, at));
        match place {
            Some((Origin::Network, at)) if at >= 0 && at + size <= ADDRESSES.end => {
                self.looks.readdresses |= at + size > ADDRESSES.start;
                state.stored.extend(stored(Base::Network, at));
            }
            Some((Origin::Transport, at)) if at >= 0 => state.stored.extend(stored(Base::Transport, at)),
            Some((Origin::Zero, at)) if at >= 0 && at + size <= ETHERNET.max(state.pushed) => state.stored.extend(stored(Base::Start, at)),
            _ => {
                self.looks.readdresses = true;
                state.is_changed = true;
            }
        }
    }

    fn helper(&mut self, state: &mut State, helper: Helper, args: &[Value], site: Site) {
        let amount = args.first().and_then(|amount| self.number(state, *amount)).filter(|(origin, _)| *origin == Origin::Zero);
        match helper {
            Helper::Find(table) | Helper::Peek(table) | Helper::Insert(table) | Helper::DeleteEntry(table) => {
                let key = args.first().map_or_else(Vec::new, |key| self.bytes(state, *key));
                self.looks.accesses.insert(Access { table, key, protocol: state.protocol, input: state.input, site });
            }
            Helper::PushHead => state.pushed = (state.pushed + amount.map_or(0, |(_, by)| by)).clamp(0, FAR),
            Helper::PullHead => {
                state.pushed = amount.map_or(0, |(_, by)| (state.pushed - by).max(0));
                state.taken = (state.taken + amount.map_or(FAR, |(_, by)| by)).min(FAR);
                let most = self.looks.takes.unwrap_or(u32::MAX).max(state.taken as u32);
                self.looks.takes = (i64::from(most) < FAR).then_some(most);
            }
            Helper::Receive(_) | Helper::Hold | Helper::Take | Helper::Create | Helper::Delete => {
                (state.is_changed, state.is_marked) = (true, true);
                self.looks.moves = true;
            }
            // What it writes besides is at places that are not known.
            _ => {
                let writes = |states| helper.row().writes.meets(states);
                state.data.retain(|_, _| !writes(States::DATA));
                if writes(States::INFO) {
                    self.mark(state);
                }
                if writes(States::PACKET) && !helper.changes_geometry() {
                    self.store_in_packet(state, None, 0);
                }
            }
        }
        if helper.changes_geometry() && !matches!(helper, Helper::TrimTail | Helper::GrowTail) {
            state.is_moved = true;
            self.looks.moves = true;
            let stays = |known: &Known| !matches!(known, Known::Number(Origin::Network | Origin::Transport | Origin::Moved, _));
            state.values.retain(|_, known| stays(known));
        }
    }
}

fn is_protocol(known: &Known) -> bool {
    matches!(known, Known::Bytes(bytes) if bytes.first() == Some(&Byte::Packet(Base::Network, PROTOCOL)))
}

/// The byte of the packet at a place, as long as nothing was stored there.
fn packet_byte(state: &State, origin: Origin, at: i64) -> Byte {
    let base = match origin {
        Origin::Zero if !state.is_moved => Base::Start,
        Origin::Network => Base::Network,
        Origin::Transport => Base::Transport,
        _ => return Byte::Unknown,
    };
    match u32::try_from(at) {
        Ok(place) if !state.is_changed && !state.stored.contains(&(base, at)) => Byte::Packet(base, place),
        _ => Byte::Unknown,
    }
}

fn sum(op: BinOp, a: (Origin, i64), b: (Origin, i64)) -> Option<(Origin, i64)> {
    let origin = match (op, a.0, b.0) {
        (BinOp::Add, origin, Origin::Zero) | (BinOp::Add, Origin::Zero, origin) | (BinOp::Sub, origin, Origin::Zero) => origin,
        (BinOp::Sub, Origin::Mark, Origin::Moved) => Origin::Network,
        (BinOp::Add, Origin::Network, Origin::Length) | (BinOp::Add, Origin::Length, Origin::Network) => Origin::Transport,
        _ => return None,
    };
    let number = if op == BinOp::Add { a.1.checked_add(b.1) } else { a.1.checked_sub(b.1) };
    Some((origin, number.filter(|number| number.abs() < i64::from(u32::MAX))?))
}

fn padded(mut bytes: Vec<Byte>, size: usize) -> Vec<Byte> {
    bytes.resize(size, Byte::Zero);
    bytes
}

fn either(a: Byte, b: Byte) -> Byte {
    match (a, b) {
        (Byte::Zero, other) | (other, Byte::Zero) => other,
        (a, b) if is_plain(a) && is_plain(b) => Byte::Plain,
        _ => Byte::Unknown,
    }
}

fn masked(byte: Byte, mask: u8) -> Byte {
    match mask {
        0 => Byte::Zero,
        0xff => byte,
        _ if is_plain(byte) => Byte::Plain,
        _ => Byte::Unknown,
    }
}

/// Whether a byte says nothing of addresses, of the packet's or of those that an ICMP error quotes.
pub fn is_plain(byte: Byte) -> bool {
    match byte {
        Byte::Zero | Byte::Plain => true,
        Byte::Packet(Base::Start, at) => i64::from(at) < ETHERNET,
        Byte::Packet(Base::Network, at) => i64::from(at) < ADDRESSES.start,
        Byte::Packet(Base::Transport, at) => !QUOTED.contains(&at),
        Byte::Unknown => false,
    }
}

/// The addresses of the packet that an ICMP error quotes, from its ICMP header on.
pub const QUOTED: std::ops::Range<u32> = 20..28;
