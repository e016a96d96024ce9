//! What instructions do beyond computing values: to memories, to the exchange buffer, with copies
//! and coprocessors.
//!
//! One definition for every engine: the interpreter and the runtime's side of compiled code call
//! it. Every access is checked against the memory's size, which is what the program declares even
//! where the state's memory is larger; bulk instructions pay for their bytes ([`crate::budget`]);
//! nothing is changed where there is a trap. Source: NetVM paper, sections 3.1.2 (memories) and
//! 3.1.3 (coprocessors). Leaves out what engines do each in their way: values, branches, plain
//! loads and stores.

use crate::budget::Budget;
use crate::copro::Views;
use crate::exec::{CloneOut, ExchangeBuffer, MAX_COPIED, MAX_COPIES, MAX_PACKET, PacketSource, State, TrapKind};
use crate::number;
use crate::ops::CmpOp;
use crate::table::Space;
use crate::verify::Verified;
use crate::walk::{LOOKED_AT, MOST_DUE};
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes that a copy between two memories moves at a time.
const CHUNK: usize = 1024;

/// What one run of a handler may touch besides its values. The state must fit the program
/// ([`State::fit`]).
pub struct Machine<'m, 'b> {
    /// The packet.
    pub buffer: &'m mut ExchangeBuffer<'b>,
    /// What stays from packet to packet.
    pub state: &'m mut State,
    /// The copies sent, of the whole burst.
    pub clones: &'m mut Vec<CloneOut>,
    /// The packet's number in the burst.
    pub index: u32,
    /// Coprocessors that were shown the packet, a bit each.
    pub shown: u32,
    /// Copies sent by this run.
    pub copies: u32,
    /// What is before the inputs, if it may be asked.
    pub source: Option<&'m mut (dyn PacketSource + 'm)>,
}

impl Machine<'_, '_> {
    /// A memory as it is now.
    pub fn memory<'m>(&'m self, program: &'m Verified, space: Space) -> &'m [u8] {
        match space {
            Space::Packet => self.buffer.bytes(),
            Space::Info => &self.buffer.info,
            Space::Data => &self.state.data[..program.module().data_size as usize],
            Space::Shared => &self.state.shared[..program.shared_size() as usize],
            Space::Initialised => &program.module().data,
        }
    }

    /// A memory for writing; initialised data has no bytes to write to.
    pub fn memory_mut(&mut self, program: &Verified, space: Space) -> &mut [u8] {
        match space {
            Space::Packet => self.buffer.bytes_mut(),
            Space::Info => &mut self.buffer.info,
            Space::Data => &mut self.state.data[..program.module().data_size as usize],
            Space::Shared => &mut self.state.shared[..program.shared_size() as usize],
            Space::Initialised => &mut [],
        }
    }

    /// The bytes `at..at + len` of a memory, or the trap.
    pub fn range(&self, program: &Verified, space: Space, at: u32, len: u32) -> Result<Range<usize>, TrapKind> {
        range(self.memory(program, space), space, at, len)
    }

    /// Copies `len` bytes from an address of one memory to an address of another or the same, as if
    /// all were read before one is written. The source is checked first.
    pub fn copy(
        &mut self,
        program: &Verified,
        [from, to]: [Space; 2],
        [source, target, len]: [u32; 3],
        budget: &mut Budget,
    ) -> Result<(), TrapKind> {
        let source = self.range(program, from, source, len)?;
        let target = self.range(program, to, target, len)?;
        budget.bytes(len.into())?;
        if from == to {
            self.memory_mut(program, to).copy_within(source, target.start);
        } else {
            self.copy_across(program, [from, to], source, target.start);
        }
        Ok(())
    }

    /// Between memories that share no byte, through a chunk that fits the nearest cache.
    fn copy_across(&mut self, program: &Verified, [from, to]: [Space; 2], mut source: Range<usize>, mut target: usize) {
        let mut chunk = [0; CHUNK];
        while !source.is_empty() {
            let n = source.len().min(CHUNK);
            chunk[..n].copy_from_slice(&self.memory(program, from)[source.start..source.start + n]);
            if let Some(place) = self.memory_mut(program, to).get_mut(target..target + n) {
                place.copy_from_slice(&chunk[..n]);
            }
            (source.start, target) = (source.start + n, target + n);
        }
    }

    /// `info.clear`.
    pub fn clear_info(&mut self, budget: &mut Budget) -> Result<(), TrapKind> {
        budget.bytes(self.buffer.info.len() as u64)?;
        self.buffer.info.fill(0);
        Ok(())
    }

