//! Handlers and statistics of elements that run on other threads: who has them, and what several
//! replicas say together.

use super::super::RECORD;
use super::super::table_sums::SumTable;
use super::agreed::{Agreed, agreed, settle};
use super::bases::Bases;
use super::channel::Relief;
use super::cut::Part;
use super::error::ChangeError;
use super::joined::Replicas;
use super::places::Places;
use super::recut::Left;
use super::renewing::Renewing;
use super::threads::{Gauge, Thread, is_called};
use super::together::{any, together};
use super::{Cores, Graph, Order, Stage, lock, readers, scheduled};
use super::{entries, joined};
use crate::control::why::{self, Noted};
use runtime::graph::ring::{ABSENT, Elsewhere, Here};
use runtime::graph::{Carried, Described, ElementError, Fault, HandlerError, Kept, Stats, Succession};
use std::collections::HashSet;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a thread is asked.
pub(super) enum Request {
    /// The run begins.
    Go,
    Read(String, String, Sender<Result<String, HandlerError>>),
    Write(String, String, Sender<Result<(), HandlerError>>),
    /// A handler's write that all replicas do between the same two packets.
    Agree(Agreed),
    /// What an element keeps, with these of its tables.
    Kept(String, Vec<u32>, Sender<Option<Kept>>),
    /// What a handler says of replicas that keep that ([`joined::read`]).
    ReadJoined(String, String, Replicas, Sender<Option<Result<String, HandlerError>>>),
    Stats(Sender<WorkerStats>),
    Elements(Sender<Vec<Described>>),
    /// Somebody wants the thread to move.
    Move,
    /// The ways of packets are to be kept.
    Record(Recording, Sender<Result<(), ElementError>>),
    /// The packets whose ways are kept.
    Recorded(Sender<Vec<Noted>>),
    /// Another version of its part is to take its place, where the thread can do that.
    Renew(Box<Renewing>),
    /// What would become of its elements then.
    Plan(Arc<Part>, Sender<Succession>),
    /// Its stage is to be no more: it gives up what it has, and ends.
    Leave(Sender<Left>),
    /// Elements go on here that other graphs had, each as the one with that number.
    TakeIn(Vec<(usize, Carried)>, Sender<Succession>),
    /// Outputs are to be completed.
    Finish(Sender<()>),
}

/// Which packets are recorded, and how many of them are kept.
#[derive(Clone, Copy)]
pub(super) enum Recording {
    /// All that come.
    All(usize),
    /// As many as take a part of the time.
    Some(usize),
    /// Those of epochs that are to be recorded: each graph has a part of their ways.
    Part(usize, u64),
}

/// What became of packets on a thread.
pub(super) struct WorkerStats {
    pub stats: Stats,
    /// It has the sources.
    pub sources: bool,
}

/// Answers a request, with what could not be completed.
pub(super) fn answer(graph: &mut Graph, request: Request, gauge: &Gauge) -> Option<Vec<Fault>> {
    // Who asked may have gone.
    match request {
        Request::Go => {}
        Request::Read(handler, text, reply) => drop(reply.send(graph.read(&handler, &text, None))),
        Request::Write(handler, text, reply) => drop(reply.send(graph.write(&handler, &text, None))),
        Request::Agree(asked) => gauge.agreements.agree(asked, graph),
        Request::Kept(element, tables, reply) => drop(reply.send(graph.kept_by(&element, &tables))),
        Request::ReadJoined(handler, text, replicas, reply) => drop(reply.send(joined::read(graph, &handler, &text, &replicas))),
        Request::Stats(reply) => drop(reply.send(WorkerStats { stats: graph.stats(), sources: gauge.stage == Stage::Source })),
        Request::Elements(reply) => drop(reply.send(graph.elements())),
        Request::Move => gauge.make_moves(),
        Request::Record(recording, reply) => drop(reply.send(record(graph, recording, gauge.name()))),
        Request::Recorded(reply) => drop(reply.send(why::noted(graph).unwrap_or_default())),
        // Who asked hears that it hangs up.
        Request::Renew(_) | Request::Leave(_) => {}
        Request::TakeIn(carried, reply) => drop(reply.send(graph.take_in(carried))),
        Request::Plan(part, reply) => drop(reply.send(graph.plan(&part.application))),
        Request::Finish(reply) => {
            let faults = graph.finish();
            let _ = reply.send(());
            return Some(faults);
        }
    }
    None
}

