//! A checked program to NetIL.
//!
//! Every call is inlined. Locals of C are locals of NetIL, one for each scalar of a struct; arrays,
//! and structs with arrays, lie in data memory, as `static` variables do; `static const` is in
//! initialised data, and variables with a scope in shared memory. A number on the stack is as
//! [`crate::c::tree::normal`] says. Fields in network order are numbers everywhere: packet and
//! initialised data are big-endian, the other memories little-endian.
//!
//! A pointer is a place whose memory is known here ([`place::Spot`]); only the offset is a value. A
//! pointer variable therefore points into one kind of memory.
//!
//! ```text
//! module   the whole: ports, memories, tables, handlers    object   structs: copies, comparisons, keys
//! stmt     statements                                      place    objects: where they are, loads and stores
//! expr     values and conditions                           pointer  pointers and pointer variables
//! call     inlining                                        builtins the functions of netvm.h; print those that print; ask those of pull()
//! shared   variables with a scope                        tables   tables and what they may hold; walk walks over them, EXPIRED
//! copies   bytes of arrays
//! ```

mod ask;
mod bounds;
mod builtins;
mod call;
mod code;
mod copies;
mod expr;
mod facts;
mod flow;
pub(super) mod layout;
mod module;
mod object;
mod place;
mod pointer;
mod print;
mod search;
mod shared;
mod stmt;
mod tables;
mod unit;
mod walk;

use super::fold::fold;
use super::tree::Program;
use super::types::Type;
use super::{Faults, Instance, Variable};
use crate::diagnostics::{Diagnostic, Sources, Span};
use code::{Code, Label};
use facts::Facts;
use flow::{View, ViewOf};
use layout::InfoLayout;
use netil::module::{HandlerKind, Module};
use pointer::{PointeeKind, PointerVar};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// How deep expressions, statements and calls may nest once calls are inlined.
const MAX_DEPTH: u32 = 10_000;
/// Calls that may be inlined.
const MAX_CALLS: u32 = 1 << 16;
/// Scalars of a struct that is kept in locals; larger ones lie in data memory.
const MAX_LEAVES: usize = 32;
/// Scalars of what is copied or compared one by one.
const MAX_PARTS: usize = 4096;

/// An instance's program.
#[derive(Default)]
pub(super) struct Lowered {
    pub(super) module: Module,
    /// Those with scopes.
    pub(super) variables: Vec<Variable>,
    /// The others that packets may change, in data memory.
    pub(super) statics: Vec<netil::app::Variable>,
    /// Where in data memory the variable is that says which ports are the instance's own.
    pub(super) part: Option<u32>,
}

/// Makes the module of an instance.
pub(super) fn lower(program: &Program, instance: &Instance, info: &mut InfoLayout, sources: &Sources, faults: &mut Faults) -> Lowered {
    let facts = Facts::new(program, instance, faults);
    let lowerer = Lowerer {
        program,
        instance,
        info,
        sources,
        faults,
        facts,
        module: Module { name: instance.name.clone(), ..Module::default() },
        statics: vec![None; program.statics.len()],
        shared: 0,
        variables: Vec::new(),
        infos: HashMap::new(),
        scratch: HashMap::new(),
        expiries: Vec::new(),
        texts: HashMap::new(),
        code: Code::default(),
        kind: HandlerKind::Init,
        asks: false,
        frames: Vec::new(),
        pointers: Vec::new(),
        learnt: Vec::new(),
        again: false,
        views: Vec::new(),
        depth: 0,
        calls: 0,
    };
    lowerer.module()
}

/// What the class requires and the instance has not.
pub(super) fn refused(program: &Program, instance: &Instance, faults: &mut Faults) -> Vec<String> {
    let facts = Facts::new(program, instance, faults);
    let mut refused = Vec::new();
    for (condition, wrong) in &program.requirements {
        match fold(condition, &facts) {
            None => faults.add(
                Diagnostic::new(condition.span, "this is not known before the element runs").help("compare parameters, NINPUTS, NOUTPUTS"),
            ),
            Some(0) => refused.push(wrong.clone()),
            Some(_) => {}
        }
    }
    refused
}

/// A scalar of an object in locals: its offset, its type, its local.
type Leaf = (u32, Type, u32);

/// Where a variable is.
#[derive(Clone, Debug)]
enum Storage {
    Leaves(Rc<Vec<Leaf>>),
    /// In data memory from that address.
    Memory(u32),
    /// The number of a pointer variable.
    Pointer(usize),
}

/// A function being inlined.
struct Frame {
    function: usize,
    vars: Vec<Option<Storage>>,
    result: Option<Storage>,
    end: Label,
    /// Locals to give back at the end.
    owned: Vec<u32>,
    /// Its pointer variables.
    pointers: Vec<usize>,
    /// Where `break` and `continue` go; a switch has no `continue`.
    breaks: Vec<(Label, Option<Label>)>,
    /// Labels of the switches around.
    cases: Vec<Vec<Label>>,
}

struct Lowerer<'a> {
    program: &'a Program,
    instance: &'a Instance,
    info: &'a mut InfoLayout,
    sources: &'a Sources,
    faults: &'a mut Faults,
    facts: Facts<'a>,
    module: Module,
    /// Address of each static variable that is used: in data memory, in shared memory if it has a
    /// scope, or in initialised data if it is constant.
    statics: Vec<Option<u32>>,
    /// Bytes of shared memory, and what is in them.
    shared: u32,
    variables: Vec<Variable>,
    infos: HashMap<usize, u32>,
    /// Tables with EXPIRED.
    expiries: Vec<walk::Expiry>,
    /// Data memory of arrays, by function and local.
    scratch: HashMap<(usize, usize), u32>,
    texts: HashMap<Arc<[u8]>, u32>,
    code: Code,
    kind: HandlerKind,
    /// `pull` is being made.
    asks: bool,
    frames: Vec<Frame>,
    pointers: Vec<PointerVar>,
    /// Kinds of places that pointer variables have, learnt when the handler was made before.
    learnt: Vec<Vec<PointeeKind>>,
    /// The handler must be made again with what was learnt.
    again: bool,
    views: Vec<ViewOf>,
    depth: u32,
    calls: u32,
}

impl Lowerer<'_> {
    fn fault(&mut self, span: Span, message: impl Into<String>) {
        self.faults.add(Diagnostic::new(span, message));
    }

    fn fault_help(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.faults.add(Diagnostic::new(span, message).help(help));
    }

    /// Makes a part one level deeper; false if that is too deep, or if there is too much code.
    fn enter(&mut self, span: Span) -> bool {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.fault(span, "this is nested too deeply once functions are inlined");
            return false;
        }
        if self.code.is_full() {
            self.fault_help(span, "the element becomes too large once functions are inlined", "call large functions in fewer places");
            return false;
        }
        if self.sources.file(span.start) == self.main_file() {
            self.code.line = self.sources.line(span.start).1;
        }
        true
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// The file of the class: lines are those of its text.
    fn main_file(&self) -> usize {
        0
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a handler is being made")
    }

    /// Bytes of data memory that are not used yet.
    fn allocate(&mut self, bytes: u32) -> u32 {
        let at = self.module.data_size;
        self.module.data_size = at.saturating_add(bytes);
        at
    }
}
