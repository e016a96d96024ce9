//! What an execution takes and gives, the same for every engine: exchange buffers in, dispositions and clones out, and a
//! state that persists between packets.
//!
//! Source: NetVM paper, sections 3.1.2 (memories), 3.1.5 (sequential processing), 3.3 (safety).

use crate::copro::{CoproError, Coprocessor, MAX_REGISTERS, Registers};
use crate::event::TIMERS;
use crate::module::{HandlerKind, Table as Declaration};
use crate::table::Space;
use crate::tables::{Reference, Table};
use crate::verify::Verified;
use std::collections::{HashMap, VecDeque};
use std::fmt;

/// The longest packet that a program may make, in bytes.
pub const MAX_PACKET: u32 = 65_535;
/// Free bytes before and after a packet that a program may change.
pub const ROOM: usize = 128;
/// Bytes pulled from a packet's head that can be brought back.
pub const FRONT: usize = 1024;
/// The most packets that a NetPE may hold back.
pub const MAX_HELD: usize = 4096;
/// The most copies that one handler run may send. It bounds the memory of what waits to be sent, to 64 MiB a packet; the budget is a
/// bound on time, and one that pays for that much leaves room for many times as much memory.
pub const MAX_COPIES: u32 = 1024;
/// Words in a NetPE's exception table.
pub const EXCEPTIONS: usize = 16;
/// What one handler run may spend ([`crate::budget`]), unless the state says otherwise.
pub const DEFAULT_BUDGET: u32 = 1 << 20;

/// One packet with what belongs to it. Borrowed until something writes to it.
#[derive(Clone, Debug)]
pub struct ExchangeBuffer<'a> {
    store: Store<'a>,
    /// Bytes before the head that were pulled and are still there.
    front: usize,
    /// Bytes pulled less bytes pushed since the packet came into being.
    moved: u32,
    /// Info memory; its size is the module's.
    pub info: Vec<u8>,
    /// Id of the port the packet came in by.
    pub port: u32,
    /// Arrival time in nanoseconds since 1970.
    pub time_ns: u64,
    /// Length on the wire in bytes.
    pub orig_len: u32,
}

/// Where a packet is in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes before its first.
    pub head: usize,
    /// Its length.
    pub len: usize,
    /// Bytes before the head that were pulled and are still there.
    pub front: usize,
    /// Bytes pulled less bytes pushed since it came into being, modulo 2^32.
    pub moved: u32,
}

#[derive(Clone, Debug)]
enum Store<'a> {
    /// The bytes before the head were pulled.
    Borrowed {
        bytes: &'a [u8],
        head: usize,
    },
    Owned {
        buffer: Vec<u8>,
        head: usize,
        len: usize,
    },
    Gone,
}

