//! The runtime's side of calls from compiled code, in safe Rust: the same work as the interpreter's, on the same types.

use compiler::mir::Helper;
use netil::copro::Registers;
use netil::digest;
use netil::exec::{CloneOut, ExchangeBuffer, MAX_COPIES, MAX_PACKET, State, TrapKind, random};
use netil::module::HandlerKind;
use netil::ops::{BinOp, CmpOp, UnOp};
use netil::set::Set;
use netil::table::Space;
use netil::{Verified, wide};
use std::ops::Range;

/// One place in compiled code that calls the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// With that many arguments.
    Helper(Helper, usize),
    /// The random number of that site.
    Random(u32),
}

/// Arithmetic on values that registers do not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Bin(BinOp, u16),
    Un(UnOp, u16),
    Cmp(CmpOp, u16),
    /// from, to, signed
    Resize(u16, u16, bool),
    /// from, to, lowest bit
    Slice(u16, u16, u16),
    /// high, low
    Concat(u16, u16),
    SetHas(u32, u16),
}

impl Job {
    /// The widths of the operands.
    pub fn operands(self) -> Vec<u16> {
        match self {
            Self::Bin(op, w) => vec![w, if op.is_shift() { 32 } else { w }],
            Self::Cmp(_, w) => vec![w, w],
            Self::Un(_, w) | Self::Resize(w, ..) | Self::Slice(w, ..) | Self::SetHas(_, w) => vec![w],
            Self::Concat(high, low) => vec![high, low],
        }
    }

    /// The result: limbs, or a flag.
    pub fn run(self, operands: &[&[u64]], sets: &[Set]) -> Result<Vec<u64>, bool> {
        let a = operands[0];
        match self {
            // The divisor was tested, so there is a value.
            Self::Bin(op, w) => Ok(wide::bin(op, w, a, operands[1]).unwrap_or_else(|| vec![0; wide::limbs(w)])),
            Self::Un(op, w) => Ok(wide::un(op, w, a)),
            Self::Cmp(op, w) => Err(wide::cmp(op, w, a, operands[1])),
            Self::Resize(from, to, signed) => Ok(wide::resize(from, to, signed, a)),
            Self::Slice(from, to, low) => Ok(wide::slice(from, a, low + to - 1, low)),
            Self::Concat(high, low) => Ok(wide::concat(high, a, low, operands[1])),
            Self::SetHas(set, _) => Err(sets[set as usize].contains(a)),
        }
    }
}

/// What a call may touch.
pub(crate) struct Host<'h, 'b> {
    pub program: &'h Verified,
    pub calls: &'h [Call],
    pub jobs: &'h [Job],
    pub kind: HandlerKind,
    /// None while a filter runs: then nothing but the packet is used.
    pub machine: Option<Machine<'h, 'b>>,
}

/// What handlers other than filters may touch.
pub(crate) struct Machine<'h, 'b> {
    pub buffer: &'h mut ExchangeBuffer<'b>,
    pub state: &'h mut State,
    pub clones: &'h mut Vec<CloneOut>,
    pub index: u32,
    /// Coprocessors that were shown the packet, a bit each.
    pub shown: u32,
    /// Copies sent.
    pub copies: u32,
}

impl Host<'_, '_> {
    /// Does the work of a call; `packet` is the packet of a filter.
    pub fn call(&mut self, index: u32, args: &[u32], packet: &[u8]) -> Result<u32, TrapKind> {
        let call = self.calls[index as usize];
        match (&mut self.machine, call) {
            (None, Call::Helper(helper, _)) => read_only(helper, args, packet),
            (None, Call::Random(_)) => Ok(0),
            (Some(m), Call::Random(site)) => Ok(random(m.state.seed, m.state.packet_number, self.kind, site)),
            (Some(m), Call::Helper(helper, _)) => m.helper(helper, args, self.program),
        }
    }
}

/// Helpers that only read the packet.
fn read_only(helper: Helper, args: &[u32], packet: &[u8]) -> Result<u32, TrapKind> {
    let bytes = |at: u32, len: u32| Ok::<_, TrapKind>(&packet[range(packet.len(), Space::Packet, at, len)?]);
    Ok(match helper {
        Helper::Scan(size) => scan(packet, size, args[0], args[1])?,
        Helper::FieldCmp(op) => {
            let (first, second) = (bytes(args[0], args[2])?, bytes(args[1], args[2])?);
            let order = first.cmp(second);
            op.holds(order, order).into()
        }
        Helper::Checksum => digest::internet_checksum(bytes(args[0], args[1])?).into(),
        Helper::ChecksumValid => (digest::ones_sum(bytes(args[0], args[1])?) == 0xffff).into(),
        Helper::CrcPacket(kind) => digest::crc(kind, bytes(args[0], args[1])?).unwrap_or(0),
        Helper::Crc(kind) => digest::crc(kind, &args[0].to_be_bytes()).unwrap_or(0),
        Helper::ChecksumAdd => digest::checksum_add(args[0] as u16, args[1] as u16).into(),
        Helper::ChecksumSub => digest::checksum_sub(args[0] as u16, args[1] as u16).into(),
        Helper::Hash => digest::murmur3(args),
        other => unreachable!("{other} is not for filters"),
    })
}

