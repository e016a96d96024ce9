//! Single instructions, each with operands that suit it.

use super::body::Body;
use crate::copro;
use crate::module::Inst;
use crate::ops::BinOp;
use crate::table::{Op, Own, Sem, Space, TABLE};

impl Body<'_, '_> {
    /// Any instruction that may stand here, but those of control flow.
    pub fn instruction(&mut self) {
        let row = self.b.c.pick(TABLE);
        if !self.allowed(row.place) || row.op.branches() || row.op.ends_block() || self.in_vain(row.sem) {
            return self.operands(&[32]);
        }
        match row.sem {
            Sem::Load(space, bytes, _) | Sem::Store(space, bytes) => self.access(row.op, space, bytes),
            Sem::WideLoad(space) | Sem::WideStore(space) => self.wide_access(row.op, space),
            Sem::Copy(from, to) => self.copy(row.op, from, to),
            Sem::Scan(_) => {
                self.address(Space::Packet, 1, 0);
                self.fresh(32, 0);
                self.op(Inst::new(row.op), 2, &[32]);
            }
            Sem::Bin(bin) => self.binary(bin, 32, Inst::new(row.op)),
            Sem::Checked(..) => self.checked(row.op),
            Sem::Un(_) => self.classic(row.op, 1),
            Sem::WideBin(_) | Sem::WideUn(_) | Sem::WideCmp(_) => self.wide_arithmetic(row.op, row.sem),
            // Control flow is that of statements.
            Sem::JumpCmp(_) | Sem::JumpZero(_) | Sem::JumpField(_) => {}
            Sem::Own(own) => self.own(own, row.op),
        }
    }

    fn access(&mut self, op: Op, space: Space, bytes: u8) {
        let store = matches!(op.row().sem, Sem::Store(..));
        if store {
            self.fresh(32, 0);
        }
        self.address(space, bytes.into(), 0);
        match store {
            true => self.op(Inst::new(op), 2, &[]),
            false => self.op(Inst::new(op), 1, &[32]),
        }
    }

    fn wide_access(&mut self, op: Op, space: Space) {
        let store = matches!(op.row().sem, Sem::WideStore(_));
        let width = self.b.byte_width(self.size(space));
        if store {
            self.fresh(width, 0);
        }
        self.address(space, u32::from(width / 8), 0);
        let inst = Inst::with(op, width.into());
        match store {
            true => self.op(inst, 2, &[]),
            false => self.op(inst, 1, &[width]),
        }
    }

    fn wide_arithmetic(&mut self, op: Op, sem: Sem) {
        let width = if op == Op::WBswap { self.b.byte_width(256) } else { self.b.some_width() };
        let inst = Inst::with(op, width.into());
        match sem {
            Sem::WideBin(bin) => self.binary(bin, width, inst),
            Sem::WideUn(_) => {
                self.operands(&[width]);
                self.op(inst, 1, &[width]);
            }
            _ => {
                self.operands(&[width, width]);
                self.op(inst, 2, &[32]);
            }
        }
    }

    /// True for most accesses to a memory that this module does not have.
    fn in_vain(&mut self, sem: Sem) -> bool {
        let empty = match sem {
            Sem::Load(space, ..) | Sem::Store(space, _) | Sem::WideLoad(space) | Sem::WideStore(space) => self.size(space) == 0,
            Sem::Copy(from, to) => self.size(from) == 0 || self.size(to) == 0,
            _ => false,
        };
        empty && !self.b.c.chance(1, 16)
    }

    /// 32-bit operands, one 32-bit result.
    fn classic(&mut self, op: Op, operands: usize) {
        self.operands(&vec![32; operands]);
        self.op(Inst::new(op), operands, &[32]);
    }

    fn copy(&mut self, op: Op, from: Space, to: Space) {
        let most = self.size(from).min(self.size(to)).min(24);
        let length = self.b.c.below(most + 1);
        self.address(from, length, 0);
        self.address(to, length, 0);
        self.number(length);
        self.op(Inst::new(op), 3, &[]);
    }

    fn binary(&mut self, bin: BinOp, width: u16, inst: Inst) {
        if bin.is_shift() {
            self.operands(&[width]);
            self.amount(width);
        } else if bin.divides() && self.b.c.chance(7, 8) {
            self.operands(&[width]);
            self.divisor(width);
        } else {
            self.operands(&[width, width]);
        }
        self.op(inst, 2, &[width]);
    }

    /// A shift amount or a bit number.
    fn amount(&mut self, width: u16) {
        let w = u32::from(width);
        if self.b.c.chance(1, 4) {
            return self.fresh(32, 0);
        }
        let by = *self.b.c.pick(&[0, 1, w - 1, w, w + 1, w / 2, 7, 31, 32, 33, 63, 64, 65, 2 * w, u32::MAX, 256]);
        self.number(by);
    }