/// Adds what became of packets elsewhere.
pub(super) fn add(stats: &mut Stats, other: WorkerStats) {
    for device in other.stats.devices {
        match stats.devices.iter_mut().find(|own| own.name == device.name) {
            Some(own) => {
                own.traffic.received += device.traffic.received;
                own.traffic.sent += device.traffic.sent;
                device.drops.into_iter().for_each(|(reason, count)| *own.drops.entry(reason).or_default() += count);
            }
            None => stats.devices.push(device),
        }
    }
    for (own, (name, class, its)) in stats.nodes.iter_mut().zip(other.stats.nodes) {
        if class == ABSENT {
            continue;
        }
        debug_assert_eq!(own.0, name);
        own.1 = class;
        let sum = &mut own.2;
        sum.packets += its.packets;
        sum.traps += its.traps;
        sum.first_trap = sum.first_trap.take().or(its.first_trap);
        sum.out.resize(sum.out.len().max(its.out.len()), 0);
        sum.out.iter_mut().zip(its.out).for_each(|(sum, its)| *sum += its);
        its.drops.into_iter().for_each(|(reason, count)| *sum.drops.entry(reason).or_default() += count);
    }
}

/// A thread that can be asked.
pub(super) struct Worker {
    requests: Mutex<Option<Sender<Request>>>,
    gauge: Arc<Gauge>,
    relief: Arc<Relief>,
    /// What ends its wait for devices.
    waker: Option<UnixStream>,
}

impl Worker {
    pub(super) fn new(requests: Sender<Request>, gauge: Arc<Gauge>, relief: Arc<Relief>) -> Self {
        Self { requests: Mutex::new(Some(requests)), gauge, relief, waker: None }
    }

    pub(super) fn gauge(&self) -> &Gauge {
        &self.gauge
    }

    /// A thread that waits for devices: a byte from the stream ends that.
    pub(super) fn woken_by(mut self, waker: UnixStream) -> Self {
        self.waker = Some(waker);
        self
    }

    /// Ends its wait.
    pub(super) fn wake(&self) {
        // A stream that is full has not been read yet: the thread is awake.
        let _ = self.waker.as_ref().map(|mut waker| waker.write(&[1]));
    }

    pub(super) fn send(&self, request: Request) -> bool {
        let sent = lock(&self.requests).as_ref().is_some_and(|requests| requests.send(request).is_ok());
        self.gauge.asks();
        self.wake();
        sent
    }

    /// Asks, and waits for the answer: the thread gets on to it although who asks takes nothing
    /// from it meanwhile.
    pub(super) fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Option<T> {
        let (reply, answer) = channel();
        // A replica answers while it waits, too.
        let _held = (self.gauge.stage == Stage::Source).then(|| self.relief.hold());
        if self.send(request(reply)) { answer.recv().ok() } else { None }
    }
}

/// All threads, and which elements they have.
pub(super) struct Directory {
    workers: Mutex<Vec<Arc<Worker>>>,
    /// What was written to handlers of replicas; none if it was too much to be kept.
    written: Mutex<Option<Vec<Written>>>,
    places: Mutex<Places>,
    /// Elements whose state each replica has of all packets.
    replayed: HashSet<String>,
    /// Held by who writes to one of them.
    agreeing: Mutex<()>,
    recording: Mutex<Option<Recording>>,
    /// What handlers said before there were packets.
    bases: Mutex<Bases>,
}

/// A handler, and what was written.
type Written = (String, String);

/// Numbers of threads, by which recorded packets are told apart; those of a series are behind.
const SERIES: u64 = 1024;
/// Writes to handlers of replicas that are kept for new ones.
const MOST_WRITTEN: usize = 1 << 16;
/// How long a thread is waited for that is to move: a batch takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
pub(super) const GONE: &str = "the thread of this element has ended";

impl Directory {
    /// `replayed`: elements whose state each replica has of all packets.
    pub(super) fn new(workers: Vec<Worker>, places: Places, replayed: HashSet<String>, bases: Bases) -> Self {
        let (places, bases) = (Mutex::new(places), Mutex::new(bases));
        let workers = Mutex::new(workers.into_iter().map(Arc::new).collect());
        Self {
            workers,
            written: Mutex::new(Some(Vec::new())),
            places,
            replayed,
            agreeing: Mutex::new(()),
            recording: Mutex::default(),
            bases,
        }
    }

