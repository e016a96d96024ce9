//! What a program did for each packet: a watcher of the interpreter writes it down, in terms of no
//! machine.
//!
//! A log is shared by the watchers of an application's elements. Everything from a packet's arrival
//! to the next one's is that packet's: where packets wait in queues, what a later packet wakes is
//! counted as its own. A trace has a limit; what comes later is counted and not kept.

use netil::exec::Disposition;
use netil::interp::{Moment, Watch};
use netil::module::TableKind;
use netil::table::{Op, Own, Sem, Space};
use netil::{Interpreter, Verified, wide};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Events that one trace keeps.
const MOST_EVENTS: usize = 1 << 24;
/// Where an entry's time of last use lies in it.
pub(crate) const LAST_USE: u32 = 248;

/// What an instruction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Constants, locals, moves on the stack.
    Stack,
    /// Arithmetic of 32 bits.
    Alu,
    /// A limb of wider arithmetic.
    Wide,
    /// A branch, call or return.
    Branch,
    /// What goes with an access.
    Memory,
    /// Four bytes of a checksum, hash or scan.
    Digest,
    /// The packet's head, tail, length, way out.
    Packet,
    /// A coprocessor's operation.
    Unit,
}

/// How a lookup finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An exact match of the key.
    Exact,
    /// The longest prefix.
    Prefix,
    /// Masks and ranges.
    Ternary,
    /// A set of constants.
    Set,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An element's handler begins.
    Begin(u32),
    /// It ends.
    End,
    /// Instructions of a class, one after the other.
    Instructions(Class, u32),
    /// An access to a memory.
    Access {
        /// Which.
        space: Space,
        /// A store.
        write: bool,
        /// Where.
        address: u32,
        /// How many bytes.
        bytes: u32,
    },
    /// A lookup in a table or set; the entry is 0 if there is none.
    Lookup {
        /// How.
        kind: Kind,
        /// The table.
        table: u32,
        /// It changes the table: an insertion or a deletion.
        write: bool,
        /// A hash of the key.
        key: u64,
        /// What it found.
        entry: u32,
    },
    /// A search for patterns in the packet.
    Search {
        /// Bytes that are looked at.
        bytes: u32,
    },
    /// A read or write of an entry's value.
    Entry {
        /// The table.
        table: u32,
        /// The entry.
        entry: u32,
        /// A store.
        write: bool,
        /// Where in it.
        offset: u32,
        /// How many bytes.
        bytes: u32,
    },
}

/// What was done for a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketTrace {
    /// A number that packets of the same flow have in common.
    pub flow: u64,
    /// Bytes as it arrived.
    pub bytes: u32,
    /// What happened.
    pub events: Vec<Event>,
}

/// An element of which a trace tells.
#[derive(Clone, Debug)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// Its program.
    pub program: Arc<Verified>,
}

/// What was done for all packets.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The elements, by number.
    pub elements: Vec<Element>,
    /// Tables and variables of elements (by the elements' numbers here), as far as their classes
    /// declare them.
    pub data: Vec<netil::app::Datum>,
    /// The packets in their order.
    pub packets: Vec<PacketTrace>,
    /// Packets that did not fit.
    pub left_out: u64,
    /// Keys of tables by their hashes, so many as are kept.
    pub keys: HashMap<u64, Box<[u64]>>,
    /// By element and table, the lines of its source whose instructions look keys up or look at
    /// entries.
    pub lines: BTreeMap<(u32, u32), BTreeSet<u32>>,
    /// By element and address in its data memory, the lines whose instructions access that.
    pub data_lines: BTreeMap<(u32, u32), BTreeSet<u32>>,
}

/// Keys that are kept, and addresses with their lines.
const MOST_KEYS: usize = 1 << 20;

#[derive(Default)]
struct Log {
    trace: Trace,
    events: usize,
    full: bool,
}

/// Writes a trace; clones write to the same one.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Log>>);

