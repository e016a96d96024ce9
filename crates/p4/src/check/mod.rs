//! The syntax tree to the checked program: names, types, directions, constants.
//!
//! Declarations are checked in the order of the text. A statement or declaration that is wrong is
//! told and left out; what it declares is of a type that goes with everything, or its name is
//! passed over where it is used, so that one fault is told once.
//!
//! Source: P4-16 language specification 1.2.5, sections 6 to 18.

mod block;
mod call;
mod consts;
pub(crate) mod convert;
mod decl;
mod expr;
mod notes;
pub(crate) mod operators;
mod stmt;
mod table;
pub(crate) mod types;

use crate::ast::{self, Annotation, Dir, Ident};
use crate::hir::{Expr, FnId, Program, Type, TypeId, VarId, VarInfo};
use crate::lexer::Name;
use frontends::diagnostics::{Diagnostic, Span};
use std::cell::RefCell;
use std::collections::HashMap;

pub(crate) type Checked<T> = Result<T, Box<Diagnostic>>;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Symbol {
    Type(Type),
    /// A type with parameters, which needs arguments.
    Generic(TypeId),
    Const(Expr),
    Var(VarId),
    /// All functions, actions and extern functions of a name.
    Functions(Vec<FnId>),
    Table(usize),
    Instance(usize),
    Block(usize),
}

/// Where a statement stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    pub result: Option<Type>,
    pub in_parser: bool,
    pub in_action: bool,
    pub in_control: bool,
    pub in_table_key: bool,
    pub loops: u32,
}

#[derive(Default)]
pub(crate) struct Checker {
    pub program: Program,
    pub faults: Vec<Diagnostic>,
    /// What is not wrong, and hardly meant.
    warnings: RefCell<Vec<Diagnostic>>,
    scopes: Vec<HashMap<Name, (Symbol, Span)>>,
    /// All that is declared at the top and in the block at hand, and how much of it has been
    /// checked.
    declared: Vec<(Vec<Ident>, usize)>,
    context: Context,
    /// Tables, instances and local variables of the block being checked.
    block_tables: Vec<usize>,
    block_instances: Vec<usize>,
    /// Parameters without direction, whose values are known when the program is compiled.
    known: std::collections::HashSet<VarId>,
    /// Abstract methods that need not be implemented.
    optional_methods: std::collections::HashSet<FnId>,
}

/// The message of what is wrong only because something before it is, which has been told.
const CONSEQUENCE: &str = "";

/// Words that begin a statement, or what may be one.
const WORDS: [&str; 8] = ["transition", "select", "return", "exit", "switch", "const", "action", "table"];

/// The name that is nearest to one, if it is near.
pub(crate) fn near<'a>(known: impl Iterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    let distances = known.map(|k| (strsim::damerau_levenshtein(k, name), k));
    distances.filter(|(d, _)| *d <= 1 + name.len() / 4).min().map(|(_, near)| near)
}

/// What was meant, perhaps; else all that there is, if that is little.
pub(crate) fn meant(fault: Diagnostic, known: &[&str], name: &str) -> Box<Diagnostic> {
    Box::new(match near(known.iter().copied(), name) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None if (1..=8).contains(&known.len()) => fault.help(format!("there is {}", known.join(", "))),
        None => fault,
    })
}

pub(crate) fn fault<T>(span: Span, message: impl Into<String>) -> Checked<T> {
    Err(Box::new(Diagnostic::new(span, message)))
}

/// Checks a program; it is whole only if there are no faults.
pub(crate) fn check(decls: &[ast::Decl]) -> (Program, Vec<Diagnostic>) {
    let mut checker = Checker { scopes: vec![HashMap::new()], ..Checker::default() };
    checker.will_declare(decls);
    for decl in decls {
        checker.declaration(decl);
        checker.has_declared(decl);
    }
    checker.whole();
    checker.program.warnings = checker.warnings.take();
    (checker.program, checker.faults)
}