    pub(super) fn workers(&self) -> Vec<Arc<Worker>> {
        lock(&self.workers).clone()
    }

    /// What lets threads hand over epochs without room.
    pub(super) fn relief(&self) -> Option<Arc<Relief>> {
        lock(&self.workers).first().map(|worker| Arc::clone(&worker.relief))
    }

    /// Other elements are there, of which new ones said that before there were packets.
    pub(super) fn become_new(&self, places: Places, bases: Bases) {
        *lock(&self.places) = places;
        lock(&self.bases).extend(bases);
    }

    /// What a handler said before there were packets.
    fn base(&self, handler: &str) -> Option<u64> {
        lock(&self.bases).numbers.get(handler).copied()
    }

    /// Another replica is asked, too, from now on.
    pub(super) fn add(&self, worker: Worker) {
        lock(&self.workers).push(Arc::new(worker));
    }

    /// Those of stages in order are asked no more.
    pub(super) fn take_ordered(&self) -> Vec<Arc<Worker>> {
        let mut workers = lock(&self.workers);
        let (ordered, others) =
            std::mem::take(&mut *workers).into_iter().partition(|worker| matches!(worker.gauge.stage, Stage::Ordered(_)));
        *workers = others;
        ordered
    }

    /// The one that was added last is not.
    pub(super) fn forget_last(&self) {
        lock(&self.workers).pop();
    }

    /// Lets the one that was added last do that.
    pub(super) fn send_last(&self, requests: impl Iterator<Item = Request>) {
        let last = lock(&self.workers).last().cloned();
        last.into_iter().zip([requests]).for_each(|(worker, requests)| {
            requests.for_each(|request| {
                worker.send(request);
            })
        });
    }

    /// What was written to handlers of replicas.
    ///
    /// # Errors
    /// More than is kept.
    pub(super) fn written(&self) -> Result<Vec<Written>, ChangeError> {
        lock(&self.written).clone().ok_or_else(|| {
            ChangeError::failed(format!("more than {MOST_WRITTEN} values were written to their handlers, which a new one would lack"))
        })
    }

    /// The threads of the run but the caller's; replicas behind the first `active` get no packets.
    pub(super) fn threads(&self, active: usize) -> Vec<Thread> {
        let mut replicas = 0;
        let thread = |worker: &Arc<Worker>| {
            let is_replica = worker.gauge.stage == Stage::Replica;
            replicas += usize::from(is_replica);
            worker.gauge.thread(!is_replica || replicas <= active)
        };
        lock(&self.workers).iter().map(thread).collect()
    }

