//! Which memory each table and variable of a program lies in, on a machine that has a choice
//! (`[scope]`).
//!
//! A class declares who has a table or variable (NP-Click paper, section 4.2.1), and the
//! description of a machine says for each scope which memories come into question, the best one
//! first. What is accessed most for its size is placed first, in the first of its memories that has
//! room. An element that is run by several threads is one element with several instances: what it
//! keeps from packet to packet is regional, although its class does not say so. Variables that no
//! run reads before it writes them are local: each thread has its own.
//!
//! On a machine without a choice, and for bytes that have no name, `[place]` says where they are.

use crate::description::{Machine, REGISTER, Scopes};
use crate::fault::Fault;
use crate::trace::{Event, Trace, kept};
use netil::app::{Datum, Kept, Scope};
use netil::table::Space;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Where something lies.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Placed {
    /// The element's name.
    pub element: String,
    /// Its own.
    pub name: String,
    /// Who has it.
    #[serde(serialize_with = "named")]
    pub scope: Scope,
    /// Bytes that it takes, for all threads together.
    pub bytes: u64,
    /// Accesses of an average packet.
    pub accesses: f64,
    /// The memory.
    pub memory: String,
    #[serde(skip)]
    element_number: usize,
    #[serde(skip)]
    kept: Kept,
}

fn named<S: serde::Serializer>(scope: &Scope, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(name(*scope))
}

/// A scope's name.
pub fn name(scope: Scope) -> &'static str {
    match scope {
        Scope::Local => "local",
        Scope::Regional => "regional",
        Scope::Global => "global",
        Scope::Universal => "universal",
    }
}

/// Where everything lies that a machine has a choice for.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The tables and variables, in the order in which they were placed.
    pub placed: Vec<Placed>,
    tables: HashMap<(usize, u32), usize>,
    /// Pieces of data and shared memories by element: where they begin and end.
    pieces: HashMap<(usize, bool), Vec<Piece>>,
}

/// Where bytes begin and end, and what they are of those that were placed.
type Piece = (u32, u32, usize);

impl Layout {
    /// Places what a program has.
    ///
    /// # Errors
    /// Something fits into none of the memories of its scope.
    pub fn of(trace: &Trace, machine: &Machine) -> Result<Self, Fault> {
        let Some(scopes) = &machine.scope else { return Ok(Self::default()) };
        let mut all = wanted(trace, machine);
        // Those with most accesses for their size first; of equals those that come first.
        all.sort_by(|a, b| (b.0.accesses / b.0.bytes.max(1) as f64).total_cmp(&(a.0.accesses / a.0.bytes.max(1) as f64)));
        let mut room = Room { machine, scopes, used: constants(trace, machine), seen: BTreeMap::new() };
        let mut layout = Self::default();
        for (mut datum, same) in all {
            datum.memory = room.place(&datum, same)?;
            layout.add(datum);
        }
        Ok(layout)
    }

    fn add(&mut self, datum: Placed) {
        let (at, element) = (self.placed.len(), datum.element_number);
        let mut piece = |shared: bool, from: u32, len: u32| {
            self.pieces.entry((element, shared)).or_default().push((from, from.saturating_add(len), at));
        };
        match datum.kept {
            Kept::Table(n) => drop(self.tables.insert((element, n), at)),
            Kept::Shared { at, len } => piece(true, at, len),
            Kept::Data { at, len } => piece(false, at, len),
        }
        self.placed.push(datum);
    }

    /// The memory of a table.
    pub(crate) fn table<'a>(&'a self, element: u32, table: u32, machine: &'a Machine) -> &'a String {
        self.tables.get(&(element as usize, table)).map_or(&machine.place.table, |at| &self.placed[*at].memory)
    }

    /// The memory of a byte of data or shared memory.
    pub(crate) fn byte<'a>(&'a self, element: u32, shared: bool, at: u32, machine: &'a Machine) -> &'a String {
        let pieces = self.pieces.get(&(element as usize, shared)).map_or(&[][..], Vec::as_slice);
        let rest = if shared { &machine.place.shared } else { &machine.place.data };
        pieces.iter().find(|(from, end, _)| (*from..*end).contains(&at)).map_or(rest, |(.., placed)| &self.placed[*placed].memory)
    }
}

/// What a datum of several elements has in common with the same one of others: it takes room once.
type Same = Option<String>;

/// All that is to be placed.
fn wanted(trace: &Trace, machine: &Machine) -> Vec<(Placed, Same)> {
    let counts = Counts::of(trace);
    let kept = kept(trace);
    declared(trace).into_iter().map(|datum| one(&datum, trace, machine, &counts, &kept)).collect()
}

/// What is declared, and tables of programs that declare nothing.
fn declared(trace: &Trace) -> Vec<Datum> {
    let mut all = trace.data.clone();
    for (n, element) in trace.elements.iter().enumerate() {
        for (number, table) in element.program.module().tables.iter().enumerate() {
            let kept = Kept::Table(number as u32);
            if !all.iter().any(|datum| datum.instance as usize == n && datum.kept == kept) {
                all.push(Datum { instance: n as u32, name: table.name.clone(), scope: Scope::Local, of_other: false, kept });
            }
        }
    }
    all
}