impl Recorder {
    /// An interpreter of a program that writes what it does.
    pub fn interpreter(&self, name: &str, program: Arc<Verified>) -> Interpreter {
        let element = self.with(|log| {
            log.trace.elements.push(Element { name: name.to_owned(), program: Arc::clone(&program) });
            log.trace.elements.len() as u32 - 1
        });
        let watch = Watcher { recorder: self.clone(), element, program: Arc::clone(&program), pending: None, began: false };
        Interpreter::watched(program, Box::new(watch))
    }

    /// A packet arrives: what follows is done for it.
    pub fn arrives(&self, packet: &[u8]) {
        self.with(|log| {
            log.full = log.events >= MOST_EVENTS;
            match log.full {
                true => log.trace.left_out += 1,
                false => log.trace.packets.push(PacketTrace { flow: flow(packet), bytes: packet.len() as u32, events: Vec::new() }),
            }
        });
    }

    /// The trace, which begins anew.
    pub fn take(&self) -> Trace {
        self.with(|log| std::mem::take(log).trace)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Log) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note_key(&self, hash: u64, key: &[u64]) {
        self.with(|log| {
            if log.trace.keys.len() < MOST_KEYS {
                log.trace.keys.entry(hash).or_insert_with(|| key.into());
            }
        });
    }

    fn push(&self, event: Event) {
        self.with(|log| {
            // What happens before the first packet is preparation.
            let Some(packet) = log.trace.packets.last_mut().filter(|_| !log.full) else { return };
            if let (Some(Event::Instructions(last, count)), Event::Instructions(class, more)) = (packet.events.last_mut(), event)
                && *last == class
            {
                *count = count.saturating_add(more);
            } else if log.events < MOST_EVENTS {
                log.events += 1;
                packet.events.push(event);
            }
        });
    }
}

/// A number for what netvm takes for a flow: addresses, protocol and ports, the same in both
/// directions; other packets by their first 14 bytes.
pub fn flow(packet: &[u8]) -> u64 {
    let at = |from: usize, to: usize| packet.get(from..to).unwrap_or_default();
    let is_v4 = at(12, 14) == [8, 0] && at(14, 15).first().is_some_and(|byte| byte >> 4 == 4);
    if !is_v4 {
        return hash(at(0, 14));
    }
    let ports = if matches!(at(23, 24), [6 | 17]) { 14 + usize::from(packet[14] & 15) * 4 } else { usize::MAX - 4 };
    let ends = [hash(at(26, 30)) ^ hash(at(ports, ports + 2)), hash(at(30, 34)) ^ hash(at(ports + 2, ports + 4))];
    ends[0].wrapping_add(ends[1]) ^ u64::from(at(23, 24).first().copied().unwrap_or_default())
}

/// FNV-1a, then mixed, so that few bits of it are as good as many.
fn hash(bytes: &[u8]) -> u64 {
    mixed(bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)))
}

/// The finaliser of SplitMix64.
pub(crate) fn mixed(mut h: u64) -> u64 {
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}

/// What is known only when the instruction is done.
enum Pending {
    Lookup { kind: Kind, table: u32, write: bool, key: u64, refresh: bool },
    Scan { at: u32, bytes: u32, len: u32 },
}

struct Watcher {
    recorder: Recorder,
    element: u32,
    program: Arc<Verified>,
    pending: Option<Pending>,
    began: bool,
}

impl Watch for Watcher {
    fn executes(&mut self, moment: Moment<'_>) {
        if !std::mem::replace(&mut self.began, true) {
            self.recorder.push(Event::Begin(self.element));
        }
        self.resolve(moment.stack);
        self.instruction(moment);
    }

    fn ends(&mut self, stack: &[u64], _: Disposition) {
        self.resolve(stack);
        self.began = false;
        self.recorder.push(Event::End);
    }
}

impl Watcher {
    fn count(&self, class: Class, n: u32) {
        self.recorder.push(Event::Instructions(class, n));
    }