impl<'a> ExchangeBuffer<'a> {
    /// A packet read in place; what lies behind its first 2^32 − 1 bytes is left out, as addresses have 32 bits.
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        let bytes = bytes.get(..u32::MAX as usize).unwrap_or(bytes);
        Self {
            store: Store::Borrowed { bytes, head: 0 },
            front: 0,
            moved: 0,
            info: Vec::new(),
            port: 0,
            time_ns: 0,
            orig_len: wire_len(bytes),
        }
    }

    /// A packet of zeros.
    pub fn zeroed(len: u32) -> Self {
        let len = len as usize;
        let store = Store::Owned { buffer: vec![0; len + 2 * ROOM], head: ROOM, len };
        Self { store, front: 0, moved: 0, info: Vec::new(), port: 0, time_ns: 0, orig_len: len as u32 }
    }

    /// No packet: what a pull handler starts with.
    pub fn none() -> Self {
        Self { store: Store::Gone, front: 0, moved: 0, info: Vec::new(), port: 0, time_ns: 0, orig_len: 0 }
    }

    /// False after `exbuf.delete` and before a pull handler's `pkt.receive`.
    pub fn is_present(&self) -> bool {
        !matches!(self.store, Store::Gone)
    }

    /// True if the packet has memory of its own and writing needs no copy.
    pub fn is_owned(&self) -> bool {
        matches!(self.store, Store::Owned { .. })
    }

    /// The captured bytes; none if the packet is gone.
    pub fn bytes(&self) -> &[u8] {
        match &self.store {
            Store::Borrowed { bytes, head } => &bytes[*head..],
            Store::Owned { buffer, head, len } => &buffer[*head..*head + *len],
            Store::Gone => &[],
        }
    }

    /// The captured bytes for writing; copies a borrowed packet once.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.own();
        match &mut self.store {
            Store::Owned { buffer, head, len } => &mut buffer[*head..*head + *len],
            _ => &mut [],
        }
    }

    /// Replaces the packet by zeros; arrival time and port stay, info memory becomes zero.
    pub fn create(&mut self, len: u32) {
        self.store = Self::zeroed(len).store;
        (self.front, self.moved, self.orig_len) = (0, 0, len);
        self.info.fill(0);
    }

    /// Gives the packet up.
    pub fn delete(&mut self) {
        self.store = Store::Gone;
    }

    /// The packet with all that belongs to it; none is left here.
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self { time_ns: self.time_ns, ..Self::none() })
    }

    /// Where the packet is in memory of its own, which it gets if it has none: the memory, and the packet's place in it. Without a packet the memory is empty.
    pub fn place(&mut self) -> (&mut [u8], Place) {
        self.own();
        let (front, moved) = (self.front, self.moved);
        match &mut self.store {
            Store::Owned { buffer, head, len } => (buffer, Place { head: *head, len: *len, front, moved }),
            _ => (&mut [], Place { head: 0, len: 0, front, moved }),
        }
    }

    /// Moves the packet within its memory; false, and nothing is changed, where that is no place in it.
    pub fn set_place(&mut self, to: Place) -> bool {
        let Store::Owned { buffer, head, len } = &mut self.store else { return to.len == 0 };
        let inside = to.head.checked_add(to.len).is_some_and(|end| end <= buffer.len());
        if !inside || to.front > to.head {
            return false;
        }
        (*head, *len) = (to.head, to.len);
        (self.front, self.moved) = (to.front, to.moved);
        true
    }

    /// Bytes pulled from the head less bytes pushed since the packet came into being, modulo 2^32.
    pub fn moved(&self) -> u32 {
        self.moved
    }

    /// The same packet with memory of its own.
    pub fn into_owned(mut self) -> ExchangeBuffer<'static> {
        self.own();
        let store = match self.store {
            Store::Owned { buffer, head, len } => Store::Owned { buffer, head, len },
            _ => Store::Gone,
        };
        let Self { front, moved, info, port, time_ns, orig_len, .. } = self;
        ExchangeBuffer { store, front, moved, info, port, time_ns, orig_len }
    }

    /// Grows the packet by `n` zero bytes at its head.
    pub fn push(&mut self, n: u32) -> Result<(), TrapKind> {
        let n = self.growth(n)?;
        self.own();
        self.make_room(n, 0);
        let Store::Owned { buffer, head, len } = &mut self.store else { return Err(TrapKind::NoPacket) };
        *head -= n;
        *len += n;
        buffer[*head..*head + n].fill(0);
        self.front = self.front.saturating_sub(n);
        self.moved = self.moved.wrapping_sub(n as u32);
        Ok(())
    }

    /// Grows the packet by `n` zero bytes at its tail.
    pub fn grow(&mut self, n: u32) -> Result<(), TrapKind> {
        let n = self.growth(n)?;
        self.own();
        self.make_room(0, n);
        let Store::Owned { buffer, head, len } = &mut self.store else { return Err(TrapKind::NoPacket) };
        let end = *head + *len;
        buffer[end..end + n].fill(0);
        *len += n;
        Ok(())
    }

    /// Removes `n` bytes from the packet's head.
    pub fn pull(&mut self, n: u32) -> Result<(), TrapKind> {
        let n = self.shrinkage(n)?;
        match &mut self.store {
            Store::Borrowed { head, .. } => *head += n,
            Store::Owned { head, len, .. } => (*head, *len) = (*head + n, *len - n),
            Store::Gone => {}
        }
        self.front = (self.front + n).min(FRONT);
        self.moved = self.moved.wrapping_add(n as u32);
        Ok(())
    }

    /// Brings back `n` bytes that were pulled.
    pub fn unpull(&mut self, n: u32) -> Result<(), TrapKind> {
        let n = self.growth(n)?;
        if n > self.front {
            return Err(TrapKind::OutOfBounds(Space::Packet));
        }
        match &mut self.store {
            Store::Borrowed { head, .. } => *head -= n,
            Store::Owned { head, len, .. } => (*head, *len) = (*head - n, *len + n),
            Store::Gone => {}
        }
        self.front -= n;
        self.moved = self.moved.wrapping_sub(n as u32);
        Ok(())
    }

    /// Removes `n` bytes from the packet's tail.
    pub fn trim(&mut self, n: u32) -> Result<(), TrapKind> {
        let n = self.shrinkage(n)?;
        match &mut self.store {
            Store::Borrowed { bytes, .. } => *bytes = &bytes[..bytes.len() - n],
            Store::Owned { len, .. } => *len -= n,
            Store::Gone => {}
        }
        Ok(())
    }

    /// Sees that so many bytes are free before and after the packet. Where they are not, the packet moves to a new buffer of just that
    /// size and [`ROOM`], so that a buffer stays small however often its packet grows and shrinks.
    fn make_room(&mut self, before: usize, after: usize) {
        let Store::Owned { buffer, head, len } = &mut self.store else { return };
        if *head >= before && buffer.len() - *head - *len >= after {
            return;
        }
        let start = before + ROOM + self.front;
        let mut larger = vec![0; start + *len + after + ROOM];
        larger[start - self.front..start + *len].copy_from_slice(&buffer[*head - self.front..*head + *len]);
        (*buffer, *head) = (larger, start);
    }

    /// Whether the packet can grow by so much.
    pub(crate) fn growth(&self, n: u32) -> Result<usize, TrapKind> {
        if !self.is_present() {
            return Err(TrapKind::NoPacket);
        }
        let fits = u64::from(n) + self.bytes().len() as u64 <= u64::from(MAX_PACKET);
        if fits { Ok(n as usize) } else { Err(TrapKind::NoRoom) }
    }

    fn shrinkage(&self, n: u32) -> Result<usize, TrapKind> {
        match () {
            () if !self.is_present() => Err(TrapKind::NoPacket),
            () if n as usize > self.bytes().len() => Err(TrapKind::OutOfBounds(Space::Packet)),
            () => Ok(n as usize),
        }
    }

    fn own(&mut self) {
        if let Store::Borrowed { bytes, head } = self.store {
            let kept = &bytes[head - self.front..];
            let mut buffer = vec![0; kept.len() + 2 * ROOM];
            buffer[ROOM..ROOM + kept.len()].copy_from_slice(kept);
            self.store = Store::Owned { buffer, head: ROOM + self.front, len: bytes.len() - head };
        }
    }
}