fn one(datum: &Datum, trace: &Trace, machine: &Machine, counts: &Counts, carried: &HashSet<(u32, u32)>) -> (Placed, Same) {
    let element = datum.instance as usize;
    let label = trace.elements.get(element).map_or("", |element| element.name.as_str());
    let class = label.rsplit(" :: ").next().unwrap_or_default();
    let size = size(datum, trace);
    let is_own = |at: u32, len: u32| !(at..at.saturating_add(len)).any(|byte| carried.contains(&(datum.instance, byte)));
    let (scope, bytes) = match (datum.scope, datum.kept) {
        (Scope::Local, Kept::Data { at, len }) if is_own(at, len) => (Scope::Local, size * u64::from(machine.threads())),
        (Scope::Local, _) => (Scope::Regional, size),
        (scope, _) => (scope, size),
    };
    let same = match scope {
        _ if datum.of_other => Some(format!("{label} {}", datum.name)),
        Scope::Global => Some(format!("{class} {}", datum.name)),
        Scope::Universal => Some(datum.name.clone()),
        Scope::Local | Scope::Regional => None,
    };
    let accesses = counts.of_datum(datum) / trace.packets.len().max(1) as f64;
    let (element_name, name) = (label.to_owned(), datum.name.clone());
    // What another element declares takes its room there.
    let bytes = if datum.of_other { 0 } else { bytes };
    let placed =
        Placed { element: element_name, name, scope, bytes, accesses, memory: String::new(), element_number: element, kept: datum.kept };
    (placed, same)
}

/// Bytes: a table has its keys and values, and a word for the chain of each entry.
fn size(datum: &Datum, trace: &Trace) -> u64 {
    match datum.kept {
        Kept::Shared { len, .. } | Kept::Data { len, .. } => len.into(),
        Kept::Table(n) => {
            let program = trace.elements.get(datum.instance as usize).map(|element| &element.program);
            let table = program.and_then(|program| program.module().tables.get(n as usize));
            table.map_or(0, |table| u64::from(table.capacity) * (u64::from(table.key_bits) / 8 + u64::from(table.value_bytes) + 4))
        }
    }
}

/// Bytes of each memory that constants take.
fn constants(trace: &Trace, machine: &Machine) -> BTreeMap<String, u64> {
    let bytes = trace.elements.iter().map(|element| element.program.module().data.len() as u64).sum();
    BTreeMap::from([(machine.place.initialised.clone(), bytes)])
}

struct Room<'m> {
    machine: &'m Machine,
    scopes: &'m Scopes,
    used: BTreeMap<String, u64>,
    /// Where those are that are one.
    seen: BTreeMap<String, String>,
}

impl Room<'_> {
    fn place(&mut self, datum: &Placed, same: Same) -> Result<String, Fault> {
        if let Some(memory) = same.as_ref().and_then(|same| self.seen.get(same)) {
            return Ok(memory.clone());
        }
        let choice = match datum.scope {
            Scope::Local => &self.scopes.local,
            Scope::Regional => &self.scopes.regional,
            Scope::Global => &self.scopes.global,
            Scope::Universal => &self.scopes.universal,
        };
        let Some(memory) = choice.iter().find(|memory| self.left(memory).is_none_or(|left| datum.bytes <= left)) else {
            let left = |memory: &String| format!("{memory} has {} left", self.left(memory).unwrap_or(0));
            let left = choice.iter().map(left).collect::<Vec<_>>().join(", ");
            let (scope, bytes) = (name(datum.scope), datum.bytes);
            return Err(Fault::new(format!("`{}` of {} ({scope}) takes {bytes} bytes: {left}", datum.name, datum.element)));
        };
        *self.used.entry(memory.clone()).or_default() += datum.bytes;
        same.into_iter().for_each(|same| drop(self.seen.insert(same, memory.clone())));
        Ok(memory.clone())
    }

    /// Bytes that a memory has left; none if it has no end.
    fn left(&self, memory: &str) -> Option<u64> {
        let bytes = match memory {
            REGISTER => u64::from(self.scopes.registers) * u64::from(self.machine.threads()),
            _ => self.machine.memory.get(memory).map_or(0, |memory| memory.bytes),
        };
        (bytes > 0 || memory == REGISTER).then(|| bytes.saturating_sub(self.used.get(memory).copied().unwrap_or(0)))
    }
}

/// Accesses by element: to bytes, and to tables.
#[derive(Default)]
struct Counts {
    bytes: HashMap<(u32, bool), BTreeMap<u32, u64>>,
    tables: HashMap<(u32, u32), u64>,
}

impl Counts {
    fn of(trace: &Trace) -> Self {
        let mut counts = Self::default();
        for packet in &trace.packets {
            let mut runs = Vec::new();
            for event in &packet.events {
                let element = runs.last().copied().unwrap_or(0);
                match event {
                    Event::Begin(element) => runs.push(*element),
                    Event::End => drop(runs.pop()),
                    Event::Access { space: space @ (Space::Data | Space::Shared), address, .. } => {
                        *counts.bytes.entry((element, *space == Space::Shared)).or_default().entry(*address).or_default() += 1;
                    }
                    Event::Lookup { table, .. } | Event::Entry { table, .. } => *counts.tables.entry((element, *table)).or_default() += 1,
                    _ => {}
                }
            }
        }
        counts
    }

    fn of_datum(&self, datum: &Datum) -> f64 {
        let bytes = |shared: bool, at: u32, len: u32| {
            let all = self.bytes.get(&(datum.instance, shared));
            all.map_or(0, |all| all.range(at..at.saturating_add(len)).map(|(_, count)| count).sum())
        };
        (match datum.kept {
            Kept::Table(n) => self.tables.get(&(datum.instance, n)).copied().unwrap_or(0),
            Kept::Shared { at, len } => bytes(true, at, len),
            Kept::Data { at, len } => bytes(false, at, len),
        }) as f64
    }
}
