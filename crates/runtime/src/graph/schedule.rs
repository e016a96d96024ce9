//! What runs next: tasks in turn, then the next event.

use super::builtin::{TaskKind, TaskResult};
use super::ended::Ended;
use super::program::MOST_TIMER_RUNS;
use super::source_merge::Found;
use super::{Body, Call, Graph, Stream};
use std::collections::VecDeque;
use std::os::fd::AsFd;

/// Rounds of tasks after which the next event comes although there still is work: tasks that make
/// packets for ever must not keep others waiting.
pub(super) const BUSY: u32 = 1 << 16;
/// Rounds of tasks after the end was asked for.
const LAST_ROUNDS: u32 = 128;
/// The most packets that a task may handle in one turn.
const MAX_BURST: u32 = 1 << 16;
/// The longest wait for live devices, in nanoseconds: interfaces that are gone are looked for, and
/// hosts look at signals.
const LONGEST_WAIT: u64 = 250_000_000;

impl Graph {
    /// Lets elements begin their work that need others to be there: scripts run until they first
    /// wait.
    pub fn start(&mut self) {
        self.find_neighbours();
        for node in 0..self.core.nodes.len() {
            self.with_builtin(node, |builtin, ctx| builtin.start(ctx));
            self.settle();
        }
    }

    /// Finds the queues before and behind tasks.
    pub(super) fn find_neighbours(&mut self) {
        for index in 0..self.topology.tasks.len() {
            let node = self.topology.tasks[index];
            self.core.nodes[node].queues_behind =
                self.find_behind(node, |builtin| builtin.queue().is_some_and(|queue| queue.is_full().is_some()));
            self.core.nodes[node].empties = self.find_what_it_empties(node);
        }
        self.find_maker();
    }

    /// Does a little: a round of tasks, or an event. False when the run has ended.
    pub fn turn(&mut self) -> bool {
        if self.requests.ended || (self.requests.stops > 0 && !self.asked_to_stop()) {
            return false;
        }
        if self.core.clock.is_real() {
            self.core.clock.reach(self.outside.host.clock().unwrap_or(0));
            self.outside.devices.flush();
        }
        if !self.requests.signals.is_empty() {
            self.take_signals();
        }
        self.look_for_links();
        self.prefer_singles();
        let worked = self.run_aside();
        let worked = self.round() || worked;
        let worked = self.due_timers() || worked;
        self.core.busy_rounds = if worked { self.core.busy_rounds + 1 } else { 0 };
        self.requests.exhausted &= !worked;
        if self.requests.ended || self.requests.stops > 0 {
            return !self.requests.ended;
        }
        if worked && self.core.busy_rounds < BUSY {
            self.core.clock.round();
            return true;
        }
        self.core.busy_rounds = 0;
        self.event(worked)
    }

    /// Somebody asked for the end: the driver script says whether it is. False if so.
    fn asked_to_stop(&mut self) -> bool {
        self.last_rounds();
        self.requests.stops = self.requests.stops.saturating_sub(1);
        match self.topology.driver {
            Some(driver) => {
                self.with_builtin(driver, |builtin, ctx| builtin.driver().into_iter().for_each(|driver| driver.stopped(ctx)));
                self.settle();
            }
            None => self.requests.ended = true,
        }
        !self.requests.ended
    }

    /// What is on its way when the end is asked for still goes on, as far as that takes no more
    /// than some rounds and no timer.
    fn last_rounds(&mut self) {
        let stops = std::mem::take(&mut self.requests.stops);
        self.fusion.maker.iter_mut().for_each(|maker| maker.ends = true);
        for _ in 0..LAST_ROUNDS {
            if self.requests.ended || !self.round() {
                break;
            }
        }
        self.requests.stops += stops;
        self.fusion.maker.iter_mut().for_each(|maker| maker.ends = false);
    }

