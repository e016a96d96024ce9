//! Functions and handlers, and what is wrong with the whole of them.

use super::{Checker, Current, Scope, Symbol};
use crate::c::ast;
use crate::c::similar;
use crate::c::tree::HANDLERS;
use crate::c::tree::{self, Function, Local};
use crate::c::types::{INT, Type};
use crate::diagnostics::{Diagnostic, Span};
use std::sync::Arc;

impl Checker<'_> {
    /// A function and its body.
    pub(super) fn function(&mut self, written: &ast::Function) {
        let result = self.base(&written.result);
        let result = (0..written.pointers).fold(result, |ty, _| Type::pointer(ty, written.result.constant));
        let result =
            if matches!(result, Type::Text) { self.wrong_type(written.name.span, "a function cannot return a string") } else { result };
        let handler = HANDLERS.iter().position(|name| *name == &*written.name.text).filter(|_| !written.is_static);
        self.function_name(written, handler);
        self.scopes.push(Scope::new());
        let locals = self.parameters(&written.params);
        let id = self.enter_function(written, result, &locals);
        if let (Some(body), Some(id)) = (&written.body, id) {
            self.body(id, written, locals, body, handler);
        }
        self.scopes.pop();
    }

    fn function_name(&mut self, written: &ast::Function, handler: Option<usize>) {
        let name = &written.name;
        if !written.is_static && handler.is_none() {
            let (message, help) = match &written.body {
                Some(body) if ast::end_handlers(body) => {
                    ("is not a handler, and only those end with `emit` or `drop`", "return what the handler needs to know, and end there")
                }
                _ => ("is not a handler, and other functions are static", "write `static`"),
            };
            let fault = Diagnostic::new(name.span, format!("`{}` {message}", name.text)).help(help);
            self.faults.add(similar(fault, &name.text, HANDLERS.into_iter(), ""));
        }
    }

    fn parameters(&mut self, params: &[(ast::Base, ast::Declarator)]) -> Vec<Local> {
        let mut locals: Vec<Local> = Vec::new();
        for (n, (base, declarator)) in params.iter().enumerate() {
            let ty = self.base(base);
            let ty = match self.declared(ty, declarator, Some(1)) {
                Type::Array(of, _) => Type::pointer(of, base.constant),
                Type::Void => self.wrong_type(declarator.span, "a parameter cannot be void"),
                other => other,
            };
            // `const u32 list[]` is a pointer that may be assigned to.
            let constant = declarator.is_constant() && declarator.dimensions.is_empty();
            let (name, span) = declarator.name.as_ref().map_or(("".into(), declarator.span), |name| (Arc::clone(&name.text), name.span));
            if let Some(name) = &declarator.name {
                self.declare(name, Symbol::Local(n));
            }
            locals.push(Local { name, ty, span, constant });
        }
        locals
    }

    /// The number of a function: a new one, or that of its prototype.
    fn enter_function(&mut self, written: &ast::Function, result: Type, locals: &[Local]) -> Option<usize> {
        let name = &written.name;
        let types = |locals: &[Local]| locals.iter().map(|local| local.ty.clone()).collect::<Vec<_>>();
        if let Some((Symbol::Function(id), before)) = self.scopes[0].get(&name.text).cloned() {
            let known = &self.program.functions[id];
            let same = known.result == result && types(&known.locals[..known.params]) == types(locals);
            let message = match (known.body.is_some() && written.body.is_some(), same) {
                (true, _) => "is defined twice",
                (_, false) => "is declared with other types",
                _ => return Some(id),
            };
            let fault = Diagnostic::new(name.span, format!("the function `{}` {message}", name.text));
            self.faults.add(fault.note(before, "declared here"));
            return None;
        }
        let id = self.program.functions.len();
        let inner = self.scopes.split_off(1);
        self.declare(name, Symbol::Function(id));
        self.scopes.extend(inner);
        let (name, span, params, end) = (Arc::clone(&name.text), name.span, locals.len(), written.end);
        let function = Function { name, span, result, params, locals: locals.to_vec(), body: None, calls: Vec::new(), end };
        self.program.functions.push(function);
        Some(id)
    }

    fn body(&mut self, id: usize, written: &ast::Function, locals: Vec<Local>, body: &[ast::Stmt], handler: Option<usize>) {
        let mut function = self.program.functions[id].clone();
        (function.locals, function.end, function.span) = (locals, written.end, written.name.span);
        if let Some(handler) = handler {
            self.handler(handler, id, written, &function);
        }
        if handler == Some(tree::PULL) {
            // So that `emit(port)` is the output that was asked.
            function.locals.iter_mut().for_each(|port| port.constant = true);
        }
        // What is not static is meant as a handler, whatever its name: its ends are not told as
        // well.
        let meant = handler.or_else(|| (!written.is_static).then_some(tree::PACKET));
        self.current = Some(Current { function, handler: meant, switches: Vec::new(), loops: 0, breakable: 0 });
        // Parameters are in the scope of the outermost block.
        let statements = self.statements(body);
        let Some(mut current) = self.current.take() else { return };
        let wants = handler.is_none() && written.is_closed && current.function.result != Type::Void;
        if wants && !ends(&statements) && !current.function.result.is_error() {
            let fault = Diagnostic::new(written.end, format!("`{}` ends without a value", written.name.text));
            self.faults.add(fault.note(written.name.span, "it has a result").help("write `return` before this"));
        }
        current.function.body = Some(statements);
        self.program.functions[id] = current.function;
    }

    fn handler(&mut self, handler: usize, id: usize, written: &ast::Function, function: &Function) {
        self.program.handlers[handler] = Some(id);
        let wants: &[Type] = if handler == tree::INIT { &[] } else { &[INT] };
        let types: Vec<Type> = function.locals[..function.params].iter().map(|local| local.ty.clone()).collect();
        if function.result != Type::Void || types != wants {
            let help =
                ["void init(void)", "void packet(int port)", "void push(int port)", "void timer(int n)", "void pull(int port)"][handler];
            self.fault_help(written.name.span, format!("the handler `{}` has other types", written.name.text), format!("write `{help}`"));
        }
    }

    /// What is wrong with the whole.
    pub(super) fn finish(&mut self) {
        if self.element.is_none() && self.faults.is_empty() {
            let help = "write `ELEMENT(Name, \"1/1\", \"a/a\");`";
            self.fault_help(Span::default(), "the file declares no element class", help);
        }
        let runs = [tree::PACKET, tree::PUSH, tree::TIMER, tree::PULL].iter().any(|n| self.program.handlers[*n].is_some());
        // What has no ports may be there for its tables, or for what others read of its arguments.
        let keeps = self.program.class.ports == "0/0";
        if !runs && !keeps && self.program.controls.is_empty() && self.faults.is_empty() {
            let span = self.element.unwrap_or_default();
            self.fault_help(span, "the class has no handler", "write `void packet(int port) { ... }`, or push, pull or timer");
        }
        if let (Some(packet), Some(push)) = (self.program.handlers[tree::PACKET], self.program.handlers[tree::PUSH]) {
            let span = |id: usize| self.program.functions[id].span;
            let fault = Diagnostic::new(span(push), "a class has either `packet` or `push`").note(span(packet), "the other one is here");
            self.faults.add(fault);
        }
        self.undefined();
        self.recursion();
    }

    fn undefined(&mut self) {
        let calls = self.program.functions.iter().flat_map(|function| &function.calls);
        let missing: Vec<(usize, Span)> = calls.filter(|(id, _)| self.program.functions[*id].body.is_none()).copied().collect();
        for (id, span) in missing {
            let function = &self.program.functions[id];
            let fault = Diagnostic::new(span, format!("the function `{}` has no body", function.name)).note(function.span, "declared here");
            self.faults.add(fault);
        }
    }

    /// Functions that call themselves, by whatever way.
    fn recursion(&mut self) {
        let mut state = vec![0u8; self.program.functions.len()];
        for start in 0..state.len() {
            if state[start] != 0 {
                continue;
            }
            let mut path: Vec<(usize, usize)> = vec![(start, 0)];
            state[start] = 1;
            while let Some((id, next)) = path.last_mut() {
                let Some((callee, span)) = self.program.functions[*id].calls.get(*next).copied() else {
                    state[*id] = 2;
                    path.pop();
                    continue;
                };
                *next += 1;
                match state[callee] {
                    0 => {
                        state[callee] = 1;
                        path.push((callee, 0));
                    }
                    1 => {
                        let fault = self.circle(&path, callee, span);
                        self.faults.add(fault);
                    }
                    _ => {}
                }
            }
        }
    }

    fn circle(&self, path: &[(usize, usize)], callee: usize, span: Span) -> Diagnostic {
        let function = &self.program.functions[callee];
        let mut fault = Diagnostic::new(span, format!("`{}` calls itself, and functions cannot recurse", function.name));
        let from = path.iter().position(|(id, _)| *id == callee).unwrap_or(0);
        for (id, next) in &path[from..path.len().saturating_sub(1)] {
            if let Some((_, via)) = self.program.functions[*id].calls.get(next.saturating_sub(1)) {
                fault = fault.note(*via, "by way of this call");
            }
        }
        fault.help("write a loop")
    }
}

