//! Programs without some [`Optimisation`], to see what each gains; and how often each was made use
//! of.
//!
//! Without `tables` an action that a control calls is the default action of a table of its own,
//! which data memory names, as p4c's hidden tables are. Without `metadata` the fields of the
//! program's metadata and of the standard ones lie in data memory. Without `actions` an entry has a
//! number under which data memory has the action's.

use super::place::StorageLocation;
use super::{Lower, Lowered};
use crate::optimisation::Optimisation;
use frontends::diagnostics::Span;
use netil::module::{Extra, Handler, Inst};
use netil::table::Op;
use std::collections::{HashMap, HashSet};

/// What has been done how often.
#[derive(Clone, Debug, Default)]
pub(super) struct Done {
    calls: usize,
    keyless: usize,
    defaults: usize,
    resolved: HashSet<usize>,
}

/// Locals that lie in data memory: where.
pub(super) type Cells = HashMap<u32, u32>;

impl Lower<'_> {
    pub(super) fn does(&self, optimisation: Optimisation) -> bool {
        !self.without.contains(&optimisation)
    }

    /// Calls an action from a control: without hidden tables at once, else as one whose default
    /// action has number 0.
    pub(super) fn called(&mut self, span: Span, body: impl FnOnce(&mut Self) -> Lowered<()>) -> Lowered<()> {
        if self.does(Optimisation::Tables) {
            self.done.calls += 1;
            return body(self);
        }
        let at = self.allot(2, span)?;
        let (action, end) = (self.code.label(), self.code.label());
        self.code.push(at);
        self.code.w(Op::WmLoad, 16);
        self.code.resize(16, 32);
        self.code.switch(vec![(0, action)], end);
        self.code.bind(action);
        body(self)?;
        self.code.bind(end);
        Ok(())
    }

    /// Whether the default action of a table is known, since nobody may change it.
    pub(super) fn knows_default(&mut self, at: usize) -> bool {
        let meta = &self.metas[at];
        let knows = meta.const_default && !meta.default.is_empty() && self.does(Optimisation::Tables);
        let counted = if self.metas[at].table.is_none() { &mut self.done.keyless } else { &mut self.done.defaults };
        *counted += usize::from(knows);
        knows
    }

    /// Makes the number of an action that an entry has, 32 bits, the one of its code.
    pub(super) fn resolve_action(&mut self, at: usize, span: Span) -> Lowered<()> {
        if self.does(Optimisation::Actions) {
            self.done.resolved.insert(at);
            return Ok(());
        }
        let count = self.metas[at].actions.len() as u32;
        let map = match self.maps.get(&at) {
            Some((map, _)) => *map,
            None => self.allot(2 * count, span)?,
        };
        self.maps.insert(at, (map, count));
        let number = self.code.new_local(32);
        self.code.set(number);
        let (known, end) = (self.code.label(), self.code.label());
        self.code.get(number);
        self.code.push(count);
        self.code.branch(Op::JCmpL, known);
        self.code.jump(end);
        self.code.bind(known);
        self.code.get(number);
        self.code.push(1);
        self.code.op(Op::Shl);
        self.code.push(map);
        self.code.op(Op::Add);
        self.code.w(Op::WmLoad, 16);
        self.code.resize(16, 32);
        self.code.set(number);
        self.code.bind(end);
        self.code.get(number);
        Ok(())
    }

    /// Lays metadata into data memory, if they are not to be values.
    pub(super) fn lay_metadata(&mut self, places: &[&StorageLocation], span: Span) -> Lowered<()> {
        for place in places {
            for (local, leaf) in (place.base..).zip(self.leaves(&place.ty, span)?) {
                self.metadata += 1;
                if !self.does(Optimisation::Metadata) {
                    let at = self.allot(u32::from(leaf.width()).div_ceil(8), span)?;
                    self.cells.insert(local, at);
                }
            }
        }
        Ok(())
    }

    /// What was done, a sentence each.
    pub(super) fn told(&self) -> Vec<String> {
        let mut told = Vec::new();
        let mut tell = |optimisation, is: bool, text: String| {
            if is && self.does(optimisation) {
                told.push(text);
            }
        };
        let Done { calls, keyless, defaults, resolved } = &self.done;
        let tables = calls + keyless + defaults;
        let text = format!(
            "tables: {calls} calls of actions and {keyless} tables without keys need no table; {defaults} constant default actions are known"
        );
        tell(Optimisation::Tables, tables > 0, text);
        tell(Optimisation::Metadata, self.metadata > 0, format!("metadata: {} fields are values, and lie in no memory", self.metadata));
        tell(
            Optimisation::Actions,
            !resolved.is_empty(),
            format!("actions: entries of {} tables name the code of their actions", resolved.len()),
        );
        told
    }
}

/// A handler in which some locals are places in data memory.
pub(super) fn in_memory(handler: Handler, cells: &Cells) -> Handler {
    if cells.is_empty() {
        return handler;
    }
    let Handler { code, locals, max_stack, lines, labels } = handler;
    let (mut new, mut new_lines, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (inst, line) in code.iter().zip(lines) {
        places.push(new.len() as u32);
        new.extend(moved(inst, &locals, cells));
        new_lines.resize(new.len(), line);
    }
    let at = |place: u32| places.get(place as usize).copied().unwrap_or(place);
    for inst in &mut new {
        match &mut inst.extra {
            Extra::Switch(switch) => {
                switch.default = at(switch.default);
                switch.cases.iter_mut().for_each(|case| case.1 = at(case.1));
            }
            _ if inst.op.branches() => inst.imm[0] = at(inst.imm[0]),
            _ => {}
        }
    }
    Handler { code: new, locals, max_stack: max_stack + 1, lines: new_lines, labels }
}

/// What an instruction is if its local may lie in memory.
fn moved(inst: &Inst, locals: &[u16], cells: &Cells) -> Vec<Inst> {
    let local = inst.imm[0];
    let Some(at) = cells.get(&local).filter(|_| matches!(inst.op, Op::LocLoad | Op::LocStore)) else { return vec![inst.clone()] };
    let width = u32::from(locals[local as usize]);
    let whole = width.next_multiple_of(8);
    let cut = whole > width;
    match inst.op {
        Op::LocLoad => {
            let load = [Inst::with(Op::Push, *at), Inst::with(Op::WmLoad, whole)];
            load.into_iter().chain(cut.then(|| Inst::with2(Op::WTrunc, whole, width))).collect()
        }
        _ => {
            let extended = cut.then(|| Inst::with2(Op::WZext, width, whole));
            extended.into_iter().chain([Inst::with(Op::Push, *at), Inst::with(Op::WmStore, whole)]).collect()
        }
    }
}
