//! What a program keeps when its init handler has run, for back ends whose files begin with that.
//!
//! Left out: coprocessors other than the console, whose output before packets come is nobody's, and
//! for back ends that search packets themselves `stringmatching` and `regexp`, of which they are
//! told what these were loaded with.

use super::c::Unsupported;
use super::c::freestanding::automaton;
use super::c::freestanding::expression::{self, Expression};
use netil::copro::patterns::{Expressions, Reader, Refusal, Text, expressions_load_price, groups, strings_load_price};
use netil::copro::{CoproError, Coprocessor, Registers, Views};
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
pub(super) fn state(program: &Verified) -> Result<State, Unsupported> {
    made(program, &silent)
}

/// The state after the init handler, for a back end that searches packets: with what units of
/// `stringmatching` and `regexp` were loaded with, in the order of the module.
///
/// # Errors
/// The init handler fails, sets a timer, or uses another coprocessor.
pub(super) fn searching(program: &Verified) -> Result<(State, Vec<Loaded>), Unsupported> {
    let all: RefCell<Vec<Loaded>> = RefCell::default();
    let make = |name: &str| {
        if !automaton::is_known(name) && !expression::is_known(name) {
            return silent(name);
        }
        let unit = Loaded::new(automaton::is_known(name));
        all.borrow_mut().push(unit.clone());
        Some(Box::new(unit) as Box<dyn Coprocessor>)
    };
    let state = made(program, &make)?;
    Ok((state, all.into_inner()))
}

fn silent(name: &str) -> Option<Box<dyn Coprocessor>> {
    (name == "console").then(|| Box::new(Silent) as Box<dyn Coprocessor>)
}

fn made(program: &Verified, make: &dyn Fn(&str) -> Option<Box<dyn Coprocessor>>) -> Result<State, Unsupported> {
    let mut state = State::new(program, make)
        .map_err(|lacking| Unsupported(format!("the coprocessor '{}', which this target does not have", lacking.0)))?;
    let mut interpreter = Interpreter::new(Arc::new(program.clone()));
    interpreter.init(&mut state).map_err(|how| Unsupported(format!("an init handler that fails: {how:?}")))?;
    if state.timers.iter().any(|due| *due > 0) {
        return Err(Unsupported(
            "a timer that is set before packets come: this target runs when packets come, and at no other time".to_owned(),
        ));
    }
    Ok(state)
}

/// A console that shows nothing.
struct Silent;

impl Coprocessor for Silent {
    fn init(&mut self, _: &[u8]) -> u32 {
        0
    }

    fn invoke(&mut self, _: u32, _: &mut Registers, _: Views<'_>) -> Result<(), CoproError> {
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

/// What a unit was loaded with.
#[derive(Clone, Debug)]
pub(super) enum Patterns {
    /// The strings of a unit of `stringmatching`, by group.
    Strings(Vec<Vec<Text>>),
    /// The expressions of a unit of `regexp`.
    Expressions(Vec<Expression>),
}

impl Patterns {
    /// How many register 0 picks of.
    fn len(&self) -> usize {
        match self {
            Self::Strings(groups) => groups.len(),
            Self::Expressions(all) => all.len(),
        }
    }
}

/// A unit of `stringmatching` or `regexp` while the init handler runs: there is no packet yet, so
/// it finds nothing.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    strings: bool,
    patterns: Arc<Mutex<Option<Patterns>>>,
}

impl Loaded {
    fn new(strings: bool) -> Self {
        Self { strings, patterns: Arc::default() }
    }

    /// What it was loaded with; none if it was not, or refused it.
    pub(super) fn patterns(&self) -> Option<Patterns> {
        self.patterns.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn read(&self, data: &[u8]) -> Result<Patterns, Refusal> {
        let mut data = Reader(data);
        match self.strings {
            true => groups(&mut data).map(Patterns::Strings),
            false => Expressions::new(&mut data)?.map(|read| Expression::new(read?)).collect::<Result<_, _>>().map(Patterns::Expressions),
        }
    }
}

impl Coprocessor for Loaded {
    fn init(&mut self, data: &[u8]) -> u32 {
        let read = self.read(data);
        let refusal = read.as_ref().err().map_or(0, |why| *why as u32);
        *self.patterns.lock().unwrap_or_else(PoisonError::into_inner) = read.ok();
        refusal
    }

    fn invoke(&mut self, operation: u32, registers: &mut Registers, views: Views<'_>) -> Result<(), CoproError> {
        match operation {
            0 => {}
            1 | 2 => {
                let count = self.patterns().ok_or(CoproError::NotInitialised)?.len();
                if registers[0] as usize >= count {
                    return Err(CoproError::BadRegister);
                }
                // Nothing is in a packet without bytes.
                registers[0] = views.packet.filter(|packet| packet.is_empty()).map(|_| 0).ok_or(CoproError::NoPacket)?;
            }
            _ if self.strings => registers[..4].fill(0),
            _ => registers[1..4].fill(0),
        }
        Ok(())
    }

    fn init_work(&self, data: &[u8]) -> u64 {
        if self.strings { strings_load_price(data) } else { expressions_load_price(data) }
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