    /// Each task once, in the order of declaration, but those that have had their turn. True if one
    /// had work.
    pub(super) fn round(&mut self) -> bool {
        let first = self.next_task();
        if !std::mem::take(&mut self.core.restless) {
            return false;
        }
        self.core.restless = first > 0;
        self.share_recording();
        let mut worked = false;
        for index in first..self.topology.tasks.len() {
            worked |= self.task(self.topology.tasks[index]);
            if self.requests.ended || self.requests.stops > 0 {
                self.core.restless = true;
                return true;
            }
        }
        worked
    }

    /// The queue that a task takes packets out of, if it does nothing else.
    fn find_what_it_empties(&self, node: usize) -> Option<usize> {
        let it = &self.core.nodes[node];
        let from = it.inputs.first()?.first().filter(|_| it.task == Some(TaskKind::Pulls))?;
        Some(from.instance as usize)
    }

    /// Whether a task would find nothing: told with less work than by running it, since mostly that
    /// is so. Observers see it run.
    fn is_idle(&self, node: usize) -> bool {
        let before = self.core.nodes[node].empties.map(|from| &self.core.nodes[from].body);
        let Some(Body::BuiltIn(Some(builtin))) = before else { return false };
        builtin.queue().is_some_and(|queue| queue.is_empty()) && self.watch.observer.is_none()
    }

    pub(super) fn task(&mut self, node: usize) -> bool {
        let mut worked = false;
        for _ in 0..MAX_BURST {
            if self.is_idle(node) {
                return worked;
            }
            self.core.moved = false;
            self.watch(|observer, _| observer.wakes(node));
            let begun = self.begin_run();
            let done = self.with_builtin(node, |builtin, ctx| builtin.task().map(|task| task.run(ctx)));
            let done = done.flatten().unwrap_or(TaskResult::Idle);
            self.end_run_of(node, begun);
            self.settle();
            let mut again = done == TaskResult::Again;
            if !self.core.leaving.is_empty() {
                self.move_slots();
                again |= self.keep_up(node);
            }
            worked |= self.core.moved || done != TaskResult::Idle;
            if !again || self.requests.ended || self.requests.stops > 0 {
                break;
            }
        }
        self.core.restless = true;
        worked
    }

    /// Runs the timers that are due, in the order of their times. True if there was one.
    pub(super) fn due_timers(&mut self) -> bool {
        let mut worked = false;
        // Each at most once in a turn, so that timers that set themselves for the present do not
        // keep tasks waiting.
        for _ in 0..self.core.nodes.len().max(16) {
            let Some((when, node)) = self.next_timer().filter(|(when, _)| *when <= self.core.clock.now()) else { break };
            self.fire(node, when);
            worked = true;
            if self.requests.ended || self.requests.stops > 0 {
                break;
            }
        }
        worked
    }

    /// The first timer: when, and whose.
    pub(super) fn next_timer(&self) -> Option<(u64, usize)> {
        self.core.timers.first()
    }

    /// Sets the timer of a built-in element; 0 is never.
    pub(super) fn wake_at(&mut self, index: usize, when: u64) {
        self.core.timers.note(index, (when != 0).then_some(when));
    }

    /// Notes when the first timer of a program is due, which has just run.
    pub(super) fn note_timers(&mut self, node: usize) {
        if let Body::Program(program) = &self.core.nodes[node].body {
            self.core.timers.note(node, program.due());
        }
    }

    fn fire(&mut self, node: usize, when: u64) {
        let now = self.core.clock.now();
        match &mut self.core.nodes[node].body {
            Body::Program(program) => {
                if !program.may_run_timer(now) {
                    return self.refuse_timer(node);
                }
                match program.with(&mut self.core.shared, |program| program.take_timer(now)) {
                    Some((event, time)) => self.program_event(node, event, time),
                    None => self.note_timers(node),
                }
            }
            Body::BuiltIn(..) => {
                self.core.timers.note(node, None);
                self.watch(|observer, _| observer.wakes(node));
                self.with_builtin(node, |builtin, ctx| builtin.timer(when, ctx));
            }
        }
        self.settle();
    }