fn wire_len(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// Why a handler was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrapKind {
    /// An access past the end of a memory.
    OutOfBounds(Space),
    /// The exact result of a checked operation does not fit.
    Overflow,
    /// A zero divisor.
    DivisionByZero,
    /// More backward branches, calls and bytes in bulk than the budget allows.
    Budget,
    /// The packet would be longer than [`MAX_PACKET`].
    NoRoom,
    /// There is no packet to send or to change.
    NoPacket,
    /// The handler would send more than [`MAX_COPIES`] copies.
    Copies,
    /// There is no entry to load from or store to.
    NoEntry,
    /// A coprocessor refused; its index.
    Coprocessor(u8, CoproError),
}

impl TrapKind {
    /// A number for compiled code to return: the kind in the low byte, a detail above.
    pub fn code(self) -> u32 {
        match self {
            Self::OutOfBounds(space) => 1 | (space as u32) << 8,
            Self::Overflow => 2,
            Self::DivisionByZero => 3,
            Self::Budget => 4,
            Self::NoRoom => 5,
            Self::NoPacket => 6,
            Self::Copies => 8,
            Self::NoEntry => 9,
            Self::Coprocessor(unit, error) => 7 | u32::from(unit) << 8 | (error as u32) << 16,
        }
    }

    /// The kind that [`Self::code`] gave the number of.
    pub fn from_code(code: u32) -> Option<Self> {
        const SPACES: [Space; 5] = [Space::Packet, Space::Info, Space::Data, Space::Shared, Space::Initialised];
        const ERRORS: [CoproError; 4] = [CoproError::NoPacket, CoproError::BadRegister, CoproError::Full, CoproError::NotInitialised];
        let detail = (code >> 8) as u8;
        Some(match code & 0xff {
            1 => Self::OutOfBounds(*SPACES.get(usize::from(detail))?),
            2 => Self::Overflow,
            3 => Self::DivisionByZero,
            4 => Self::Budget,
            5 => Self::NoRoom,
            6 => Self::NoPacket,
            8 => Self::Copies,
            9 => Self::NoEntry,
            7 => Self::Coprocessor(detail, *ERRORS.get((code >> 16) as usize)?),
            _ => return None,
        })
    }
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds(space) => write!(f, "access outside {}", space.name()),
            Self::Overflow => f.write_str("overflow"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Budget => f.write_str("budget of backward branches, calls and bytes used up"),
            Self::NoRoom => write!(f, "no room: packet would exceed {MAX_PACKET} bytes"),
            Self::NoPacket => f.write_str("no packet"),
            Self::Copies => write!(f, "more than {MAX_COPIES} copies"),
            Self::NoEntry => f.write_str("no entry"),
            Self::Coprocessor(unit, error) => write!(f, "coprocessor {unit}: {error}"),
        }
    }
}