    /// A constant, not 0 but for one in sixteen.
    fn divisor(&mut self, width: u16) {
        let mut value = self.b.c.value(width);
        if value.iter().all(|l| *l == 0) && self.b.c.chance(15, 16) {
            value[0] = 1;
        }
        self.wide_constant(width, value);
    }

    /// Checked arithmetic, mostly on values that are small enough.
    fn checked(&mut self, op: Op) {
        if self.b.c.chance(1, 6) {
            return self.classic(op, 2);
        }
        for _ in 0..2 {
            self.fresh(32, 1);
            self.number(0x7fff);
            self.op(Inst::new(Op::And), 2, &[32]);
        }
        // A positive difference is the rule for an unsigned one.
        if op == Op::SubU {
            self.number(15);
            self.op(Inst::new(Op::UShr), 2, &[32]);
        }
        self.op(Inst::new(op), 2, &[32]);
    }

    fn own(&mut self, own: Own, op: Op) {
        match own {
            Own::Inc1 | Own::Dec1 => self.in_place(op, 1),
            Own::Inc2 | Own::Dec2 => self.in_place(op, 2),
            Own::Inc3 | Own::Dec3 => self.in_place(op, 3),
            Own::Inc4 | Own::Dec4 => self.in_place(op, 4),
            Own::Cmp | Own::CmpS | Own::MFindBit | Own::ChksumAdd | Own::ChksumSub => self.classic(op, 2),
            Own::MCmp => self.classic(op, 3),
            Own::Hash32 => self.classic(op, 1),
            Own::SetBit | Own::ClearBit | Own::FlipBit | Own::TestBit | Own::TestNBit => {
                self.operands(&[32]);
                self.amount(32);
                self.op(Inst::new(op), 2, &[32]);
            }
            Own::Push | Own::Push2 | Own::PushC0 | Own::PushC1 | Own::PushC2 | Own::PushCm1 => self.push(op),
            Own::Rnd | Own::TstampS | Own::TstampU | Own::Pbl | Own::PblOrig => self.op(Inst::new(op), 0, &[32]),
            Own::Pop | Own::PopI | Own::Dup | Own::Swap => self.stack_op(op),
            Own::LocLoad | Own::LocStore => self.local(op),
            Own::IpLen => {
                self.address(Space::Packet, 1, 0);
                self.op(Inst::new(op), 1, &[32]);
            }
            Own::XFindBit | Own::XmFindBit | Own::Hash | Own::CrcCalc | Own::CrcCalcPkt | Own::ChksumCalc => self.digest(op),
            Own::LoadE | Own::StoreE => self.exception(op),
            Own::CoproInit | Own::CoproIn | Own::CoproOut | Own::CoproInvoke | Own::CoproExbuf => self.coprocessor(op),
            Own::TimeNs => self.op(Inst::new(op), 0, &[64]),
            Own::TimeSet | Own::TimerSet => self.set_time(op),
            Own::WireSet => self.set_wire(),
            Own::PktMoved | Own::PktPresent => self.op(Inst::new(op), 0, &[32]),
            Own::PktHold | Own::PktTake | Own::PktUnpull | Own::PktCheck => self.keep(op),
            Own::TFind | Own::TPeek | Own::TInsert | Own::TDelete | Own::TNone | Own::TValid | Own::TLoad | Own::TStore => {
                self.table_op(op)
            }
            Own::TWalk | Own::TNext | Own::TKey | Own::TDue | Own::TDeadline => self.walk_op(op),
            Own::SetHas => self.set_has(),
            Own::WPush | Own::WZext | Own::WSext | Own::WTrunc | Own::WSlice | Own::WConcat | Own::WSelect => self.width_op(op),
            Own::PktSendDup | Own::PktSendBy | Own::PktPush | Own::PktPull | Own::PktTrim | Own::PktGrow => self.packet_op(op),
            Own::PktReceive | Own::PktAsk | Own::ExbufDelete | Own::ExbufCreate | Own::Sleep => self.packet_op(op),
            Own::InfoClr | Own::Nop | Own::Break => self.packet_op(op),
            // Control flow is that of statements, and shared memory is declared where the init
            // handler begins.
            Own::Jump | Own::JumpW | Own::Switch | Own::Call | Own::CallW | Own::Ret | Own::Exit | Own::PktSend | Own::PktDrop => {}
            Own::ChksumJump | Own::SetShare => {}
        }
    }

    fn set_wire(&mut self) {
        let len = *self.b.c.pick(&[0, 1, 60, 70_000, u32::MAX]);
        self.number(len);
        self.op(Inst::new(Op::WireSet), 1, &[]);
    }

