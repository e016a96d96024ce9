//! An element that is a program: an engine and its state.
//!
//! Ports: the program's ids are its inputs from 0, then its outputs. Timers are set in the time of
//! packets; they are due that much later by the clock of the run, which is the same where time is
//! that of captures. Handlers of people run in the time of packets, too: a rate is not less because
//! they waited in a queue. A state that several graphs have in common ([`super::share`]) takes the
//! place of the own one while the program runs.

use super::copies::Copied;
use super::ended::Ended;
use super::handler::ElementHandler;
use super::lock::lock;
use super::packet_source::Before;
use super::plane::ControlPlane;
use super::share::{Policy, Slot};
use super::together::{Shared, Together, exchange, seed_of};
use super::transaction::{self, Begun, Transactions};
use super::{ElementError, Factories, Packet, Settings};
use crate::coproc::tables::is_written;
use netil::Verified;
use netil::app::{Application, Layout, Variable};
use netil::engine::Engine;
use netil::event;
use netil::exec::{Disposition, DropReason, ExchangeBuffer, Outcome, State};
use netil::fault::{AtHand, caught, note};
use netil::module::{HandlerKind, PortKind, Table as Declaration};
use netil::table::Op;
use netil::tables::Reference;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};

/// How often timers of an element may run at one time of the run's clock: timers that set
/// themselves for the past would go on for ever.
pub(super) const MOST_TIMER_RUNS: u32 = 1 << 12;

/// A program and all that it keeps.
pub(super) struct Program {
    pub(super) program: Arc<Verified>,
    engine: Box<dyn Engine>,
    pub(super) state: Box<State>,
    /// The state in common with other graphs, and what elements have together in all of them.
    slot: Option<Arc<Slot>>,
    /// Its graph holds the lock of that state, which is in the place of its own.
    held: bool,
    others: Option<Arc<Mutex<Option<Shared>>>>,
    /// What was printed from the state in common.
    told: Vec<u8>,
    /// What memory was when the last transaction began.
    pub(super) begun: Begun,
    /// Whose copy its state is, if it is one.
    pub(super) copied: Option<Copied>,
    outcome: Outcome,
    inputs: u32,
    /// Some handler sets a timer.
    sets_timers: bool,
    /// Timers as they were last seen, and when each is due by the run's clock.
    timers: Vec<(u64, u64)>,
    /// When timers ran last by the run's clock, and how often at that time.
    runs: (u64, u32),
    /// The one that is due first: when by the run's clock, which one, the time it was set for.
    first: Option<(u64, u32, u64)>,
    /// By how much the run's clock was ahead of the last packet's time, modulo 2^64. Packets that
    /// run as part of a cluster are arrivals, whose times are the clock's.
    lag: u64,
    together: Together,
    /// Its pull handler looks for packets itself.
    asks: bool,
    /// The element's name: others may have the same program.
    name: String,
    /// What its variables are called, for people.
    variables: Vec<Variable>,
    /// What the fields of its tables are called, for people.
    pub(super) layouts: Vec<Layout>,
    /// Who knows the meaning of its state.
    pub(super) plane: Option<Box<dyn ControlPlane>>,
}

fn sets_timers(program: &Verified) -> bool {
    let handlers = HandlerKind::ALL.into_iter().filter_map(|kind| program.module().handler(kind));
    handlers.flat_map(|handler| &handler.code).any(|inst| inst.op == Op::TimerSet)
}

/// True if packets are not to be there before the pull handler runs.
fn asks(program: &Verified) -> bool {
    program.module().pull.as_ref().is_some_and(|handler| handler.code.iter().all(|inst| inst.op != Op::PktReceive))
}