impl Space {
    /// The memory's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Packet => "the packet",
            Self::Info => "info memory",
            Self::Data => "data memory",
            Self::Shared => "shared memory",
            Self::Initialised => "initialised data",
        }
    }
}

/// A handler stopped by the system: the program's result, not the host's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trap {
    /// Why.
    pub kind: TrapKind,
    /// In which handler.
    pub handler: HandlerKind,
    /// At which instruction.
    pub inst: u32,
}

/// Why a packet went nowhere, other than by a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The verdict was 0, or the handler ended without one.
    Verdict,
    /// `exit n` or `pkt.drop n`.
    Program(u32),
    /// `pkt.receive` found no packet.
    NoInput,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Disposition {
    /// It leaves by that port.
    Port(u32),
    /// It was dropped.
    Drop(DropReason),
    /// Its handler trapped; the packet is dropped.
    Trap(Trap),
}

/// A copy that `pkt.senddup` sent.
#[derive(Clone, Debug)]
pub struct CloneOut {
    /// Index in the burst of the packet whose handler sent it.
    pub source: u32,
    /// The port it leaves by, before the packet itself.
    pub port: u32,
    /// The copy.
    pub buffer: ExchangeBuffer<'static>,
}

/// What became of a burst.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// One per packet, in order.
    pub dispositions: Vec<Disposition>,
    /// In the order in which they were sent.
    pub clones: Vec<CloneOut>,
}

impl Outcome {
    /// Forgets the last burst, keeping the memory.
    pub fn clear(&mut self) {
        self.dispositions.clear();
        self.clones.clear();
    }
}

/// Packets that a filter looks at: only what it reads, so that a burst costs two words a packet.
#[derive(Clone, Copy, Debug)]
pub struct Packets<'a> {
    /// The captured bytes of each packet.
    pub frames: &'a [&'a [u8]],
    /// The length on the wire of each; may be empty if the program does not ask ([`crate::verify::Uses::wire_len`]).
    pub wire_len: &'a [u32],
    /// Arrival times in nanoseconds; may be empty if the program does not ask ([`crate::verify::Uses::time`]).
    pub time_ns: &'a [u64],
}

/// One bit per packet, least significant first: set if the packet leaves by a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The bits; those past the last packet are 0.
    pub bits: Vec<u64>,
}

impl Selection {
    /// Room for `n` packets, none selected.
    pub fn reset(&mut self, n: usize) {
        self.bits.clear();
        self.bits.resize(n.div_ceil(64), 0);
    }