    /// A timer that is due once more than may be at one time is not run, and set no longer: a trap.
    fn refuse_timer(&mut self, node: usize) {
        let now = self.core.clock.now();
        if let Body::Program(program) = &mut self.core.nodes[node].body {
            program.with(&mut self.core.shared, |program| program.take_timer(now));
        }
        self.note_timers(node);
        let reason = format!("trap: timers ran {MOST_TIMER_RUNS} times without time going on");
        self.stop(node, &Ended::Trapped(reason), false);
    }

    /// The next arrival or timer. False at the end.
    fn event(&mut self, busy: bool) -> bool {
        let taken = self.next_taken().is_some();
        let arrival = self.upcoming();
        if let Some((time, _)) = arrival {
            self.begin_time(time);
        }
        let timer = self.next_timer();
        if !taken && !self.is_asked() && self.waits_for_others(arrival, timer) {
            self.fusion.found = Some(Found { arrival, stops: 0, calls: VecDeque::new() });
            return true;
        }
        match (arrival, timer) {
            // What sources asked for at their end.
            (None, _) if !self.requests.calls.is_empty() => self.settle(),
            // The last packet's source has asked for the end: no timer runs behind that.
            (None, Some(_)) if self.requests.stops > 0 => {}
            (Some((time, node)), timer) if timer.is_none_or(|(when, _)| time <= when || !self.core.clock.follows_captures()) => {
                self.arrive(node, time);
            }
            (None, Some((when, _))) if self.outside.horizon.is_some_and(|horizon| when >= horizon) => return false,
            (_, Some((when, _))) => self.wait_until(when, busy),
            (None, None) if busy => {}
            (None, None) if self.outside.horizon.is_some() => return false,
            (None, None) if self.requests.stops == 0 && self.outside.devices.are_live() => self.wait(LONGEST_WAIT),
            _ => return self.nothing_left(),
        }
        true
    }

    /// Whether other graphs of this application have events that are to come first.
    fn waits_for_others(&self, arrival: Option<(u64, usize)>, timer: Option<(u64, usize)>) -> bool {
        let Some(share) = self.topology.settings.share.as_ref().filter(|_| self.core.clock.follows_captures()) else { return false };
        let next = arrival.into_iter().chain(timer).map(|(time, _)| time).min();
        // Time does not go back where a capture's does.
        next.iter().for_each(|time| share.comes_at((*time).max(self.core.clock.now())));
        next.is_some() && share.is_early()
    }

    /// Timers that were set before the first packet of a capture are due so long after that, and
    /// not after the year 1970.
    pub(super) fn begin_time(&mut self, time: u64) {
        let late = self.core.clock.begin(time);
        for node in 0..if late > 0 { self.core.nodes.len() } else { 0 } {
            match &mut self.core.nodes[node].body {
                Body::Program(program) => {
                    program.with(&mut self.core.shared, |program| program.begin_time(late));
                    self.note_timers(node);
                }
                Body::BuiltIn(..) => {
                    let due = self.core.timers.due(node).map(|due| due.saturating_add(late));
                    self.core.timers.note(node, due);
                    self.with_builtin(node, |builtin, _| builtin.bucket().into_iter().for_each(|bucket| bucket.skip(late)));
                }
            }
        }
    }

    /// Whether the end was asked for, or something is to be written.
    pub(super) fn is_asked(&self) -> bool {
        self.requests.stops > 0 || !self.requests.calls.is_empty()
    }

    /// Does something, and tells how often the end was asked for meanwhile, and what was asked to
    /// be written.
    pub(super) fn asked_meanwhile<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (T, u64, VecDeque<Call>) {
        let (stops, calls) = (std::mem::take(&mut self.requests.stops), std::mem::take(&mut self.requests.calls));
        let result = work(self);
        (result, std::mem::replace(&mut self.requests.stops, stops), std::mem::replace(&mut self.requests.calls, calls))
    }