impl Program {
    /// `together`: what others have as well, each with its place among such. `bare`: it gets its
    /// state from another one ([`Self::take_state`]) before it runs.
    pub(super) fn new(
        program: &Arc<Verified>,
        factories: &Factories<'_>,
        settings: &Settings,
        index: usize,
        together: Together,
        bare: bool,
    ) -> Result<Self, ElementError> {
        let seed = seed_of(settings, index);
        let is_written = |n: usize| is_written(program.module(), n as u32);
        let table = |n, declaration: &Declaration| match together.tables.iter().any(|(own, _)| *own == n) {
            true => Box::new(Reference::new(&Declaration { capacity: 0, entries: Vec::new(), ..declaration.clone() })),
            false => (factories.table)(declaration, seed, is_written(n)),
        };
        let make = || {
            let mut state: State =
                State::made_of(program, factories.coprocessor, &table).map_err(|error| ElementError::resource(error.to_string()))?;
            state.seed = seed;
            state.next_number = super::first_number(index, settings);
            state.budget = settings.budget.unwrap_or(state.budget);
            Ok(state)
        };
        let slot = settings.share.as_ref().map_or(Ok(None), |share| share.state(index, program.module(), make))?;
        let copied = settings.share.as_ref().and_then(|share| share.original(index)).map(Copied::of);
        let transacts = slot.as_ref().is_none_or(|slot| matches!(slot.policy, Policy::Transaction(_)));
        let state = Box::new(if transacts && !bare { make()? } else { State::empty() });
        let engine = (factories.engine)(Arc::clone(program))?;
        let inputs = program.module().all_ports().iter().filter(|(_, port)| port.kind.is_input()).count() as u32;
        let (program, outcome, asks) = (Arc::clone(program), Outcome::default(), asks(program));
        let sets_timers = sets_timers(&program);
        Ok(Self {
            program,
            engine,
            state,
            slot,
            held: false,
            others: None,
            told: Vec::new(),
            begun: Begun::default(),
            copied,
            outcome,
            inputs,
            sets_timers,
            timers: Vec::new(),
            runs: (0, 0),
            first: None,
            lag: 0,
            together,
            asks,
            plane: None,
            name: String::new(),
            variables: Vec::new(),
            layouts: Vec::new(),
        })
    }

    /// What its control plane is, what it is called, and what its variables and tables are made of.
    pub(super) fn with_plane(mut self, plane: Option<Box<dyn ControlPlane>>, application: &Application, index: usize) -> Self {
        self.plane = plane;
        self.name = application.instances.get(index).map_or_else(String::new, |instance| instance.name.clone());
        self.variables = application.variables.get(index).cloned().unwrap_or_default();
        self.layouts = application.layouts.get(index).cloned().unwrap_or_default();
        self
    }

    /// Runs the push handler, with its state in its place.
    pub(super) fn push_with(&mut self, shared: &mut Shared, packet: &mut Packet, now: u64) -> Ended {
        self.follow();
        let slot = self.slot.clone();
        match slot.as_ref().map(|slot| (slot, &slot.policy)) {
            Some((slot, Policy::Transaction(memory))) => self.transact(slot, memory, packet, now),
            _ => self.with(shared, |program| program.push(packet, now)),
        }
    }

    /// What a transaction did is not to be: the packet is what it was, and nothing was sent or
    /// printed.
    pub(super) fn undo(&mut self, packet: &mut Packet, kept: &Packet) {
        packet.clone_from(kept);
        self.outcome.clones.clear();
        drop(self.drain());
    }

    /// Where its state is in common, coprocessors of its own are set up as the init handler does
    /// that, and tables are seen through views.
    pub(super) fn prepare_transactions(&mut self) {
        let Some(slot) = self.slot.clone().filter(|slot| matches!(slot.policy, Policy::Transaction(_))) else { return };
        // What fails here fails with the state in common, too, and is told there.
        let _ = self.engine.init(&mut self.state);
        drop(self.drain());
        transaction::see(&mut self.state, self.program.module(), &slot);
    }

    /// What came of transactions; none if its state is not in common.
    pub(super) fn transactions(&self) -> Option<Transactions> {
        self.slot.as_ref().map(|slot| slot.counts.told(self.program.module(), &self.variables))
    }

    /// What came of transactions; none if it does not run as transactions.
    pub(super) fn transacted(&self) -> Option<Transactions> {
        self.transactions().filter(|_| self.slot.as_ref().is_some_and(|slot| matches!(slot.policy, Policy::Transaction(_))))
    }