fn scan(packet: &[u8], size: u8, at: u32, value: u32) -> Result<u32, TrapKind> {
    let start = range(packet.len(), Space::Packet, at, 1)?.start;
    let wanted = &value.to_be_bytes()[4 - usize::from(size)..];
    let found = packet[start..].windows(wanted.len()).position(|w| w == wanted);
    Ok(found.map_or(u32::MAX, |i| at + i as u32))
}

fn range(len: usize, space: Space, at: u32, size: u32) -> Result<Range<usize>, TrapKind> {
    let end = u64::from(at) + u64::from(size);
    if end > len as u64 { Err(TrapKind::OutOfBounds(space)) } else { Ok(at as usize..end as usize) }
}

impl Machine<'_, '_> {
    fn helper(&mut self, helper: Helper, args: &[u32], program: &Verified) -> Result<u32, TrapKind> {
        match helper {
            Helper::Copy(from, to) => self.copy(from, to, args, program)?,
            Helper::InfoClear => self.buffer.info.fill(0),
            Helper::SendCopy(port) => self.send_copy(port)?,
            Helper::Receive(port) => return Ok(self.receive(port, program).into()),
            Helper::Create if args[0] > MAX_PACKET => return Err(TrapKind::NoRoom),
            Helper::Create => self.buffer.create(args[0]),
            Helper::Delete => self.buffer.delete(),
            Helper::PushHead => self.buffer.push(args[0])?,
            Helper::PullHead => self.buffer.pull(args[0])?,
            Helper::TrimTail => self.buffer.trim(args[0])?,
            Helper::GrowTail => self.buffer.grow(args[0])?,
            Helper::CoproIn(unit, register) => return Ok(*self.register(unit, register)),
            Helper::CoproOut(unit, register) => *self.register(unit, register) = args[0],
            Helper::CoproInvoke(unit, operation) => self.invoke(unit, operation)?,
            Helper::CoproShow(unit) => self.shown |= 1 << unit,
            _ => return read_only(helper, args, self.buffer.bytes()),
        }
        Ok(0)
    }

    /// Source, destination, length; the source is checked first.
    fn copy(&mut self, from: Space, to: Space, args: &[u32], program: &Verified) -> Result<(), TrapKind> {
        let [source, destination, len] = *args else { return Ok(()) };
        let source = range(self.memory(from, program).len(), from, source, len)?;
        let destination = range(self.memory(to, program).len(), to, destination, len)?;
        let bytes = self.memory(from, program)[source].to_vec();
        let memory = match to {
            Space::Packet => self.buffer.bytes_mut(),
            Space::Info => &mut self.buffer.info,
            Space::Data => &mut self.state.data,
            Space::Shared => &mut self.state.shared,
            Space::Initialised => return Ok(()),
        };
        memory[destination].copy_from_slice(&bytes);
        Ok(())
    }

    /// A memory, of the size that the program declares.
    fn memory<'m>(&'m self, space: Space, program: &'m Verified) -> &'m [u8] {
        match space {
            Space::Packet => self.buffer.bytes(),
            Space::Info => &self.buffer.info,
            Space::Data => &self.state.data[..program.module().data_size as usize],
            Space::Shared => &self.state.shared[..program.shared_size() as usize],
            Space::Initialised => &program.module().data,
        }
    }

    fn send_copy(&mut self, port: u32) -> Result<(), TrapKind> {
        if !self.buffer.is_present() {
            return Err(TrapKind::NoPacket);
        }
        if self.copies == MAX_COPIES {
            return Err(TrapKind::Copies);
        }
        self.copies += 1;
        let buffer = self.buffer.clone().into_owned();
        self.clones.push(CloneOut { source: self.index, port, buffer });
        Ok(())
    }

    fn receive(&mut self, port: u32, program: &Verified) -> bool {
        let next = self.state.inputs.get_mut(port as usize).and_then(|q| q.pop_front());
        let Some(buffer) = next else { return false };
        *self.buffer = buffer;
        // Compiled code may write to it.
        self.buffer.bytes_mut();
        self.buffer.info.resize(program.module().info_size as usize, 0);
        true
    }

    fn register(&mut self, unit: u32, register: u32) -> &mut u32 {
        let registers: &mut Registers = &mut self.state.coprocessors[unit as usize].registers;
        &mut registers[register as usize]
    }

    fn invoke(&mut self, unit: u32, operation: u32) -> Result<(), TrapKind> {
        let shown = self.shown >> unit & 1 == 1;
        let packet = shown.then(|| self.buffer.bytes());
        let copro = &mut self.state.coprocessors[unit as usize];
        let done = copro.unit.invoke(operation, &mut copro.registers, packet);
        done.map_err(|e| TrapKind::Coprocessor(unit as u8, e))
    }
}
