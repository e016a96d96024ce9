//! Statements.

use super::{Checker, Scope, Symbol};
use crate::c::ast::{self, ExprKind, Name, Storage};
use crate::c::tree::{Case, Expr, Init, Kind, Stmt, StmtKind, meaning};
use crate::c::types::{INT, Type};
use crate::diagnostics::{Diagnostic, Span};
use std::sync::Arc;

impl Checker<'_> {
    /// Statements in a scope of their own.
    pub(super) fn block(&mut self, list: &[ast::Stmt]) -> Vec<Stmt> {
        self.scopes.push(Scope::new());
        let out = self.statements(list);
        self.scopes.pop();
        out
    }

    pub(super) fn statements(&mut self, list: &[ast::Stmt]) -> Vec<Stmt> {
        let mut out = Vec::new();
        for statement in list {
            self.statement(statement, &mut out);
        }
        out
    }

    fn one(&mut self, statement: &ast::Stmt) -> Box<Stmt> {
        let list = self.block(std::slice::from_ref(statement));
        Box::new(Stmt { kind: StmtKind::Block(list), span: statement.span })
    }

    fn statement(&mut self, s: &ast::Stmt, out: &mut Vec<Stmt>) {
        let kind = match &s.kind {
            ast::StmtKind::Declare(declaration) => return self.locals(declaration, out),
            ast::StmtKind::Assert(condition, text) => return self.assertion(condition, text.as_deref()),
            ast::StmtKind::Expr(e) => self.effect(e),
            ast::StmtKind::Block(list) => StmtKind::Block(self.block(list)),
            ast::StmtKind::If(condition, then, otherwise) => {
                let condition = self.condition(condition);
                StmtKind::If(condition, self.one(then), otherwise.as_ref().map(|otherwise| self.one(otherwise)))
            }
            ast::StmtKind::While(condition, body) => {
                let condition = self.condition(condition);
                StmtKind::While(condition, self.looped(body))
            }
            ast::StmtKind::Do(body, condition) => {
                let body = self.looped(body);
                StmtKind::Do(body, self.condition(condition))
            }
            ast::StmtKind::For(init, condition, step, body) => {
                self.scopes.push(Scope::new());
                let kind = self.for_loop(init.as_deref(), condition.as_ref(), step.as_ref(), body);
                self.scopes.pop();
                kind
            }
            ast::StmtKind::Switch(value, body) => self.switch(value, body),
            ast::StmtKind::Case(value) => self.case(Some(value), s.span),
            ast::StmtKind::Default => self.case(None, s.span),
            ast::StmtKind::Break => self.jump(s.span, true),
            ast::StmtKind::Continue => self.jump(s.span, false),
            ast::StmtKind::Return(value) => self.result(value.as_ref(), s.span),
            ast::StmtKind::Empty => StmtKind::Empty,
        };
        out.push(Stmt { kind, span: s.span });
    }

    pub(super) fn condition(&mut self, e: &ast::Expr) -> Expr {
        let value = self.expr(e);
        self.truth(value)
    }

    fn looped(&mut self, body: &ast::Stmt) -> Box<Stmt> {
        self.inside(1, 1);
        let body = self.one(body);
        self.inside(-1, -1);
        body
    }

    fn inside(&mut self, loops: i32, breakable: i32) {
        if let Some(current) = &mut self.current {
            current.loops = current.loops.wrapping_add_signed(loops);
            current.breakable = current.breakable.wrapping_add_signed(breakable);
        }
    }

    fn for_loop(
        &mut self,
        init: Option<&ast::Stmt>,
        condition: Option<&ast::Expr>,
        step: Option<&ast::Expr>,
        body: &ast::Stmt,
    ) -> StmtKind {
        let init = init.map(|init| {
            let mut list = Vec::new();
            self.statement(init, &mut list);
            Box::new(Stmt { kind: StmtKind::Block(list), span: init.span })
        });
        let condition = condition.map(|condition| self.condition(condition));
        let step = step.map(|step| self.expr(step));
        StmtKind::For(init, condition, step, self.looped(body))
    }

    fn jump(&mut self, span: Span, is_break: bool) -> StmtKind {
        let around = self.current.as_ref().map_or(0, |current| if is_break { current.breakable } else { current.loops });
        if around == 0 {
            let (word, where_) = if is_break { ("break", "a loop or a switch") } else { ("continue", "a loop") };
            self.fault(span, format!("`{word}` stands only in {where_}"));
        }
        if is_break { StmtKind::Break } else { StmtKind::Continue }
    }

    /// An expression for its effect; the ends of handlers.
    fn effect(&mut self, e: &ast::Expr) -> StmtKind {
        if let ExprKind::Call(callee, args) = &e.kind
            && let ExprKind::Name(name) = &callee.kind
            && let "emit" | "drop" = &*name.text
            && self.lookup(&name.text).is_none()
        {
            return self.end(name, args, e.span);
        }
        StmtKind::Expr(self.expr(e))
    }

    fn end(&mut self, name: &Name, args: &[ast::Arg], span: Span) -> StmtKind {
        if let Some(current) = self.current.as_ref().filter(|current| current.handler.is_none_or(|handler| handler == crate::c::tree::INIT))
        {
            let declared = current.function.span;
            let fault = Diagnostic::new(span, format!("`{}` stands only in handlers of packets and timers", name.text));
            let fault = fault.note(declared, "this is another function");
            self.faults.add(fault.help("return what the handler needs to know, and end there"));
        }
        match (args, &*name.text) {
            ([ast::Arg::Expr(port)], "emit") => self.emit(port),
            ([ast::Arg::Expr(ast::Expr { kind: ExprKind::Name(reason), .. })], "drop") => self.drop(reason),
            (_, "emit") => {
                self.fault(span, "`emit` takes the number of an output");
                StmtKind::Empty
            }
            _ => {
                self.fault_help(span, "`drop` takes the name of an enumerator: it is the reason", "declare `enum { REASON };`");
                StmtKind::Empty
            }
        }
    }

    fn emit(&mut self, port: &ast::Expr) -> StmtKind {
        let value = self.expr(port);
        let value = self.convert(value, &INT, "an output");
        if let Kind::Number(n) = value.kind {
            self.output_exists(meaning(&INT, n), port.span);
        }
        StmtKind::Emit(value)
    }

    /// The class can have an output of that number.
    pub(super) fn output_exists(&mut self, n: i128, span: Span) {
        let outputs = self.program.class.ports.split_once('/').map_or("", |(_, outputs)| outputs);
        let most = outputs.rsplit('-').next().unwrap_or("").parse::<i128>().ok();
        let Some(most) = most.filter(|most| n >= *most || n < 0) else { return };
        let fault = Diagnostic::new(span, format!("there is no output {n}"));
        let what = match most {
            0 => "the class has no outputs".to_owned(),
            1 => "the class has one output, 0".to_owned(),
            most => format!("the class has outputs 0 to {}", most - 1),
        };
        self.faults.add(fault.note(self.element.unwrap_or(span), what));
    }

    fn drop(&mut self, reason: &Name) -> StmtKind {
        match self.lookup(&reason.text).map(|(symbol, _)| symbol.clone()) {
            Some(Symbol::Constant(_)) => return StmtKind::Drop(Arc::clone(&reason.text)),
            None if self.faults.is_unread(&reason.text) => {}
            None if self.declared_later(reason, "reason").is_some() => self.unknown(reason, "reason"),
            None => self.fault_help(
                reason.span,
                format!("there is no reason `{}`", reason.text),
                format!("declare it: enum {{ {} }};", reason.text),
            ),
            Some(_) => self.fault_help(reason.span, format!("`{}` is no enumerator", reason.text), "declare reasons as `enum { REASON };`"),
        }
        StmtKind::Empty
    }

    fn switch(&mut self, value: &ast::Expr, body: &ast::Stmt) -> StmtKind {
        let value = self.expr(value);
        let value = self.arithmetic(value, "switch");
        let list = if let ast::StmtKind::Block(list) = &body.kind { &list[..] } else { std::slice::from_ref(body) };
        let Some(current) = &mut self.current else { return StmtKind::Empty };
        current.switches.push((value.ty.clone(), Vec::new()));
        current.breakable += 1;
        self.before_cases(list);
        let mut body = self.block(list);
        let cases = self.current.as_mut().and_then(|current| {
            current.breakable -= 1;
            current.switches.pop()
        });
        // Variables before the first case are there in all of them, though control does not come
        // by.
        let declared = body.iter().take_while(|statement| matches!(statement.kind, StmtKind::Declare(..))).count();
        let rest = body.split_off(declared);
        let (span, cases) = (value.span, cases.map_or_else(Vec::new, |(_, cases)| cases));
        body.push(Stmt { kind: StmtKind::Switch(value, cases, rest), span });
        StmtKind::Block(body)
    }

    /// What stands before the first case of a switch: variables without a value.
    fn before_cases(&mut self, list: &[ast::Stmt]) {
        for statement in list {
            match &statement.kind {
                ast::StmtKind::Case(_) | ast::StmtKind::Default => return,
                ast::StmtKind::Assert(..) | ast::StmtKind::Empty => {}
                ast::StmtKind::Declare(declaration) => {
                    let value = |declarator: &&ast::Declarator| declarator.init.is_some() && declaration.storage == Storage::None;
                    if let Some(declarator) = declaration.declarators.iter().find(value) {
                        let message = "nothing leads here: a variable before the first `case` never gets its value";
                        self.fault_help(declarator.span, message, "declare it before the switch, or assign it behind a `case`");
                    }
                }
                _ => return self.fault(statement.span, "nothing leads here: a switch begins with `case` or `default`"),
            }
        }
    }

    fn case(&mut self, value: Option<&ast::Expr>, span: Span) -> StmtKind {
        let number = value.map(|value| self.constant(value, "a case"));
        if number == Some(None) {
            return StmtKind::Empty;
        }
        let Some((ty, cases)) = self.current.as_mut().and_then(|current| current.switches.last_mut()) else {
            self.fault(span, "`case` and `default` stand only in a switch");
            return StmtKind::Empty;
        };
        let value = number.flatten().map(|(value, from)| crate::c::fold::convert(&from, ty, value));
        let before = cases.iter().find(|case| case.value == value).map(|case| case.span);
        cases.push(Case { value, span });
        let index = cases.len() - 1;
        if let Some(before) = before {
            self.faults.add(Diagnostic::new(span, "this case stands twice").note(before, "it stands here already"));
        }
        StmtKind::Case(index)
    }

    fn result(&mut self, value: Option<&ast::Expr>, span: Span) -> StmtKind {
        let wants = self.current.as_ref().map_or(Type::Error, |current| current.function.result.clone());
        let declared = self.current.as_ref().map_or(span, |current| current.function.span);
        let Some(value) = value else {
            if wants != Type::Void && !wants.is_error() {
                let fault = Diagnostic::new(span, format!("a value of type {wants} must be returned here"));
                self.faults.add(fault.note(declared, "the function has a result"));
            }
            return StmtKind::Return(None);
        };
        let value = self.expr(value);
        if wants == Type::Void {
            if value.ty != Type::Void && !value.ty.is_error() {
                let fault = Diagnostic::new(span, "a value is returned from a function that has none");
                self.faults.add(fault.note(declared, "declared as void"));
            }
            return StmtKind::Return(None);
        }
        StmtKind::Return(Some(self.convert(value, &wants, "the result")))
    }

    fn locals(&mut self, declaration: &ast::Declaration, out: &mut Vec<Stmt>) {
        if self.announced(declaration) {
            return;
        }
        let base = self.base(&declaration.base);
        for declarator in &declaration.declarators {
            let Some(name) = &declarator.name else { continue };
            let length = self.length_of(declarator);
            let ty = self.declared(base.clone(), declarator, length);
            match declaration.storage {
                Storage::Typedef => self.declare(name, Symbol::Typedef(ty)),
                Storage::Static => self.static_variable(name, ty, declaration.base.constant, declarator),
                Storage::None => {
                    let statement = self.local(name, ty, declarator.is_constant(), declarator.init.as_ref());
                    out.push(statement);
                }
            }
        }
    }

    fn local(&mut self, name: &Name, ty: Type, constant: bool, init: Option<&ast::Init>) -> Stmt {
        let mut ty = match ty {
            Type::Void | Type::Text => self.wrong_type(name.span, "a variable cannot have this type"),
            other => other,
        };
        // C has the name known in its own initial value; here it would be read before it is
        // written.
        let init = match init {
            None => Init::None,
            Some(ast::Init::Value(value)) if !matches!(ty, Type::Array(..)) => {
                let value = self.expr(value);
                let given = value.ty.clone();
                let value = self.convert(value, &ty, "this variable");
                // Where a pointer was meant, uses of the variable are not wrong as well.
                if value.ty.is_error() && matches!(given, Type::Pointer(_)) && !matches!(ty, Type::Pointer(_)) {
                    ty = Type::Error;
                }
                Init::Value(value)
            }
            Some(init) => Init::Parts(self.parts(&ty, init)),
        };
        let id = self.new_local(Arc::clone(&name.text), ty, name.span, constant);
        self.declare(name, Symbol::Local(id));
        Stmt { kind: StmtKind::Declare(id, init), span: name.span }
    }
}
