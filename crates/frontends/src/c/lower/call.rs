//! Calls of the file's functions: the body is put in where the call stands.

use super::place::{Base, Pointed, Spot};
use super::{Frame, Lowerer, MAX_CALLS, Storage};
use crate::c::tree::Expr;
use crate::c::types::Type;
use crate::diagnostics::Span;

/// An argument that has been computed, before the function has its variables.
pub(super) enum Ready {
    Scalar(u32),
    Pointer(Pointed),
    Object(Spot),
}

impl Lowerer<'_> {
    /// A call for its scalar value, or for its effect.
    pub(super) fn call(&mut self, function: usize, args: &[Expr], e: &Expr, wanted: bool) {
        let result = self.inline(function, args, e.span);
        if !e.ty.is_scalar() {
            return;
        }
        match result {
            Some(Storage::Leaves(leaves)) => {
                if wanted {
                    self.code.load(leaves[0].2);
                }
                self.code.release(leaves[0].2);
                let local = leaves[0].2;
                self.frame().owned.retain(|owned| *owned != local);
            }
            _ if wanted => self.code.constant(0, e.ty.width()),
            _ => {}
        }
    }

    /// Puts a function in; gives the place of its result.
    pub(super) fn inline(&mut self, function: usize, args: &[Expr], span: Span) -> Option<Storage> {
        let params = &self.program.functions[function].locals;
        let mut ready = Vec::new();
        for (arg, param) in args.iter().zip(params) {
            ready.push(self.ready(arg, &param.ty));
        }
        self.inline_ready(function, ready, span)
    }

    fn ready(&mut self, arg: &Expr, ty: &Type) -> Ready {
        match ty {
            Type::Pointer(_) => Ready::Pointer(match self.pointer(arg) {
                Pointed::At(spot) => Pointed::At(self.pin(spot)),
                Pointed::Null => Pointed::Null,
            }),
            Type::Struct(_) => {
                let spot = self.object(arg);
                Ready::Object(self.pin(spot))
            }
            _ => {
                self.value(arg);
                Ready::Scalar(self.code.keep(ty.width()))
            }
        }
    }

    pub(super) fn inline_ready(&mut self, function: usize, args: Vec<Ready>, span: Span) -> Option<Storage> {
        let program = self.program;
        let callee = &program.functions[function];
        self.calls += 1;
        if self.calls > MAX_CALLS {
            self.fault_help(span, "too many calls once functions are inlined", "call large functions in fewer places");
            return None;
        }
        if !self.enter(span) {
            self.leave();
            return None;
        }
        let result = self.result_storage(function);
        let line = self.code.line;
        self.push_frame(function, result.clone());
        for (local, arg) in args.into_iter().enumerate() {
            self.parameter(local, arg, span);
        }
        self.block(callee.body.as_deref().unwrap_or(&[]));
        self.pop_frame();
        self.code.line = line;
        self.leave();
        result
    }

    fn result_storage(&mut self, function: usize) -> Option<Storage> {
        let callee = &self.program.functions[function];
        match &callee.result {
            Type::Void | Type::Error => None,
            Type::Pointer(_) => Some(Storage::Pointer(self.new_pointer("", callee.span))),
            ty => Some(self.storage(ty).unwrap_or_else(|| Storage::Memory(self.scratch_for(function, usize::MAX, ty)))),
        }
    }

    /// Data memory of a local array: one place, as no function is in itself.
    pub(super) fn scratch_for(&mut self, function: usize, local: usize, ty: &Type) -> u32 {
        if let Some(at) = self.scratch.get(&(function, local)) {
            return *at;
        }
        let at = self.allocate(ty.size());
        self.scratch.insert((function, local), at);
        at
    }

    pub(super) fn push_frame(&mut self, function: usize, result: Option<Storage>) {
        let locals = self.program.functions.get(function).map_or(0, |function| function.locals.len());
        let end = self.code.label();
        let vars = vec![None; locals];
        self.frames.push(Frame {
            function,
            vars,
            result,
            end,
            owned: Vec::new(),
            pointers: Vec::new(),
            breaks: Vec::new(),
            cases: Vec::new(),
        });
    }

    pub(super) fn pop_frame(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.code.place(frame.end);
            frame.owned.into_iter().for_each(|local| self.code.release(local));
        }
    }

    fn parameter(&mut self, local: usize, arg: Ready, span: Span) {
        let program = self.program;
        let declared = &program.functions[self.frame().function].locals[local];
        match arg {
            Ready::Scalar(kept) => self.scalar_parameter(local, kept),
            Ready::Pointer(value) => {
                let id = self.new_pointer(&declared.name, declared.span);
                self.assign_pointer(id, value, span);
                self.frame().vars[local] = Some(Storage::Pointer(id));
            }
            Ready::Object(from) => {
                self.declare_storage(local);
                let to = self.local_spot(local);
                self.copy(from, &to, &declared.ty, span);
            }
        }
    }

    /// The value of a parameter is in a local, which now is the function's.
    pub(super) fn scalar_parameter(&mut self, local: usize, kept: u32) {
        let program = self.program;
        let ty = program.functions[self.frame().function].locals[local].ty.clone();
        let frame = self.frame();
        frame.owned.push(kept);
        frame.vars[local] = Some(Storage::Leaves(vec![(0, ty, kept)].into()));
    }

    /// Gives a local its storage.
    pub(super) fn declare_storage(&mut self, local: usize) {
        let program = self.program;
        let function = self.frame().function;
        let declared = &program.functions[function].locals[local];
        let storage = match &declared.ty {
            Type::Error => None,
            Type::Pointer(_) => Some(Storage::Pointer(self.new_pointer(&declared.name, declared.span))),
            ty => Some(self.storage(ty).unwrap_or_else(|| Storage::Memory(self.scratch_for(function, local, ty)))),
        };
        self.frame().vars[local] = storage;
    }

    /// `return value;`
    pub(super) fn give_back(&mut self, value: Option<&Expr>) {
        let result = self.frame().result.clone();
        match (value, result) {
            (Some(value), Some(Storage::Pointer(id))) => {
                let pointed = self.pointer(value);
                self.check_escape(&pointed, value.span);
                self.assign_pointer(id, pointed, value.span);
            }
            (Some(value), Some(Storage::Leaves(leaves))) if value.ty.is_scalar() => {
                self.value(value);
                self.code.store(leaves[0].2);
            }
            (Some(value), Some(Storage::Leaves(leaves))) => {
                let from = self.object(value);
                self.copy(from, &Spot::new(Base::Leaves(leaves), 0), &value.ty, value.span);
            }
            (Some(value), Some(Storage::Memory(at))) => {
                let from = self.object(value);
                self.copy(from, &Spot::new(Base::Data, at), &value.ty, value.span);
            }
            (Some(value), None) => self.effect(value),
            (None, _) => {}
        }
        let end = self.frame().end;
        self.code.go(end);
    }

    /// A pointer to a local variable must not leave its function.
    fn check_escape(&mut self, pointed: &Pointed, span: Span) {
        let Pointed::At(Spot { base: Base::Leaves(leaves), .. }) = pointed else { return };
        let own = leaves.iter().any(|(.., local)| self.frames.last().is_some_and(|frame| frame.owned.contains(local)));
        if own {
            self.fault_help(span, "this is the address of a local variable, which ends here", "return the value itself");
        }
    }
}