    /// Moves a thread; how long it did nothing else. None if no thread is called so.
    pub(super) fn move_to(&self, name: &str, core: Option<usize>) -> Option<io::Result<Duration>> {
        let worker = self.workers().into_iter().find(|worker| is_called(worker.gauge.name(), name))?;
        let (reply, answer) = channel();
        worker.gauge.wish((core, reply));
        if !worker.send(Request::Move) {
            return Some(Err(io::Error::other("the thread has ended")));
        }
        Some(answer.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(io::Error::other("the thread does not answer"))))
    }

    /// Whether more waits for threads than does while nobody asks anything.
    pub(super) fn is_behind(&self) -> bool {
        lock(&self.workers).iter().any(|worker| worker.gauge.is_behind())
    }

    /// Writes in all replicas between the same two packets. They get on to that although who asks
    /// takes nothing from them meanwhile.
    fn write_agreed(&self, workers: &[Arc<Worker>], handler: &str, text: &str) -> Result<(), HandlerError> {
        let _one = lock(&self.agreeing);
        let _held: Vec<_> = workers.iter().take(1).map(|worker| worker.relief.hold()).collect();
        let gone = || Err(HandlerError::failed(GONE));
        let mut waits = Vec::new();
        for (nth, worker) in workers.iter().enumerate() {
            let (asked, wait) = agreed(handler, crate::p4::of_replica(text, nth));
            if !worker.send(Request::Agree(asked)) {
                return gone();
            }
            waits.push(wait);
        }
        settle(&waits).unwrap_or_else(gone)
    }

    /// Whether entries were made in a table of replicas from outside.
    fn has_added(&self, table: &str) -> bool {
        let adds = |handler: &str| handler.strip_suffix(".add") == Some(table);
        table.contains('.') && lock(&self.written).as_ref().is_none_or(|written| written.iter().any(|(handler, _)| adds(handler)))
    }

    fn who_has(&self, handler: &str) -> Result<Vec<Arc<Worker>>, HandlerError> {
        let element = element_of(handler);
        let stage = lock(&self.places)
            .stages
            .get(element)
            .copied()
            .ok_or_else(|| HandlerError::NoElement(format!("no element named '{element}'")))?;
        Ok(self.workers().into_iter().filter(|worker| worker.gauge.stage == stage).collect())
    }

    /// The tables of an element in replicas that packets only add to; none if there is no such.
    fn sums(&self, handler: &str) -> Option<Arc<[SumTable]>> {
        lock(&self.places).sums.get(element_of(handler)).cloned()
    }

    /// Those of all elements.
    pub(super) fn sums_by_element(&self) -> Vec<(String, Arc<[SumTable]>)> {
        lock(&self.places).sums.iter().map(|(name, sums)| (name.clone(), Arc::clone(sums))).collect()
    }

    /// Whether a handler tells such a table, or runs code that may look into one.
    fn tells_sums(&self, handler: &str) -> bool {
        let places = lock(&self.places);
        let Some((element, name)) = handler.split_once('.') else { return false };
        let of_table = |sum: &SumTable| name.rsplit_once('.').is_some_and(|(table, _)| table == sum.name);
        let calls = || places.calls.get(element).is_some_and(|calls| calls.contains(name));
        places.sums.get(element).is_some_and(|sums| sums.iter().any(of_table) || calls())
    }

    /// Enters an entry of a table that packets only add to: one replica has it, and no other has a
    /// part of it any more. `own`: one that is not among these has it already. None if it is no
    /// such table.
    fn enter_sum(&self, workers: &[Arc<Worker>], (handler, text): (&str, &str), own: bool) -> Option<Result<(), HandlerError>> {
        let table = handler.strip_suffix(".add")?;
        self.sums(handler)?.iter().find(|sum| table.rsplit_once('.').is_some_and(|(_, name)| name == sum.name))?;
        let write = |worker: &Arc<Worker>, handler: String, text: &str| {
            worker.ask(|reply| Request::Write(handler, text.to_owned(), reply)).unwrap_or_else(|| Err(HandlerError::failed(GONE)))
        };
        let (first, others) = workers.split_at(usize::from(!own));
        let entered = first.iter().try_for_each(|worker| write(worker, handler.to_owned(), text));
        let key = if text.contains('=') { text.split("->").next() } else { text.split_whitespace().next() };
        for worker in others.iter().filter(|_| entered.is_ok()) {
            // Most have no part of it.
            let _ = write(worker, format!("{table}.remove"), key.unwrap_or_default());
        }
        Some(entered)
    }

    /// What a handler says of all replicas together, where each says something else; `own`: what
    /// one keeps that is not among these. None if they cannot be joined.
    fn read_joined(
        &self,
        workers: &[Arc<Worker>],
        (handler, text): (&str, &str),
        own: Option<&dyn Here>,
    ) -> Option<Result<String, HandlerError>> {
        let (element, first) = (element_of(handler), workers.first()?);
        let before = lock(&self.bases).memories.get(element).cloned().unwrap_or_default();
        let sums = self.sums(handler).unwrap_or_default();
        let tables: Vec<u32> = sums.iter().map(|table| table.number).collect();
        let ask = |worker: &Arc<Worker>| worker.ask(|reply| Request::Kept(element.to_owned(), tables.clone(), reply)).flatten();
        let own = own.map(|own| own.kept(&tables));
        let kept = own.into_iter().chain(workers.iter().map(ask)).collect::<Option<Vec<Kept>>>()?;
        let replicas = Replicas { before, kept, sums };
        first.ask(|reply| Request::ReadJoined(handler.to_owned(), text.to_owned(), replicas, reply)).flatten()
    }

    pub(super) fn send_all(&self, request: impl Fn() -> Request) {
        for worker in self.workers() {
            worker.send(request());
        }
    }

    /// Ends the waits of all.
    pub(super) fn wake_all(&self) {
        self.workers().iter().for_each(|worker| worker.wake());
    }

    /// Lets all complete what they write; the names of those that do not answer any more.
    pub(super) fn finish(&self) -> Vec<String> {
        let is_gone = |worker: &Arc<Worker>| worker.ask(Request::Finish).is_none();
        self.workers().iter().filter(|worker| is_gone(worker)).map(|worker| worker.gauge.name().to_owned()).collect()
    }

    /// The elements of all threads; those of other stages are absent.
    pub(super) fn elements(&self) -> Vec<Vec<Described>> {
        self.workers().iter().filter_map(|worker| worker.ask(Request::Elements)).collect()
    }

    /// Lets each thread keep the ways of packets, and those that come later.
    pub(super) fn record(&self, recording: Recording) -> Result<(), ElementError> {
        *lock(&self.recording) = Some(recording);
        // Where their parts are put together the sources have none: they hand packets on as they
        // came.
        let has_part = |worker: &&Arc<Worker>| worker.gauge.stage != Stage::Source;
        self.workers().iter().filter(has_part).filter_map(|worker| worker.ask(|reply| Request::Record(recording, reply))).collect()
    }

    /// What threads keep of packets.
    pub(super) fn recording(&self) -> Option<Recording> {
        *lock(&self.recording)
    }

    /// What threads keep that have the names of others before them: their numbers begin elsewhere.
    pub(super) fn recording_anew(&self) -> Option<Recording> {
        let mut recording = lock(&self.recording);
        if let Some(Recording::Part(_, series)) = &mut *recording {
            *series += 1;
        }
        *recording
    }

    /// The packets whose ways are kept, with the names of their threads.
    pub(super) fn recorded(&self) -> Vec<(String, Vec<Noted>)> {
        let named = |worker: &Arc<Worker>| Some((worker.gauge.name().to_owned(), worker.ask(Request::Recorded)?));
        self.workers().iter().filter_map(named).collect()
    }

    pub(super) fn stats(&self) -> Vec<WorkerStats> {
        self.workers().iter().filter_map(|worker| worker.ask(Request::Stats)).collect()
    }

    /// Nobody is asked any more.
    pub(super) fn close(&self) {
        self.workers().iter().for_each(|worker| *lock(&worker.requests) = None);
    }
}

