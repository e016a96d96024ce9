//! The functions of netvm.h that are more than their instructions.

use super::Lowerer;
use super::flow::Event;
use super::place::{At, Base, Spot};
use crate::c::builtins::{Does, Own, Row};
use crate::c::fold::fold;
use crate::c::tree::{Arg, Expr, PlaceExpr};
use crate::c::types::Type;
use crate::click::processing::Kind;
use crate::diagnostics::Span;
use netil::module::entry_type;
use netil::table::{self, Op};

impl Lowerer<'_> {
    /// A call, with its value on the stack if it has one.
    pub(super) fn builtin(&mut self, row: &'static Row, args: &[Arg], span: Span) {
        match &row.does {
            Does::Ops(ops) => {
                self.values(args);
                if row.moves {
                    self.code.event(Event::Moves(span, row.name));
                }
                for (op, operand) in *ops {
                    self.in_packet(*op, row, span);
                    self.code.op1(*op, *operand);
                }
            }
            Does::Own(own) => self.own_builtin(*own, row, args, span),
        }
    }

    pub(super) fn in_packet(&mut self, op: Op, row: &Row, span: Span) {
        if op.row().place == table::HandlerScope::Packet && self.kind == netil::module::HandlerKind::Init {
            self.fault(span, format!("`{}` needs a packet, and there is none in init()", row.name));
        }
    }

    pub(super) fn values(&mut self, args: &[Arg]) {
        for arg in args {
            if let Arg::Value(value) = arg {
                self.value(value);
            }
        }
    }

    fn own_builtin(&mut self, own: Own, row: &'static Row, args: &[Arg], span: Span) {
        match (own, args) {
            (Own::Clone, [Arg::Value(port)]) => {
                self.in_packet(Op::PktSendDup, row, span);
                self.clone_packet(port);
            }
            (Own::PacketCopy, [Arg::Value(to), Arg::Value(from), Arg::Value(length)]) => {
                self.value(from);
                self.value(to);
                self.value(length);
                self.in_packet(Op::PpCopy, row, span);
                self.code.op(Op::PpCopy);
            }
            (Own::PacketRead, [Arg::Value(array), Arg::Value(offset), Arg::Value(length)]) => self.packet_read(array, offset, length, row),
            (Own::PacketWrite, [Arg::Value(offset), Arg::Value(array), Arg::Value(length)]) => {
                self.packet_write(array, offset, length, row)
            }
            (Own::ChecksumUpdate, [Arg::Value(sum), Arg::Value(before), Arg::Value(after)]) => {
                self.value(sum);
                self.value(before);
                self.code.op(Op::ChksumSub);
                self.value(after);
                self.code.op(Op::ChksumAdd);
            }
            (Own::Hash, _) => {
                self.values(args);
                self.code.op1(Op::Hash, args.len() as u32);
            }
            (Own::Delete, [Arg::Table(table), Arg::Key(key)]) => {
                self.exact_only(*table, row, span);
                self.key(key);
                self.code.event(Event::Changes(*table as u32, span, row.name));
                self.code.op1(Op::TDelete, *table as u32);
                self.renew(*table as u32);
            }
            (Own::Walk, [Arg::Table(table)]) => {
                self.exact_only(*table, row, span);
                self.code.op1(Op::TWalk, *table as u32);
            }
            (Own::Next, [Arg::Table(table), Arg::Key(key)]) => {
                self.exact_only(*table, row, span);
                self.table_next(*table as u32, key);
            }
            (Own::Search, _) => self.search(args, row, span),
            (Own::SearchAt | Own::SearchEnd, _) => self.search_place(args, own == Own::SearchAt, row, span),
            (Own::UnitLoad | Own::UnitPut | Own::UnitShow | Own::UnitRun | Own::UnitGet, [Arg::Value(name), rest @ ..]) => {
                self.coprocessor(own, name, rest, (row, span));
            }
            (Own::Ask, [Arg::Value(input)]) => self.ask(input, row, span),
            (Own::TimerSet, [Arg::Value(timer), Arg::Value(when)]) => self.timer_set(timer, when),
            (Own::OutputIsPush | Own::InputIsPush, [Arg::Value(port)]) => self.is_push(own == Own::OutputIsPush, port),
            (Own::Header | Own::HeaderArray, _) => {
                let spot = self.builtin_pointer(row, args, span);
                self.discard(&spot);
            }
            _ => self.print(own, args, row, span),
        }
    }

    /// A pointer that a function of netvm.h gives.
    pub(super) fn builtin_pointer(&mut self, row: &'static Row, args: &[Arg], span: Span) -> Spot {
        match (&row.does, args) {
            (Does::Own(Own::Header), [Arg::Type(ty), Arg::Value(offset)]) => self.header(ty, offset, None, row, span),
            (Does::Own(Own::HeaderArray), [Arg::Type(ty), Arg::Value(offset), Arg::Value(count)]) => {
                self.header(ty, offset, Some(count), row, span)
            }
            (Does::Own(own @ (Own::Find | Own::Peek | Own::Insert)), [Arg::Table(table), Arg::Key(key)]) => {
                self.entry(*own, *table as u32, key, row, span)
            }
            _ => Spot::new(Base::Wrong, 0),
        }
    }

    /// A view: all of its bytes are looked for now.
    fn header(&mut self, ty: &Type, offset: &Expr, count: Option<&Expr>, row: &Row, span: Span) -> Spot {
        self.in_packet(Op::PktCheck, row, span);
        let known = fold(offset, &self.facts);
        let spot = match known {
            Some(offset) => Spot::new(Base::Packet(None), offset as u32),
            None => {
                self.value(offset);
                let local = self.code.keep(32);
                Spot { base: Base::Packet(None), at: At::Temp(local), offset: 0 }
            }
        };
        self.address(&spot);
        match count {
            None => self.code.op1(Op::Push, ty.size()),
            Some(count) => {
                self.value(count);
                if ty.size() != 1 {
                    // A product that does not fit is more than any packet has: a trap as well.
                    self.code.op1(Op::Push, ty.size());
                    self.code.op(Op::MulU);
                }
            }
        }
        self.code.op(Op::PktCheck);
        spot
    }

    fn entry(&mut self, own: Own, table: u32, key: &PlaceExpr, row: &Row, span: Span) -> Spot {
        self.key(key);
        match own {
            Own::Insert => {
                self.exact_only(table as usize, row, span);
                self.code.event(Event::Changes(table, span, row.name));
                self.watch(table, key.ty.size() * 8);
                self.code.op1(Op::TInsert, table);
                self.renew(table);
            }
            Own::Peek => self.code.op1(Op::TPeek, table),
            _ => self.code.op1(Op::TFind, table),
        }
        let local = self.own(entry_type(table));
        self.code.store(local);
        Spot::new(Base::Entry { table, local, view: None, array: None }, 0)
    }

    fn exact_only(&mut self, table: usize, row: &Row, span: Span) {
        let declared = &self.program.tables[table];
        if !declared.kind.is_of_programs() {
            let fault = crate::diagnostics::Diagnostic::new(span, format!("`{}` works only on exact tables", row.name));
            self.faults.add(fault.note(declared.span, "declared here"));
        }
    }

    fn timer_set(&mut self, timer: &Expr, when: &Expr) {
        self.value(when);
        let free = self.free_timers();
        match fold(timer, &self.facts).filter(|n| *n < free.into()) {
            Some(n) => self.code.op1(Op::TimerSet, n as u32),
            None => {
                let message = format!("the number of a timer is a constant from 0 to {}", i64::from(free) - 1);
                match self.expiries.is_empty() {
                    true => self.fault(timer.span, message),
                    false => self.fault_help(timer.span, message, "the tables with EXPIRED have the last ones"),
                }
                self.code.op(Op::Pop);
            }
        }
    }

    /// Whether a computed port pushes: a bit of a constant.
    fn is_push(&mut self, outputs: bool, port: &Expr) {
        let ports = if outputs { &self.instance.outputs } else { &self.instance.inputs };
        if ports.len() > 32 {
            return self.fault(port.span, "with more than 32 ports this must be a constant");
        }
        let bits = ports.iter().enumerate().fold(0u32, |bits, (n, kind)| bits | u32::from(*kind == Kind::Push) << n);
        self.code.op1(Op::Push, bits);
        self.value(port);
        self.code.op(Op::UShr);
        self.code.op(Op::PushC1);
        self.code.op(Op::And);
    }
}