    /// The state that it has in common with other graphs.
    pub(super) fn slot(&self) -> Option<Arc<Slot>> {
        self.slot.clone()
    }

    /// The state in common, unless its graph holds the lock already: a packet that leaves a cluster
    /// and comes back to it while it runs finds its members' states in their places.
    pub(super) fn slot_to_lock(&self) -> Option<Arc<Slot>> {
        self.slot.clone().filter(|_| !self.held)
    }

    /// Puts the state in common in the place of its own, for as long as its graph holds the lock,
    /// and back.
    pub(super) fn exchange_held(&mut self, state: &mut Box<State>) {
        std::mem::swap(&mut self.state, state);
        self.held = !self.held;
    }

    /// True if other graphs have its state as well.
    pub(super) fn is_in_common(&self) -> bool {
        self.slot.is_some()
    }

    /// Where programs of all graphs find what they have together, if this one has its state in
    /// common.
    pub(super) fn join(&mut self, others: &Arc<Mutex<Option<Shared>>>) {
        let has_some = !self.together.is_empty();
        self.others = (self.is_in_common() && has_some).then(|| Arc::clone(others));
    }

    /// Does something with what it has together with others in its place. They lie with the graph,
    /// and here only meanwhile: one program runs at a time.
    pub(super) fn with<T>(&mut self, shared: &mut Shared, work: impl FnOnce(&mut Self) -> T) -> T {
        if let Some(slot) = self.slot.clone().filter(|_| !self.held) {
            return self.with_lock(&slot, work);
        }
        self.exchange(shared);
        let result = work(self);
        self.exchange(shared);
        result
    }

    /// Does something with the state in common, and what it has together with others, in its place.
    pub(super) fn with_lock<T>(&mut self, slot: &Slot, work: impl FnOnce(&mut Self) -> T) -> T {
        let others = self.others.clone();
        let mut state = slot.lock();
        let mut others = others.as_deref().map(lock);
        let mut none = Shared::default();
        let shared = others.as_deref_mut().and_then(Option::as_mut).unwrap_or(&mut none);
        std::mem::swap(&mut self.state, &mut *state);
        self.exchange(shared);
        let result = work(self);
        self.exchange(shared);
        let printed = self.drain();
        self.told.extend(printed);
        std::mem::swap(&mut self.state, &mut *state);
        if matches!(slot.policy, Policy::Noted(_)) {
            slot.changes.note(&mut state);
        }
        result
    }

    fn exchange(&mut self, shared: &mut Shared) {
        exchange(&self.together, &mut self.state, shared);
    }

    /// Goes on with the state and the timers of another one that runs the same program in another
    /// graph; what it has together with others is its graph's.
    pub(super) fn take_state(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
        std::mem::swap(&mut self.together, &mut other.together);
        std::mem::swap(&mut self.others, &mut other.others);
    }

    /// How many entries a table has.
    pub(super) fn entries(&self, table: usize, now: u64) -> u64 {
        let count = |state: &State| state.tables.get(table).map_or(0, |table| table.len(now));
        self.slot.as_ref().map_or_else(|| count(&self.state), |slot| count(&slot.lock()))
    }

    /// Whether its state is in common with other graphs, the first of which tells of it and takes
    /// it over.
    pub(super) fn is_others(&self, graph: usize) -> bool {
        graph > 0 && self.slot.as_ref().is_some_and(|slot| !matches!(slot.policy, Policy::Parts(_)))
    }

    /// Takes entries by [`Self::take_entries`], whether or not the states are in common.
    pub(super) fn take_entries_of(&mut self, at: usize, other: &mut Self, from: usize, now: u64) -> (u64, u64) {
        let (own, its) = (self.slot_to_lock(), other.slot_to_lock());
        match (own, its) {
            (Some(own), Some(its)) => self.with_lock(&own, |own| other.with_lock(&its, |its| own.take_entries(at, its, from, now))),
            (None, None) => self.take_entries(at, other, from, now),
            // Another sharing is refused before.
            _ => (0, 0),
        }
    }

