//! What an execution takes and gives, the same for every engine: exchange buffers in, dispositions
//! and clones out, and a state that persists between packets.
//!
//! Source: NetVM paper, sections 3.1.2 (memories), 3.1.5 (sequential processing), 3.3 (safety).

pub use crate::buffer::{ExchangeBuffer, FRONT, PacketExtent, ROOM};
pub use crate::limits::{DEFAULT_BUDGET, EXCEPTIONS, MAX_COPIED, MAX_COPIES, MAX_HELD, MAX_HELD_BYTES, MAX_PACKET};
pub use crate::trap::{Trap, TrapKind};

use crate::copro::{CoproError, Coprocessor, MAX_REGISTERS, Registers, Views};
use crate::event::TIMERS;
use crate::module::{HandlerKind, Table as Declaration};
use crate::number;
use crate::tables::{Reference, Table};
use crate::verify::Verified;
use crate::walk::Walk;
use std::collections::{HashMap, VecDeque};
use std::fmt;

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
    /// Bytes of this and of the copies that the same run sent before, packets and info memory.
    pub copied: u32,
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
    /// The length on the wire of each; may be empty if the program does not ask
    /// ([`crate::verify::Uses::wire_len`]).
    pub wire_len: &'a [u32],
    /// Arrival times in nanoseconds; may be empty if the program does not ask
    /// ([`crate::verify::Uses::time`]).
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
    /// The number of the next run without a packet, or of the next packet that has none
    /// ([`number`]).
    pub next_number: u64,
    /// What one handler run may spend ([`crate::budget`]).
    pub budget: u32,
    /// Packets waiting at each input port for `pkt.receive`.
    pub inputs: Vec<VecDeque<ExchangeBuffer<'static>>>,
    /// Walks over tables, by the tables' numbers; those of the last tables may be missing.
    pub walks: Vec<Walk>,
}

/// What is before a NetPE's inputs, where a pull handler may ask for packets while it runs.
pub trait PacketSource {
    /// The next packet before that input port. The state is that of the NetPE that asks, which goes
    /// on behind.
    fn next(&mut self, state: &mut State, port: u32) -> Option<ExchangeBuffer<'static>>;
}

/// Packets that a NetPE holds back, in queues.
#[derive(Default)]
pub struct Held {
    queues: HashMap<u32, VecDeque<ExchangeBuffer<'static>>>,
    count: usize,
    /// Of all packets.
    bytes: usize,
    /// One was asked for.
    is_asked: bool,
}

impl Held {
    /// Drops all packets.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether a packet was asked for since the queues were [cleared](Self::clear).
    pub fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Whether all packets of others may be held as well.
    pub fn has_room_for(&self, others: &Self) -> bool {
        self.count + others.count <= MAX_HELD && self.bytes + others.bytes <= MAX_HELD_BYTES
    }

    /// Takes all packets of others, behind those that are there.
    pub fn append(&mut self, others: &mut Self) {
        for (queue, packets) in others.queues.drain() {
            packets.into_iter().for_each(|packet| self.push(queue, packet));
        }
        others.clear();
    }

    /// True if no more packets may be held.
    pub fn is_full(&self) -> bool {
        self.count >= MAX_HELD || self.bytes >= MAX_HELD_BYTES
    }

    /// True if no packet is held.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Puts a packet at the end of a queue.
    pub fn push(&mut self, queue: u32, packet: ExchangeBuffer<'static>) {
        self.bytes += packet.bytes().len();
        self.queues.entry(queue).or_default().push_back(packet);
        self.count += 1;
    }

