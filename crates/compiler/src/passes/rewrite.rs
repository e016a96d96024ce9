//! Replacing values by others, shared by the passes.

use crate::mir::{Func, Value};

/// For each value the one that takes its place.
pub(super) struct Replacements(Vec<Value>);

impl Replacements {
    /// Every value stays.
    pub fn new(func: &Func) -> Self {
        Self((0..func.values.len() as u32).map(Value).collect())
    }

    /// From now on `old` stands for `new`.
    pub fn set(&mut self, old: Value, new: Value) {
        let new = self.get(new);
        self.0[old.0 as usize] = new;
    }

    /// What stands for a value, through any number of steps.
    pub fn get(&mut self, v: Value) -> Value {
        let mut root = v;
        while let Some(next) = self.0.get(root.0 as usize).filter(|n| **n != root) {
            root = *next;
        }
        let mut at = v;
        while at != root {
            at = std::mem::replace(&mut self.0[at.0 as usize], root);
        }
        root
    }

    /// Puts replacements in place in the whole function.
    pub fn apply(&mut self, func: &mut Func) {
        for i in 0..func.blocks.len() {
            for at in 0..func.blocks[i].ops.len() {
                self.apply_to(func, func.blocks[i].ops[at]);
            }
            func.blocks[i].end.map_values(|v| self.get(v));
        }
    }

    /// Puts replacements in place in one operation.
    pub fn apply_to(&mut self, func: &mut Func, v: Value) {
        if let crate::mir::Def::Op(op) = &mut func.values[v.0 as usize].def {
            op.map_operands(|u| self.get(u));
        }
    }
}
