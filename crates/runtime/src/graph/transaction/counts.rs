//! What came of an element's transactions: how many committed, and which tables, keys and lines of
//! its source those conflicted about that did not.
//!
//! A conflict is found at the commit, by key. Its lines are those of the instructions that may have
//! read that: operations of the kind by which the key was first asked for, on that table; of a
//! variable loads whose place is known. Keys that are told apart have a limit ([`MOST_PLACES`]);
//! conflicts about others are counted by their table.

use super::super::lock::lock;
use crate::sync::{self, AtomicU64, Ordering};
use netil::Module;
use netil::app::Variable;
use netil::module::{HandlerKind, Inst};
use netil::table::{Op, Sem, Space};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Mutex;

/// Places of conflicts that are told apart.
const MOST_PLACES: usize = 64;
/// Looks at whether another has committed, before a run begins again.
const MOST_LOOKS: u32 = 64;

/// What came of an element's transactions, in all graphs.
#[derive(Default)]
pub(in super::super) struct Counts {
    commits: AtomicU64,
    aborts: AtomicU64,
    /// Runs with the lock behind transactions that conflicted.
    locked: AtomicU64,
    places: Mutex<BTreeMap<ConflictSite, u64>>,
}

/// How a key is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asked {
    Found,
    Inserted,
    Deleted,
}

/// Where runs conflict.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConflictSite {
    /// The first byte of data memory that is another.
    Memory(usize),
    /// A table, the key in limbs, and how that was first asked for.
    Entry(usize, Box<[u64]>, Asked),
    /// One of a table's other keys.
    Other(usize),
    Full(usize),
    /// Packets are held.
    Held,
}

/// What came of runs as transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    /// Runs whose changes were written.
    pub commits: u64,
    /// Runs that conflicted, or found a table full.
    pub aborts: u64,
    /// Runs with the lock behind such.
    pub locked: u64,
    /// What they conflicted about, the most frequent first.
    pub conflicts: Vec<Conflict>,
}

/// What runs conflicted about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The table or variable.
    pub about: String,
    /// The key in hexadecimal; none of variables, of tables that were full, and of a table's keys
    /// behind the first that were told apart.
    pub key: Option<String>,
    /// The table had no room.
    pub full: bool,
    /// Lines of the element's source.
    pub lines: Vec<u32>,
    /// How often.
    pub count: u64,
}

impl Counts {
    pub(super) fn conflicts(&self, place: ConflictSite) {
        self.aborts.fetch_add(1, Ordering::Relaxed);
        let mut places = lock(&self.places);
        let place = match place {
            ConflictSite::Entry(table, ..) if places.len() >= MOST_PLACES && !places.contains_key(&place) => ConflictSite::Other(table),
            place => place,
        };
        *places.entry(place).or_default() += 1;
    }

    /// Waits until another has committed, or for some looks, more of them each time.
    pub(super) fn wait(&self, commits: u64, run: u32) {
        for _ in 0..MOST_LOOKS << run.min(6) {
            if self.commits.load(Ordering::Relaxed) != commits {
                return;
            }
            if !sync::spins() {
                return;
            }
        }
        std::thread::yield_now();
    }

    /// How many runs have committed.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Another one has.
    pub(super) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    /// A run holds the lock.
    pub(super) fn is_locked(&self) {
        self.locked.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were, and what they conflicted about.
    pub(in super::super) fn told(&self, program: &Module, variables: &[Variable]) -> Transactions {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let places = lock(&self.places).clone();
        let mut conflicts: Vec<Conflict> = places.into_iter().map(|(place, count)| place.told(count, program, variables)).collect();
        conflicts.sort_by_key(|conflict| std::cmp::Reverse(conflict.count));
        Transactions { commits: of(&self.commits), aborts: of(&self.aborts), locked: of(&self.locked), conflicts }
    }
}

impl ConflictSite {
    fn told(&self, count: u64, program: &Module, variables: &[Variable]) -> Conflict {
        let table = |at: usize| program.tables.get(at).map_or("?", |table| table.name.as_str()).to_owned();
        let conflict = |about: String, lines| Conflict { about, key: None, full: false, lines, count };
        match self {
            Self::Memory(at) => {
                let variable = variables.iter().find(|variable| (variable.at..variable.at + variable.len).contains(&(*at as u32)));
                let name = variable.map_or_else(|| "variables".to_owned(), |variable| variable.name.clone());
                conflict(name, variable.map_or_else(Vec::new, |variable| accesses(program, variable)))
            }
            Self::Full(at) => Conflict { full: true, ..conflict(table(*at), operations(program, *at, Asked::Inserted)) },
            Self::Other(at) => conflict(table(*at), Vec::new()),
            Self::Held => conflict("held packets".to_owned(), lines(program, |code, at| code[at].op == Op::PktTake)),
            Self::Entry(at, key, asked) => {
                let digits = program.tables.get(*at).map_or(16, |table| usize::from(table.key_bits).div_ceil(4));
                let key: String = key.iter().rev().map(|limb| format!("{limb:016x}")).collect();
                let key = key[key.len().saturating_sub(digits)..].to_owned();
                Conflict { key: Some(key), ..conflict(table(*at), operations(program, *at, *asked)) }
            }
        }
    }
}

/// The lines of operations on a table.
fn operations(program: &Module, table: usize, asked: Asked) -> Vec<u32> {
    let is_so = |op| match asked {
        Asked::Found => matches!(op, Op::TFind | Op::TPeek),
        Asked::Inserted => op == Op::TInsert,
        Asked::Deleted => op == Op::TDelete,
    };
    lines(program, |code, at| is_so(code[at].op) && code[at].imm[0] as usize == table)
}

/// The lines of loads of a variable, as far as their places are constants, which stand before them.
fn accesses(program: &Module, variable: &Variable) -> Vec<u32> {
    let places = variable.at..variable.at + variable.len;
    let is_place = |inst: &Inst| inst.constants().last().is_some_and(|place| places.contains(place));
    lines(program, |code, at| match code[at].op.row().sem {
        Sem::Load(Space::Data, ..) | Sem::WideLoad(Space::Data) => at > 0 && is_place(&code[at - 1]),
        _ => false,
    })
}

/// The lines of instructions of the push handler.
fn lines(program: &Module, wanted: impl Fn(&[Inst], usize) -> bool) -> Vec<u32> {
    let Some(handler) = program.handler(HandlerKind::Push) else { return Vec::new() };
    let all = (0..handler.code.len()).filter(|at| wanted(&handler.code, *at)).map(|at| handler.line(at as u32));
    all.filter(|line| *line != 0).collect::<BTreeSet<u32>>().into_iter().collect()
}

impl std::fmt::Display for Transactions {
    /// A line each: counts, and `conflict TABLE KEY COUNT LINES`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "commits {}\naborts {}\nlocked {}", self.commits, self.aborts, self.locked)?;
        for Conflict { about, key, full, lines, count } in &self.conflicts {
            let mut text = format!("conflict {about}");
            let _ = match (key, full) {
                (Some(key), _) => write!(text, " {key}"),
                (None, true) => write!(text, " full"),
                (None, false) => Ok(()),
            };
            let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
            let at = if lines.is_empty() { String::new() } else { format!(" line {}", lines.join(",")) };
            writeln!(f, "{text} {count}{at}")?;
        }
        Ok(())
    }
}