    /// Takes the entries of a table of another program whose entries are alike: how many there are
    /// now, and for how many there was no room.
    pub(super) fn take_entries(&mut self, at: usize, other: &mut Self, from: usize, now: u64) -> (u64, u64) {
        let together = |of: &Self, table: usize| of.together.tables.iter().any(|(own, _)| *own == table);
        if together(self, at) || together(other, from) {
            return (0, 0);
        }
        let (declared, theirs) = (&self.module().tables[at], &other.module().tables[from]);
        // Copies follow what is done to a table, not another one in its place.
        let follows = self.slot.as_ref().is_some_and(|slot| matches!(slot.policy, Policy::Noted(_)));
        let (same_size, capacity) = (declared.capacity == theirs.capacity, declared.capacity as usize);
        let (same_time, timeout) = (declared.timeout_ns == theirs.timeout_ns, declared.timeout_ns);
        let (Some(own), Some(its)) = (self.state.tables.get_mut(at), other.state.tables.get_mut(from)) else { return (0, 0) };
        // Another timeout changes when entries end, not where they are; another capacity neither,
        // if there is room for all.
        let becomes = |its: &mut dyn netil::tables::Table| {
            (same_time || its.set_timeout(timeout, now)) && (same_size || its.set_capacity(capacity, now))
        };
        if !follows && becomes(&mut **its) {
            std::mem::swap(own, its);
            return (own.len(now), 0);
        }
        let lost = its.entries(now).iter().filter(|entry| own.add(entry, now).is_err()).count();
        (own.len(now), lost as u64)
    }

    /// What it has together with others.
    pub(super) fn together(&self) -> &Together {
        &self.together
    }

    /// True if its pull handler is to look for packets itself.
    pub(super) fn asks(&self) -> bool {
        self.asks
    }

    /// True if it holds packets back.
    pub(super) fn holds(&self) -> bool {
        !self.state.held.is_empty()
    }

    /// Runs the init handler, unless another graph has; what it printed. Init handlers set timers
    /// as if time began with 0, and now it is later.
    pub(super) fn init(&mut self, now: u64) -> Result<Vec<u8>, ElementError> {
        if self.slot.as_ref().is_some_and(|slot| !slot.first_init()) {
            return Ok(Vec::new());
        }
        self.engine.init(&mut self.state).map_err(|how| match self.ended(how) {
            Ended::Trapped(reason) | Ended::Dropped(reason) => format!("the init handler failed: {reason}"),
            _ => "the init handler failed".to_owned(),
        })?;
        self.look_at_timers(0, 0);
        self.delay_timers(now);
        Ok(self.printed())
    }

    /// The engine that runs it.
    pub(super) fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// How many outputs it has.
    pub(super) fn outputs(&self) -> u32 {
        self.program.module().all_ports().len() as u32 - self.inputs
    }

    /// The input whose packets go to an output.
    pub(super) fn input_of(&self, output: u32) -> u32 {
        let outputs = self.outputs();
        if outputs == self.inputs { output.min(self.inputs.saturating_sub(1)) } else { 0 }
    }

    /// A packet comes to it, with that time.
    pub(super) fn comes(&mut self, time: u64, now: u64) {
        self.lag = now.wrapping_sub(time);
    }

    pub(super) fn push(&mut self, packet: &mut Packet, now: u64) -> Ended {
        let time = packet.buffer.time_ns;
        self.comes(time, now);
        self.run(HandlerKind::Push, &mut packet.buffer);
        self.look_at_timers(time, now);
        self.result()
    }

    /// Runs the pull handler for an output, the packet waiting at an input.
    pub(super) fn pull(&mut self, output: u32, input: u32, packet: Packet, now: u64) -> (Ended, ExchangeBuffer<'static>) {
        let mut buffer = ExchangeBuffer::none();
        let time = packet.buffer.time_ns;
        (buffer.port, buffer.time_ns) = (self.inputs + output, time);
        if let Some(waiting) = self.state.inputs.get_mut(input as usize) {
            waiting.clear();
            waiting.push_back(packet.buffer);
        }
        self.lag = now.wrapping_sub(time);
        self.run(HandlerKind::Pull, &mut buffer);
        self.look_at_timers(time, now);
        (self.result(), buffer)
    }

