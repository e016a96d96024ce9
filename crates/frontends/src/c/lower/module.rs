//! The whole module: ports, memories, tables, and the handlers put together of those of the class.
//!
//! The push handler runs `packet` or `push` with the port that the packet came in by. The pull
//! handler has three parts: timers, handlers for people, and packets that are asked for: it runs
//! `pull`, or takes one from the input that leads to the output.

use super::code::Code;
use super::flow;
use super::{Lowered, Lowerer, Storage};
use crate::c::tree::{self, ControlBinding, ControlDecl};
use crate::c::types::Type;
use crate::click::processing::Kind;
use crate::diagnostics::Span;
use netil::event::{CONTROL, TIMER, TIMERS};
use netil::module::{Control, ControlType, Handler, HandlerKind, Label, Port, PortKind};
use netil::table::Op;

/// Bytes of data memory and of initialised data at most, as the verifier has it.
const MAX_DATA: u32 = 64 << 20;
/// How often a handler is made at most.
const MAX_ROUNDS: u32 = 8;
const MAX_INITIALISED: usize = 16 << 20;

/// What a handler for people runs.
enum Runs {
    Function(usize),
    /// It copies a variable in shared memory.
    Variable(usize),
}

struct Call {
    runs: Runs,
    write: bool,
    ty: Option<Type>,
    /// The type of its argument, and where that is.
    asked: Option<(Type, u32)>,
    /// Where its value is.
    at: u32,
    index: u32,
}