/// Control does not come to the end of the statements, as far as their form shows.
fn ends(statements: &[tree::Stmt]) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        tree::StmtKind::Return(_) => true,
        tree::StmtKind::Block(inner) => ends(inner),
        tree::StmtKind::If(_, then, Some(otherwise)) => ends(std::slice::from_ref(then)) && ends(std::slice::from_ref(otherwise)),
        tree::StmtKind::Switch(_, cases, body) => cases.iter().any(|case| case.value.is_none()) && ends(body) && !breaks(body),
        tree::StmtKind::While(condition, body) => is_true(condition) && !breaks(std::slice::from_ref(body)),
        tree::StmtKind::For(_, None, _, body) => !breaks(std::slice::from_ref(body)),
        tree::StmtKind::Do(body, _) => ends(std::slice::from_ref(body)),
        _ => false,
    })
}

fn is_true(condition: &tree::Expr) -> bool {
    crate::c::fold::fold(condition, &crate::c::fold::Nothing).is_some_and(|value| value != 0)
}

/// A `break` leads out of the statements.
fn breaks(statements: &[tree::Stmt]) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        tree::StmtKind::Break => true,
        tree::StmtKind::Block(inner) => breaks(inner),
        tree::StmtKind::If(_, then, otherwise) => {
            breaks(std::slice::from_ref(then)) || otherwise.as_ref().is_some_and(|otherwise| breaks(std::slice::from_ref(otherwise)))
        }
        _ => false,
    })
}
