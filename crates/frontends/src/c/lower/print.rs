//! Output for people: the coprocessor `console`.

use super::Lowerer;
use super::search::UNITS;
use crate::c::builtins::{Own, Row};
use crate::c::fold::Known;
use crate::c::tree::{Arg, Expr, Kind, PlaceKind};
use crate::diagnostics::Span;
use netil::table::Op;
use std::sync::Arc;

/// Operations of the console.
const TEXT: u32 = 0;
const UNSIGNED: u32 = 1;
const SIGNED: u32 = 2;
const HEX: u32 = 3;
const IP4: u32 = 4;
const IP6: u32 = 5;
const MAC: u32 = 6;
const PACKET: u32 = 7;
const ASCII: u32 = 8;
const TIME: u32 = 9;

impl Lowerer<'_> {
    pub(super) fn print(&mut self, own: Own, args: &[Arg], row: &Row, span: Span) {
        let [Arg::Value(first), rest @ ..] = args else { return };
        match (own, rest) {
            (Own::TextIs, [Arg::Value(_)]) => {
                let same = self.same_text(first, rest);
                self.code.op1(Op::Push, same.into());
            }
            (Own::Print, _) => {
                if let Kind::Text(text) = &first.kind {
                    self.text(text);
                }
            }
            (Own::PrintText, _) => {
                let text: Arc<[u8]> = self.parameter_text(first).as_bytes().into();
                self.text(&text);
            }
            (Own::PrintUint, _) => self.number(first, UNSIGNED),
            (Own::PrintInt, _) => self.number(first, SIGNED),
            (Own::PrintHex, [Arg::Value(digits)]) => {
                self.halves(first);
                self.value(digits);
                self.register(2);
                self.invoke(HEX);
            }
            (Own::PrintIp, _) => {
                self.value(first);
                self.register(0);
                self.invoke(IP4);
            }
            (Own::PrintIp6, _) => self.ip6(first),
            (Own::PrintMac, _) => self.mac(first),
            (Own::PrintBytes | Own::PrintAscii, [Arg::Value(length)]) => {
                if self.kind == netil::module::HandlerKind::Init {
                    self.fault(span, format!("`{}` needs a packet, and there is none in init()", row.name));
                }
                self.values_to_registers(first, length);
                let console = self.console();
                self.code.op2(Op::CoproExbuf, console, 0);
                self.invoke(if own == Own::PrintBytes { PACKET } else { ASCII });
            }
            (Own::PrintTime, _) => self.number(first, TIME),
            _ => {}
        }
    }

    fn console(&mut self) -> u32 {
        self.unit(UNITS[0])
    }

    fn register(&mut self, register: u32) {
        let console = self.console();
        self.code.op2(Op::CoproOut, console, register);
    }

    fn invoke(&mut self, operation: u32) {
        let console = self.console();
        self.code.op2(Op::CoproInvoke, console, operation);
    }

    /// Texts are kept once in initialised data.
    fn text(&mut self, text: &Arc<[u8]>) {
        if text.is_empty() {
            return;
        }
        let at = self.initialised(text);
        self.code.op1(Op::Push, at);
        self.register(0);
        self.code.op1(Op::Push, text.len() as u32);
        self.register(1);
        self.invoke(TEXT);
    }

    /// The place of bytes in initialised data.
    pub(super) fn initialised(&mut self, bytes: &Arc<[u8]>) -> u32 {
        if let Some(at) = self.texts.get(bytes) {
            return *at;
        }
        let at = self.module.data.len() as u32;
        self.module.data.extend_from_slice(bytes);
        self.texts.insert(Arc::clone(bytes), at);
        at
    }

    fn parameter_text(&self, e: &Expr) -> &str {
        match &e.kind {
            Kind::Load(place) => match place.kind {
                PlaceKind::Param(param) => self.facts.text(param).unwrap_or(""),
                _ => "",
            },
            _ => "",
        }
    }

    fn same_text(&self, parameter: &Expr, rest: &[Arg]) -> bool {
        let [Arg::Value(Expr { kind: Kind::Text(text), .. })] = rest else { return false };
        self.parameter_text(parameter).as_bytes() == &text[..]
    }

    /// Low and high half of a 64-bit number into the first registers.
    fn halves(&mut self, e: &Expr) {
        self.value(e);
        self.split();
    }

    fn split(&mut self) {
        self.code.op(Op::Dup);
        self.code.op2(Op::WTrunc, 64, 32);
        self.register(0);
        self.code.op3(Op::WSlice, 64, 63, 32);
        self.register(1);
    }

    fn number(&mut self, e: &Expr, operation: u32) {
        self.halves(e);
        self.invoke(operation);
    }

    fn values_to_registers(&mut self, first: &Expr, second: &Expr) {
        self.value(first);
        self.value(second);
        self.register(1);
        self.register(0);
    }

    fn ip6(&mut self, e: &Expr) {
        self.value(e);
        for register in 0..3 {
            self.code.op(Op::Dup);
            let high = 127 - 32 * register;
            self.code.op3(Op::WSlice, 128, high, high - 31);
            self.register(register);
        }
        self.code.op2(Op::WTrunc, 128, 32);
        self.register(3);
        self.invoke(IP6);
    }

    fn mac(&mut self, e: &Expr) {
        self.value(e);
        self.code.op(Op::Dup);
        self.code.op3(Op::WSlice, 48, 47, 32);
        self.code.op2(Op::WZext, 16, 32);
        self.register(0);
        self.code.op2(Op::WTrunc, 48, 32);
        self.register(1);
        self.invoke(MAC);
    }
}