impl Lowerer<'_> {
    pub(super) fn module(mut self) -> Lowered {
        self.module.source = self.sources.line(0).0.to_owned();
        self.ports();
        self.tables();
        self.place_statics();
        self.place_expiries();
        let calls = self.controls();
        self.module.push = self.push();
        self.module.pull = self.pull(&calls);
        self.module.init = self.init();
        self.limits();
        let mut fields: Vec<_> = self.info.fields.clone();
        fields.retain(|field| self.infos.keys().any(|id| *self.program.infos[*id].0 == *field.name));
        self.module.info_fields = fields;
        self.module.info_size = self.info.size();
        let part = self.program.part.and_then(|id| self.statics[id]);
        let placed = self.program.statics.iter().zip(&self.statics).filter(|(variable, _)| !variable.constant && !variable.is_shared());
        let named = |(variable, at): (&tree::Static, &Option<u32>)| {
            Some(netil::app::Variable { name: variable.name.to_string(), at: (*at)?, len: variable.ty.size() })
        };
        let statics = placed.filter_map(named).collect();
        Lowered { module: self.module, variables: self.variables, statics, part }
    }

    fn ports(&mut self) {
        let input = |kind: &Kind| if *kind == Kind::Push { PortKind::PushInput } else { PortKind::PullInput };
        let output = |kind: &Kind| if *kind == Kind::Push { PortKind::PushOutput } else { PortKind::PullOutput };
        let inputs = self.instance.inputs.iter().enumerate().map(|(n, kind)| Port { name: format!("in{n}"), kind: input(kind) });
        let outputs = self.instance.outputs.iter().enumerate().map(|(n, kind)| Port { name: format!("out{n}"), kind: output(kind) });
        self.module.ports = inputs.chain(outputs).collect();
    }

    fn place_statics(&mut self) {
        for (n, variable) in self.program.statics.iter().enumerate() {
            if variable.is_shared() {
                self.place_shared(n);
            } else if !variable.constant {
                self.statics[n] = Some(self.allocate(variable.ty.size()));
            }
        }
    }

    /// Address of a static variable; a constant is written into initialised data when it is first
    /// used.
    pub(super) fn static_address(&mut self, id: usize) -> u32 {
        if let Some(at) = self.statics[id] {
            return at;
        }
        let variable = &self.program.statics[id];
        let at = self.module.data.len() as u32;
        self.module.data.resize(at as usize + variable.ty.size() as usize, 0);
        for (offset, ty, value) in &variable.init {
            let (start, size) = ((at + offset) as usize, ty.size() as usize);
            self.module.data[start..start + size].copy_from_slice(&value.to_be_bytes()[16 - size..]);
        }
        self.module.data_labels.push(Label { name: variable.name.to_string(), at });
        self.statics[id] = Some(at);
        at
    }

    /// Handlers for people; gives those that run something.
    fn controls(&mut self) -> Vec<Call> {
        let mut calls = Vec::new();
        for declared in &self.program.controls {
            let ty = shown_as(declared.ty.as_ref(), declared.write);
            match declared.source {
                ControlBinding::Static(id) if self.program.statics[id].is_shared() => {
                    calls.push(self.control_call(declared, Runs::Variable(id), ty))
                }
                ControlBinding::Static(id) => self.control_variable(declared, id, ty),
                ControlBinding::Call(function) => calls.push(self.control_call(declared, Runs::Function(function), ty)),
            }
        }
        calls
    }

    fn control_call(&mut self, declared: &ControlDecl, runs: Runs, ty: ControlType) -> Call {
        let at = self.allocate(ty.size());
        let index = self.module.controls.len() as u32;
        self.add_control(declared, ty, at, true);
        let asked = declared.asked.clone().map(|asked| {
            let (name, ty) = (declared.name.to_string(), shown_as(Some(&asked), true));
            let at = self.allocate(ty.size());
            self.module.controls.push(Control { name, read: false, write: true, ty, at, call: false });
            (asked, at)
        });
        Call { runs, write: declared.write, ty: declared.ty.clone(), asked, at, index }
    }

    fn control_variable(&mut self, declared: &ControlDecl, id: usize, ty: ControlType) {
        let at = self.static_address(id);
        let same = |known: &&mut Control| known.name == *declared.name && known.at == at && !known.call && known.ty == ty;
        if let Some(known) = self.module.controls.iter_mut().find(same) {
            known.read |= !declared.write;
            known.write |= declared.write;
            return;
        }
        self.add_control(declared, ty, at, false);
    }

    fn add_control(&mut self, declared: &ControlDecl, ty: ControlType, at: u32, call: bool) {
        let (read, write) = (!declared.write, declared.write);
        self.module.controls.push(Control { name: declared.name.to_string(), read, write, ty, at, call });
    }

    fn begin(&mut self, kind: HandlerKind) {
        self.code = Code::default();
        self.kind = kind;
        self.pointers.clear();
        self.views.clear();
        self.frames.clear();
        self.push_frame(usize::MAX, None);
    }

    /// A handler: made again as long as more is learnt of its pointers.
    fn handler(&mut self, kind: HandlerKind, make: impl Fn(&mut Self)) -> Handler {
        self.learnt.clear();
        for _ in 0..MAX_ROUNDS {
            let (faults, data, scratch) = (self.faults.clone(), self.module.data_size, self.scratch.clone());
            self.again = false;
            self.begin(kind);
            make(self);
            if !self.again {
                break;
            }
            self.learnt = self.pointers.iter().map(super::pointer::PointerVar::shapes).collect();
            (*self.faults, self.module.data_size, self.scratch) = (faults, data, scratch);
        }
        self.end()
    }

    fn end(&mut self) -> Handler {
        self.frames.clear();
        let mut code = std::mem::take(&mut self.code);
        code.resolve();
        for fault in flow::ended(&code.insts, &code.events, &self.views) {
            self.faults.add(fault);
        }
        let handler = code.finish();
        self.handler_limits(&handler);
        handler
    }

    fn handler_limits(&mut self, handler: &Handler) {
        let limits = netil::verify::Limits::default();
        let span = self.program.functions.last().map_or(Span::default(), |function| function.span);
        let locals = handler.locals.len();
        if locals > limits.locals as usize {
            let message = format!("{locals} variables are alive at once, and a handler has at most {}", limits.locals);
            self.fault_help(span, message, "put some of them into a static struct or array");
        }
        if handler.max_stack > limits.stack {
            self.fault_help(span, "an expression is too deep once functions are inlined", "put parts of it into variables");
        }
    }

    /// A handler of the class, with its argument in a local.
    pub(super) fn run(&mut self, function: usize, argument: Option<u32>) {
        let program = self.program;
        self.push_frame(function, None);
        if let Some(kept) = argument {
            self.scalar_parameter(0, kept);
        }
        self.block(program.functions[function].body.as_deref().unwrap_or(&[]));
        self.pop_frame();
        self.code.op(Op::Ret);
    }

    fn packet_handler(&self) -> Option<usize> {
        self.program.handlers[tree::PACKET].or(self.program.handlers[tree::PUSH])
    }

    fn push(&mut self) -> Option<Handler> {
        let function = self.packet_handler()?;
        if !self.instance.inputs.contains(&Kind::Push) {
            return None;
        }
        let handler = self.handler(HandlerKind::Push, |this| {
            let port = this.code.keep(32);
            this.run(function, Some(port));
        });
        Some(handler)
    }

    fn pull(&mut self, calls: &[Call]) -> Option<Handler> {
        let timer = self.program.handlers[tree::TIMER];
        let pull = self.program.handlers[tree::PULL];
        let pulls = self.instance.outputs.contains(&Kind::Pull) && pull.or(self.packet_handler()).is_some();
        let runs = pulls || timer.is_some() || !self.expiries.is_empty() || !calls.is_empty() || self.module.push.is_none();
        if !runs {
            return None;
        }
        let handler = self.handler(HandlerKind::Pull, |this| {
            let id = this.code.keep(32);
            this.run_expiries(id);
            if let Some(timer) = timer {
                this.timers(timer, id);
            }
            this.run_calls(calls, id);
            match (pull, this.packet_handler()) {
                (Some(function), _) if pulls => this.asking(function, id),
                (None, Some(function)) if pulls => this.asked(function, id),
                _ => {}
            }
            this.code.op(Op::Ret);
        });
        Some(handler)
    }

    fn timers(&mut self, timer: usize, id: u32) {
        let other = self.code.label();
        self.code.load(id);
        self.code.op1(Op::Push, TIMER);
        self.code.op(Op::Sub);
        let n = self.code.keep(32);
        self.code.load(n);
        self.code.op1(Op::Push, TIMERS as u32);
        self.code.jump(Op::JCmpGe, other);
        self.run(timer, Some(n));
        self.code.place(other);
    }

    fn run_calls(&mut self, calls: &[Call], id: u32) {
        if calls.is_empty() {
            return;
        }
        let other = self.code.label();
        let labels: Vec<_> = calls.iter().map(|call| (CONTROL + call.index, self.code.label())).collect();
        self.code.load(id);
        self.code.switch(&labels, other);
        for (call, (_, label)) in calls.iter().zip(labels) {
            self.code.place(label);
            self.run_call(call);
            self.code.op(Op::Ret);
        }
        self.code.place(other);
    }

    fn run_call(&mut self, call: &Call) {
        let slot = super::place::Spot::new(super::place::Base::Data, call.at);
        let function = match call.runs {
            Runs::Function(function) => function,
            Runs::Variable(id) => return self.copy_shared(id, &slot, call.write),
        };
        let span = self.program.functions[function].span;
        match (&call.ty, call.write) {
            (Some(ty), true) => {
                self.load(&slot, ty, span);
                let kept = self.code.keep(ty.width());
                self.inline_ready(function, vec![super::call::Ready::Scalar(kept)], span);
            }
            (Some(ty), false) => {
                let asked = self.asked_for(call, span);
                if let Some(Storage::Leaves(leaves)) = self.inline_ready(function, asked, span) {
                    self.code.load(leaves[0].2);
                    self.store(&slot, ty, span);
                }
            }
            (None, _) => {
                let asked = self.asked_for(call, span);
                self.inline_ready(function, asked, span);
            }
        }
    }

    /// The argument of a read handler, if it has one.
    fn asked_for(&mut self, call: &Call, span: Span) -> Vec<super::call::Ready> {
        let Some((ty, at)) = &call.asked else { return Vec::new() };
        self.load(&super::place::Spot::new(super::place::Base::Data, *at), ty, span);
        vec![super::call::Ready::Scalar(self.code.keep(ty.width()))]
    }

    /// A packet is asked for at an output: it is taken from an input that pulls.
    fn asked(&mut self, function: usize, id: u32) {
        let inputs = &self.instance.inputs;
        let first = inputs.iter().position(|kind| *kind == Kind::Pull);
        let Some(first) = first else { return };
        let from = |output: usize| if inputs.get(output) == Some(&Kind::Pull) { output } else { first };
        let pulled: Vec<usize> = (0..self.instance.outputs.len()).filter(|n| self.instance.outputs[*n] == Kind::Pull).collect();
        let mut sources: Vec<usize> = pulled.iter().map(|output| from(*output)).collect();
        sources.sort_unstable();
        sources.dedup();
        for source in &sources {
            let next = self.code.label();
            if sources.len() > 1 {
                let cases: Vec<_> =
                    pulled.iter().filter(|output| from(**output) == *source).map(|output| (inputs.len() + output) as u32).collect();
                let here = self.code.label();
                self.code.load(id);
                let cases: Vec<_> = cases.into_iter().map(|id| (id, here)).collect();
                self.code.switch(&cases, next);
                self.code.place(here);
            }
            self.code.op1(Op::PktReceive, *source as u32);
            self.code.op1(Op::Push, *source as u32);
            let port = self.code.keep(32);
            self.run(function, Some(port));
            self.code.place(next);
        }
    }

    fn init(&mut self) -> Option<Handler> {
        let handler = self.handler(HandlerKind::Init, Self::make_init);
        let empty = handler.code.iter().all(|inst| inst.op == Op::Ret);
        (!empty).then_some(handler)
    }

    fn make_init(&mut self) {
        self.initial_shared();
        let left = self.load_units();
        let own = |variable: &tree::Static| !variable.constant && !variable.is_shared();
        for (n, variable) in self.program.statics.iter().enumerate().filter(|(_, variable)| own(variable)) {
            let at = self.statics[n].unwrap_or(0);
            for (offset, ty, value) in variable.init.iter().filter(|(.., value)| *value != 0) {
                self.code.constant(*value, ty.width());
                self.store(&super::place::Spot::new(super::place::Base::Data, at + offset), ty, variable.span);
            }
        }
        if let Some(function) = self.program.handlers[tree::INIT] {
            self.run(function, None);
        }
        if let Some(left) = left {
            self.load_console(left);
        }
    }

    fn limits(&mut self) {
        if self.module.data_size > MAX_DATA {
            self.fault(
                Span::default(),
                format!("the variables take {} bytes, and an element has at most {MAX_DATA}", self.module.data_size),
            );
        }
        if self.shared > MAX_DATA {
            let message = format!("the variables that others have as well take {} bytes, of {MAX_DATA}", self.shared);
            self.fault(Span::default(), message);
        }
        if self.module.data.len() > MAX_INITIALISED {
            self.fault(Span::default(), format!("constants and texts take more than {MAX_INITIALISED} bytes"));
        }
    }
}

fn shown_as(ty: Option<&Type>, write: bool) -> ControlType {
    match ty {
        None if write => ControlType::None,
        None => ControlType::Text,
        Some(Type::Bool) => ControlType::Bool,
        Some(Type::Be(32)) => ControlType::Ip4,
        Some(Type::Mac) => ControlType::Mac,
        Some(Type::In6) => ControlType::Ip6,
        Some(ty) if ty.is_signed() => ControlType::Signed((ty.size() * 8) as u16),
        Some(ty) => ControlType::Unsigned((ty.size() * 8) as u16),
    }
}