    fn access(&self, space: Space, write: bool, address: u64, bytes: u32) {
        self.recorder.push(Event::Access { space, write, address: address as u32, bytes });
        self.count(Class::Memory, 1);
    }

    /// What the instruction before has left on the stack.
    fn resolve(&mut self, stack: &[u64]) {
        let top = stack.last().copied().unwrap_or_default() as u32;
        match self.pending.take() {
            Some(Pending::Lookup { kind, table, write, key, refresh }) => {
                self.recorder.push(Event::Lookup { kind, table, write, key, entry: top });
                // The time of its last use is behind the value.
                if refresh && top != 0 {
                    self.recorder.push(Event::Entry { table, entry: top, write: true, offset: LAST_USE, bytes: 4 });
                }
            }
            Some(Pending::Scan { at, bytes, len }) => {
                let end = if top == u32::MAX { len } else { top.saturating_add(bytes) };
                self.over_packet(at.into(), end.saturating_sub(at));
            }
            None => {}
        }
    }

    fn over_packet(&self, at: u64, len: u32) {
        self.access(Space::Packet, false, at, len);
        self.count(Class::Digest, len.div_ceil(4));
    }

    fn instruction(&mut self, moment: Moment<'_>) {
        let nth = |n: usize| moment.stack.len().checked_sub(n).and_then(|at| moment.stack.get(at)).copied().unwrap_or_default();
        let width = moment.inst.imm[0];
        let limbs = width.div_ceil(64);
        if let Sem::Load(Space::Data, ..) | Sem::Store(Space::Data, _) | Sem::WideLoad(Space::Data) | Sem::WideStore(Space::Data) =
            moment.inst.op.row().sem
        {
            self.note_data_line(&moment, nth(1) as u32);
        }
        match moment.inst.op.row().sem {
            Sem::Load(space, bytes, _) => self.access(space, false, nth(1), bytes.into()),
            Sem::Store(space, bytes) => self.access(space, true, nth(1), bytes.into()),
            Sem::WideLoad(space) => self.access(space, false, nth(1), width / 8),
            Sem::WideStore(space) => self.access(space, true, nth(1), width / 8),
            Sem::Copy(from, to) => {
                self.access(from, false, nth(3), nth(1) as u32);
                self.access(to, true, nth(2), nth(1) as u32);
            }
            Sem::Bin(_) | Sem::Checked(..) | Sem::Un(_) => self.count(Class::Alu, 1),
            Sem::WideBin(_) | Sem::WideUn(_) | Sem::WideCmp(_) => self.count(Class::Wide, limbs),
            Sem::JumpCmp(_) | Sem::JumpZero(_) => self.count(Class::Branch, 1),
            Sem::JumpField(_) => {
                self.over_packet(nth(3), nth(1) as u32);
                self.over_packet(nth(2), nth(1) as u32);
                self.count(Class::Branch, 1);
            }
            Sem::Scan(bytes) => {
                self.pending = Some(Pending::Scan { at: nth(2) as u32, bytes: bytes.into(), len: moment.packet_len });
            }
            Sem::Own(own) => self.own(own, moment, nth),
        }
    }

