//! Statements.

use super::{Checked, Checker, Context, fault};
use crate::ast::{self, DeclKind, ExprKind as Ast, StmtKind as In};
use crate::hir::{Expr, ExprKind, Stmt, StmtKind, Type};
use frontends::diagnostics::Span;

impl Checker {
    /// The body of a function or action.
    pub(super) fn body(&mut self, block: &ast::Block, context: Context) -> Vec<Stmt> {
        let before = std::mem::replace(&mut self.context, context);
        let body = self.scoped(|c| c.stmts(&block.stmts));
        self.context = before;
        body
    }

    pub(super) fn stmts(&mut self, stmts: &[ast::Stmt]) -> Vec<Stmt> {
        let mut out = Vec::new();
        for stmt in stmts {
            let result = self.stmt(stmt);
            out.extend(self.told(result).flatten());
        }
        out
    }

    fn inner(&mut self, stmt: &ast::Stmt) -> Vec<Stmt> {
        self.scoped(|c| c.stmts(std::slice::from_ref(stmt)))
    }

    fn stmt(&mut self, stmt: &ast::Stmt) -> Checked<Option<Stmt>> {
        let span = stmt.span;
        let kind = match &stmt.kind {
            In::Empty => return Ok(None),
            In::Decl(decl) => return self.local(decl),
            In::Assign(op, left, right) => self.assign(*op, left, right, span)?,
            In::Call(call) => {
                let call = self.expr(call)?;
                if !matches!(call.kind, ExprKind::Call { .. }) && call.ty != Type::Any && call.ty != Type::Bool {
                    return fault(span, "this has no effect");
                }
                StmtKind::Call(call)
            }
            In::If(condition, yes, no) => {
                let condition = self.expr_as(condition, &Type::Bool)?;
                let yes = self.inner(yes);
                let no = no.as_ref().map_or(Vec::new(), |no| self.inner(no));
                StmtKind::If(condition, yes, no)
            }
            In::Block(block) => StmtKind::Block(self.scoped(|c| c.stmts(&block.stmts))),
            In::Return(value) => self.ret(value.as_ref(), span)?,
            In::Exit if self.context.in_parser => return fault(span, "`exit` is not for parsers"),
            In::Exit => StmtKind::Exit,
            In::Switch(value, cases) => self.switch(value, cases)?,
            In::For { init, condition, update, body } => {
                self.context.loops += 1;
                let result = self.scoped(|c| -> Checked<_> {
                    let init = c.stmts(init);
                    let condition = c.expr_as(condition, &Type::Bool)?;
                    let update = c.stmts(update);
                    Ok(StmtKind::For { init, condition, update, body: c.inner(body) })
                });
                self.context.loops -= 1;
                result?
            }
            In::ForIn { decl, name, range, body } => self.for_in(decl, name, range, body)?,
            In::Break | In::Continue if self.context.loops == 0 => return fault(span, "this is for loops only"),
            In::Break => StmtKind::Break,
            In::Continue => StmtKind::Continue,
        };
        Ok(Some(Stmt { kind, span }))
    }

    pub(super) fn local(&mut self, decl: &ast::Decl) -> Checked<Option<Stmt>> {
        let span = decl.span;
        match &decl.kind {
            DeclKind::Var { ty, name, value } => {
                let made = self.variable(ty, value.as_ref());
                let (ty, value) = match made {
                    Ok(made) => made,
                    Err(why) => {
                        self.declare_var(name, Type::Any, true)?;
                        return Err(why);
                    }
                };
                let var = self.declare_var(name, ty, true)?;
                Ok(Some(Stmt { kind: StmtKind::Var(var, value), span }))
            }
            DeclKind::Instance { .. } if self.context.in_action || self.context.result.is_some() => {
                fault(span, "instances are declared in parsers and controls, and not in what they do")
            }
            _ => {
                self.one(decl)?;
                Ok(None)
            }
        }
    }

    fn variable(&mut self, ty: &ast::Ty, value: Option<&ast::Expr>) -> Checked<(Type, Option<Expr>)> {
        let checked = self.ty(ty)?;
        if matches!(
            checked,
            Type::Void | Type::Integer | Type::Extern(..) | Type::Arch(..) | Type::Block(_) | Type::Str | Type::MatchKind | Type::List(_)
        ) {
            return fault(ty.span, format!("a variable of {} is not possible", self.show(&checked)));
        }
        let value = value.map(|v| self.expr_as(v, &checked)).transpose()?;
        Ok((checked, value))
    }

    fn assign(&mut self, op: Option<ast::BinOp>, left: &ast::Expr, right: &ast::Expr, span: Span) -> Checked<StmtKind> {
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        self.lvalue(&left)?;
        let Some(op) = op else {
            let right = self.coerce(right, &left.ty)?;
            return Ok(StmtKind::Assign(left, right));
        };
        let whole = self.binary(op, left.clone(), right, span)?;
        if whole.ty != left.ty {
            return fault(span, format!("this is {}, and {} is wanted", self.show(&whole.ty), self.show(&left.ty)));
        }
        match whole.kind {
            ExprKind::Binary(_, _, right) => Ok(StmtKind::Update(op, left, *right)),
            _ => fault(span, "this has no effect"),
        }
    }

