//! Instructions that see the exchange buffer or a coprocessor.

use super::step::jump_if;
use super::{Next, Run};
use crate::exec::{Disposition, DropReason, TrapKind};
use crate::module::Inst;
use crate::ops::CmpOp;
use crate::table::{Op, Space};
use crate::{digest, machine};

const NANOS: u64 = 1_000_000_000;

impl Run<'_, '_> {
    pub(super) fn packet_own(&mut self, inst: &Inst) -> Result<(), TrapKind> {
        let n = inst.imm[0];
        match inst.op {
            Op::IpLen => self.ip_len()?,
            Op::InfoClr => self.machine.clear_info(&mut self.budget)?,
            Op::Pbl => self.push(self.machine.buffer.bytes().len() as u32),
            Op::PblOrig => self.push(self.machine.buffer.wire_len()),
            Op::WireSet => {
                let wire_len = self.pop();
                self.machine.buffer.set_wire_len(wire_len);
            }
            Op::TstampS => self.push((self.machine.buffer.time_ns / NANOS) as u32),
            Op::TstampU => self.push((self.machine.buffer.time_ns % NANOS / 1000) as u32),
            Op::PktSendDup => self.machine.send_copy(n, &mut self.budget)?,
            Op::ExbufCreate => self.create()?,
            Op::ExbufDelete => self.machine.buffer.delete(),
            Op::PktPush | Op::PktPull | Op::PktTrim | Op::PktGrow | Op::PktUnpull => self.geometry(inst.op)?,
            Op::PktMoved => self.push(self.machine.buffer.moved()),
            Op::PktPresent => self.push(self.machine.buffer.is_present().into()),
            Op::PktHold | Op::PktTake | Op::PktCheck => self.keep(inst.op)?,
            Op::PktAsk => {
                let came = self.machine.receive(self.program, n);
                self.push(came.into());
            }
            Op::ChksumCalc => self.over_packet(|bytes| digest::internet_checksum(bytes).into())?,
            _ => self.over_packet(|bytes| digest::crc(n as u8, bytes).unwrap_or(0))?,
        }
        Ok(())
    }

    pub(super) fn copro(&mut self, inst: &Inst) -> Result<(), TrapKind> {
        let [unit, operand, _] = inst.imm;
        match inst.op {
            Op::CoproInit => {
                let result = self.machine.init(self.program, unit, operand, &mut self.budget)?;
                self.push(result);
            }
            Op::CoproIn => {
                let value = *self.machine.register(unit, operand);
                self.push(value);
            }
            Op::CoproOut => *self.machine.register(unit, operand) = self.pop(),
            Op::CoproExbuf => self.machine.show(unit),
            _ => self.machine.invoke(self.program, unit, operand, &mut self.budget)?,
        }
        Ok(())
    }

    pub(super) fn send(&mut self, port: u32) -> Result<Disposition, TrapKind> {
        if self.machine.buffer.is_present() { Ok(Disposition::Port(port)) } else { Err(TrapKind::NoPacket) }
    }

    /// Sends by the port that many after the first, if there are so many.
    pub(super) fn send_by(&mut self, first: u32, count: u32) -> Result<Next, TrapKind> {
        match self.pop() {
            n if n < count => self.send(first + n).map(Next::End),
            _ => Ok(Next::Fall),
        }
    }

    pub(super) fn receive(&mut self, port: u32) -> Next {
        if self.machine.receive(self.program, port) { Next::Fall } else { Next::End(Disposition::Drop(DropReason::NoInput)) }
    }

    fn create(&mut self) -> Result<(), TrapKind> {
        let len = self.pop();
        self.machine.create(len, &mut self.budget)
    }

    fn geometry(&mut self, op: Op) -> Result<(), TrapKind> {
        let n = self.pop();
        match op {
            Op::PktPush => self.machine.push_head(n, &mut self.budget),
            Op::PktPull => self.machine.buffer.pull(n),
            Op::PktTrim => self.machine.buffer.trim(n),
            Op::PktUnpull => self.machine.buffer.unpull(n),
            _ => self.machine.grow_tail(n, &mut self.budget),
        }
    }

    fn keep(&mut self, op: Op) -> Result<(), TrapKind> {
        let top = self.pop();
        let result = match op {
            Op::PktHold => self.machine.hold(self.program, top, &mut self.budget)?,
            Op::PktTake => self.machine.take(self.program, top),
            _ => {
                let at = self.pop();
                return machine::inside(self.machine.buffer.bytes(), at, top);
            }
        };
        self.push(result);
        Ok(())
    }

    fn ip_len(&mut self) -> Result<(), TrapKind> {
        let at = self.pop();
        let byte = self.read(Space::Packet, at, 1)?[0] as u32;
        self.push(4 * (byte & 15));
        Ok(())
    }

    fn over_packet(&mut self, f: impl Fn(&[u8]) -> u32) -> Result<(), TrapKind> {
        let (len, at) = (self.pop(), self.pop());
        let v = f(machine::field(self.machine.buffer.bytes(), at, len, &mut self.budget)?);
        self.push(v);
        Ok(())
    }

    pub(super) fn checksum_jump(&mut self, inst: &Inst) -> Result<Next, TrapKind> {
        self.over_packet(|bytes| digest::ones_sum(bytes).into())?;
        Ok(jump_if(self.pop() == 0xffff, inst))
    }

    /// Pops length, offset 2, offset 1.
    pub(super) fn jump_field(&mut self, inst: &Inst, op: CmpOp) -> Result<Next, TrapKind> {
        let (len, second, first) = (self.pop(), self.pop(), self.pop());
        let holds = machine::compare_fields(self.machine.buffer.bytes(), op, [first, second, len], &mut self.budget)?;
        Ok(jump_if(holds, inst))
    }

    /// Pops value, offset.
    pub(super) fn scan(&mut self, bytes: u8) -> Result<(), TrapKind> {
        let (value, at) = (self.pop(), self.pop());
        let found = machine::scan(self.machine.buffer.bytes(), bytes, at, value, &mut self.budget)?;
        self.push(found);
        Ok(())
    }
}