impl Elsewhere for Directory {
    fn read(&self, handler: &str, text: &str) -> Result<String, HandlerError> {
        let ask = |(nth, worker): (usize, Arc<Worker>)| {
            let text = crate::p4::of_replica(text, nth);
            worker.ask(|reply| Request::Read(handler.to_owned(), text, reply)).unwrap_or_else(|| Err(HandlerError::failed(GONE)))
        };
        let mut workers = self.who_has(handler)?;
        if self.replayed.contains(element_of(handler)) {
            workers.truncate(1);
        }
        // Numbers in tables that packets only add to are joined, not lines.
        let joined = self.tells_sums(handler).then(|| self.read_joined(&workers, (handler, text), None)).flatten();
        if let Some(joined) = joined {
            return joined;
        }
        // An entry that was made from outside is in each of them, and is one.
        if let Some(table) = handler.strip_suffix(".count").filter(|table| self.has_added(table)) {
            return Ok(entries::distinct(&self.read(&format!("{table}.list"), text)?).to_string());
        }
        let values = workers.iter().cloned().enumerate().map(ask).collect::<Result<Vec<String>, HandlerError>>()?;
        let told = together(handler, values, self.base(handler));
        told.or_else(|why| self.read_joined(&workers, (handler, text), None).ok_or(why)?)
    }

    fn write(&self, handler: &str, text: &str) -> Result<(), HandlerError> {
        let ask = |(nth, worker): (usize, &Arc<Worker>)| {
            let text = crate::p4::of_replica(text, nth);
            worker.ask(|reply| Request::Write(handler.to_owned(), text, reply)).unwrap_or_else(|| Err(HandlerError::failed(GONE)))
        };
        let workers = self.who_has(handler)?;
        if self.replayed.contains(element_of(handler)) {
            return self.write_agreed(&workers, handler, text);
        }
        if let Some(done) = self.enter_sum(&workers, (handler, text), false) {
            return done;
        }
        match handler.ends_with(".remove") {
            // An entry may be one replica's.
            true => any(workers.iter().enumerate().map(ask).collect())?,
            false => workers.iter().enumerate().try_for_each(ask)?,
        }
        // A new replica has a thread of its own.
        if workers.iter().any(|worker| worker.gauge.stage == Stage::Replica) && !handler.ends_with(".home_thread") {
            let mut written = lock(&self.written);
            match &mut *written {
                Some(all) if all.len() < MOST_WRITTEN => all.push((handler.to_owned(), text.to_owned())),
                _ => *written = None,
            }
        }
        Ok(())
    }