    /// The next arrival, which may have been taken or found already.
    fn upcoming(&mut self) -> Option<(u64, usize)> {
        if let Some(taken) = self.next_taken() {
            return Some(taken);
        }
        let Some(found) = self.fusion.found.take() else { return self.next_arrival() };
        self.requests.stops += found.stops;
        self.requests.calls.extend(found.calls);
        found.arrival
    }

    pub(super) fn next_arrival(&mut self) -> Option<(u64, usize)> {
        let mut first = None;
        for index in 0..self.topology.sources.len() {
            let node = self.topology.sources[index];
            let time = self.with_source(node, |source, ctx| source.next_arrival(ctx)).flatten();
            if let Some(time) = time.filter(|time| first.is_none_or(|(before, _)| *time < before)) {
                first = Some((time, node));
            }
        }
        first
    }

    fn arrive(&mut self, node: usize, time: u64) {
        self.share_recording();
        self.arriving(true);
        if !self.arrive_many(node) {
            self.arrive_one(node, time);
            self.arrive_linked(node);
            self.settle();
        }
        self.arriving(false);
    }

    /// The next packet of a source is on its way.
    fn arrive_one(&mut self, node: usize, time: u64) {
        self.core.clock.arrive(time);
        self.core.arrivals += 1;
        self.watch(|observer, _| observer.wakes(node));
        let begun = self.begin_run();
        self.with_source(node, |source, ctx| source.arrive(ctx));
        self.end_run_of(node, begun);
    }

    fn wait_until(&mut self, when: u64, busy: bool) {
        match self.core.clock.is_real() {
            true if busy => {}
            true => self.wait(when.saturating_sub(self.core.clock.now())),
            false => {
                self.core.clock.reach(when);
                self.due_timers();
            }
        }
    }

    /// Waits so many nanoseconds, or until live devices have something to do.
    fn wait(&mut self, nanoseconds: u64) {
        if !self.outside.devices.are_live() {
            return self.outside.host.sleep(nanoseconds);
        }
        self.outside.devices.flush_captures();
        let begun = self.outside.host.clock().unwrap_or(0);
        let waker = self.topology.settings.waker.as_deref().map(AsFd::as_fd);
        match self.outside.devices.wait(waker, nanoseconds.min(LONGEST_WAIT)) {
            Ok(looked) => self.topology.settings.home.looks.add(looked),
            Err(error) => {
                self.outside.host.write(Stream::Err, format!("devices: {error}\n").as_bytes());
                self.requests.ended = true;
            }
        }
        self.outside.waited += self.outside.host.clock().unwrap_or(0).saturating_sub(begun);
    }

    /// Nothing can happen any more. A driver script hears of it once, as if somebody had asked for
    /// the end.
    fn nothing_left(&mut self) -> bool {
        if self.requests.stops > 0 {
            // A source has just asked for the end, at its own.
            return true;
        }
        if self.topology.driver.is_some() && !std::mem::replace(&mut self.requests.exhausted, true) {
            self.requests.stops += 1;
            return true;
        }
        self.requests.ended = true;
        false
    }

    /// Passes on what was written a second ago to captures of a live run. A graph that waits for
    /// devices does so by itself.
    pub fn flush_captures(&mut self) {
        self.outside.devices.flush_captures();
    }

    /// Ends the run after the present turn.
    pub fn end_run(&mut self) {
        self.requests.ended = true;
    }

    /// True once the run has ended.
    pub fn has_ended(&self) -> bool {
        self.requests.ended
    }

    /// Bytes of captures read, and how many there are if that is known of all.
    pub fn progress(&mut self) -> (u64, Option<u64>) {
        let (mut read, mut total) = (0, Some(0));
        for index in 0..self.topology.sources.len() {
            let part = self.with_source(self.topology.sources[index], |source, _| source.progress()).unwrap_or((0, None));
            read += part.0;
            total = total.zip(part.1).map(|(a, b)| a + b);
        }
        (read, total)
    }

    /// Writes text of the host's on one of its streams, so that order is kept.
    pub fn print(&mut self, stream: Stream, text: &str) {
        self.outside.host.write(stream, text.as_bytes());
    }
}