    /// Takes the first packet of a queue.
    pub fn pop(&mut self, queue: u32) -> Option<ExchangeBuffer<'static>> {
        self.is_asked = true;
        let waiting = self.queues.get_mut(&queue)?;
        let first = waiting.pop_front();
        if waiting.is_empty() {
            self.queues.remove(&queue);
        }
        if let Some(packet) = &first {
            self.count -= 1;
            self.bytes -= packet.bytes().len();
        }
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
        Self::made_of(program, make, &|_, declaration| reference(declaration))
    }

    /// Memories of zeros, fresh coprocessors, and tables of another make, by their numbers: those
    /// of [`Self::new`] take long to fill.
    pub fn made_of(
        program: &Verified,
        make: &dyn Fn(&str) -> Option<Box<dyn Coprocessor>>,
        table: &dyn Fn(usize, &Declaration) -> Box<dyn Table>,
    ) -> Result<Self, NoSuchCoprocessor> {
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
            tables: module.tables.iter().enumerate().map(|(n, declaration)| table(n, declaration)).collect(),
            timers: [0; TIMERS],
            held: Held::default(),
            seed: 0,
            next_number: 0,
            budget: DEFAULT_BUDGET,
            inputs: module.all_ports().iter().map(|_| VecDeque::new()).collect(),
            walks: Vec::new(),
        })
    }

    /// A state without memories, tables and coprocessors, for where another one is put in its place
    /// before a program runs.
    pub fn empty() -> Self {
        Self {
            data: Vec::new(),
            shared: Vec::new(),
            exceptions: [0; EXCEPTIONS],
            coprocessors: Vec::new(),
            tables: Vec::new(),
            timers: [0; TIMERS],
            held: Held::default(),
            seed: 0,
            next_number: 0,
            budget: DEFAULT_BUDGET,
            inputs: Vec::new(),
            walks: Vec::new(),
        }
    }

    /// This state with tables of another make, as they are from the start.
    #[must_use]
    pub fn with_tables(mut self, program: &Verified, make: &dyn Fn(usize, &Declaration) -> Box<dyn Table>) -> Self {
        self.tables = program.module().tables.iter().enumerate().map(|(n, declaration)| make(n, declaration)).collect();
        self
    }

    /// A handler is to run: a packet that has no number gets one, and so does a run without a
    /// packet.
    #[inline]
    pub fn number(&mut self, buffer: &mut ExchangeBuffer<'_>) {
        if buffer.number == number::NONE {
            buffer.number = self.next_number;
            self.next_number = self.next_number.wrapping_add(1);
        }
    }

    /// What an init handler begins with: a run that is not counted.
    pub fn uncounted(&self) -> ExchangeBuffer<'static> {
        let mut buffer = ExchangeBuffer::none();
        buffer.number = self.next_number;
        buffer
    }

    /// Makes the state one that the program can run on, whoever made it and whatever was done to
    /// it: memories that are too small grow by zeros, missing tables are as they are from the
    /// start, and where a coprocessor is missing one is put that refuses every operation as not
    /// initialised. Engines do this first.
    #[inline]
    pub fn fit(&mut self, program: &Verified) {
        let module = program.module();
        let memories = self.data.len() >= module.data_size as usize && self.shared.len() >= program.shared_size() as usize;
        if !memories || self.coprocessors.len() < module.coprocessors.len() || self.tables.len() < module.tables.len() {
            self.grow(program);
        }
    }

    #[cold]
    fn grow(&mut self, program: &Verified) {
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

    fn invoke(&mut self, _: u32, _: &mut Registers, _: Views<'_>) -> Result<(), CoproError> {
        Err(CoproError::NotInitialised)
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

/// The random number of one place in the program for one packet, by its number (architecture: a
/// function of seed, packet number, call site).
pub fn random(seed: u64, packet_number: u64, handler: HandlerKind, inst: u32) -> u32 {
    let site = u64::from(inst) << 2 | handler as u64;
    let mut z = seed ^ packet_number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ site.wrapping_mul(0xd1b5_4a32_d192_ed03);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as u32
}

/// The array that was given, or one that continues it where it is too short.
pub fn filled<T: Copy>(own: &mut Vec<T>, given: &[T], frames: &[&[u8]], f: impl Fn(&[u8]) -> T) -> *const T {
    if given.len() >= frames.len() {
        return given.as_ptr();
    }
    own.clear();
    own.extend(given);
    own.extend(frames[given.len()..].iter().map(|frame| f(frame)));
    own.as_ptr()
}
