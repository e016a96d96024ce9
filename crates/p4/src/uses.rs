//! What a body applies and calls, in the order of the text.

use crate::hir::{Callee, Expr, ExprKind, FnId, Stmt, StmtKind, TableId, Type};

/// What a body applies and calls.
#[derive(Default)]
pub(crate) struct Uses {
    pub tables: Vec<TableId>,
    /// Functions that are called, with their type arguments and the type of the last argument.
    pub functions: Vec<(FnId, Option<Type>)>,
    /// Parsers and controls that are applied.
    pub blocks: Vec<Expr>,
}

impl Uses {
    fn table(&mut self, table: TableId) {
        if !self.tables.contains(&table) {
            self.tables.push(table);
        }
    }

    pub fn stmts(&mut self, all: &[Stmt]) {
        all.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Var(_, value) | StmtKind::Return(value) => value.iter().for_each(|e| self.expr(e)),
            StmtKind::Assign(to, value) | StmtKind::Update(_, to, value) => [to, value].into_iter().for_each(|e| self.expr(e)),
            StmtKind::Call(e) => self.expr(e),
            StmtKind::If(condition, yes, no) => {
                self.expr(condition);
                self.stmts(yes);
                self.stmts(no);
            }
            StmtKind::Block(inner) => self.stmts(inner),
            StmtKind::SwitchAction(table, cases) => {
                self.table(*table);
                cases.iter().for_each(|(_, body)| self.stmts(body));
            }
            StmtKind::Switch(value, cases) => {
                self.expr(value);
                cases.iter().for_each(|(_, body)| self.stmts(body));
            }
            StmtKind::For { init, condition, update, body } => {
                self.stmts(init);
                self.expr(condition);
                self.stmts(update);
                self.stmts(body);
            }
            StmtKind::ForRange { low, high, body, .. } => {
                [low, high].into_iter().for_each(|e| self.expr(e));
                self.stmts(body);
            }
            StmtKind::ForIn { items, body, .. } => {
                self.expr(items);
                self.stmts(body);
            }
            StmtKind::Exit | StmtKind::Break | StmtKind::Continue => {}
        }
    }

    pub fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Hit(table, _) => self.table(*table),
            ExprKind::Call { callee, args, .. } => {
                self.callee(callee, args);
                args.iter().flatten().for_each(|arg| self.expr(arg));
            }
            ExprKind::Member(a, _)
            | ExprKind::Next(a)
            | ExprKind::Last(a)
            | ExprKind::LastIndex(a)
            | ExprKind::Slice(a, ..)
            | ExprKind::Unary(_, a)
            | ExprKind::Cast(a) => self.expr(a),
            ExprKind::Index(a, b) | ExprKind::Part(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Mask(a, b) | ExprKind::Range(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Ternary(a, b, c) => [a, b, c].into_iter().for_each(|e| self.expr(e)),
            ExprKind::Fields(all) => all.iter().for_each(|e| self.expr(e)),
            _ => {}
        }
    }

    fn callee(&mut self, callee: &Callee, args: &[Option<Expr>]) {
        match callee {
            Callee::Function(f) => self.functions.push((*f, args.last().cloned().flatten().map(|e| e.ty))),
            Callee::Table(table) => self.table(*table),
            Callee::Block(e) => self.blocks.push((**e).clone()),
            Callee::Method(object, _) | Callee::Builtin(_, object) => self.expr(object),
            Callee::Construct(_) => {}
        }
    }
}
