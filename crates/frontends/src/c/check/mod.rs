//! Names, types and the rules of the language: the syntax tree to a checked program.
//!
//! One walk in the order of the text, as C has it: a name must be declared before its use. What is
//! wrong is told once: it has the type [`Type::Error`], which goes with everything. Rules that need
//! to know where control goes (views and entries that have ended) are `lower::flow`'s.

mod absent;
mod call;
mod class;
mod convert;
mod declare;
mod expired;
mod expr;
mod function;
mod init;
mod later;
mod pattern;
mod place;
mod scope;
mod stmt;
mod tags;

use super::ast::{self, Item, Name};
use super::builtins;
use super::fold::{Nothing, fold};
use super::tree::{self, Function, Program};
use super::types::{StructType, Type};
use super::{Faults, Instance, similar};
use crate::diagnostics::{Diagnostic, Span};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a name stands for.
#[derive(Clone, Debug)]
enum Symbol {
    /// An enumerator.
    Constant(u128),
    Typedef(Type),
    Local(usize),
    Static(usize),
    Function(usize),
    Param(usize),
    Table(usize),
    Pattern(usize),
}

type Scope = HashMap<Arc<str>, (Symbol, Span)>;

/// Checks a file, of a class or, if it is given, of an instance.
pub(super) fn check(items: &[Item], instance: Option<&Instance>, faults: &mut Faults) -> Program {
    let mut checker = Checker::new(instance, faults);
    checker.later = later::Later::of(items);
    let mut waiting: Vec<&Item> = Vec::new();
    for item in items {
        if waiting.len() < tags::MAX_WAITING && checker.waits(item) {
            checker.wait(item);
            waiting.push(item);
            continue;
        }
        checker.item(item);
        for item in waiting.extract_if(.., |item| !checker.waits(item)).collect::<Vec<_>>() {
            checker.item(item);
        }
    }
    checker.finish();
    checker.program
}

struct Checker<'a> {
    faults: &'a mut Faults,
    program: Program,
    scopes: Vec<Scope>,
    structs: HashMap<Arc<str>, (Arc<StructType>, Span)>,
    enums: HashMap<Arc<str>, Type>,
    /// Structs that are declared without members, and those being defined.
    announced: HashMap<Arc<str>, Span>,
    open_tags: Vec<Arc<str>>,
    later: later::Later,
    /// Typedefs of structs that are defined further down.
    waiting: HashSet<Arc<str>>,
    infos: HashMap<Arc<str>, (usize, Span)>,
    next_struct: u32,
    /// Without it, what CONFIG makes and how long lists are is unknown.
    instance: Option<&'a Instance>,
    /// The function being checked.
    current: Option<Current>,
    element: Option<Span>,
}

/// A function being checked.
struct Current {
    function: Function,
    handler: Option<usize>,
    /// Labels of the switches around, with the type switched on.
    switches: Vec<(Type, Vec<tree::Case>)>,
    /// Loops around, and loops and switches around.
    loops: u32,
    breakable: u32,
}

impl<'a> Checker<'a> {
    fn new(instance: Option<&'a Instance>, faults: &'a mut Faults) -> Self {
        Self {
            faults,
            program: Program::default(),
            scopes: vec![Scope::new()],
            structs: HashMap::new(),
            enums: HashMap::new(),
            announced: HashMap::new(),
            open_tags: Vec::new(),
            later: later::Later::default(),
            waiting: HashSet::new(),
            infos: HashMap::new(),
            next_struct: 0,
            instance,
            current: None,
            element: None,
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Class(word, args, span) => self.class_word(word, args, *span),
            Item::Declare(declaration) if self.announced(declaration) => {}
            Item::Declare(declaration) => self.declaration(declaration),
            Item::Function(function) => self.function(function),
            Item::Assert(condition, text) => self.assertion(condition, text.as_deref()),
        }
    }

    fn fault(&mut self, span: Span, message: impl Into<String>) {
        self.faults.add(Diagnostic::new(span, message));
    }

    fn fault_help(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.faults.add(Diagnostic::new(span, message).help(help));
    }

    /// Enters a name into the innermost scope.
    fn declare(&mut self, name: &Name, symbol: Symbol) {
        if self.scopes.len() == 1 {
            self.not_of_netvm(name, &symbol);
        }
        let scope = self.scopes.last_mut().expect("there is the file's scope");
        if let Some((_, before)) = scope.insert(Arc::clone(&name.text), (symbol, name.span)) {
            let fault = Diagnostic::new(name.span, format!("`{}` is declared twice", name.text));
            self.faults.add(fault.note(before, "declared here already"));
        }
    }

    /// A name of the file is not one that netvm.h declares there.
    fn not_of_netvm(&mut self, name: &Name, symbol: &Symbol) {
        let what = match (Type::named(&name.text), symbol) {
            (Some(known), Symbol::Typedef(ty)) if known == *ty => return,
            (Some(_), _) => "type",
            (None, _) if ["NINPUTS", "NOUTPUTS"].contains(&&*name.text) => "constant",
            (None, _) if builtins::is_function(&name.text) => "function",
            _ => return,
        };
        self.fault_help(name.span, format!("`{}` is a {what} of netvm.h", name.text), "choose another name");
    }

    fn lookup(&self, name: &str) -> Option<&(Symbol, Span)> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    /// A name that is not declared: says so, unless CONFIG will make it.
    fn unknown(&mut self, name: &Name, what: &str) {
        let config = self.program.class.config.as_ref();
        let made = self.instance.is_none() && config.is_some_and(|config| name.text.starts_with(config.name.as_str()));
        if made || self.faults.is_unread(&name.text) {
            return;
        }
        if let Some(fault) = self.declared_later(name, what) {
            return self.faults.add(fault);
        }
        let fault = Diagnostic::new(name.span, format!("there is no {what} `{}`", name.text));
        if let Some(help) = absent::instead(&name.text).filter(|_| what == "function") {
            return self.faults.add(fault.help(help));
        }
        let known = self.scopes.iter().flat_map(HashMap::keys).map(|name| &**name);
        let names = known.chain(builtins::ROWS.iter().map(|row| row.name)).chain(builtins::FORMS).chain(["NINPUTS", "NOUTPUTS"]);
        let fault = similar(fault, &name.text, names, "");
        self.faults.add(fault);
    }

    /// The value of a constant expression.
    fn constant(&mut self, e: &ast::Expr, what: &str) -> Option<(u128, Type)> {
        let checked = self.expr(e);
        if checked.ty.is_error() {
            return None;
        }
        match fold(&checked, &Nothing).filter(|_| checked.ty.is_scalar()) {
            Some(value) => Some((value, checked.ty)),
            None if self.faults.told(e.span) => None,
            None => {
                self.fault(e.span, format!("{what} must be a constant"));
                None
            }
        }
    }

    fn assertion(&mut self, condition: &ast::Expr, text: Option<&[u8]>) {
        if let Some((0, _)) = self.constant(condition, "an assertion") {
            let text = text.map_or(String::new(), |text| format!(": {}", String::from_utf8_lossy(text)));
            self.fault(condition.span, format!("the assertion does not hold{text}"));
        }
    }

    fn wrong_type(&mut self, span: Span, message: &str) -> Type {
        self.fault(span, message);
        Type::Error
    }
}