    fn join(&self, handler: &str, text: &str, own: String, element: &mut dyn Here) -> Result<String, HandlerError> {
        let Ok(others) = self.who_has(handler) else { return Ok(own) };
        let joined = self.tells_sums(handler).then(|| self.read_joined(&others, (handler, text), Some(element))).flatten();
        if let Some(joined) = joined {
            return joined;
        }
        // As in `read`.
        if let Some(table) = handler.strip_suffix(".count").filter(|table| self.has_added(table)) {
            let (_, name) = table.split_once('.').unwrap_or(("", table));
            let own = element.read(&format!("{name}.list"))?;
            return Ok(entries::distinct(&self.join(&format!("{table}.list"), text, own, element)?).to_string());
        }
        let mut values = vec![own];
        for (worker, nth) in others.iter().zip(1..) {
            let text = crate::p4::of_replica(text, nth);
            values.push(
                worker.ask(|reply| Request::Read(handler.to_owned(), text, reply)).unwrap_or_else(|| Err(HandlerError::failed(GONE)))?,
            );
        }
        let told = together(handler, values, self.base(handler));
        told.or_else(|why| self.read_joined(&others, (handler, text), Some(element)).ok_or(why)?)
    }

    fn spread(&self, handler: &str, text: &str) -> Option<Result<(), HandlerError>> {
        let others = self.who_has(handler).ok().filter(|others| !others.is_empty())?;
        let entered = self.enter_sum(&others, (handler, text), true);
        Some(entered.unwrap_or_else(|| self.write(handler, &crate::p4::of_replica(text, 1))))
    }
}

impl Cores {
    /// Every element's name and class, and its own handlers: whether each can be read and written.
    pub fn elements(&self) -> Vec<Described> {
        let mut all = self.rest.elements();
        all.truncate(self.placement.stages.len());
        if self.placement.order == Order::Flow {
            return all;
        }
        for other in self.directory.elements() {
            let present = |(_, its): &(&mut Described, Described)| its.class != ABSENT;
            all.iter_mut().zip(other).filter(present).for_each(|(own, its)| *own = its);
        }
        all
    }

    /// What became of the packets so far, of all stages together.
    pub fn stats(&self) -> Stats {
        let mut stats = self.all_stats();
        readers::fold(&mut stats, &self.placement.readers);
        stats
    }

    /// What was asked for and made the run slower, for people.
    pub fn advice(&self) -> Vec<String> {
        readers::passed(&self.all_stats(), &self.placement.readers)
    }

    /// With what readers did by itself.
    fn all_stats(&self) -> Stats {
        let mut stats = self.rest.stats();
        stats.nodes.truncate(self.placement.stages.len() + self.placement.readers.len());
        let by_flow = self.placement.order == Order::Flow;
        stats.arrivals = if by_flow { stats.arrivals } else { 0 };
        for other in self.directory.stats() {
            let receives = other.sources || by_flow;
            stats.arrivals += if receives { other.stats.arrivals } else { 0 };
            stats.lasted_ns = stats.lasted_ns.max(other.stats.lasted_ns);
            stats.waited_ns += if receives { other.stats.waited_ns } else { 0 };
            add(&mut stats, other);
        }
        stats
    }
}

fn element_of(handler: &str) -> &str {
    handler.split_once('.').map_or(handler, |(element, _)| element)
}

/// Lets a thread's graph keep the ways of packets.
pub(super) fn record(graph: &mut Graph, recording: Recording, thread: &str) -> Result<(), ElementError> {
    match recording {
        Recording::All(packets) => graph.record(packets, RECORD),
        Recording::Some(packets) => graph.record_some(packets, RECORD, why::PART),
        Recording::Part(packets, series) => graph.record_part(packets, RECORD, series * SERIES + scheduled::number(thread, false) as u64),
    }
}