    /// Runs the pull handler for an output; it asks for packets itself. Its tables are in their
    /// places.
    pub(super) fn ask(&mut self, output: u32, now: u64, before: &mut Before<'_>) -> (Ended, ExchangeBuffer<'static>) {
        let mut buffer = ExchangeBuffer::none();
        (buffer.port, buffer.time_ns) = (self.inputs + output, now);
        self.engine.pull(&mut buffer, &mut self.state, before, &mut self.outcome);
        let time = before.time.unwrap_or(now);
        self.lag = now.wrapping_sub(time);
        self.look_at_timers(time, now);
        (self.result_of(&buffer), buffer)
    }

    /// Runs the pull handler for an event at a time; without a packet at the end nothing was
    /// dropped.
    pub(super) fn event(&mut self, event: u32, time: u64, now: u64) -> (Ended, ExchangeBuffer<'static>) {
        let mut buffer = ExchangeBuffer::none();
        (buffer.port, buffer.time_ns) = (event, time);
        let number = self.state.next_number;
        self.run(HandlerKind::Pull, &mut buffer);
        if event >= event::CONTROL {
            // What people's handlers draw changes no other run's numbers.
            self.state.next_number = number;
        }
        self.look_at_timers(time, now);
        (self.result_of(&buffer), buffer)
    }

    /// How far packets are in their time when the run's clock shows that.
    pub(super) fn time_at(&self, now: u64) -> u64 {
        now.wrapping_sub(self.lag)
    }

    /// What became of a packet that the handler had to find or make first.
    fn result_of(&self, buffer: &ExchangeBuffer<'_>) -> Ended {
        match self.result() {
            Ended::Dropped(_) if !buffer.is_present() => Ended::Nothing,
            ended => ended,
        }
    }

    fn run(&mut self, kind: HandlerKind, buffer: &mut ExchangeBuffer<'static>) {
        let Self { engine, state, outcome, .. } = self;
        if let Err(panic) = caught(|| engine.run(kind, std::slice::from_mut(buffer), state, outcome)) {
            note(|| AtHand::of(&self.name, buffer));
            resume_unwind(panic);
        }
    }

    /// The copies of the last run, with the outputs that they leave by.
    pub(super) fn clones(&mut self) -> impl Iterator<Item = (u32, ExchangeBuffer<'static>)> {
        let inputs = self.inputs;
        std::mem::take(&mut self.outcome.clones).into_iter().map(move |clone| (clone.port.saturating_sub(inputs), clone.buffer))
    }

    fn result(&self) -> Ended {
        self.outcome.dispositions.first().map_or(Ended::Nothing, |disposition| self.ended(*disposition))
    }

    /// What a disposition is to the graph.
    pub(super) fn ended(&self, disposition: Disposition) -> Ended {
        match disposition {
            Disposition::Port(port) => Ended::Leaves(port.saturating_sub(self.inputs)),
            Disposition::Drop(DropReason::Program(code)) => Ended::Dropped(self.reason(code)),
            Disposition::Drop(DropReason::NoInput) => Ended::Nothing,
            Disposition::Drop(DropReason::Verdict) => Ended::Dropped("dropped".to_owned()),
            Disposition::Trap(trap) => Ended::Trapped(self.program.describe_of(&self.name, &trap)),
        }
    }

    /// The output with that id.
    pub(super) fn output_of(&self, port: u32) -> u32 {
        port.saturating_sub(self.inputs)
    }

    /// True if packets are pulled through it, or could be.
    pub(super) fn is_pulled(&self) -> bool {
        self.program.module().all_ports().iter().any(|(_, port)| matches!(port.kind, PortKind::PullInput | PortKind::PullOutput))
    }

    /// True if it may be told apart when it runs from when its packet was made: by timers, by
    /// entries that end, or as packets are pulled through it.
    pub(super) fn tells_time(&self) -> bool {
        self.sets_timers || self.is_pulled() || self.program.module().tables.iter().any(|table| table.timeout_ns > 0)
    }

    /// True if some handler sets a timer.
    pub(super) fn sets_timers(&self) -> bool {
        self.sets_timers
    }