    fn own(&mut self, own: Own, moment: Moment<'_>, nth: impl Fn(usize) -> u64) {
        let inst = moment.inst;
        match own {
            Own::TFind | Own::TPeek | Own::TInsert | Own::TDelete | Own::SetHas => self.lookup(moment),
            Own::TLoad | Own::TStore => {
                let [table, width, offset] = inst.imm;
                let (entry, write) = (nth(1) as u32, own == Own::TStore);
                self.note_line(&moment, table);
                self.recorder.push(Event::Entry { table, entry, write, offset, bytes: width / 8 });
                self.count(Class::Memory, 1);
            }
            Own::ChksumCalc | Own::CrcCalcPkt | Own::ChksumJump => self.over_packet(nth(2), nth(1) as u32),
            Own::IpLen => self.access(Space::Packet, false, nth(1), 1),
            Own::Jump | Own::JumpW | Own::Switch | Own::Call | Own::CallW | Own::Ret | Own::Exit => self.count(Class::Branch, 1),
            Own::Hash => self.count(Class::Digest, inst.imm[0]),
            Own::ChksumAdd | Own::ChksumSub | Own::CrcCalc | Own::Hash32 => self.count(Class::Digest, 1),
            Own::CoproInvoke if self.searches(inst.imm[0]) => {
                self.count(Class::Unit, 1);
                self.recorder.push(Event::Search { bytes: moment.packet_len });
            }
            Own::CoproInit | Own::CoproInvoke => self.count(Class::Unit, 1),
            _ => self.count(class(own), 1),
        }
    }

    /// The line of an instruction, if it is known.
    fn line(&self, moment: &Moment<'_>) -> Option<u32> {
        let handler = self.program.module().handler(moment.kind)?;
        Some(handler.line(moment.at)).filter(|line| *line != 0)
    }

    /// A table is accessed there.
    fn note_line(&self, moment: &Moment<'_>, table: u32) {
        if let Some(line) = self.line(moment) {
            self.recorder.with(|log| _ = log.trace.lines.entry((self.element, table)).or_default().insert(line));
        }
    }

    /// Data memory is accessed there.
    fn note_data_line(&self, moment: &Moment<'_>, address: u32) {
        let Some(line) = self.line(moment) else { return };
        self.recorder.with(|log| {
            let place = (self.element, address);
            if log.trace.data_lines.len() < MOST_KEYS || log.trace.data_lines.contains_key(&place) {
                log.trace.data_lines.entry(place).or_default().insert(line);
            }
        });
    }

    /// Whether a coprocessor looks for patterns; then the whole packet is taken for what it looks
    /// at.
    fn searches(&self, unit: u32) -> bool {
        let declared = self.program.module().coprocessors.get(unit as usize);
        declared.is_some_and(|unit| matches!(unit.name.as_str(), "stringmatching" | "regexp"))
    }

    fn lookup(&mut self, moment: Moment<'_>) {
        let module = self.program.module();
        let n = moment.inst.imm[0] as usize;
        let (kind, bits) = match moment.inst.op {
            Op::SetHas => (Kind::Set, module.sets.get(n).map_or(32, netil::set::Set::width)),
            _ => module.tables.get(n).map_or((Kind::Exact, 32), |table| (kind(table.kind), table.key_bits)),
        };
        let limbs = wide::limbs(bits).min(moment.stack.len());
        let limbs = &moment.stack[moment.stack.len() - limbs..];
        let key = limbs.iter().fold(0, |h, limb| mixed(h ^ limb));
        if moment.inst.op != Op::SetHas {
            self.recorder.note_key(key, limbs);
            self.note_line(&moment, n as u32);
        }
        let write = matches!(moment.inst.op, Op::TInsert | Op::TDelete);
        let refresh = moment.inst.op == Op::TFind && module.tables.get(n).is_some_and(|table| table.timeout_ns > 0);
        self.pending = Some(Pending::Lookup { kind, table: n as u32, write, key, refresh });
    }
}

/// Bytes of data memory that carry something from one run to another, by element: some run reads
/// them before it writes them, and some run writes them.
pub(crate) fn kept(trace: &Trace) -> HashSet<(u32, u32)> {
    let (mut carried, mut changed) = (HashSet::new(), HashSet::new());
    for packet in &trace.packets {
        let mut runs: Vec<(u32, HashSet<u32>)> = Vec::new();
        for event in &packet.events {
            match event {
                Event::Begin(element) => runs.push((*element, HashSet::new())),
                Event::End => drop(runs.pop()),
                Event::Access { space: Space::Data, write, address, bytes } => {
                    let Some((element, written)) = runs.last_mut() else { continue };
                    let all = *address..address.saturating_add(*bytes);
                    if *write {
                        changed.extend(all.clone().map(|byte| (*element, byte)));
                        written.extend(all);
                    } else {
                        carried.extend(all.filter(|byte| !written.contains(byte)).map(|byte| (*element, byte)));
                    }
                }
                _ => {}
            }
        }
    }
    carried.retain(|byte| changed.contains(byte));
    carried
}