    /// `pkt.senddup`.
    pub fn send_copy(&mut self, port: u32, budget: &mut Budget) -> Result<(), TrapKind> {
        if !self.buffer.is_present() {
            return Err(TrapKind::NoPacket);
        }
        if self.copies == MAX_COPIES {
            return Err(TrapKind::Copies);
        }
        // Those of this run are last.
        let before = self.clones.last().filter(|_| self.copies > 0).map_or(0, |copy| copy.copied);
        let copied = u64::from(before) + self.bytes_of_packet();
        if copied > u64::from(MAX_COPIED) {
            return Err(TrapKind::Copies);
        }
        budget.bytes(self.bytes_of_packet())?;
        self.copies += 1;
        let mut buffer = self.buffer.clone().into_owned();
        buffer.number = number::branch(&mut self.buffer.number);
        self.clones.push(CloneOut { source: self.index, port, copied: copied as u32, buffer });
        Ok(())
    }

    /// `pkt.receive` and `pkt.ask`: false if no packet waits at that port and there is none before
    /// it.
    pub fn receive(&mut self, program: &Verified, port: u32) -> bool {
        let waiting = self.state.inputs.get_mut(port as usize).and_then(VecDeque::pop_front);
        let next = waiting.or_else(|| self.source.as_mut()?.next(self.state, port));
        let Some(mut buffer) = next else { return false };
        if buffer.number == number::NONE {
            // It arrives with this run.
            buffer.number = self.buffer.number;
        }
        *self.buffer = buffer;
        self.buffer.info.resize(program.module().info_size as usize, 0);
        true
    }

    /// `exbuf.create`.
    pub fn create(&mut self, len: u32, budget: &mut Budget) -> Result<(), TrapKind> {
        if len > MAX_PACKET {
            return Err(TrapKind::NoRoom);
        }
        budget.bytes(u64::from(len) + self.buffer.info.len() as u64)?;
        self.buffer.create(len);
        Ok(())
    }

    /// `pkt.push`. The whole packet may have to move.
    pub fn push_head(&mut self, n: u32, budget: &mut Budget) -> Result<(), TrapKind> {
        self.pay_for_growth(n, budget)?;
        self.buffer.push(n)
    }

    /// `pkt.grow`. The whole packet may have to move.
    pub fn grow_tail(&mut self, n: u32, budget: &mut Budget) -> Result<(), TrapKind> {
        self.pay_for_growth(n, budget)?;
        self.buffer.grow(n)
    }

    fn pay_for_growth(&self, n: u32, budget: &mut Budget) -> Result<(), TrapKind> {
        self.buffer.growth(n)?;
        budget.bytes(u64::from(n) + self.buffer.bytes().len() as u64)
    }

    /// Packet and info memory.
    fn bytes_of_packet(&self) -> u64 {
        self.buffer.bytes().len() as u64 + self.buffer.info.len() as u64
    }

    /// `t.find` and `t.peek`.
    pub fn find(&mut self, table: u32, key: &[u64], refresh: bool) -> u32 {
        self.state.tables[table as usize].find(key, self.buffer.time_ns, refresh)
    }

    /// `t.insert`.
    pub fn insert(&mut self, table: u32, key: &[u64]) -> u32 {
        self.state.tables[table as usize].insert(key, self.buffer.time_ns)
    }

    /// `t.delete`.
    pub fn delete_entry(&mut self, table: u32, key: &[u64]) -> bool {
        self.state.tables[table as usize].delete(key, self.buffer.time_ns)
    }

    /// `t.load`: the bytes at a place of an entry.
    pub fn entry(&self, table: u32, entry: u32, at: u32, len: u32) -> Result<&[u8], TrapKind> {
        let value = self.state.tables[table as usize].value(entry).ok_or(TrapKind::NoEntry)?;
        // The verifier has compared them with the size of values.
        value.get(at as usize..(at + len) as usize).ok_or(TrapKind::NoEntry)
    }

    /// `t.store`: the same for writing.
    pub fn entry_mut(&mut self, table: u32, entry: u32, at: u32, len: u32) -> Result<&mut [u8], TrapKind> {
        let value = self.state.tables[table as usize].value_mut(entry).ok_or(TrapKind::NoEntry)?;
        value.get_mut(at as usize..(at + len) as usize).ok_or(TrapKind::NoEntry)
    }

    /// `t.walk`: how many entries there are. What is paid for is all of them.
    pub fn walk(&mut self, table: u32, budget: &mut Budget) -> Result<u32, TrapKind> {
        let (now, of) = (self.buffer.time_ns, &self.state.tables[table as usize]);
        budget.entries(of.len(now))?;
        let keys = of.keys(now);
        Ok(self.state.begin_walk(table, keys))
    }

    /// `t.due`: the same of those that end with this nanosecond. The others that do are looked at,
    /// too.
    pub fn due(&mut self, table: u32, budget: &mut Budget) -> Result<u32, TrapKind> {
        let (keys, all) = self.state.tables[table as usize].due(self.buffer.time_ns, MOST_DUE);
        budget.entries(keys.len() as u64 + all / LOOKED_AT)?;
        Ok(self.state.begin_walk(table, keys))
    }