impl Checker {
    fn told<T>(&mut self, result: Checked<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(fault) => {
                let is_told = fault.message == CONSEQUENCE && !self.faults.is_empty();
                if self.faults.len() < 100 && !is_told {
                    self.faults.push(*fault);
                }
                None
            }
        }
    }

    fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(HashMap::new());
        let result = f(self);
        self.scopes.pop();
        result
    }

    fn lookup(&self, dot: bool, name: &str) -> Option<&Symbol> {
        if dot {
            return self.scopes[0].get(name).map(|s| &s.0);
        }
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).map(|s| &s.0)
    }

    /// Enters a name; functions of one name are collected.
    fn declare(&mut self, name: &Ident, symbol: Symbol) -> Checked<()> {
        let depth = self.scopes.len() - 1;
        let before = self.scopes[depth].get(&name.name).cloned();
        let merged = match (before, symbol) {
            (None, symbol) => symbol,
            (Some((Symbol::Functions(mut old), _)), Symbol::Functions(new)) if self.may_overload(&old, &new) => {
                old.extend(new);
                Symbol::Functions(old)
            }
            (Some((_, at)), _) => {
                let fault = Diagnostic::new(name.span, format!("`{}` is declared twice", name.name));
                return Err(Box::new(fault.note(at, "the first declaration")));
            }
        };
        self.scopes[depth].insert(name.name.clone(), (merged, name.span));
        Ok(())
    }

    fn may_overload(&self, old: &[FnId], new: &[FnId]) -> bool {
        let names = |f: FnId| -> Vec<Name> { self.program.functions[f].params.iter().map(|p| p.name.clone()).collect() };
        let action = |f: &FnId| self.program.functions[*f].kind == crate::hir::FnKind::Action;
        !old.iter().chain(new).any(action) && new.iter().all(|n| old.iter().all(|o| names(*o) != names(*n)))
    }

    /// These declarations are going to be checked.
    fn will_declare(&mut self, decls: &[ast::Decl]) {
        self.declared.push((decls.iter().filter_map(|decl| decl.kind.name().cloned()).collect(), 0));
    }

    /// One of them has been.
    fn has_declared(&mut self, decl: &ast::Decl) {
        if let (Some((_, done)), true) = (self.declared.last_mut(), decl.kind.name().is_some()) {
            *done += 1;
        }
    }

    /// A name that means nothing: it is not known, it is declared further down, or its declaration
    /// is wrong.
    fn unknown(&self, span: Span, name: &str) -> Box<Diagnostic> {
        let fault = Diagnostic::new(span, format!("nothing is called `{name}` here"));
        for (names, done) in self.declared.iter().rev() {
            match names.iter().position(|declared| *declared.name == *name) {
                Some(at) if at < *done && !self.faults.is_empty() => return Box::new(Diagnostic::new(span, CONSEQUENCE)),
                Some(at) if at > *done => {
                    let fault = fault.note(names[at].span, "declared here, further down");
                    return Box::new(fault.help("what is declared can be used below its declaration only"));
                }
                _ => {}
            }
        }
        let known = self.scopes.iter().flat_map(|scope| scope.keys()).map(|name| &**name);
        Box::new(match near(known, name).or_else(|| near(WORDS.iter().copied(), name)) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault,
        })
    }

    fn new_var(&mut self, name: &Ident, ty: Type, writable: bool) -> VarId {
        self.program.vars.push(VarInfo { name: name.name.clone(), ty, writable, span: name.span });
        self.program.vars.len() - 1
    }

    /// A variable that is declared here.
    fn declare_var(&mut self, name: &Ident, ty: Type, writable: bool) -> Checked<VarId> {
        let var = self.new_var(name, ty, writable);
        self.declare(name, Symbol::Var(var))?;
        Ok(var)
    }
}

/// A direction by which a parameter can be written.
pub(crate) fn writes(dir: Dir) -> bool {
    matches!(dir, Dir::Out | Dir::InOut)
}

/// The string of an annotation.
pub(crate) fn annotation<'a>(all: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    all.iter().find(|a| *a.name == *name)
}

/// The name for the control plane, and whether it is a whole path.
pub(crate) fn public_name(all: &[Annotation], name: &Name) -> (Name, bool) {
    let given = annotation(all, "name").and_then(|a| a.args.first());
    match given.map(|e| &e.kind) {
        Some(ast::ExprKind::Str(text)) => match text.strip_prefix('.') {
            Some(path) => (path.into(), true),
            None => (text.clone(), false),
        },
        _ => (name.clone(), false),
    }
}