    /// True if packet `i` is selected.
    pub fn get(&self, i: usize) -> bool {
        self.bits.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
    }

    /// Selects packet `i`.
    pub fn set(&mut self, i: usize) {
        if let Some(w) = self.bits.get_mut(i / 64) {
            *w |= 1 << (i % 64);
        }
    }

    /// The number of selected packets.
    pub fn count(&self) -> u64 {
        self.bits.iter().map(|w| u64::from(w.count_ones())).sum()
    }
}

/// A coprocessor with its registers.
pub struct CoproState {
    /// The registers.
    pub registers: Registers,
    /// The unit itself.
    pub unit: Box<dyn Coprocessor>,
}

/// What a NetPE keeps from one packet to the next.
pub struct State {
    /// Data memory.
    pub data: Vec<u8>,
    /// Shared memory.
    pub shared: Vec<u8>,
    /// Exception table.
    pub exceptions: [u32; EXCEPTIONS],
    /// Coprocessors in the order of the module.
    pub coprocessors: Vec<CoproState>,
    /// Tables in the order of the module.
    pub tables: Vec<Box<dyn Table>>,
    /// When each timer is due, in nanoseconds since 1970; 0: never.
    pub timers: [u64; TIMERS],
    /// Packets held back.
    pub held: Held,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of the next packet, from 0.
    pub packet_number: u64,
    /// What one handler run may spend ([`crate::budget`]).
    pub budget: u32,
    /// Packets waiting at each input port for `pkt.receive`.
    pub inputs: Vec<VecDeque<ExchangeBuffer<'static>>>,
}

/// Packets that a NetPE holds back, in queues.
#[derive(Default)]
pub struct Held {
    queues: HashMap<u32, VecDeque<ExchangeBuffer<'static>>>,
    count: usize,
}

impl Held {
    /// True if no more packets may be held.
    pub fn is_full(&self) -> bool {
        self.count >= MAX_HELD
    }

    /// Puts a packet at the end of a queue.
    pub fn push(&mut self, queue: u32, packet: ExchangeBuffer<'static>) {
        self.queues.entry(queue).or_default().push_back(packet);
        self.count += 1;
    }

    /// Takes the first packet of a queue.
    pub fn pop(&mut self, queue: u32) -> Option<ExchangeBuffer<'static>> {
        let waiting = self.queues.get_mut(&queue)?;
        let first = waiting.pop_front();
        if waiting.is_empty() {
            self.queues.remove(&queue);
        }
        self.count -= usize::from(first.is_some());
        first
    }

    /// Every packet with its queue, queues in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &ExchangeBuffer<'static>)> {
        let mut queues: Vec<_> = self.queues.iter().collect();
        queues.sort_by_key(|(n, _)| **n);
        queues.into_iter().flat_map(|(n, packets)| packets.iter().map(|p| (*n, p)))
    }
}

/// Why a state could not be made: no implementation of that coprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchCoprocessor(pub String);

impl fmt::Display for NoSuchCoprocessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no implementation of coprocessor '{}'", self.0)
    }
}

impl std::error::Error for NoSuchCoprocessor {}

impl State {
    /// Memories of zeros and fresh coprocessors; the init handler has not run.
    pub fn new(program: &Verified, make: &dyn Fn(&str) -> Option<Box<dyn Coprocessor>>) -> Result<Self, NoSuchCoprocessor> {
        let module = program.module();
        let unit = |name: &String| {
            let unit = make(name).ok_or_else(|| NoSuchCoprocessor(name.clone()))?;
            Ok(CoproState { registers: [0; MAX_REGISTERS], unit })
        };
        Ok(Self {
            data: vec![0; module.data_size as usize],
            shared: vec![0; program.shared_size() as usize],
            exceptions: [0; EXCEPTIONS],
            coprocessors: module.coprocessors.iter().map(|c| unit(&c.name)).collect::<Result<_, _>>()?,
            tables: module.tables.iter().map(reference).collect(),
            timers: [0; TIMERS],
            held: Held::default(),
            seed: 0,
            packet_number: 0,
            budget: DEFAULT_BUDGET,
            inputs: module.all_ports().iter().map(|_| VecDeque::new()).collect(),
        })
    }