fn kind(kind: TableKind) -> Kind {
    match kind {
        TableKind::Exact => Kind::Exact,
        TableKind::Prefix => Kind::Prefix,
        TableKind::Ternary | TableKind::Range => Kind::Ternary,
    }
}

/// The class of an instruction with a meaning of its own; what a trace counts by its operands is
/// one of arithmetic here.
pub(crate) fn class(own: Own) -> Class {
    match own {
        Own::Push | Own::Push2 | Own::PushC0 | Own::PushC1 | Own::PushC2 | Own::PushCm1 | Own::WPush => Class::Stack,
        Own::Pop | Own::PopI | Own::Dup | Own::Swap | Own::LocLoad | Own::LocStore | Own::Nop | Own::Break => Class::Stack,
        // Values of 64-bit limbs are moved by naming their registers.
        Own::WZext | Own::WTrunc | Own::TNone => Class::Stack,
        Own::WSext | Own::WSlice | Own::WConcat | Own::WSelect => Class::Wide,
        Own::PktSend | Own::PktSendBy | Own::PktSendDup | Own::PktReceive | Own::PktDrop | Own::PktHold | Own::PktTake => Class::Packet,
        Own::PktPush | Own::PktPull | Own::PktTrim | Own::PktGrow | Own::PktUnpull | Own::PktAsk => Class::Packet,
        Own::ExbufCreate | Own::ExbufDelete | Own::InfoClr => Class::Packet,
        Own::Inc1 | Own::Inc2 | Own::Inc3 | Own::Inc4 | Own::Dec1 | Own::Dec2 | Own::Dec3 | Own::Dec4 => Class::Alu,
        Own::IpLen | Own::Rnd | Own::Cmp | Own::MCmp | Own::CmpS | Own::Jump | Own::JumpW | Own::Switch | Own::Call => Class::Alu,
        Own::CallW | Own::Ret | Own::Exit | Own::TstampS | Own::TstampU | Own::Pbl | Own::Sleep | Own::MFindBit => Class::Alu,
        Own::XFindBit | Own::XmFindBit | Own::SetBit | Own::ClearBit | Own::FlipBit | Own::TestBit | Own::TestNBit => Class::Alu,
        Own::ChksumAdd | Own::ChksumSub | Own::ChksumCalc | Own::ChksumJump | Own::CrcCalc | Own::CrcCalcPkt => Class::Alu,
        Own::Hash32 | Own::Hash | Own::SetShare | Own::LoadE | Own::StoreE | Own::CoproInit | Own::CoproIn => Class::Alu,
        Own::CoproOut | Own::CoproInvoke | Own::CoproExbuf | Own::PblOrig | Own::TimeNs | Own::TimeSet => Class::Alu,
        Own::TimerSet | Own::WireSet | Own::PktMoved | Own::PktCheck | Own::PktPresent | Own::SetHas | Own::TFind => Class::Alu,
        Own::TPeek | Own::TInsert | Own::TDelete | Own::TValid | Own::TLoad | Own::TStore | Own::TWalk | Own::TNext => Class::Alu,
        Own::TKey | Own::TDue | Own::TDeadline => Class::Alu,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_any_length_have_a_flow() {
        let mut packet = [0; 60];
        (packet[12], packet[14], packet[23]) = (8, 0x4f, 17);
        let flows: Vec<u64> = (0..=packet.len()).map(|len| flow(&packet[..len])).collect();
        assert!(flows.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
