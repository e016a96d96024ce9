//! A router's header processing by hand for a machine of the IXP1200's kind: what `program` does is
//! what it costs.
//!
//! The program is written against an engine's own instructions (`Engine`), one method each:
//! arithmetic on 32-bit registers, with a shift of the second operand and with carry, branches, and
//! reads and writes of memories through transfer registers. They act on the packet and on the
//! tables, and each is counted with the weight that the machine's description gives its class. So
//! results and costs are those of the same run.
//!
//! It is the reference design's plan (NP-Click paper, section 5.3, which names it without its
//! code): the headers are read into registers with one access, looked at there, and written back
//! with another; the next hop is found by a trie of four steps of a byte in SRAM. Left out: headers
//! with options and packets that are refused, which are the StrongARM's.

use crate::description::Machine;
use crate::steps::{Access, Step, Work};

/// Bytes of a packet's headers that are read and written at once: Ethernet's and IPv4's, in whole
/// units of eight bytes.
const HEADERS: u32 = 40;
/// An entry of the trie that is a route, not a node.
const ROUTE: u32 = 1 << 31;
/// Words of a node, by a byte of the address.
const NODE: usize = 256;

/// The routing table, as it lies in SRAM.
#[derive(Clone, Debug)]
pub struct Table {
    /// Nodes of the trie: a route, or the node behind it.
    trie: Vec<u32>,
    /// By route four words: the port, and the Ethernet addresses of the frame that leaves, without
    /// its type.
    hops: Vec<[u32; 4]>,
}

impl Table {
    /// Of prefixes with their lengths and next hops, the last of which is for addresses that no
    /// prefix has.
    pub fn new(routes: &[(u32, u32, u32)], hops: &[[u32; 4]], default: u32) -> Self {
        let mut table = Self { trie: vec![ROUTE | default; NODE], hops: hops.to_vec() };
        let mut routes = routes.to_vec();
        // Longer prefixes replace what shorter ones wrote.
        routes.sort_by_key(|(_, length, _)| *length);
        routes.iter().for_each(|(prefix, length, hop)| table.insert(*prefix, *length, ROUTE | hop));
        table
    }

    fn insert(&mut self, prefix: u32, length: u32, entry: u32) {
        let (mut node, mut depth) = (0, 0);
        while length > depth + 8 {
            node = self.below(node + (prefix << depth >> 24) as usize);
            depth += 8;
        }
        let count = 1_usize << (depth + 8 - length);
        let first = (prefix << depth >> 24) as usize & !(count - 1);
        self.trie[node + first..node + first + count].fill(entry);
    }

    /// The node behind an entry; a route there is that of all of the new node.
    fn below(&mut self, at: usize) -> usize {
        if self.trie[at] & ROUTE != 0 {
            let new = self.trie.len() as u32;
            let route = std::mem::replace(&mut self.trie[at], new);
            self.trie.extend([route; NODE]);
        }
        self.trie[at] as usize
    }
}

/// An engine that runs one thread's program, and writes down what that takes.
struct Engine<'m> {
    machine: &'m Machine,
    steps: Vec<Step>,
    carry: bool,
    /// Instructions since the last access.
    count: f64,
}

/// The second operand of arithmetic, shifted.
#[derive(Clone, Copy)]
enum Shift {
    None,
    Left(u32),
    Right(u32),
}
use Shift::{Left, Right};

impl Engine<'_> {
    fn alu(&mut self, value: u64) -> u32 {
        self.count += self.machine.instructions.alu;
        self.carry = value >> 32 != 0;
        value as u32
    }

    fn shifted(b: u32, shift: Shift) -> u32 {
        match shift {
            Shift::None => b,
            Left(n) => b << n,
            Right(n) => b >> n,
        }
    }

    fn add(&mut self, a: u32, b: u32, shift: Shift) -> u32 {
        self.alu(u64::from(a) + u64::from(Self::shifted(b, shift)))
    }

    fn sub(&mut self, a: u32, b: u32) -> u32 {
        self.alu(a.wrapping_sub(b).into())
    }

    /// With the carry of the last instruction.
    fn add_carry(&mut self, a: u32, b: u32) -> u32 {
        self.alu(u64::from(a) + u64::from(b) + u64::from(self.carry))
    }

    fn and(&mut self, a: u32, b: u32, shift: Shift) -> u32 {
        self.alu((a & Self::shifted(b, shift)).into())
    }

    fn or(&mut self, a: u32, b: u32, shift: Shift) -> u32 {
        self.alu((a | Self::shifted(b, shift)).into())
    }

    /// A constant of up to 16 bits; longer ones take two.
    fn constant(&mut self, value: u32) -> u32 {
        if value > 0xffff {
            self.alu(0);
        }
        self.alu(value.into())
    }

    /// A comparison, and a branch that is taken or not.
    fn branch(&mut self, taken: bool) -> bool {
        self.count += self.machine.instructions.alu + self.machine.instructions.branch;
        taken
    }

    /// A command to a memory; data come and go by transfer registers, and the thread swaps until it
    /// is done.
    fn memory(&mut self, name: &str, write: bool, address: u32, bytes: u32) {
        self.count += self.machine.instructions.memory;
        let computed = self.count.round() as u32;
        self.count = 0.0;
        let number = self.machine.memory.keys().position(|known| known == name).unwrap_or(0);
        let width = self.machine.memory.values().nth(number).map_or(4, |memory| memory.width);
        let access = Access { memory: number as u32, write, units: bytes.div_ceil(width), address: address.into(), shared: None };
        self.steps.extend([Step::Compute(computed), Step::Access(access)]);
    }
}

