//! What is only for `pull`, the handler that runs when a packet is asked for: asking at inputs, and
//! giving the packet to the output that was asked.

use super::Lowerer;
use super::flow::Event;
use crate::c::builtins::Row;
use crate::c::fold::fold;
use crate::c::tree::{Expr, Kind as Is, PlaceKind};
use crate::click::processing::Kind;
use crate::diagnostics::Span;
use netil::table::Op;

impl Lowerer<'_> {
    /// Runs `pull` with the output at which a packet is asked for. Where there is but one it is a
    /// constant, and what depends on it is decided.
    pub(super) fn asking(&mut self, function: usize, id: u32) {
        match self.pulled()[..] {
            [only] => self.code.op1(Op::Push, only),
            _ => {
                self.code.load(id);
                self.code.op1(Op::Push, self.instance.inputs.len() as u32);
                self.code.op(Op::Sub);
            }
        }
        let port = self.code.keep(32);
        self.asks = true;
        self.run(function, Some(port));
        self.asks = false;
    }

    /// The outputs at which packets are asked for.
    fn pulled(&self) -> Vec<u32> {
        let outputs = self.instance.outputs.iter().enumerate();
        outputs.filter(|(_, kind)| **kind == Kind::Pull).map(|(n, _)| n as u32).collect()
    }

    /// `packet_ask(input)`: on the stack is whether a packet came.
    pub(super) fn ask(&mut self, input: &Expr, row: &'static Row, span: Span) {
        if !self.asks {
            self.fault_help(
                span,
                format!("`{}` stands only in pull(), which runs when a packet is asked for", row.name),
                "write `void pull(int port) { ... }`, or give the class a push input",
            );
            return self.code.op1(Op::Push, 0);
        }
        match fold(input, &self.facts) {
            Some(n) => {
                self.replaced(row, span);
                match u32::try_from(n).ok().filter(|n| self.pull_inputs().contains(n)) {
                    Some(n) => self.code.op1(Op::PktAsk, n),
                    None => self.code.op1(Op::Push, 0),
                }
            }
            None => self.ask_one_of(input, row, span),
        }
        // Others may have changed what tables hold that they have together with this element.
        (0..self.program.tables.len() as u32).for_each(|table| self.renew(table));
    }

    fn ask_one_of(&mut self, input: &Expr, row: &'static Row, span: Span) {
        self.value(input);
        self.replaced(row, span);
        let (none, end) = (self.code.label(), self.code.label());
        let inputs: Vec<_> = self.pull_inputs().into_iter().map(|n| (n, self.code.label())).collect();
        self.code.switch(&inputs, none);
        for (n, label) in inputs {
            self.code.place(label);
            self.code.op1(Op::PktAsk, n);
            self.code.go(end);
        }
        self.code.place(none);
        self.code.op1(Op::Push, 0);
        self.code.place(end);
    }

    fn pull_inputs(&self) -> Vec<u32> {
        let inputs = self.instance.inputs.iter().enumerate();
        inputs.filter(|(_, kind)| **kind == Kind::Pull).map(|(n, _)| n as u32).collect()
    }

    /// Views of the packet end, and so do entries.
    fn replaced(&mut self, row: &'static Row, span: Span) {
        self.code.event(Event::Moves(span, row.name));
        for table in 0..self.program.tables.len() as u32 {
            self.code.event(Event::Changes(table, span, row.name));
        }
    }

    /// Who asks at an output gets the packet: no other pulled output can.
    pub(super) fn check_asked(&mut self, port: &Expr) {
        let pulled = self.pulled();
        let is_asked = matches!(&port.kind, Is::Load(place) if matches!(place.kind, PlaceKind::Local(0)));
        if pulled.len() < 2 || is_asked {
            return;
        }
        let message = match fold(port, &self.facts) {
            Some(n) if pulled.iter().any(|output| u128::from(*output) == n) => {
                format!("output {n} gets this packet, and it may be another at which it was asked for")
            }
            Some(_) => return,
            None => "the packet may go to another output than the one at which it was asked for".to_owned(),
        };
        self.fault_help(port.span, message, "write `emit(port)`, with the port of pull(int port)");
    }
}
