//! Instructions that touch a memory, the exchange buffer, a coprocessor or the state.

use super::{Cursor, Next, ProgramPoint, Translator, order};
use crate::mir::{Edge, Extent, Helper, Op, Terminator, Type, Value};
use netil::exec::DropReason;
use netil::module::Inst;
use netil::ops::BinOp;
use netil::table::{Op as N, Space};

impl Translator<'_> {
    fn check(&mut self, c: &Cursor, space: Space, addr: Value, width: u16) -> Value {
        let extent = Extent { addr, offset: 0, size: u32::from(width / 8), site: c.site() };
        self.op(c, Type::Token, Op::Check(space, Box::new([extent])))
    }

    fn read(&mut self, c: &Cursor, space: Space, addr: Value, width: u16) -> Value {
        let token = self.check(c, space, addr, width);
        self.int(c, width, Op::Load(space, order(space), addr, 0, token))
    }

    pub(super) fn load(&mut self, c: &mut Cursor, space: Space, bytes: u8, signed: bool) {
        let addr = c.pop();
        let mut v = self.read(c, space, addr, u16::from(bytes) * 8);
        if bytes < 4 {
            v = self.int(c, 32, if signed { Op::Sext(v) } else { Op::Zext(v) });
        }
        c.push(v);
    }

    pub(super) fn wide_load(&mut self, c: &mut Cursor, space: Space, width: u16) {
        let addr = c.pop();
        let v = self.read(c, space, addr, width);
        c.push(v);
    }

    pub(super) fn store(&mut self, c: &mut Cursor, space: Space, width: u16) {
        let (addr, mut value) = (c.pop(), c.pop());
        if self.func.width(value) > width {
            value = self.int(c, width, Op::Trunc(value));
        }
        let token = self.check(c, space, addr, width);
        self.op(c, Type::Void, Op::Store(space, order(space), addr, 0, value, token));
    }

    /// Calls the runtime with the `n` topmost elements.
    pub(super) fn helper(&mut self, c: &mut Cursor, helper: Helper, n: usize, ty: Type) -> Value {
        let args = c.frame.stack.split_off(c.frame.stack.len() - n);
        self.op(c, ty, Op::Helper(helper, args.into(), c.site()))
    }

    pub(super) fn helper_push(&mut self, c: &mut Cursor, helper: Helper, n: usize) {
        let v = self.helper(c, helper, n, Type::Int(32));
        c.push(v);
    }

    pub(super) fn helper_void(&mut self, c: &mut Cursor, helper: Helper, n: usize) {
        self.helper(c, helper, n, Type::Void);
    }

    pub(super) fn receive(&mut self, c: &mut Cursor, port: u32) -> Next {
        let got = self.helper(c, Helper::Receive(port), 0, Type::Int(1));
        let next = self.jump(ProgramPoint { at: c.place.at + 1, ..c.place }, &c.frame);
        let none = self.func.new_block(&[]);
        self.func.block_mut(none).end = Terminator::Drop(DropReason::NoInput);
        self.end(c, Terminator::Branch(got, next, Edge::to(none)));
        Next::Ended
    }

    pub(super) fn packet_own(&mut self, c: &mut Cursor, inst: &Inst) {
        let [n, operand, _] = inst.imm;
        match inst.op {
            N::IpLen => self.ip_len(c),
            N::Pbl => self.push_int(c, Op::PacketLen),
            N::PblOrig => self.push_int(c, Op::WireLen),
            N::TstampS => self.push_int(c, Op::TimeSeconds),
            N::TstampU => self.push_int(c, Op::TimeMicros),
            N::TimeNs => {
                let v = self.int(c, 64, Op::TimeNanos);
                c.push(v);
            }
            N::WireSet => self.helper_void(c, Helper::SetWire, 1),
            N::TimeSet => self.helper_void(c, Helper::SetTime, 1),
            N::TimerSet => self.helper_void(c, Helper::SetTimer(n), 1),
            N::PktMoved => self.helper_push(c, Helper::Moved, 0),
            N::PktPresent => self.helper_push(c, Helper::IsPresent, 0),
            N::PktHold => self.helper_push(c, Helper::Hold, 1),
            N::PktTake => self.helper_push(c, Helper::Take, 1),
            N::PktAsk => self.helper_push(c, Helper::Receive(n), 0),
            N::PktUnpull => self.helper_void(c, Helper::Unpull, 1),
            N::PktCheck => self.inside(c),
            N::TFind | N::TPeek | N::TInsert | N::TDelete | N::TNone | N::TValid | N::TLoad | N::TStore => self.table(c, inst),
            N::TWalk => self.helper_push(c, Helper::Walk(n), 0),
            N::TDue => self.helper_push(c, Helper::Due(n), 0),
            N::TNext => self.helper_push(c, Helper::NextKey(n), 0),
            N::TKey | N::TDeadline => self.walked(c, inst),
            N::Rnd => self.push_int(c, Op::Random(c.site())),
            N::LoadE => self.push_int(c, Op::ExceptionLoad(n)),
            N::StoreE => {
                let v = c.pop();
                self.op(c, Type::Void, Op::ExceptionStore(n, v));
            }
            N::InfoClr => self.helper_void(c, Helper::InfoClear, 0),
            N::PktSendDup => self.helper_void(c, Helper::SendCopy(n), 0),
            N::ExbufCreate => self.helper_void(c, Helper::Create, 1),
            N::ExbufDelete => self.helper_void(c, Helper::Delete, 0),
            N::PktPush => self.helper_void(c, Helper::PushHead, 1),
            N::PktPull => self.helper_void(c, Helper::PullHead, 1),
            N::PktTrim => self.helper_void(c, Helper::TrimTail, 1),
            N::PktGrow => self.helper_void(c, Helper::GrowTail, 1),
            N::ChksumCalc => self.helper_push(c, Helper::Checksum, 2),
            N::ChksumAdd => self.helper_push(c, Helper::ChecksumAdd, 2),
            N::ChksumSub => self.helper_push(c, Helper::ChecksumSub, 2),
            N::CrcCalc => self.helper_push(c, Helper::Crc(n as u8), 1),
            N::CrcCalcPkt => self.helper_push(c, Helper::CrcPacket(n as u8), 2),
            N::Hash32 => self.helper_push(c, Helper::Hash, 1),
            N::Hash => self.helper_push(c, Helper::Hash, n as usize),
            N::CoproIn => self.helper_push(c, Helper::CoproIn(n, operand), 0),
            N::CoproOut => self.helper_void(c, Helper::CoproOut(n, operand), 1),
            N::CoproInvoke => self.helper_void(c, Helper::CoproInvoke(n, operand), 0),
            N::CoproExbuf => self.helper_void(c, Helper::CoproShow(n), 0),
            other => unreachable!("{other:?} has an arm of its own"),
        }
    }

    fn table(&mut self, c: &mut Cursor, inst: &Inst) {
        let [table, width, at] = inst.imm;
        match inst.op {
            N::TFind => self.helper_push(c, Helper::Find(table), 1),
            N::TPeek => self.helper_push(c, Helper::Peek(table), 1),
            N::TInsert => self.helper_push(c, Helper::Insert(table), 1),
            N::TDelete => self.helper_push(c, Helper::DeleteEntry(table), 1),
            N::TNone => self.push_int(c, Op::Const(0)),
            N::TLoad => {
                let v = self.helper(c, Helper::EntryLoad(table, at), 1, Type::Int(width as u16));
                c.push(v);
            }
            N::TStore => self.helper_void(c, Helper::EntryStore(table, at), 2),
            _ => {
                let entry = c.pop();
                let flag = self.not_zero(c, entry);
                self.push_int(c, Op::Zext(flag));
            }
        }
    }

    fn walked(&mut self, c: &mut Cursor, inst: &Inst) {
        let table = inst.imm[0];
        let (helper, width) = match inst.op {
            N::TKey => (Helper::WalkedKey(table), self.program.module().tables[table as usize].key_bits),
            _ => (Helper::Deadline(table), 64),
        };
        let v = self.helper(c, helper, 0, Type::Int(width));
        c.push(v);
    }

    /// A check like that of a load where the length is known.
    fn inside(&mut self, c: &mut Cursor) {
        let len = c.frame.stack.last().and_then(|v| self.func.constant(*v));
        let Some(len) = len else { return self.helper_void(c, Helper::Inside, 2) };
        c.pop();
        let addr = c.pop();
        let extent = Extent { addr, offset: 0, size: len as u32, site: c.site() };
        self.op(c, Type::Token, Op::Check(Space::Packet, Box::new([extent])));
    }

    fn push_int(&mut self, c: &mut Cursor, op: Op) {
        let v = self.int(c, 32, op);
        c.push(v);
    }

    /// 4·(byte & 15)
    fn ip_len(&mut self, c: &mut Cursor) {
        let addr = c.pop();
        let byte = self.read(c, Space::Packet, addr, 8);
        let byte = self.int(c, 32, Op::Zext(byte));
        let (mask, two) = (self.constant(c, 15), self.constant(c, 2));
        let words = self.int(c, 32, Op::Bin(BinOp::And, byte, mask));
        let bytes = self.int(c, 32, Op::Bin(BinOp::Shl, words, two));
        c.push(bytes);
    }
}
