//! Where control goes: uses of views and entries that have ended, and locals that may be read
//! before they are written.
//!
//! Both are forward data flow over the instructions as they are made, inlined and with every loop;
//! states are kept where paths may meet. A view ends when the packet's bytes move, an entry at an
//! insert or delete on its table.

use crate::diagnostics::{Diagnostic, Span};
use netil::module::Inst;
use netil::table::Op;
use std::collections::HashMap;

/// States kept, times their size: beyond that nothing is looked for, and the program's own checks
/// are left.
const MAX_WORK: usize = 1 << 27;

/// A variable that points into the packet or to an entry.
pub(super) type View = u32;

/// What the text says happens here.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// The view is made anew.
    Define(View),
    /// Its variable points elsewhere.
    Forget(View),
    /// It is used.
    Use(View, Span),
    /// The packet's bytes move: the function that does it.
    Moves(Span, &'static str),
    /// An entry is put into or taken out of a table.
    Changes(u32, Span, &'static str),
}

/// What is known of a view: its name and its table, if it is an entry.
#[derive(Clone, Debug)]
pub(super) struct ViewOf {
    pub(super) name: String,
    pub(super) table: Option<u32>,
}

/// For each view the number of the event that ended it, counted from 1; or one of these.
type State = Vec<u32>;
const ALIVE: u32 = 0;
/// There is no such view now.
const ABSENT: u32 = u32::MAX;

/// Uses of what has ended.
pub(super) fn ended(insts: &[Inst], events: &[(u32, Event)], views: &[ViewOf]) -> Vec<Diagnostic> {
    let leaders = leaders(insts);
    let changes = events.iter().any(|(_, event)| matches!(event, Event::Moves(..) | Event::Changes(..)));
    let size = leaders.iter().filter(|leader| **leader).count().saturating_mul(views.len() + 1);
    if !changes || views.is_empty() || size > MAX_WORK {
        return Vec::new();
    }
    let mut walk = Walk { insts, events, views, found: HashMap::new() };
    let mut states: HashMap<usize, State> = HashMap::from([(0, vec![ABSENT; views.len()])]);
    let mut work = vec![0];
    while let Some(start) = work.pop() {
        let (mut at, mut state) = (start, states[&start].clone());
        loop {
            walk.step(at, &mut state);
            let inst = &insts[at];
            for target in inst.targets() {
                meet(&mut states, &mut work, target as usize, &state);
            }
            if inst.op.ends_block() || at + 1 >= insts.len() {
                break;
            }
            at += 1;
            if leaders[at] {
                meet(&mut states, &mut work, at, &state);
                break;
            }
        }
    }
    walk.faults()
}

fn leaders(insts: &[Inst]) -> Vec<bool> {
    let mut leaders = vec![false; insts.len()];
    insts.iter().flat_map(Inst::targets).for_each(|target| leaders[target as usize] = true);
    leaders
}

/// Joins a state into that of a place; what changed is looked at again.
fn meet(states: &mut HashMap<usize, State>, work: &mut Vec<usize>, at: usize, state: &State) {
    let Some(known) = states.get_mut(&at) else {
        states.insert(at, state.clone());
        return work.push(at);
    };
    let mut changed = false;
    for (old, new) in known.iter_mut().zip(state) {
        // Absent and alive is alive, alive and ended is ended.
        if *old == ABSENT && *new != ABSENT || *old == ALIVE && *new != ALIVE && *new != ABSENT {
            (*old, changed) = (*new, true);
        }
    }
    if changed {
        work.push(at);
    }
}

struct Walk<'a> {
    insts: &'a [Inst],
    events: &'a [(u32, Event)],
    views: &'a [ViewOf],
    /// By the place of use: the view, and the event that ended it.
    found: HashMap<(u32, u32), (View, u32)>,
}