/// Routes a frame, which it changes; the port that it leaves by, or none for what is the
/// StrongARM's, and what that takes.
pub fn route(machine: &Machine, table: &Table, frame: &mut [u8]) -> (Option<u32>, Work) {
    let mut engine = Engine { machine, steps: Vec::new(), carry: false, count: 0.0 };
    let word = |at: usize| (0..4).fold(0, |word, n| word << 8 | u32::from(frame.get(at * 4 + n).copied().unwrap_or(0)));
    let mut w: [u32; (HEADERS / 4) as usize] = std::array::from_fn(word);
    engine.memory("sdram", false, 0, HEADERS);
    let port = program(&mut engine, table, &mut w, frame.len() as u32);
    if port.is_some() {
        engine.memory("sdram", true, 0, HEADERS);
        frame.iter_mut().zip(w.iter().flat_map(|word| word.to_be_bytes())).for_each(|(byte, new)| *byte = new);
    }
    engine.steps.push(Step::Compute(engine.count.round() as u32));
    (port, Work { steps: engine.steps, flow: 0, bytes: frame.len() as u32 })
}

/// The program. `w` are the registers that hold the headers: the Ethernet header ends in the middle
/// of `w[3]`, the destination is in `w[7]` and `w[8]`.
fn program(e: &mut Engine<'_>, table: &Table, w: &mut [u32; 10], bytes: u32) -> Option<u32> {
    check(e, w, bytes)?;
    let route = look_up(e, table, w);
    e.memory("sram", false, route * 16, 16);
    let [port, addresses @ ..] = *table.hops.get(route as usize)?;
    age(e, w)?;
    for (to, from) in w.iter_mut().zip(addresses) {
        *to = e.or(0, from, Shift::None);
    }
    Some(port)
}

/// IPv4 without options, of the right length, from an address that can be one, with a checksum that
/// holds.
fn check(e: &mut Engine<'_>, w: &[u32; 10], bytes: u32) -> Option<()> {
    let kind = e.constant(0x0800_4500);
    let mask = e.constant(0xffff_ff00);
    let begins = e.and(mask, w[3], Shift::None);
    if e.branch(begins != kind) {
        return None;
    }
    let length = e.or(0, w[4], Right(16));
    if e.branch(length < 20) {
        return None;
    }
    let ends = e.add(length, 14, Shift::None);
    if e.branch(ends > bytes) {
        return None;
    }
    let high = e.or(0, w[6], Left(16));
    let source = e.or(high, w[7], Right(16));
    if e.branch(source == 0) || e.branch(source == u32::MAX) {
        return None;
    }
    let low = e.constant(0xffff);
    let mut sum = e.and(low, w[3], Shift::None);
    sum = e.add(sum, w[8], Right(16));
    for word in &w[4..8] {
        sum = e.add_carry(sum, *word);
    }
    sum = e.add_carry(sum, 0);
    let half = e.and(low, sum, Shift::None);
    sum = e.add(half, sum, Right(16));
    let half = e.and(low, sum, Shift::None);
    sum = e.add(half, sum, Right(16));
    if e.branch(sum != 0xffff) { None } else { Some(()) }
}

/// The route of the destination, by a byte of it after the other.
fn look_up(e: &mut Engine<'_>, table: &Table, w: &[u32; 10]) -> u32 {
    let high = e.or(0, w[7], Left(16));
    let mut rest = e.or(high, w[8], Right(16));
    let mut node = e.constant(0);
    loop {
        let at = e.add(node, rest, Right(24));
        e.memory("sram", false, at * 4, 4);
        let entry = table.trie[at as usize];
        if e.branch(entry & ROUTE != 0) {
            return e.and(entry, ROUTE - 1, Shift::None);
        }
        node = entry;
        rest = e.or(0, rest, Left(8));
    }
}

/// One less to live, and the checksum for that.
fn age(e: &mut Engine<'_>, w: &mut [u32; 10]) -> Option<()> {
    let byte = e.constant(0xff00);
    let ttl = e.and(byte, w[5], Shift::None);
    if e.branch(ttl <= 0x100) {
        return None;
    }
    let one = e.constant(0x100);
    w[5] = e.sub(w[5], one);
    let mut sum = e.or(0, w[6], Right(16));
    sum = e.add(sum, one, Shift::None);
    sum = e.add(sum, sum, Right(16));
    let low = e.constant(0xffff);
    let source = e.and(low, w[6], Shift::None);
    w[6] = e.or(source, sum, Left(16));
    Some(())
}
