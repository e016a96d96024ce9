//! What a program keeps when its init handler has run, for back ends whose files begin with that.
//!
//! Left out: coprocessors other than the console, whose output before packets come is nobody's, and for back ends that search packets
//! themselves `stringmatching`, of which they are told what it was loaded with.

use super::c::freestanding::automaton::is_known;
use netil::copro::patterns::{Reader, Text, groups, strings_load_price};
use netil::copro::{CoproError, Coprocessor, Registers};
use netil::exec::State;
use netil::layout::LATEST;
use netil::module::Entry;
use netil::tables::Table;
use netil::{Interpreter, Verified};
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The state after the init handler, which the interpreter runs.
///
/// # Errors
/// The init handler fails, sets a timer, or uses a coprocessor.
pub(super) fn state(program: &Verified) -> Result<State, String> {
    made(program, &silent)
}

/// The same for a back end that searches packets: with what units of `stringmatching` were loaded with, in the order of the module.
///
/// # Errors
/// The init handler fails, sets a timer, or uses another coprocessor.
pub(super) fn searching(program: &Verified) -> Result<(State, Vec<Loaded>), String> {
    let all: RefCell<Vec<Loaded>> = RefCell::default();
    let make = |name: &str| {
        if !is_known(name) {
            return silent(name);
        }
        let unit = Loaded::default();
        all.borrow_mut().push(unit.clone());
        Some(Box::new(unit) as Box<dyn Coprocessor>)
    };
    let state = made(program, &make)?;
    Ok((state, all.into_inner()))
}

fn silent(name: &str) -> Option<Box<dyn Coprocessor>> {
    (name == "console").then(|| Box::new(Silent) as Box<dyn Coprocessor>)
}

fn made(program: &Verified, make: &dyn Fn(&str) -> Option<Box<dyn Coprocessor>>) -> Result<State, String> {
    let mut state =
        State::new(program, make).map_err(|lacking| format!("the coprocessor '{}', which this target does not have", lacking.0))?;
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

/// The strings of a unit of `stringmatching`, by group.
type Groups = Vec<Vec<Text>>;

/// A unit of `stringmatching` while the init handler runs: there is no packet yet, so it finds nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Loaded(Arc<Mutex<Option<Groups>>>);

impl Loaded {
    /// What it was loaded with; none if it was not, or refused it.
    pub(super) fn groups(&self) -> Option<Groups> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Coprocessor for Loaded {
    fn init(&mut self, data: &[u8]) -> u32 {
        let read = groups(&mut Reader(data));
        let refusal = read.as_ref().err().map_or(0, |why| *why as u32);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = read.ok();
        refusal
    }

    fn invoke(&mut self, operation: u32, registers: &mut Registers, packet: Option<&[u8]>) -> Result<(), CoproError> {
        match operation {
            0 => {}
            1 | 2 => {
                let count = self.groups().ok_or(CoproError::NotInitialised)?.len();
                if registers[0] as usize >= count {
                    return Err(CoproError::BadRegister);
                }
                // Nothing is in a packet without bytes.
                registers[0] = packet.filter(|packet| packet.is_empty()).map(|_| 0).ok_or(CoproError::NoPacket)?;
            }
            _ => registers[..4].fill(0),
        }
        Ok(())
    }

    fn init_work(&self, data: &[u8]) -> u64 {
        strings_load_price(data)
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
