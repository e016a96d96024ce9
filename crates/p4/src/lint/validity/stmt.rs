//! Statements, tables and actions: from the ways that lead there to those that lead on.

use super::state::{FieldPath, Passed, Ways, joined};
use super::{DEEP, Walk};
use crate::ast::Dir;
use crate::hir::{Builtin, Callee, Expr, ExprKind, FnId, Stmt, StmtKind, TableId, VarId};
use std::collections::HashSet;

/// What came of a table.
pub(super) struct Applied {
    /// By action.
    pub each: Vec<Ways>,
    pub hit: Ways,
    pub miss: Ways,
}

impl Applied {
    pub fn all(self) -> Ways {
        joined(self.hit.into_iter().chain(self.miss).collect())
    }
}

impl Walk<'_> {
    /// Runs statements; none of the ways once there was too much to do.
    pub(super) fn stmts(&mut self, all: &[Stmt], mut ways: Ways) -> Ways {
        for stmt in all {
            if ways.is_empty() || !self.goes_on(&ways) {
                return Vec::new();
            }
            ways = self.stmt(stmt, ways);
        }
        ways
    }

    fn stmt(&mut self, stmt: &Stmt, mut ways: Ways) -> Ways {
        match &stmt.kind {
            StmtKind::Var(var, value) => self.declare(*var, value.as_ref(), &mut ways),
            StmtKind::Assign(to, value) => self.assignment(to, value, &mut ways),
            StmtKind::Update(_, to, value) => {
                self.read(to, &mut ways);
                self.read(value, &mut ways);
                self.written(to, &mut ways);
            }
            StmtKind::Call(e) => return self.call_stmt(e, ways),
            StmtKind::If(condition, yes, no) => {
                let (mut holds, mut not) = self.condition(condition, ways);
                holds.iter_mut().for_each(|way| way.pass(Passed::Branch(condition.span, true)));
                not.iter_mut().for_each(|way| way.pass(Passed::Branch(condition.span, false)));
                let mut out = self.stmts(yes, holds);
                out.extend(self.stmts(no, not));
                return joined(out);
            }
            StmtKind::Block(inner) => return self.stmts(inner, ways),
            StmtKind::Return(value) => {
                value.iter().for_each(|value| self.read(value, &mut ways));
                return self.leave(ways, |walk| walk.returns.last_mut());
            }
            StmtKind::Exit => return self.leave(ways, |walk| Some(&mut walk.exits)),
            StmtKind::Break | StmtKind::Continue => return self.leave(ways, |walk| walk.breaks.last_mut()),
            StmtKind::SwitchAction(table, cases) => return self.switch_action(*table, cases, ways),
            StmtKind::Switch(value, cases) => return self.switch(value, cases, ways),
            StmtKind::For { init, condition, update, body } => return self.for_loop(init, condition, update, body, ways),
            StmtKind::ForRange { var, low, high, body } => {
                [low, high].into_iter().for_each(|e| self.read(e, &mut ways));
                return self.rounds(*var, body, ways);
            }
            StmtKind::ForIn { var, items, body } => {
                self.read(items, &mut ways);
                return self.rounds(*var, body, ways);
            }
        }
        ways
    }

    fn leave<'b>(&'b mut self, ways: Ways, to: impl FnOnce(&'b mut Self) -> Option<&'b mut Ways>) -> Ways {
        if let Some(to) = to(self) {
            to.extend(ways);
        }
        Vec::new()
    }

    fn declare(&mut self, var: VarId, value: Option<&Expr>, ways: &mut Ways) {
        let place = self.own(var);
        let ty = self.program.vars[var].ty.clone();
        self.cleared(&place, &ty, ways);
        if let Some(value) = value {
            self.read(value, ways);
            self.assign(&place, value, ways);
        }
        self.bindings.insert(var, Some(place));
    }

    fn assignment(&mut self, to: &Expr, value: &Expr, ways: &mut Ways) {
        self.read(value, ways);
        match self.place(to) {
            Some(place) => self.assign(&place, value, ways),
            None => self.written(to, ways),
        }
    }

    /// Forgets what the variable holds that an expression writes to.
    fn written(&mut self, to: &Expr, ways: &mut Ways) {
        match &to.kind {
            ExprKind::Slice(of, ..) | ExprKind::Part(of, _) => self.written(of, ways),
            ExprKind::Index(_, index) => self.read(index, ways),
            _ => {
                if let Some(place) = self.place(to) {
                    ways.iter_mut().for_each(|way| way.forget(&place, &self.zero));
                }
            }
        }
    }

    /// Takes the value of an expression, which was read, as that of a place.
    pub(super) fn assign(&mut self, to: &FieldPath, value: &Expr, ways: &mut Ways) {
        if let Some(from) = self.place(value) {
            let mut headers = Vec::new();
            self.headers_in(&value.ty, Vec::new(), &mut headers);
            let pairs: Vec<(u32, u32)> =
                headers.iter().map(|at| (self.header(&[&from[..], at].concat()), self.header(&[&to[..], at].concat()))).collect();
            for way in ways.iter_mut() {
                let valid: Vec<bool> = pairs.iter().map(|(from, _)| way.is_valid(*from)).collect();
                pairs.iter().zip(valid).for_each(|((_, to), valid)| way.set_valid(*to, valid));
                way.copy(to, &from, &self.zero);
            }
            return;
        }
        self.cleared(to, &value.ty, ways);
        match &value.kind {
            ExprKind::Fields(items) if matches!(value.ty, crate::hir::Type::Struct(..)) => {
                if self.is_header(&value.ty) {
                    let id = self.header(to);
                    ways.iter_mut().for_each(|way| way.set_valid(id, true));
                }
                (0u32..).zip(items).for_each(|(n, item)| self.assign(&[&to[..], &[n]].concat(), item, ways));
            }
            ExprKind::Int(n) => ways.iter_mut().for_each(|way| way.learn(to, n, true, &self.zero)),
            ExprKind::Bool(b) => ways.iter_mut().for_each(|way| way.learn(to, &u8::from(*b).into(), true, &self.zero)),
            ExprKind::Call { callee: Callee::Builtin(Builtin::IsValid, object), .. } => self.validity_into(to, object, ways),
            // A value that is not known: its headers, if it has any, may be valid.
            _ => self.all_valid(to, &value.ty, ways),
        }
    }

    fn all_valid(&mut self, place: &FieldPath, ty: &crate::hir::Type, ways: &mut Ways) {
        let mut headers = Vec::new();
        self.headers_in(ty, place.clone(), &mut headers);
        let ids: Vec<u32> = headers.iter().map(|place| self.header(place)).collect();
        ways.iter_mut().for_each(|way| ids.iter().for_each(|id| way.set_valid(*id, true)));
    }

    fn validity_into(&mut self, to: &FieldPath, object: &Expr, ways: &mut Ways) {
        if let Some(place) = self.place(object).filter(|_| self.is_header(&object.ty)) {
            let id = self.header(&place);
            for way in ways.iter_mut() {
                let valid = way.is_valid(id);
                way.learn(to, &u8::from(valid).into(), true, &self.zero);
            }
        }
    }

    fn call_stmt(&mut self, e: &Expr, mut ways: Ways) -> Ways {
        let ExprKind::Call { callee, args, .. } = &e.kind else { return ways };
        match callee {
            Callee::Table(table) => return self.table(*table, ways).all(),
            Callee::Block(object) => {
                let Some(inst) = self.instance(object).filter(|_| self.depth < DEEP) else { return ways };
                let crate::hir::Type::Block(block) = self.program.instances[inst].ty else { return ways };
                self.bind(&self.program.blocks[block].params, args, &mut ways);
                self.depth += 1;
                ways = self.block(inst, block, ways);
                self.depth -= 1;
            }
            _ => self.read(e, &mut ways),
        }
        ways
    }

    /// Runs a function or action whose parameters are bound.
    pub(super) fn body(&mut self, f: FnId, ways: Ways) -> Ways {
        if self.depth >= DEEP {
            return ways;
        }
        self.depth += 1;
        self.returns.push(Vec::new());
        let breaks = std::mem::take(&mut self.breaks);
        let program = self.program;
        let mut out = self.stmts(&program.functions[f].body, ways);
        out.extend(self.returns.pop().unwrap_or_default());
        self.breaks = breaks;
        self.depth -= 1;
        let function = &program.functions[f];
        let mut locals: Vec<VarId> = function.params.iter().map(|param| param.var).collect();
        locals.extend(function.body.iter().filter_map(super::declared));
        self.drop_locals(&locals, &mut out);
        joined(out)
    }

    pub(super) fn table(&mut self, id: TableId, mut ways: Ways) -> Applied {
        let program = self.program;
        let table = &program.tables[id];
        let before = (self.unsure, self.known_to_keys.clone());
        let tested = table.keys.iter().filter_map(|key| match &key.value.kind {
            ExprKind::Call { callee: Callee::Builtin(Builtin::IsValid, object), .. } => self.place(object),
            _ => None,
        });
        let tested: Vec<FieldPath> = tested.collect();
        self.known_to_keys.extend(tested);
        table.keys.iter().for_each(|key| self.read(&key.value, &mut ways));
        self.unsure |= !table.keys.is_empty();
        let mut each = Vec::new();
        for action in &table.actions {
            each.push(self.table_action(action, table.span, ways.clone()));
        }
        (self.unsure, self.known_to_keys) = before;
        let of = |n: usize| each[n].iter().cloned();
        let hit = match table.keys.is_empty() {
            true => Vec::new(),
            false => (0..each.len()).filter(|n| !table.actions[*n].default_only).flat_map(of).collect(),
        };
        let mut miss: Ways = table.default.as_ref().map_or_else(|| ways.clone(), |(n, _)| of(*n).collect());
        if !table.const_default {
            miss.extend((0..each.len()).filter(|n| !table.actions[*n].table_only).flat_map(of));
        }
        Applied { hit: joined(hit), miss: joined(miss), each }
    }

    fn table_action(&mut self, action: &crate::hir::TableAction, span: frontends::diagnostics::Span, mut ways: Ways) -> Ways {
        let program = self.program;
        let function = &program.functions[action.action];
        ways.iter_mut().for_each(|way| way.pass(Passed::Action(span, function.name.clone())));
        let directed: Vec<_> = function.params.iter().filter(|param| param.dir != Dir::None).cloned().collect();
        self.bind(&directed, &action.args, &mut ways);
        for param in function.params.iter().filter(|param| param.dir == Dir::None) {
            let own = self.own(param.var);
            ways.iter_mut().for_each(|way| way.forget(&own, &self.zero));
            self.bindings.insert(param.var, Some(own));
        }
        self.body(action.action, ways)
    }

    fn switch_action(&mut self, table: TableId, cases: &[(Vec<Option<usize>>, Vec<Stmt>)], ways: Ways) -> Ways {
        let applied = self.table(table, ways);
        let named: HashSet<usize> = cases.iter().flat_map(|(labels, _)| labels.iter().flatten().copied()).collect();
        let mut out = Vec::new();
        for (n, ways) in applied.each.into_iter().enumerate() {
            let own = |labels: &[Option<usize>]| labels.contains(&Some(n)) || !named.contains(&n) && labels.contains(&None);
            match cases.iter().find(|(labels, _)| own(labels)) {
                Some((_, body)) => out.extend(self.stmts(body, ways)),
                None => out.extend(ways),
            }
        }
        joined(out)
    }

    fn switch(&mut self, value: &Expr, cases: &[(Vec<Option<Expr>>, Vec<Stmt>)], mut ways: Ways) -> Ways {
        self.read(value, &mut ways);
        let (mut out, mut others) = (Vec::new(), None);
        for (labels, body) in cases {
            if labels.contains_default() {
                others = Some(body);
            }
            let mut matched = Vec::new();
            for label in labels.iter().flatten() {
                let (yes, rest) = self.matching(std::slice::from_ref(value), std::slice::from_ref(label), ways);
                matched.extend(yes);
                ways = rest;
            }
            if !labels.contains_default() {
                out.extend(self.stmts(body, joined(matched)));
            } else {
                ways.extend(matched);
            }
        }
        out.extend(match others {
            Some(body) => self.stmts(body, ways),
            None => ways,
        });
        joined(out)
    }

    fn for_loop(&mut self, init: &[Stmt], condition: &Expr, update: &[Stmt], body: &[Stmt], ways: Ways) -> Ways {
        let (mut ways, mut out) = (self.stmts(init, ways), Vec::new());
        for _ in 0..3 {
            let (holds, not) = self.condition(condition, ways);
            out.extend(not);
            self.breaks.push(Vec::new());
            let mut after = self.stmts(body, holds);
            after.extend(self.breaks.pop().unwrap_or_default());
            ways = self.stmts(update, joined(after));
        }
        out.extend(ways);
        joined(out)
    }

    /// A loop whose variable is not known: no round, one, or two.
    fn rounds(&mut self, var: VarId, body: &[Stmt], mut ways: Ways) -> Ways {
        let own = self.own(var);
        self.bindings.insert(var, Some(own.clone()));
        for _ in 0..2 {
            self.breaks.push(Vec::new());
            let mut round = ways.clone();
            round.iter_mut().for_each(|way| way.forget(&own, &self.zero));
            let mut after = self.stmts(body, round);
            after.extend(self.breaks.pop().unwrap_or_default());
            ways.extend(after);
            ways = joined(ways);
        }
        ways
    }
}

trait Labels {
    fn contains_default(&self) -> bool;
}

impl Labels for Vec<Option<Expr>> {
    fn contains_default(&self) -> bool {
        self.iter().any(Option::is_none)
    }
}