    fn set_time(&mut self, op: Op) {
        let time = *self.b.c.pick(&[0, 1, 999, 1 << 40, u64::MAX]);
        self.wide_constant(64, Box::new([time]));
        let timer = self.b.c.below(crate::event::TIMERS as u32);
        self.op(if op == Op::TimerSet { Inst::with(op, timer) } else { Inst::new(op) }, 1, &[]);
    }

    /// Holding packets back, and checks and moves of the head. A packet that is held is mostly
    /// taken back at once, since little can be done without.
    fn keep(&mut self, op: Op) {
        if op == Op::PktCheck {
            self.span();
            return self.op(Inst::new(op), 2, &[]);
        }
        let n = self.b.c.below(3);
        self.number(n);
        match op {
            Op::PktUnpull => self.op(Inst::new(op), 1, &[]),
            _ => self.op(Inst::new(op), 1, &[32]),
        }
        if op == Op::PktHold && self.b.c.chance(3, 4) {
            self.number(n);
            self.op(Inst::new(Op::PktTake), 1, &[32]);
        }
    }

    fn in_place(&mut self, op: Op, n: usize) {
        self.operands(&vec![32; n]);
        self.emit(Inst::new(op));
    }

    fn push(&mut self, op: Op) {
        let (a, b) = (self.b.c.word(), self.b.c.word());
        match op {
            Op::Push => self.number(a),
            Op::Push2 => self.op(Inst::with2(op, a, b), 0, &[32, 32]),
            _ => self.op(Inst::new(op), 0, &[32]),
        }
    }

    fn stack_op(&mut self, op: Op) {
        while self.free().len() < 2 {
            let width = self.b.some_width();
            self.fresh(width, 0);
        }
        let [.., second, top] = *self.free() else { return };
        match op {
            Op::Dup => self.op(Inst::new(op), 0, &[top]),
            Op::Swap => self.op(Inst::new(op), 2, &[top, second]),
            Op::PopI => {
                let n = self.b.c.below((self.free().len() as u32).min(3) + 1);
                self.op(Inst::with(op, n), n as usize, &[]);
            }
            _ => self.op(Inst::new(op), 1, &[]),
        }
    }

    fn local(&mut self, op: Op) {
        let good = |i: &usize| if op == Op::LocLoad { self.written[*i] } else { !self.counters.contains(i) };
        let locals: Vec<usize> = (0..self.locals.len()).filter(good).collect();
        if locals.is_empty() {
            return;
        }
        let i = *self.b.c.pick(&locals);
        let width = self.locals[i];
        if op == Op::LocLoad {
            return self.op(Inst::with(op, i as u32), 0, &[width]);
        }
        self.operands(&[width]);
        self.op(Inst::with(op, i as u32), 1, &[]);
        self.written[i] = true;
    }

    fn digest(&mut self, op: Op) {
        let n = self.b.c.below(5);
        let values = vec![32; n as usize];
        match op {
            Op::XFindBit => {
                self.operands(&values);
                self.emit(Inst::with(op, n));
            }
            Op::XmFindBit => {
                self.operands(&values);
                self.fresh(32, 0);
                self.op(Inst::with(op, n), 1, &[]);
            }
            Op::Hash => {
                self.operands(&values);
                self.op(Inst::with(op, n), n as usize, &[32]);
            }
            Op::CrcCalc => {
                self.operands(&[32]);
                self.op(Inst::with(op, n % 3), 1, &[32]);
            }
            Op::CrcCalcPkt => {
                self.span();
                self.op(Inst::with(op, n % 3), 2, &[32]);
            }
            _ => {
                self.span();
                self.op(Inst::new(op), 2, &[32]);
            }
        }
    }

    fn exception(&mut self, op: Op) {
        let entry = self.b.c.below(crate::exec::EXCEPTIONS as u32);
        if op == Op::LoadE {
            return self.op(Inst::with(op, entry), 0, &[32]);
        }
        self.operands(&[32]);
        self.op(Inst::with(op, entry), 1, &[]);
    }

    fn coprocessor(&mut self, op: Op) {
        let n = self.b.module.coprocessors.len() as u32;
        let unit = self.b.c.below(n);
        let name = self.b.module.coprocessors.get(unit as usize).map_or("", |c| &c.name);
        let Some(descriptor) = copro::builtin(name) else { return };
        let c = &mut self.b.c;
        match op {
            Op::CoproInit => {
                let offset = c.below(self.b.module.data.len() as u32 + 1);
                self.op(Inst::with2(op, unit, offset), 0, &[32]);
            }
            Op::CoproIn => {
                let register = c.below(descriptor.registers);
                self.op(Inst::with2(op, unit, register), 0, &[32]);
            }
            Op::CoproOut => {
                let register = c.below(descriptor.registers);
                self.operands(&[32]);
                self.op(Inst::with2(op, unit, register), 1, &[]);
            }
            Op::CoproInvoke => {
                let operation = c.below(descriptor.operations.len() as u32);
                self.emit(Inst::with2(op, unit, operation));
            }
            _ => self.emit(Inst::with2(op, unit, 0)),
        }
    }