    /// `t.next`.
    pub fn next_key(&mut self, table: u32) -> bool {
        self.state.next_key(table, self.buffer.time_ns)
    }

    /// `t.deadline`.
    pub fn deadline(&mut self, table: u32) -> u64 {
        self.state.tables[table as usize].deadline(self.buffer.time_ns)
    }

    /// `pkt.hold`: 1 if there was room.
    pub fn hold(&mut self, program: &Verified, queue: u32, budget: &mut Budget) -> Result<u32, TrapKind> {
        if !self.buffer.is_present() {
            return Err(TrapKind::NoPacket);
        }
        if self.state.held.is_full() {
            return Ok(0);
        }
        budget.bytes(self.bytes_of_packet())?;
        self.state.held.push(queue, self.buffer.take().into_owned());
        self.buffer.info.resize(program.module().info_size as usize, 0);
        Ok(1)
    }

    /// `pkt.take`: 1 if there was a packet.
    pub fn take(&mut self, program: &Verified, queue: u32) -> u32 {
        let Some(packet) = self.state.held.pop(queue) else { return 0 };
        *self.buffer = packet;
        self.buffer.info.resize(program.module().info_size as usize, 0);
        1
    }

    /// A register of a coprocessor.
    pub fn register(&mut self, unit: u32, register: u32) -> &mut u32 {
        &mut self.state.coprocessors[unit as usize].registers[register as usize]
    }

    /// `copro.exbuf`.
    pub fn show(&mut self, unit: u32) {
        self.shown |= 1 << unit;
    }

    /// `copro.init` with the initialised data from that offset; the unit's answer.
    pub fn init(&mut self, program: &Verified, unit: u32, offset: u32, budget: &mut Budget) -> Result<u32, TrapKind> {
        let data = program.module().data.get(offset as usize..).unwrap_or_default();
        let unit = &mut self.state.coprocessors[unit as usize].unit;
        budget.bytes(unit.init_work(data))?;
        Ok(unit.init(data))
    }

    /// `copro.invoke`.
    pub fn invoke(&mut self, program: &Verified, unit: u32, operation: u32, budget: &mut Budget) -> Result<(), TrapKind> {
        let size = program.module().info_size as usize;
        let is_shown = self.shown >> unit & 1 == 1;
        let views = if is_shown { views(self.buffer.bytes(), &self.buffer.info, size) } else { Views::NONE };
        invoke(self.state, [unit, operation], views, budget)
    }
}

/// What a unit sees of an exchange buffer: of info memory, which may be longer where others declare
/// more, as much as the program declares.
pub fn views<'v>(packet: &'v [u8], info: &'v [u8], info_size: usize) -> Views<'v> {
    Views::of(packet, &info[..info.len().min(info_size)])
}

/// `copro.invoke`: a unit, an operation of it. What the unit refuses is paid for.
pub fn invoke(state: &mut State, [unit, operation]: [u32; 2], views: Views<'_>, budget: &mut Budget) -> Result<(), TrapKind> {
    let copro = &mut state.coprocessors[unit as usize];
    budget.bytes(copro.unit.work(operation, &copro.registers, views))?;
    let done = copro.unit.invoke(operation, &mut copro.registers, views);
    done.map_err(|e| TrapKind::Coprocessor(unit as u8, e))
}

fn range(memory: &[u8], space: Space, at: u32, len: u32) -> Result<Range<usize>, TrapKind> {
    let end = u64::from(at) + u64::from(len);
    if end > memory.len() as u64 { Err(TrapKind::OutOfBounds(space)) } else { Ok(at as usize..end as usize) }
}

/// `pkt.check`: whether the bytes `at..at + len` lie inside a packet.
pub fn inside(packet: &[u8], at: u32, len: u32) -> Result<(), TrapKind> {
    range(packet, Space::Packet, at, len).map(|_| ())
}

/// The bytes `at..at + len` of a packet, to be read once, or the trap.
pub fn field<'p>(packet: &'p [u8], at: u32, len: u32, budget: &mut Budget) -> Result<&'p [u8], TrapKind> {
    let range = range(packet, Space::Packet, at, len)?;
    budget.bytes(len.into())?;
    Ok(&packet[range])
}

/// `jfield.eq` and its kin: how two fields of `len` bytes compare. Field 1 is checked first.
pub fn compare_fields(packet: &[u8], op: CmpOp, [first, second, len]: [u32; 3], budget: &mut Budget) -> Result<bool, TrapKind> {
    let first = range(packet, Space::Packet, first, len)?;
    let second = field(packet, second, len, budget)?;
    let order = packet[first].cmp(second);
    Ok(op.holds(order, order))
}

