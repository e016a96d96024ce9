//! Instructions that see the exchange buffer or a coprocessor.

use super::step::jump_if;
use super::{Next, Run};
use crate::digest;
use crate::exec::{CloneOut, Disposition, DropReason, MAX_COPIES, MAX_PACKET, TrapKind};
use crate::module::Inst;
use crate::ops::CmpOp;
use crate::table::{Op, Space};

const NANOS: u64 = 1_000_000_000;

impl Run<'_, '_> {
    pub(super) fn packet_own(&mut self, inst: &Inst) -> Result<(), TrapKind> {
        let n = inst.imm[0];
        match inst.op {
            Op::IpLen => self.ip_len()?,
            Op::InfoClr => self.buffer.info.fill(0),
            Op::Pbl => self.push(self.buffer.bytes().len() as u32),
            Op::PblOrig => self.push(self.buffer.orig_len),
            Op::TstampS => self.push((self.buffer.time_ns / NANOS) as u32),
            Op::TstampU => self.push((self.buffer.time_ns % NANOS / 1000) as u32),
            Op::PktSendDup => self.send_copy(n)?,
            Op::ExbufCreate => self.create()?,
            Op::ExbufDelete => self.buffer.delete(),
            Op::PktPush | Op::PktPull | Op::PktTrim | Op::PktGrow => self.geometry(inst.op)?,
            Op::ChksumCalc => self.over_packet(|bytes| digest::internet_checksum(bytes).into())?,
            Op::CrcCalcPkt => self.over_packet(|bytes| digest::crc(n as u8, bytes).unwrap_or(0))?,
            _ => self.copro(inst)?,
        }
        Ok(())
    }

    fn copro(&mut self, inst: &Inst) -> Result<(), TrapKind> {
        let [unit, operand, _] = inst.imm;
        let shown = self.shown >> unit & 1 == 1;
        let copro = &mut self.state.coprocessors[unit as usize];
        match inst.op {
            Op::CoproInit => {
                let data = &self.program.module().data[operand as usize..];
                let result = copro.unit.init(data);
                self.push(result);
            }
            Op::CoproIn => {
                let value = copro.registers[operand as usize];
                self.push(value);
            }
            Op::CoproOut => copro.registers[operand as usize] = self.stack.pop().unwrap_or(0) as u32,
            Op::CoproExbuf => self.shown |= 1 << unit,
            _ => {
                let packet = shown.then(|| self.buffer.bytes());
                let done = copro.unit.invoke(operand, &mut copro.registers, packet);
                done.map_err(|e| TrapKind::Coprocessor(unit as u8, e))?;
            }
        }
        Ok(())
    }

    pub(super) fn send(&mut self, port: u32) -> Result<Disposition, TrapKind> {
        if self.buffer.is_present() { Ok(Disposition::Port(port)) } else { Err(TrapKind::NoPacket) }
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

    pub(super) fn receive(&mut self, port: u32) -> Next {
        match self.state.inputs.get_mut(port as usize).and_then(|q| q.pop_front()) {
            None => Next::End(Disposition::Drop(DropReason::NoInput)),
            Some(buffer) => {
                *self.buffer = buffer;
                self.buffer.info.resize(self.program.module().info_size as usize, 0);
                Next::Fall
            }
        }
    }

    fn create(&mut self) -> Result<(), TrapKind> {
        let len = self.pop();
        if len > MAX_PACKET {
            return Err(TrapKind::NoRoom);
        }
        self.buffer.create(len);
        Ok(())
    }

    fn geometry(&mut self, op: Op) -> Result<(), TrapKind> {
        let n = self.pop();
        match op {
            Op::PktPush => self.buffer.push(n),
            Op::PktPull => self.buffer.pull(n),
            Op::PktTrim => self.buffer.trim(n),
            _ => self.buffer.grow(n),
        }
    }

    fn ip_len(&mut self) -> Result<(), TrapKind> {
        let at = self.pop();
        let byte = self.read(Space::Packet, at, 1)?[0] as u32;
        self.push(4 * (byte & 15));
        Ok(())
    }

    fn over_packet(&mut self, f: impl Fn(&[u8]) -> u32) -> Result<(), TrapKind> {
        let (len, at) = (self.pop(), self.pop());
        let range = self.range(Space::Packet, at, len.into())?;
        let v = f(&self.memory(Space::Packet)[range]);
        self.push(v);
        Ok(())
    }

    pub(super) fn checksum_jump(&mut self, inst: &Inst) -> Result<Next, TrapKind> {
        self.over_packet(|bytes| digest::ones_sum(bytes).into())?;
        Ok(jump_if(self.pop() == 0xffff, inst))
    }

    /// Pops length, offset 2, offset 1; field 1 is checked first.
    pub(super) fn jump_field(&mut self, inst: &Inst, op: CmpOp) -> Result<Next, TrapKind> {
        let (len, second, first) = (self.pop(), self.pop(), self.pop());
        let first = self.range(Space::Packet, first, len.into())?;
        let second = self.range(Space::Packet, second, len.into())?;
        let packet = self.memory(Space::Packet);
        let order = packet[first].cmp(&packet[second]);
        Ok(jump_if(op.holds(order, order), inst))
    }

    /// Pops value, offset; the offset must lie inside the packet.
    pub(super) fn scan(&mut self, bytes: u8) -> Result<(), TrapKind> {
        let (value, at) = (self.pop(), self.pop());
        self.range(Space::Packet, at, 1)?;
        let wanted = &value.to_be_bytes()[4 - usize::from(bytes)..];
        let packet = &self.memory(Space::Packet)[at as usize..];
        let found = packet.windows(wanted.len()).position(|w| w == wanted);
        self.push(found.map_or(u32::MAX, |i| at + i as u32));
        Ok(())
    }
}
