//! What a program keeps when its init handler has run, for back ends whose files begin with that.
//!
//! Left out: coprocessors other than the console, whose output before packets come is nobody's.

use netil::copro::{CoproError, Coprocessor, Registers};
use netil::exec::State;
use netil::layout::LATEST;
use netil::module::Entry;
use netil::tables::Table;
use netil::{Interpreter, Verified};
use std::collections::HashSet;
use std::sync::Arc;

/// The state after the init handler, which the interpreter runs.
///
/// # Errors
/// The init handler fails, sets a timer, or uses a coprocessor.
pub(super) fn state(program: &Verified) -> Result<State, String> {
    let silent = |name: &str| (name == "console").then(|| Box::new(Silent) as Box<dyn Coprocessor>);
    let mut state = State::new(program, &silent).map_err(|_| "a coprocessor, which this target does not have".to_owned())?;
    let mut interpreter = Interpreter::new(Arc::new(program.clone()));
    interpreter.init(&mut state).map_err(|how| format!("an init handler that fails: {how:?}"))?;
    if state.timers.iter().any(|due| *due > 0) {
        return Err("a timer that is set before packets come: this target runs when packets come, and at no other time".to_owned());
    }
    Ok(state)
}

/// A console that shows nothing.
struct Silent;

impl Coprocessor for Silent {
    fn init(&mut self, _: &[u8]) -> u32 {
        0
    }

    fn invoke(&mut self, _: u32, _: &mut Registers, _: Option<&[u8]>) -> Result<(), CoproError> {
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

/// The entries of a table, each with whether it is there for ever.
pub(super) fn entries(table: &dyn Table) -> Vec<(Entry, bool)> {
    let key = |e: &Entry| (e.key.clone(), e.mask.clone());
    let for_ever: HashSet<_> = table.entries(LATEST).iter().map(key).collect();
    let stays = |e: Entry| {
        let stays = for_ever.contains(&key(&e));
        (e, stays)
    };
    table.entries(0).into_iter().map(stays).collect()
}
