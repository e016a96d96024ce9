//! Statements.

use super::code::Label;
use super::{Lowerer, Storage};
use crate::c::fold::fold;
use crate::c::tree::{Case, Expr, Init, Stmt, StmtKind};
use crate::c::types::Type;
use netil::module::Label as Named;
use netil::table::Op;

impl Lowerer<'_> {
    pub(super) fn block(&mut self, list: &[Stmt]) {
        for statement in list {
            self.statement(statement);
        }
    }

    fn statement(&mut self, s: &Stmt) {
        if self.enter(s.span) {
            self.lower_statement(s);
        }
        self.leave();
    }

    fn lower_statement(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Expr(e) => self.effect(e),
            StmtKind::Declare(local, init) => self.declare(*local, init),
            StmtKind::Block(list) => self.block(list),
            StmtKind::If(condition, then, otherwise) => self.condition(condition, then, otherwise.as_deref()),
            StmtKind::While(condition, body) => self.repeat(Some(condition), None, body),
            StmtKind::For(init, condition, step, body) => {
                if let Some(init) = init {
                    self.statement(init);
                }
                self.repeat(condition.as_ref(), step.as_ref(), body);
            }
            StmtKind::Do(body, condition) => self.do_while(body, condition),
            StmtKind::Switch(value, cases, body) => self.switch(value, cases, body),
            StmtKind::Case(n) => {
                if let Some(label) = self.frame().cases.last().and_then(|labels| labels.get(*n)).copied() {
                    self.code.place(label);
                }
            }
            StmtKind::Break => {
                if let Some((end, _)) = self.frame().breaks.last().copied() {
                    self.code.go(end);
                }
            }
            StmtKind::Continue => {
                if let Some(next) = self.frame().breaks.iter().rev().find_map(|(_, next)| *next) {
                    self.code.go(next);
                }
            }
            StmtKind::Return(value) => self.give_back(value.as_ref()),
            StmtKind::Emit(port) => self.emit(port),
            StmtKind::Drop(reason) => self.drop_packet(reason),
            StmtKind::Empty => {}
        }
    }

    fn declare(&mut self, local: usize, init: &Init) {
        match init {
            Init::Parts(parts) => return self.declare_parts(local, parts),
            Init::None => return self.declare_storage(local),
            Init::Value(_) => {}
        }
        let Init::Value(value) = init else { return };
        let program = self.program;
        let ty = &program.functions[self.frame().function].locals[local].ty;
        match ty {
            Type::Error => {}
            Type::Pointer(_) => {
                let pointed = self.pointer(value);
                self.declare_storage(local);
                if let Some(Some(Storage::Pointer(id))) = self.frame().vars.get(local).cloned() {
                    self.assign_pointer(id, pointed, value.span);
                }
            }
            Type::Struct(_) => {
                let from = self.object(value);
                let from = self.pin(from);
                self.declare_storage(local);
                let to = self.local_spot(local);
                self.copy(from, &to, ty, value.span);
            }
            ty => {
                self.value(value);
                self.declare_storage(local);
                let to = self.local_spot(local);
                self.store(&to, ty, value.span);
            }
        }
    }

    fn condition(&mut self, condition: &Expr, then: &Stmt, otherwise: Option<&Stmt>) {
        match fold(condition, &self.facts) {
            Some(0) => return otherwise.map_or((), |otherwise| self.statement(otherwise)),
            Some(_) => return self.statement(then),
            None => {}
        }
        let (no, end) = (self.code.label(), self.code.label());
        self.branch(condition, false, no);
        self.statement(then);
        if let Some(otherwise) = otherwise {
            self.code.go(end);
            self.code.place(no);
            self.statement(otherwise);
        } else {
            self.code.place(no);
        }
        self.code.place(end);
    }

    /// `while` and `for`: the condition is asked at the end of each round too, which saves a jump.
    fn repeat(&mut self, condition: Option<&Expr>, step: Option<&Expr>, body: &Stmt) {
        let (top, next, end) = (self.code.label(), self.code.label(), self.code.label());
        if let Some(condition) = condition {
            self.branch(condition, false, end);
        }
        self.code.place(top);
        self.looped(body, next, end);
        self.code.place(next);
        if let Some(step) = step {
            self.effect(step);
        }
        match condition {
            Some(condition) => self.branch(condition, true, top),
            None => self.code.go(top),
        }
        self.code.place(end);
    }

    fn do_while(&mut self, body: &Stmt, condition: &Expr) {
        let (top, next, end) = (self.code.label(), self.code.label(), self.code.label());
        self.code.place(top);
        self.looped(body, next, end);
        self.code.place(next);
        self.branch(condition, true, top);
        self.code.place(end);
    }

    fn looped(&mut self, body: &Stmt, next: Label, end: Label) {
        self.frame().breaks.push((end, Some(next)));
        self.statement(body);
        self.frame().breaks.pop();
    }

    fn switch(&mut self, value: &Expr, cases: &[Case], body: &[Stmt]) {
        let end = self.code.label();
        let labels: Vec<Label> = cases.iter().map(|_| self.code.label()).collect();
        let default = cases.iter().position(|case| case.value.is_none()).map_or(end, |n| labels[n]);
        let keys: Vec<(u128, Label)> = cases.iter().zip(&labels).filter_map(|(case, label)| Some((case.value?, *label))).collect();
        self.choose_case(value, &keys, default);
        let frame = self.frame();
        frame.breaks.push((end, None));
        frame.cases.push(labels);
        self.block(body);
        let frame = self.frame();
        frame.cases.pop();
        frame.breaks.pop();
        self.code.place(end);
    }

    fn choose_case(&mut self, value: &Expr, keys: &[(u128, Label)], default: Label) {
        if let Some(known) = fold(value, &self.facts) {
            let label = keys.iter().find(|(key, _)| *key == known).map_or(default, |(_, label)| *label);
            return self.code.go(label);
        }
        self.value(value);
        if value.ty.width() == 32 {
            let keys: Vec<(u32, Label)> = keys.iter().map(|(key, label)| (*key as u32, *label)).collect();
            return self.code.switch(&keys, default);
        }
        let width = value.ty.width();
        let kept = self.code.keep(width);
        for (key, label) in keys {
            self.code.load(kept);
            self.code.constant(*key, width);
            self.code.op1(Op::WEq, width.into());
            self.code.jump(Op::JNe, *label);
        }
        self.code.go(default);
        self.code.release(kept);
    }

    /// Port number of an output, if it is there.
    fn output(&self, n: u128) -> Option<u32> {
        let n = u32::try_from(n).ok().filter(|n| (*n as usize) < self.instance.outputs.len())?;
        Some(self.instance.inputs.len() as u32 + n)
    }

    fn emit(&mut self, port: &Expr) {
        if self.asks {
            self.check_asked(port);
        }
        if let Some(n) = fold(port, &self.facts) {
            match self.output(n) {
                Some(id) => self.code.op1(Op::PktSend, id),
                None => self.code.op(Op::Ret),
            }
            return;
        }
        self.value(port);
        let (inputs, count) = (self.instance.inputs.len() as u32, self.instance.outputs.len() as u32);
        if count > 0 {
            self.code.op2(Op::PktSendBy, inputs, count);
        } else {
            self.code.op(Op::Pop);
        }
        self.code.op(Op::Ret);
    }

    /// Jumps to one of the labels that it gives, each with the id of an output.
    pub(super) fn outputs_switch(&mut self, port: &Expr, none: Label) -> Vec<(u32, Label)> {
        self.value(port);
        let (inputs, count) = (self.instance.inputs.len() as u32, self.instance.outputs.len() as u32);
        let outputs: Vec<(u32, Label)> = (0..count).map(|n| (inputs + n, self.code.label())).collect();
        let cases: Vec<(u32, Label)> = outputs.iter().map(|(id, label)| (id - inputs, *label)).collect();
        self.code.switch(&cases, none);
        outputs
    }

    /// `clone(port)`.
    pub(super) fn clone_packet(&mut self, port: &Expr) {
        if let Some(n) = fold(port, &self.facts) {
            if let Some(id) = self.output(n) {
                self.code.op1(Op::PktSendDup, id);
            }
            return;
        }
        let end = self.code.label();
        for (id, label) in self.outputs_switch(port, end) {
            self.code.place(label);
            self.code.op1(Op::PktSendDup, id);
            self.code.go(end);
        }
        self.code.place(end);
    }

    fn drop_packet(&mut self, reason: &str) {
        let number = self.reason(reason);
        self.code.op1(Op::PktDrop, number);
    }

    /// The number of a reason.
    pub(super) fn reason(&mut self, reason: &str) -> u32 {
        let reasons = &mut self.module.reasons;
        let known = reasons.iter().find(|known| known.name == reason).map(|known| known.at);
        known.unwrap_or_else(|| {
            let at = reasons.len() as u32;
            reasons.push(Named { name: reason.to_owned(), at });
            at
        })
    }
}