    /// The same with tables of another make, as they are from the start.
    #[must_use]
    pub fn with_tables(mut self, program: &Verified, make: &dyn Fn(&Declaration) -> Box<dyn Table>) -> Self {
        self.tables = program.module().tables.iter().map(make).collect();
        self
    }

    /// Makes the state one that the program can run on, whoever made it and whatever was done to it: memories that are too small grow
    /// by zeros, missing tables are as they are from the start, and where a coprocessor is missing one is put that refuses every operation as not initialised. Engines do this first.
    pub fn fit(&mut self, program: &Verified) {
        let (data, shared) = (program.module().data_size as usize, program.shared_size() as usize);
        self.data.resize(self.data.len().max(data), 0);
        self.shared.resize(self.shared.len().max(shared), 0);
        while self.coprocessors.len() < program.module().coprocessors.len() {
            self.coprocessors.push(CoproState { registers: [0; MAX_REGISTERS], unit: Box::new(Missing) });
        }
        let missing = program.module().tables.iter().skip(self.tables.len());
        self.tables.extend(missing.map(reference));
    }

    /// A state for a program without coprocessors.
    pub fn plain(program: &Verified) -> Result<Self, NoSuchCoprocessor> {
        Self::new(program, &|_| None)
    }
}

fn reference(declaration: &Declaration) -> Box<dyn Table> {
    Box::new(Reference::new(declaration))
}

/// Stands where a state has no coprocessor.
struct Missing;

impl Coprocessor for Missing {
    fn init(&mut self, _: &[u8]) -> u32 {
        1
    }

    fn invoke(&mut self, _: u32, _: &mut Registers, _: Option<&[u8]>) -> Result<(), CoproError> {
        Err(CoproError::NotInitialised)
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

/// The random number of one place in the program for one packet (architecture: a function of seed, packet number, call site).
pub fn random(seed: u64, packet_number: u64, handler: HandlerKind, inst: u32) -> u32 {
    let site = u64::from(inst) << 2 | handler as u64;
    let mut z = seed ^ packet_number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ site.wrapping_mul(0xd1b5_4a32_d192_ed03);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geometry_moves_both_ends() {
        let mut b = ExchangeBuffer::borrowed(&[1, 2, 3, 4]);
        b.pull(1).unwrap();
        b.trim(1).unwrap();
        assert_eq!(b.bytes(), [2, 3]);
        b.push(200).unwrap();
        b.grow(300).unwrap();
        assert_eq!(b.bytes().len(), 502);
        assert_eq!(&b.bytes()[199..203], [0, 2, 3, 0]);
        assert_eq!(b.pull(503), Err(TrapKind::OutOfBounds(Space::Packet)));
        assert_eq!(b.grow(65_535), Err(TrapKind::NoRoom));
        b.delete();
        assert_eq!(b.push(1), Err(TrapKind::NoPacket));
    }

    #[test]
    fn bytes_that_come_back_are_zeros() {
        let mut b = ExchangeBuffer::borrowed(&[7; 10]).into_owned();
        b.pull(4).unwrap();
        b.push(4).unwrap();
        b.trim(4).unwrap();
        b.grow(4).unwrap();
        assert_eq!(b.bytes(), [0, 0, 0, 0, 7, 7, 0, 0, 0, 0]);
    }

    #[test]
    fn trap_codes_round_trip() {
        let spaces = [Space::Packet, Space::Info, Space::Data, Space::Shared, Space::Initialised];
        let mut kinds: Vec<_> = spaces.map(TrapKind::OutOfBounds).into();
        kinds.extend([
            TrapKind::Overflow,
            TrapKind::DivisionByZero,
            TrapKind::Budget,
            TrapKind::NoRoom,
            TrapKind::NoPacket,
            TrapKind::Copies,
            TrapKind::NoEntry,
        ]);
        kinds.extend([CoproError::NoPacket, CoproError::Full].map(|e| TrapKind::Coprocessor(9, e)));
        for kind in kinds {
            assert_eq!(TrapKind::from_code(kind.code()), Some(kind));
        }
    }
}
