//! Statements.

use super::{Binding, Lower, Lowered, MAX_CODE, fault};
use crate::ast::BinOp;
use crate::hir::{Builtin, Callee, Expr, ExprKind, FnKind, Stmt, StmtKind, Type};
use crate::marks::MarkKind;
use netil::table::Op;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// The value that bits are written to.
fn whole(left: &Expr) -> &Expr {
    match &left.kind {
        ExprKind::Slice(of, ..) | ExprKind::Part(of, _) => whole(of),
        _ => left,
    }
}

impl Lower<'_> {
    pub(super) fn stmts(&mut self, stmts: &[Stmt]) -> Lowered<()> {
        stmts.iter().try_for_each(|s| self.stmt(s))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Lowered<()> {
        let span = stmt.span;
        self.at(span);
        self.now = span;
        if self.code.len() > MAX_CODE {
            return fault(span, format!("the program has more than {MAX_CODE} instructions"));
        }
        match &stmt.kind {
            StmtKind::Var(var, value) => {
                let ty = self.program.vars[*var].ty.clone();
                let place = match self.bindings.get(var) {
                    // A variable keeps its place each time that control comes by.
                    Some(Binding::Place(place)) if place.ty == self.resolve(&ty) => place.clone(),
                    _ => self.new_place(&ty, span)?,
                };
                self.bindings.insert(*var, Binding::Place(place.clone()));
                match value {
                    Some(value) => self.assign(&place, value),
                    None => self.clear(&place, span),
                }
            }
            StmtKind::Assign(left, right) => {
                let before = self.before(whole(left))?;
                self.assignment(left, right)?;
                self.mark_written(whole(left), before)
            }
            StmtKind::Update(op, left, right) => {
                let before = self.before(whole(left))?;
                self.update(*op, left, right)?;
                self.mark_written(whole(left), before)
            }
            StmtKind::Call(call) => self.call_stmt(call),
            StmtKind::If(condition, yes, no) => self.if_stmt(condition, yes, no),
            StmtKind::Block(body) => self.stmts(body),
            StmtKind::Return(value) => self.ret(value.as_ref(), stmt),
            StmtKind::Exit => {
                let Some(exit) = self.exits.last().copied() else { return fault(span, "there is nothing to leave") };
                self.mark(MarkKind::Exit, "exit", span, &[]);
                self.code.jump(exit);
                Ok(())
            }
            StmtKind::SwitchAction(table, cases) => self.switch_action(*table, cases, stmt),
            StmtKind::Switch(value, cases) => self.switch(value, cases),
            StmtKind::For { init, condition, update, body } => {
                self.stmts(init)?;
                self.for_loop(condition, update, body)
            }
            StmtKind::ForRange { var, low, high, body } => self.for_range(*var, low, high, body, stmt),
            StmtKind::ForIn { var, items, body } => self.for_in(*var, items, body, stmt),
            StmtKind::Break | StmtKind::Continue => {
                let Some((out, next)) = self.loops.last().copied() else { return fault(span, "there is no loop") };
                self.code.jump(if matches!(stmt.kind, StmtKind::Break) { out } else { next });
                Ok(())
            }
        }
    }

    /// Puts a value where its parts may come from.
    fn assign(&mut self, to: &super::StorageLocation, value: &Expr) -> Lowered<()> {
        let one = self.leaves(&to.ty, value.span)?.len() == 1;
        if one || matches!(value.kind, ExprKind::Default) {
            return self.eval_into(value, to);
        }
        let from = self.place(value)?;
        self.copy(to, &from, value.span)
    }

    fn assignment(&mut self, left: &Expr, right: &Expr) -> Lowered<()> {
        if matches!(left.kind, ExprKind::Slice(..) | ExprKind::Part(..)) {
            self.value(right)?;
            return self.store_bits(left);
        }
        let to = self.place(left)?;
        self.assign(&to, right)
    }

    /// Takes a value as bits of a number.
    pub(super) fn store_bits(&mut self, left: &Expr) -> Lowered<()> {
        let (of, width) = match &left.kind {
            ExprKind::Slice(of, ..) | ExprKind::Part(of, _) => (of, self.scalar(&left.ty, left.span)?.width()),
            _ => {
                let to = self.place(left)?;
                let leaf = self.scalar(&to.ty, left.span)?;
                self.store_leaf(&to, 0, leaf);
                return Ok(());
            }
        };
        let whole = self.scalar(&of.ty, of.span)?.width();
        let (part, shift) = (self.code.new_local(width), self.code.new_local(32));
        self.code.set(part);
        match &left.kind {
            ExprKind::Slice(_, _, low) => self.code.push(*low),
            ExprKind::Part(_, low) => self.amount(low)?,
            _ => {}
        }
        self.code.set(shift);
        let mask = (BigInt::from(1) << width) - 1;
        self.value(of)?;
        self.code.constant(&mask, whole);
        self.code.get(shift);
        self.code.w(Op::WShl, whole);
        self.code.w(Op::WNot, whole);
        self.code.w(Op::WAnd, whole);
        self.code.get(part);
        self.code.resize(width, whole);
        self.code.get(shift);
        self.code.w(Op::WShl, whole);
        self.code.w(Op::WOr, whole);
        self.store_bits(of)
    }

    fn update(&mut self, op: BinOp, left: &Expr, right: &Expr) -> Lowered<()> {
        let signed = matches!(self.resolve(&left.ty), Type::Int(_));
        if matches!(left.kind, ExprKind::Slice(..) | ExprKind::Part(..)) {
            let width = self.value(left)?.width();
            if matches!(op, BinOp::Shl | BinOp::Shr) {
                self.amount(right)?
            } else {
                self.value(right)?;
            }
            self.operate(op, width, signed);
            return self.store_bits(left);
        }
        let to = self.place(left)?;
        let leaf = self.scalar(&to.ty, left.span)?;
        self.load_leaf(&to, 0, leaf);
        if matches!(op, BinOp::Shl | BinOp::Shr) {
            self.amount(right)?
        } else {
            self.value(right)?;
        }
        self.operate(op, leaf.width(), signed);
        self.store_leaf(&to, 0, leaf);
        Ok(())
    }

    fn call_stmt(&mut self, call: &Expr) -> Lowered<()> {
        let ExprKind::Call { callee, types, args } = &call.kind else { return Ok(()) };
        match callee {
            // An action that another one calls is part of that.
            Callee::Function(f) if self.program.functions[*f].kind == FnKind::Action && self.inside == 0 => {
                self.called(call.span, |l| l.inline(*f, types, args, call).map(drop))
            }
            Callee::Function(f) => self.inline(*f, types, args, call).map(drop),
            Callee::Builtin(Builtin::IsValid, _) => Ok(()),
            Callee::Builtin(builtin, object) => {
                self.builtin(*builtin, object)?;
                self.mark_call(&[], call)
            }
            Callee::Table(table) => self.apply_table(*table, call.span),
            Callee::Block(object) => self.apply(object, args, call),
            Callee::Method(object, f) => {
                self.method(object, *f, types, args, call)?;
                match &*self.program.functions[*f].name {
                    // These tell themselves what they do.
                    "extract" | "emit" => Ok(()),
                    _ => self.mark_call(args, call),
                }
            }
            Callee::Construct(_) => Ok(()),
        }
    }

    fn if_stmt(&mut self, condition: &Expr, yes: &[Stmt], no: &[Stmt]) -> Lowered<()> {
        if let ExprKind::Bool(b) = condition.kind {
            return self.stmts(if b { yes } else { no });
        }
        let (other, end) = (self.code.label(), self.code.label());
        self.value(condition)?;
        self.code.branch(Op::JEq, other);
        let said = if self.marks.is_some() { self.text(condition.span) } else { String::new() };
        self.mark(MarkKind::Branch(true), said.clone(), condition.span, &[]);
        self.stmts(yes)?;
        if !no.is_empty() || self.marks.is_some() {
            self.code.jump(end);
        }
        self.code.bind(other);
        self.mark(MarkKind::Branch(false), said, condition.span, &[]);
        self.stmts(no)?;
        self.code.bind(end);
        Ok(())
    }

    fn ret(&mut self, value: Option<&Expr>, stmt: &Stmt) -> Lowered<()> {
        let Some(frame) = self.frames.last() else { return fault(stmt.span, "there is nothing to return from") };
        let (ret, result) = (frame.ret, frame.result.clone());
        if let (Some(value), Some(result)) = (value, result) {
            self.assign(&result, value)?;
        }
        self.code.jump(ret);
        Ok(())
    }

    fn switch_action(&mut self, table: usize, cases: &[(Vec<Option<usize>>, Vec<Stmt>)], stmt: &Stmt) -> Lowered<()> {
        self.apply_table(table, stmt.span)?;
        let run = self.table_results(table).1;
        let end = self.code.label();
        let labels: Vec<_> = cases.iter().map(|_| self.code.label()).collect();
        let (mut keys, mut default) = (Vec::new(), end);
        for ((names, _), label) in cases.iter().zip(&labels) {
            for name in names {
                match name {
                    Some(action) => keys.push((*action as u32, *label)),
                    None => default = *label,
                }
            }
        }
        self.code.get(run);
        self.code.switch(keys, default);
        for ((_, body), label) in cases.iter().zip(&labels) {
            self.code.bind(*label);
            self.stmts(body)?;
            self.code.jump(end);
        }
        self.code.bind(end);
        Ok(())
    }

    fn switch(&mut self, value: &Expr, cases: &[(Vec<Option<Expr>>, Vec<Stmt>)]) -> Lowered<()> {
        let place = self.held(value)?;
        let leaf = self.scalar(&place.ty, value.span)?;
        let end = self.code.label();
        let labels: Vec<_> = cases.iter().map(|_| self.code.label()).collect();
        let mut default = end;
        for ((names, _), label) in cases.iter().zip(&labels) {
            for name in names {
                let Some(name) = name else {
                    default = *label;
                    continue;
                };
                self.load_leaf(&place, 0, leaf);
                self.value(name)?;
                self.code.w(Op::WEq, leaf.width());
                self.code.branch(Op::JNe, *label);
            }
        }
        self.code.jump(default);
        for ((_, body), label) in cases.iter().zip(&labels) {
            self.code.bind(*label);
            self.stmts(body)?;
            self.code.jump(end);
        }
        self.code.bind(end);
        Ok(())
    }

    fn for_loop(&mut self, condition: &Expr, update: &[Stmt], body: &[Stmt]) -> Lowered<()> {
        let (head, next, end) = (self.code.label(), self.code.label(), self.code.label());
        self.code.bind(head);
        self.value(condition)?;
        self.code.branch(Op::JEq, end);
        self.loops.push((end, next));
        let done = self.stmts(body);
        self.loops.pop();
        done?;
        self.code.bind(next);
        self.stmts(update)?;
        self.code.jump(head);
        self.code.bind(end);
        Ok(())
    }

    fn for_range(&mut self, var: usize, low: &Expr, high: &Expr, body: &[Stmt], stmt: &Stmt) -> Lowered<()> {
        let to = self.loop_var(var, stmt)?;
        let leaf = self.scalar(&to.ty, stmt.span)?;
        let signed = matches!(to.ty, Type::Int(_));
        let (now, last) = (self.held(low)?, self.held(high)?);
        let (head, next, end) = (self.code.label(), self.code.label(), self.code.label());
        self.load_leaf(&now, 0, leaf);
        self.load_leaf(&last, 0, leaf);
        self.code.w(if signed { Op::WLes } else { Op::WLe }, leaf.width());
        self.code.branch(Op::JEq, end);
        self.code.bind(head);
        self.copy(&to, &now, stmt.span)?;
        self.loops.push((end, next));
        let done = self.stmts(body);
        self.loops.pop();
        done?;
        self.code.bind(next);
        self.load_leaf(&now, 0, leaf);
        self.load_leaf(&last, 0, leaf);
        self.code.w(Op::WEq, leaf.width());
        self.code.branch(Op::JNe, end);
        self.load_leaf(&now, 0, leaf);
        self.code.constant(&BigInt::from(1), leaf.width());
        self.code.w(Op::WAdd, leaf.width());
        self.store_leaf(&now, 0, leaf);
        self.code.jump(head);
        self.code.bind(end);
        Ok(())
    }

    fn loop_var(&mut self, var: usize, stmt: &Stmt) -> Lowered<super::StorageLocation> {
        if let Some(Binding::Place(place)) = self.bindings.get(&var) {
            return Ok(place.clone());
        }
        let place = self.new_place(&self.program.vars[var].ty.clone(), stmt.span)?;
        self.bindings.insert(var, Binding::Place(place.clone()));
        Ok(place)
    }

    /// Over a stack or list: its length is known, so that the body stands here once for each
    /// element.
    fn for_in(&mut self, var: usize, items: &Expr, body: &[Stmt], stmt: &Stmt) -> Lowered<()> {
        let to = self.loop_var(var, stmt)?;
        let end = self.code.label();
        let each: Vec<Expr> = match (&items.kind, &items.ty) {
            (ExprKind::Fields(all), _) => all.clone(),
            (_, Type::Stack(of, n)) => {
                let index = |k: u32| Expr { kind: ExprKind::Int(k.into()), ty: Type::Bit(32), span: items.span };
                let element = |k| ExprKind::Index(Box::new(items.clone()), Box::new(index(k)));
                (0..*n).map(|k| Expr { kind: element(k), ty: (**of).clone(), span: items.span }).collect()
            }
            _ => return fault(stmt.span, "this loop is not supported"),
        };
        for item in &each {
            let next = self.code.label();
            self.assign(&to, item)?;
            self.loops.push((end, next));
            let done = self.stmts(body);
            self.loops.pop();
            done?;
            self.code.bind(next);
        }
        self.code.bind(end);
        Ok(())
    }

    /// A number that is known now.
    pub(super) fn known_number(&self, e: &Expr) -> Lowered<u32> {
        let value = match &e.kind {
            ExprKind::Var(var) => match self.bindings.get(var) {
                Some(Binding::Const(value)) => value.clone(),
                _ => e.clone(),
            },
            _ => e.clone(),
        };
        match &value.kind {
            ExprKind::Int(n) => n.to_u32().map_or_else(|| fault(e.span, "this number is too large"), Ok),
            _ => fault(e.span, "this is not known when the program is compiled"),
        }
    }
}