    /// Asks a set, half of the time for something near one of its ends.
    fn set_has(&mut self) {
        let n = self.b.module.sets.len() as u32;
        let index = self.b.c.below(n);
        let Some(set) = self.b.module.sets.get(index as usize) else { return };
        let width = set.width();
        let ends: Vec<Box<[u64]>> = set.ranges().iter().take(40).flat_map(|r| [r.low.clone(), r.high.clone()]).collect();
        if ends.is_empty() || self.b.c.chance(1, 2) {
            self.operands(&[width]);
        } else {
            let mut value = self.b.c.pick(&ends).clone();
            value[0] ^= u64::from(self.b.c.chance(1, 3));
            self.wide_constant(width, value);
        }
        self.op(Inst::with(Op::SetHas, index), 1, &[32]);
    }

    fn width_op(&mut self, op: Op) {
        let (a, b) = (self.b.some_width(), self.b.some_width());
        let (low, high) = (a.min(b), a.max(b));
        match op {
            Op::WPush => {
                let value = self.b.c.value(a);
                self.wide_constant(a, value);
            }
            Op::WZext | Op::WSext if low < high => {
                self.operands(&[low]);
                self.op(Inst::with2(op, low.into(), high.into()), 1, &[high]);
            }
            Op::WTrunc if low < high => {
                self.operands(&[high]);
                self.op(Inst::with2(op, high.into(), low.into()), 1, &[low]);
            }
            Op::WSlice => {
                let top = self.b.c.below(a.into());
                let bottom = self.b.c.below(top + 1);
                self.operands(&[a]);
                self.op(Inst { imm: [a.into(), top, bottom], ..Inst::new(op) }, 1, &[(top - bottom + 1) as u16]);
            }
            Op::WConcat if a + b <= self.b.options.widest => {
                self.operands(&[a, b]);
                self.op(Inst::with2(op, a.into(), b.into()), 2, &[a + b]);
            }
            Op::WSelect => {
                self.operands(&[32, a, a]);
                self.op(Inst::with(op, a.into()), 3, &[a]);
            }
            _ => {}
        }
    }

    fn packet_op(&mut self, op: Op) {
        match op {
            Op::PktSendDup => {
                let port = self.output();
                self.emit(Inst::with(op, port));
            }
            Op::PktSendBy => self.send_by(),
            Op::PktPush | Op::PktPull | Op::PktTrim | Op::PktGrow => {
                let n = if self.b.c.chance(1, 16) { self.b.c.word() } else { self.b.c.below(12) };
                self.number(n);
                self.op(Inst::new(op), 1, &[]);
            }
            // What takes the packet away makes most of what follows trap.
            Op::PktReceive if self.b.c.chance(1, 4) => self.receive(),
            Op::PktAsk if self.b.c.chance(1, 4) => {
                let port = self.port(true);
                self.op(Inst::with(op, port), 0, &[32]);
            }
            Op::ExbufDelete if self.b.c.chance(1, 8) => self.emit(Inst::new(op)),
            Op::ExbufCreate if self.b.c.chance(1, 4) => {
                let n = if self.b.c.chance(1, 16) { self.b.c.word() } else { 40 + self.b.c.below(100) };
                self.number(n);
                self.op(Inst::new(op), 1, &[]);
            }
            Op::Sleep => {
                self.operands(&[32]);
                self.op(Inst::new(op), 1, &[]);
            }
            Op::InfoClr | Op::Nop | Op::Break => self.emit(Inst::new(op)),
            _ => {}
        }
    }

    pub fn receive(&mut self) {
        let port = self.port(true);
        self.emit(Inst::with(Op::PktReceive, port));
    }

    /// Sends by a number that is one of a port's, or not.
    fn send_by(&mut self) {
        let first = self.output();
        let outputs = (first..).take_while(|id| self.b.module.port_kind(*id).is_some_and(|kind| !kind.is_input())).count() as u32;
        let count = 1 + self.b.c.below(outputs);
        if self.b.c.chance(1, 2) {
            let n = self.b.c.below(count + 2);
            self.number(n);
        } else {
            self.operands(&[32]);
        }
        self.op(Inst::with2(Op::PktSendBy, first, count), 1, &[]);
    }

    pub fn output(&mut self) -> u32 {
        self.port(false)
    }

    fn port(&mut self, input: bool) -> u32 {
        let ports: Vec<u32> = self.b.module.all_ports().iter().filter(|(_, p)| p.kind.is_input() == input).map(|(id, _)| *id).collect();
        *self.b.c.pick(&ports)
    }
}
