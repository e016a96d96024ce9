//! Variables with a scope: they lie in shared memory, which elements of an application have
//! together as their scopes say.
//!
//! Before each is a byte that says whether it has had its initial value: of the init handlers of
//! all who have it, the first gives it that.

use super::Lowerer;
use super::place::{Base, Spot};
use crate::c::Variable;
use crate::c::types::{Type, U8};
use netil::table::Op;

impl Lowerer<'_> {
    pub(super) fn place_shared(&mut self, id: usize) {
        let variable = &self.program.statics[id];
        let (at, size) = (self.shared, variable.ty.size().saturating_add(1));
        self.shared = at.saturating_add(size);
        self.statics[id] = Some(at + 1);
        let init = variable.init.iter().filter(|(.., value)| *value != 0).map(|(offset, _, value)| (*offset, *value)).collect();
        let (name, scope) = (variable.name.to_string(), variable.scope.clone());
        self.variables.push(Variable { name, scope, at, size, ty: written(&variable.ty), init });
    }

    /// Declares the memory, and gives variables their initial values.
    pub(super) fn initial_shared(&mut self) {
        if self.shared == 0 {
            return;
        }
        self.code.op1(Op::SetShare, self.shared);
        for (n, variable) in self.program.statics.iter().enumerate().filter(|(_, variable)| variable.is_shared()) {
            let values: Vec<_> = variable.init.iter().filter(|(.., value)| *value != 0).collect();
            let Some(at) = self.statics[n].filter(|_| !values.is_empty()) else { continue };
            let (flag, done) = (Spot::new(Base::Shared, at - 1), self.code.label());
            self.load(&flag, &U8, variable.span);
            self.code.jump(Op::JNe, done);
            self.code.constant(1, 32);
            self.store(&flag, &U8, variable.span);
            for (offset, ty, value) in values {
                self.code.constant(*value, ty.width());
                self.store(&Spot::new(Base::Shared, at + offset), ty, variable.span);
            }
            self.code.place(done);
        }
    }

    /// A handler for people is about to be read, or was written: its value is in `slot`.
    pub(super) fn copy_shared(&mut self, id: usize, slot: &Spot, write: bool) {
        let variable = &self.program.statics[id];
        let shared = Spot::new(Base::Shared, self.static_address(id));
        let (from, to) = if write { (slot, &shared) } else { (&shared, slot) };
        self.load(from, &variable.ty, variable.span);
        self.store(to, &variable.ty, variable.span);
    }
}

/// A type in such words that two are the same where their values are.
fn written(ty: &Type) -> String {
    match ty {
        Type::Array(of, count) => format!("{count}[{}]", written(of)),
        Type::Struct(of) => of.members.iter().fold(String::new(), |text, member| text + "." + &written(&member.ctype)),
        scalar => scalar.to_string(),
    }
}