/// `pscan.8` and its kin: where the low `size` bytes of a value first stand in the packet at or
/// behind `at`, or 2^32 − 1. `at` must lie inside the packet. Paid for is the way to the packet's
/// end.
pub fn scan(packet: &[u8], size: u8, at: u32, value: u32, budget: &mut Budget) -> Result<u32, TrapKind> {
    let rest = &packet[range(packet, Space::Packet, at, 1)?.start..];
    budget.bytes(rest.len() as u64)?;
    let wanted = &value.to_be_bytes()[4 - usize::from(size)..];
    let found = rest.windows(wanted.len()).position(|w| w == wanted);
    Ok(found.map_or(u32::MAX, |i| at + i as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::assemble;
    use crate::verify::verify;

    fn program(data: u32) -> Verified {
        let text = format!(
            "segment .metadata .datamem_size {data} .info_size 8 ends segment .init .maxstacksize 0 set.share {data} exit 0 ends
             segment .push .maxstacksize 4 ret 1 ends"
        );
        verify(assemble(&text, "test").unwrap()).unwrap()
    }

    fn with<T>(program: &Verified, f: impl FnOnce(&mut Machine<'_, '_>) -> T) -> (State, T) {
        let (mut state, mut clones) = (State::plain(program).unwrap(), Vec::new());
        state.data.iter_mut().enumerate().for_each(|(i, b)| *b = i as u8);
        let mut buffer = ExchangeBuffer::borrowed(&[1, 2, 3, 1, 2, 4]);
        let result =
            f(&mut Machine { buffer: &mut buffer, state: &mut state, clones: &mut clones, index: 0, shown: 0, copies: 0, source: None });
        (state, result)
    }

    #[test]
    fn copies_are_as_if_all_were_read_first() {
        let program = program(5000);
        for (source, target, len) in [(0, 1, 4000), (1000, 0, 4000), (7, 7, 10), (0, 2500, 2500), (0, 0, 0)] {
            let (state, _) = with(&program, |m| m.copy(&program, [Space::Data; 2], [source, target, len], &mut Budget(99)).unwrap());
            let mut wanted: Vec<u8> = (0..5000).map(|i| i as u8).collect();
            wanted.copy_within(source as usize..(source + len) as usize, target as usize);
            assert_eq!(state.data, wanted, "{source} {target} {len}");
            let (state, _) =
                with(&program, |m| m.copy(&program, [Space::Data, Space::Shared], [source, target, len], &mut Budget(99)).unwrap());
            let copied = state.shared[target as usize..(target + len) as usize].iter();
            assert!(copied.eq(&state.data[source as usize..(source + len) as usize]), "{source} {target} {len}");
            assert_eq!(
                state.shared.iter().filter(|b| **b != 0).count(),
                state.data[source as usize..(source + len) as usize].iter().filter(|b| **b != 0).count()
            );
        }
    }

    #[test]
    fn the_source_is_checked_first_and_nothing_written() {
        let program = program(100);
        let copy = |spaces, args| with(&program, |m| m.copy(&program, spaces, args, &mut Budget(99)));
        let outside = |space| Err(TrapKind::OutOfBounds(space));
        assert_eq!(copy([Space::Data, Space::Shared], [1, 1, 100]).1, outside(Space::Data));
        let (state, result) = copy([Space::Data, Space::Shared], [0, 1, 100]);
        assert_eq!((result, state.shared), (outside(Space::Shared), vec![0; 100]));
        assert_eq!(copy([Space::Data, Space::Shared], [u32::MAX, 0, u32::MAX]).1, outside(Space::Data));
        assert_eq!(copy([Space::Data, Space::Packet], [0, 0, 7]).1, outside(Space::Packet));
    }

    #[test]
    fn scans_find_the_first() {
        let packet = [1, 2, 3, 1, 2, 4];
        assert_eq!(scan(&packet, 1, 1, 0xffff_ff01, &mut Budget(1)), Ok(3));
        assert_eq!(scan(&packet, 2, 0, 0x0102, &mut Budget(1)), Ok(0));
        assert_eq!(scan(&packet, 2, 5, 0x0400, &mut Budget(1)), Ok(u32::MAX));
        assert_eq!(scan(&packet, 1, 6, 4, &mut Budget(0)), Err(TrapKind::OutOfBounds(Space::Packet)));
        assert_eq!(compare_fields(&packet, CmpOp::Eq, [0, 3, 2], &mut Budget(1)), Ok(true));
        assert_eq!(compare_fields(&packet, CmpOp::Lt, [0, 3, 3], &mut Budget(1)), Ok(true));
        assert_eq!(compare_fields(&packet, CmpOp::Lt, [0, 3, 4], &mut Budget(0)), Err(TrapKind::OutOfBounds(Space::Packet)));
    }
}