impl Walk<'_> {
    fn step(&mut self, at: usize, state: &mut State) {
        debug_assert!(at < self.insts.len());
        let first = self.events.partition_point(|(index, _)| (*index as usize) < at);
        for (number, (_, event)) in self.events.iter().enumerate().skip(first).take_while(|(_, (index, _))| *index as usize == at) {
            self.event(event, number as u32 + 1, state);
        }
    }

    fn event(&mut self, event: &Event, number: u32, state: &mut State) {
        match event {
            Event::Define(view) => state[*view as usize] = ALIVE,
            Event::Forget(view) => state[*view as usize] = ABSENT,
            Event::Use(view, span) => {
                let ended = state[*view as usize];
                if ended != ALIVE && ended != ABSENT {
                    self.found.entry((span.start, span.end)).or_insert((*view, ended));
                }
            }
            Event::Moves(..) => self.end(state, number, None),
            Event::Changes(table, ..) => self.end(state, number, Some(*table)),
        }
    }

    fn end(&self, state: &mut State, number: u32, table: Option<u32>) {
        for (ended, view) in state.iter_mut().zip(self.views) {
            if view.table == table && *ended == ALIVE {
                *ended = number;
            }
        }
    }

    fn faults(self) -> Vec<Diagnostic> {
        let fault = |((start, end), (view, ended)): (&(u32, u32), &(View, u32))| {
            let span = Span { start: *start, end: *end };
            let view = &self.views[*view as usize];
            let (kind, why, help) = match view.table {
                None => ("view", "moves the packet's bytes: its views end here", "make the view again with header(T, offset) behind that"),
                Some(_) => ("entry", "ends all entries of the table that were found before", "find the entry again behind that"),
            };
            let why = match &self.events[*ended as usize - 1].1 {
                Event::Moves(_, "packet_ask") => "puts another packet in its place: views end here",
                _ => why,
            };
            let (cause, word) = match &self.events[*ended as usize - 1].1 {
                Event::Moves(span, word) | Event::Changes(_, span, word) => (*span, *word),
                _ => (span, ""),
            };
            let name = if view.name.is_empty() { String::new() } else { format!(" `{}`", view.name) };
            Diagnostic::new(span, format!("the {kind}{name} has ended")).note(cause, format!("`{word}` {why}")).help(help)
        };
        let mut faults: Vec<Diagnostic> = self.found.iter().map(fault).collect();
        faults.sort_by_key(|fault| fault.span.start);
        faults
    }
}

/// Locals that some path reads before it has written them.
pub(super) fn unwritten(insts: &[Inst], locals: usize) -> Vec<u32> {
    let leaders = leaders(insts);
    let words = locals.div_ceil(64);
    let mut found = vec![false; locals];
    let mut states: HashMap<usize, Vec<u64>> = HashMap::from([(0, vec![0; words])]);
    let mut work = vec![0];
    while let Some(start) = work.pop() {
        let (mut at, mut written) = (start, states[&start].clone());
        loop {
            let inst = &insts[at];
            let n = inst.imm[0] as usize;
            match inst.op {
                Op::LocStore => written[n / 64] |= 1 << (n % 64),
                Op::LocLoad => found[n] |= written[n / 64] >> (n % 64) & 1 == 0,
                _ => {}
            }
            for target in inst.targets() {
                both(&mut states, &mut work, target as usize, &written);
            }
            if inst.op.ends_block() || at + 1 >= insts.len() {
                break;
            }
            at += 1;
            if leaders[at] {
                both(&mut states, &mut work, at, &written);
                break;
            }
        }
    }
    (0..locals as u32).filter(|local| found[*local as usize]).collect()
}

/// As `meet`, for what is written on both ways.
fn both(states: &mut HashMap<usize, Vec<u64>>, work: &mut Vec<usize>, at: usize, written: &[u64]) {
    let Some(known) = states.get_mut(&at) else {
        states.insert(at, written.to_vec());
        return work.push(at);
    };
    let mut changed = false;
    for (old, new) in known.iter_mut().zip(written) {
        changed |= *old & !new != 0;
        *old &= new;
    }
    if changed {
        work.push(at);
    }
}