    fn ret(&mut self, value: Option<&ast::Expr>, span: Span) -> Checked<StmtKind> {
        if self.context.in_parser {
            return fault(span, "`return` is not for parsers");
        }
        match (value, self.context.result.clone()) {
            (None, None | Some(Type::Void)) => Ok(StmtKind::Return(None)),
            (None, Some(ty)) => fault(span, format!("a value of {} is wanted", self.show(&ty))),
            (Some(_), None | Some(Type::Void)) => fault(span, "no value is returned here"),
            (Some(value), Some(ty)) => {
                let value = self.expr_as(value, &ty)?;
                if matches!(ty, Type::Param(_)) && !matches!(value.ty, Type::Any | Type::Nothing) && value.ty != ty {
                    return fault(value.span, format!("this is {}, and {} is wanted", self.show(&value.ty), self.show(&ty)));
                }
                Ok(StmtKind::Return(Some(value)))
            }
        }
    }

    fn switch(&mut self, value: &ast::Expr, cases: &[(ast::Expr, Option<ast::Block>)]) -> Checked<StmtKind> {
        let value = self.expr(value)?;
        let default = cases.iter().position(|(l, _)| matches!(l.kind, Ast::Default));
        if let Some(at) = default
            && at + 1 < cases.len()
        {
            return fault(cases[at].0.span, "`default` stands last");
        }
        if let Type::ActionRun(table) = value.ty {
            return self.switch_action(table, cases);
        }
        let comparable = matches!(
            self.program.underlying(&value.ty),
            Type::Bit(_) | Type::Int(_) | Type::Enum(_) | Type::Error | Type::Bool | Type::Any | Type::Integer
        );
        if !comparable {
            return fault(value.span, format!("there is no switch over {}", self.show(&value.ty)));
        }
        let mut out: Vec<(Vec<Option<Expr>>, Vec<Stmt>)> = Vec::new();
        let mut labels: Vec<Option<Expr>> = Vec::new();
        let mut seen = Vec::new();
        for (label, body) in cases {
            labels.push(match label.kind {
                Ast::Default => None,
                _ => {
                    let checked = self.expr_as(label, &value.ty)?;
                    let ExprKind::Int(n) = &checked.kind else {
                        if matches!(checked.kind, ExprKind::Bool(_)) || checked.ty == Type::Any {
                            labels.push(Some(checked));
                            continue;
                        }
                        return fault(label.span, "a label is known when the program is compiled");
                    };
                    if seen.contains(n) {
                        return fault(label.span, "this label stands here twice");
                    }
                    seen.push(n.clone());
                    Some(checked)
                }
            });
            if let Some(body) = body {
                let body = self.scoped(|c| c.stmts(&body.stmts));
                out.push((std::mem::take(&mut labels), body));
            }
        }
        Ok(StmtKind::Switch(value, out))
    }

    fn switch_action(&mut self, table: usize, cases: &[(ast::Expr, Option<ast::Block>)]) -> Checked<StmtKind> {
        let (mut out, mut labels, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for (label, body) in cases {
            labels.push(match &label.kind {
                Ast::Default => None,
                Ast::Name(_, name) => {
                    let actions = &self.program.tables[table].actions;
                    let at = actions.iter().position(|a| self.program.functions[a.action].name == *name);
                    let Some(at) = at else { return fault(label.span, format!("the table has no action `{name}`")) };
                    if seen.contains(&at) {
                        return fault(label.span, "this label stands here twice");
                    }
                    seen.push(at);
                    Some(at)
                }
                _ => return fault(label.span, "a label is the name of an action"),
            });
            if let Some(body) = body {
                let body = self.scoped(|c| c.stmts(&body.stmts));
                out.push((std::mem::take(&mut labels), body));
            }
        }
        Ok(StmtKind::SwitchAction(table, out))
    }

    fn for_in(&mut self, decl: &ast::Ty, name: &ast::Ident, range: &ast::Expr, body: &ast::Stmt) -> Checked<StmtKind> {
        self.context.loops += 1;
        let result = self.scoped(|c| -> Checked<StmtKind> {
            let ty = c.ty(decl)?;
            let var = c.declare_var(name, ty.clone(), true)?;
            if let Ast::Range(low, high) = &range.kind {
                let (low, high) = (c.expr_as(low, &ty)?, c.expr_as(high, &ty)?);
                return Ok(StmtKind::ForRange { var, low, high, body: c.inner(body) });
            }
            let items = c.expr(range)?;
            let fits = match &items.ty {
                Type::Stack(of, _) | Type::List(of) => **of == ty,
                Type::Tuple(all) => all.iter().all(|t| c.converts(t, &ty)),
                _ => false,
            };
            if !fits {
                return fault(range.span, format!("{} has no elements of {}", c.show(&items.ty), c.show(&ty)));
            }
            let items = match items.ty.clone() {
                Type::Tuple(_) => c.coerce(items, &Type::List(std::rc::Rc::new(ty)))?,
                _ => items,
            };
            Ok(StmtKind::ForIn { var, items, body: c.inner(body) })
        });
        self.context.loops -= 1;
        result
    }
}