    fn reason(&self, code: u32) -> String {
        let named = self.program.module().reasons.iter().find(|reason| reason.at == code);
        named.map_or_else(|| format!("code {code}"), |reason| reason.name.clone())
    }

    /// What the program printed since it was last asked.
    pub(super) fn printed(&mut self) -> Vec<u8> {
        let mut printed = std::mem::take(&mut self.told);
        printed.extend(self.drain());
        printed
    }

    fn drain(&mut self) -> Vec<u8> {
        self.state.coprocessors.iter_mut().flat_map(|unit| unit.unit.drain()).collect()
    }

    /// Notes which timers were set in a run at the packet time `time`, when the run's clock showed
    /// `now`.
    pub(super) fn look_at_timers(&mut self, time: u64, now: u64) {
        // Most do not, and this is done for every packet.
        let all = if self.sets_timers { &self.state.timers[..] } else { &[] };
        let mut changed = false;
        for (number, when) in all.iter().enumerate() {
            if self.timers.len() <= number {
                self.timers.push((0, 0));
            }
            if self.timers[number].0 != *when {
                self.timers[number] = (*when, now.saturating_add(when.saturating_sub(time)));
                changed = true;
            }
        }
        if changed {
            self.first = self.find_first();
        }
    }

    /// Time begins: timers that were set before are due so much later. Those of a state in common,
    /// which the first graph delays whose time begins, are noted anew.
    pub(super) fn begin_time(&mut self, late: u64) {
        let Some(slot) = self.slot.clone() else { return self.delay_timers(late) };
        if slot.first_delay() {
            self.state.timers.iter_mut().filter(|set| **set != 0).for_each(|set| *set = set.saturating_add(late));
        }
        self.timers = self.state.timers.iter().map(|set| (*set, *set)).collect();
        self.first = self.find_first();
    }

    /// Timers that are set are due so much later.
    fn delay_timers(&mut self, late: u64) {
        for ((when, due), set) in self.timers.iter_mut().zip(&mut self.state.timers).filter(|(_, set)| **set != 0) {
            *set = set.saturating_add(late);
            (*when, *due) = (*set, due.saturating_add(late));
        }
        self.first = self.find_first();
    }

    /// When its first timer is due by the run's clock.
    pub(super) fn due(&self) -> Option<u64> {
        self.first.map(|(when, ..)| when)
    }

    fn find_first(&self) -> Option<(u64, u32, u64)> {
        let set = self.timers.iter().enumerate().filter(|(_, timer)| timer.0 != 0);
        set.map(|(number, timer)| (timer.1, number as u32, timer.0)).min()
    }

    /// Takes the timer that is due first: the event that its handler runs for, and the time that it
    /// was set for. None if another graph has taken it, or set it anew.
    pub(super) fn take_timer(&mut self, now: u64) -> Option<(u32, u64)> {
        let (_, number, time) = self.first?;
        if self.is_in_common() && self.state.timers.get(number as usize) != Some(&time) {
            self.look_at_timers(self.time_at(now), now);
            return None;
        }
        if let (Some(timer), Some(when)) = (self.timers.get_mut(number as usize), self.state.timers.get_mut(number as usize)) {
            (*timer, *when) = ((0, 0), 0);
        }
        self.first = self.find_first();
        Some((event::TIMER + number, time))
    }

    /// Whether its timers may run once more at a time of the run's clock, which counts as one run.
    /// Those that are set for the past are due at once, so this ends them.
    pub(super) fn may_run_timer(&mut self, now: u64) -> bool {
        self.runs = if self.runs.0 == now { (now, self.runs.1.saturating_add(1)) } else { (now, 1) };
        self.runs.1 <= MOST_TIMER_RUNS
    }

    /// The handlers that the program has.
    pub(super) fn element_handlers(&self) -> Vec<ElementHandler> {
        self.program.module().controls.iter().map(|c| ElementHandler { name: c.name.clone(), read: c.read, write: c.write }).collect()
    }

    pub(super) fn module(&self) -> &netil::Module {
        self.program.module()
    }
}
