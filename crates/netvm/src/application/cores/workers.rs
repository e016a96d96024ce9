//! The threads of sources and replicas.

use super::channel::{Receiver as Input, Relief, Sender as Output, channel};
use super::crew::{Change, Crew, Fixed};
use super::handlers::{Bases, Directory, Request, Worker, answer};
use super::replay::{Replayed, Replica};
use super::threads::{Affinity, Gauge};
use super::{Fault, Making, NAP, NotMade, Part, Placement, Run, Stage, Teller, finish_graph, lock, present, run_epoch, scheduled};
use crate::Error;
use netil::app;
use runtime::graph::ring::{Batch, Dispatcher, Flow, Handover, Inbox, Rings};
use runtime::graph::{ElementError, Graph, Stream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

/// Turns of the sources between two looks at requests.
const TURNS: u32 = 64;

/// What a thread says when its graph is made: numbers that handlers say before there are packets,
/// or what is wrong.
pub(super) type Ready = Result<Bases, NotMade>;

/// Threads that have begun, and who can be asked there.
type Begun = (Vec<JoinHandle<()>>, Arc<Directory>);

/// What all threads of a run begin with.
#[derive(Clone)]
pub(super) struct Base {
    pub making: Making,
    pub run: Arc<Run>,
    pub told: Sender<(Stream, Vec<u8>)>,
    pub fails: Sender<Fault>,
    pub relief: Arc<Relief>,
    pub affinity: Affinity,
}

/// Threads that are being begun.
pub(super) struct Workers {
    base: Base,
    threads: Vec<JoinHandle<()>>,
    workers: Vec<Worker>,
    ready: Vec<Receiver<Ready>>,
}

/// What a thread has of the run.
pub(super) struct Own {
    pub making: Making,
    pub run: Arc<Run>,
    pub told: Sender<(Stream, Vec<u8>)>,
    pub fails: Sender<Fault>,
    pub requests: Receiver<Request>,
    pub ready: Sender<Ready>,
    pub gauge: Arc<Gauge>,
}

/// What the last stage receives from, who makes more replicas, if there are any, and what the
/// sources are told.
pub(super) type Begin = (Vec<Input>, Option<Crew>, Arc<Change>);

impl Workers {
    pub(super) fn new(base: Base) -> Self {
        Self { base, threads: Vec::new(), workers: Vec::new(), ready: Vec::new() }
    }

    /// What was begun, for who waits for it himself.
    pub(super) fn into_parts(self) -> (Vec<JoinHandle<()>>, Vec<Worker>, Vec<Receiver<Ready>>) {
        (self.threads, self.workers, self.ready)
    }

    /// Begins all.
    pub(super) fn begin(
        &mut self,
        sources: Part,
        middle: Option<Part>,
        annotated: Vec<bool>,
        placement: &Placement,
        replicas: usize,
    ) -> Result<Begin, Error> {
        let count = if middle.is_some() { replicas.max(1) } else { 1 };
        let relief = Arc::clone(&self.base.relief);
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| channel(&relief)).unzip();
        let (returns, spare) = mpsc::channel();
        let (flow, change) = (placement.flow, Arc::new(Change::new(count, placement.flow)));
        let link = Link { flow, senders, spare, change: Arc::clone(&change) };
        self.spawn("sources", Stage::Source, move |own| run_sources(own, &sources, link))?;
        let Some(middle) = middle.map(Arc::new) else { return Ok((receivers, None, change)) };
        let replayed = Replayed::of(&middle, &placement.replayed).map(Arc::new);
        let mut results = Vec::new();
        for (n, input) in receivers.into_iter().enumerate() {
            let (output, result) = channel(&relief);
            let (part, rings) = (Arc::clone(&middle), Rings { numbers: true, annotated: annotated.clone(), ..Rings::default() });
            let (returns, level) = (returns.clone(), input.level());
            let replays = replayed.clone().map(|replayed| (n, replayed));
            self.spawn(&format!("replica {n}"), Stage::Replica, move |own| {
                run_replica(own, &part, rings, Ends { input, output, returns }, replays)
            })?;
            self.workers.last().into_iter().for_each(|worker| worker.gauge().waits(level.clone()));
            results.push(result);
        }
        let fixed = Fixed { replicas: placement.keeps_replicas(), flow: placement.keeps_flow() };
        let crew = Crew::new(self.base.clone(), (middle, annotated), returns, Arc::clone(&change), fixed);
        Ok((results, Some(crew), change))
    }

    /// Begins a thread.
    pub(super) fn spawn(&mut self, name: &str, stage: Stage, work: impl FnOnce(Own) + Send + 'static) -> Result<(), Error> {
        let worker = self.spawn_with(name, self.base.making.clone(), stage, work)?;
        self.workers.push(worker);
        Ok(())
    }

    /// A replica that waits for devices itself; it gets what ends such a wait.
    pub(super) fn spawn_woken(
        &mut self,
        name: &str,
        making: Making,
        work: impl FnOnce(Own, UnixStream) + Send + 'static,
    ) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::Engine { engine: "threads", reason: error.to_string() };
        let (waker, wakes) = UnixStream::pair().map_err(failed)?;
        waker.set_nonblocking(true).map_err(failed)?;
        wakes.set_nonblocking(true).map_err(failed)?;
        let worker = self.spawn_with(name, making, Stage::Replica, move |own| work(own, wakes))?;
        self.workers.push(worker.woken_by(waker));
        Ok(())
    }

    fn spawn_with(
        &mut self,
        name: &str,
        mut making: Making,
        stage: Stage,
        work: impl FnOnce(Own) + Send + 'static,
    ) -> Result<Worker, Error> {
        let (sender, requests) = mpsc::channel();
        let (ready, made) = mpsc::channel();
        let Base { run, told, fails, affinity, .. } = self.base.clone();
        let gauge = Arc::new(Gauge::new(name, stage));
        making.settings.home = scheduled::home(&gauge, making.settings.share.is_some());
        let own = Own { making, run, told, fails, requests, ready, gauge: Arc::clone(&gauge) };
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            affinity.set();
            own.gauge.begin();
            work(own);
        });
        self.threads.push(thread.map_err(|error| Error::Engine { engine: "threads", reason: error.to_string() })?);
        self.ready.push(made);
        Ok(Worker::new(sender, gauge, Arc::clone(&self.base.relief)))
    }

    /// Waits until all graphs are made.
    pub(super) fn wait(self, application: &app::Application, placement: &Placement) -> Result<Begun, Vec<Fault>> {
        self.wait_with(application, placement, Bases::default())
    }

    /// Waits until all graphs are made; `bases`: what handlers said before there were packets.
    pub(super) fn wait_with(self, application: &app::Application, placement: &Placement, mut bases: Bases) -> Result<Begun, Vec<Fault>> {
        let mut faults = Vec::new();
        for (ready, worker) in self.ready.iter().zip(&self.workers) {
            match ready.recv() {
                Ok(Ok(base)) => bases.extend(base),
                Ok(Err(NotMade::Faults(of))) => faults.extend(of),
                Ok(Err(NotMade::Other(error))) => faults.push(Fault { instance: usize::MAX, error: ElementError::resource(error) }),
                Err(_) => faults.push(failed(worker.gauge().name(), "it has ended while it was made")),
            }
        }
        let members = [Stage::Source, Stage::Replica].map(|stage| present(placement, stage, application));
        let replayed = placement.replayed.iter().map(|at| application.instances[*at].name.clone()).collect();
        let directory = Arc::new(Directory::new(self.workers, members, replayed, bases));
        if faults.is_empty() {
            return Ok((self.threads, directory));
        }
        self.base.run.stop();
        directory.close();
        // All replicas say the same.
        faults.dedup();
        faults.sort_by_key(|fault| fault.instance);
        faults.dedup();
        Err(faults)
    }
}

/// Where the sources' packets go.
struct Link {
    flow: Flow,
    senders: Vec<Output>,
    /// Batches that were received and can be filled again.
    spare: Receiver<Batch>,
    change: Arc<Change>,
}

fn run_sources(own: Own, part: &Part, Link { flow, senders, spare, change }: Link) {
    let Own { making, run, told, fails, requests, ready, gauge } = own;
    let settings = super::Settings { rings: Some(Rings::default()), waker: None, ..making.settings };
    let live = !settings.live.is_empty();
    let made = super::super::make(&part.application, making.engine, making.engines, settings, Box::new(Teller { told, live }));
    let mut graph = match made {
        Ok(graph) => graph,
        Err(faults) => return drop(ready.send(Err(NotMade::Faults(faults)))),
    };
    let replicas = senders.len();
    let counted = if flow == Flow::All { 1 } else { usize::MAX };
    let handover = handover(Arc::clone(&run), senders, spare, (Arc::clone(&change), Arc::clone(&gauge), counted));
    let dispatcher = Dispatcher::new(replicas, flow, handover);
    let dispatcher = if live { dispatcher.eager() } else { dispatcher };
    if let Some(ring) = part.to.first() {
        graph.dispatch(&part.application, *ring, dispatcher.clone());
    }
    let _ = ready.send(Ok(Bases::default()));
    if !wait_for_go(&mut graph, &requests, &gauge) {
        return;
    }
    // If the thread fails its ends of channels are there until that is known.
    let mut dispatcher = Some(dispatcher);
    run.crashes.watch(gauge.name(), &mut graph, |graph| {
        if let Some(dispatcher) = &dispatcher {
            turn_sources(graph, dispatcher, (&run, &change), (&requests, &gauge), live);
        }
        graph.unlink();
        // What is left is handed over, and nobody waits for more.
        dispatcher = None;
        serve(graph, &requests, &fails, &gauge);
    });
}

/// Runs the sources to their end.
fn turn_sources(
    graph: &mut Graph,
    dispatcher: &Dispatcher,
    (run, change): (&Run, &Change),
    (requests, gauge): (&Receiver<Request>, &Gauge),
    live: bool,
) {
    graph.start();
    let mut turns = 0_u32;
    while !run.is_stopped() {
        let to_end = graph.is_to_end();
        if !graph.turn() {
            run.source_ends.store(to_end, Ordering::Release);
            break;
        }
        turns = turns.wrapping_add(1);
        if live || turns.is_multiple_of(TURNS) || gauge.is_asked() {
            note_progress(graph, run);
            for request in requests.try_iter() {
                match request {
                    Request::Renew(renewing) => {
                        dispatcher.hand_over();
                        renewing.sources(graph, dispatcher, change.handed());
                    }
                    request => drop(answer(graph, request, gauge)),
                }
            }
        }
    }
}

/// Sends each replica its batch of an epoch, and takes back one that is empty again. Where nobody
/// receives any more, the run ends. `counted`: the batches whose packets are counted; others have
/// the same packets.
fn handover(
    run: Arc<Run>,
    mut senders: Vec<Output>,
    spare: Receiver<Batch>,
    (change, gauge, counted): (Arc<Change>, Arc<Gauge>, usize),
) -> Handover {
    senders.iter().for_each(|sender| gauge.sends(sender.level()));
    Box::new(move |batches, flow| {
        let width = batches.len();
        let packets = batches.iter().take(counted).map(Batch::packets).sum();
        gauge.count(packets);
        let recorded = change.records(packets);
        let sent = batches.iter_mut().zip(&senders).all(|(batch, sender)| {
            let mut full = std::mem::replace(batch, spare.try_recv().unwrap_or_default());
            full.is_one_of(width);
            full.records(recorded);
            sender.send(full, || gauge.make_moves())
        });
        if !sent {
            run.stop();
        }
        let before = senders.len();
        change.apply(&mut senders, batches, flow);
        senders[before..].iter().for_each(|sender| gauge.sends(sender.level()));
        sent
    })
}

fn note_progress(graph: &mut Graph, run: &Run) {
    let (read, total) = graph.progress();
    run.read.store(read, Ordering::Relaxed);
    run.total.store(total.unwrap_or(0), Ordering::Relaxed);
}

/// What a replica receives from and sends to.
pub(super) struct Ends {
    pub input: Input,
    pub output: Output,
    /// Where batches go back to that are empty again.
    pub returns: Sender<Batch>,
}

/// `replays`: the number of a replica that replays the packets of others, and what.
pub(super) fn run_replica(own: Own, part: &Part, rings: Rings, ends: Ends, replays: Option<(usize, Arc<Replayed>)>) {
    let Own { mut making, run, told, fails, requests, ready, gauge } = own;
    // Its packets come from the sources, with their times.
    making.settings.live.clear();
    let (inbox, outbox, own) = (Arc::clone(&rings.inbox), Arc::clone(&rings.outbox), rings.clone());
    let (mut graph, mut replica) = match replica_graphs(part, making, rings, &told, replays) {
        Ok(graphs) => graphs,
        Err(error) => return drop(ready.send(Err(error))),
    };
    let _ = ready.send(Ok(numbers(&mut graph, |_| true)));
    if !wait_for_go(&mut graph, &requests, &gauge) {
        return;
    }
    gauge.sends(ends.output.level());
    let answer_all = |graph: &mut Graph| {
        requests.try_iter().for_each(|request| match request {
            Request::Renew(renewing) => renewing.replica(graph, &own),
            request => drop(answer(graph, request, &gauge)),
        });
    };
    // If the thread fails its ends of channels are there until that is known.
    let mut ends = Some(ends);
    run.crashes.watch(gauge.name(), &mut graph, |graph| {
        if let Some(ends) = &ends {
            run_epochs(graph, replica.as_mut(), (&inbox, &outbox), (&run, &gauge), ends, answer_all);
        }
        ends = None;
        graph.close();
        serve(graph, &requests, &fails, &gauge);
    });
}

/// Runs what comes to a replica, up to the end.
fn run_epochs(
    graph: &mut Graph,
    mut replica: Option<&mut Replica>,
    (inbox, outbox): (&Mutex<Inbox>, &Mutex<Batch>),
    (run, gauge): (&Run, &Gauge),
    ends: &Ends,
    answer_all: impl Fn(&mut Graph),
) {
    graph.start();
    replica.iter_mut().for_each(|replica| replica.others.start());
    let mut begun = false;
    while let Some(batch) = ends.receive(|| answer_all(graph)) {
        let (span, width, recorded) = (batch.span(), batch.width(), batch.is_recorded());
        gauge.count(batch.packets());
        let emptied = match &mut replica {
            Some(replica) => replica.run_epoch(graph, inbox, batch, &mut begun),
            None => run_epoch(graph, inbox, vec![batch], &mut begun),
        };
        emptied.into_iter().for_each(|batch| ends.give_back(batch));
        gauge.agreements.pass(graph);
        let mut result = std::mem::take(&mut *lock(outbox));
        result.spans(span);
        result.is_one_of(width);
        result.records(recorded);
        if !ends.output.send(result, || answer_all(graph)) {
            run.stop();
            break;
        }
        answer_all(graph);
    }
}

/// The graph of a replica, and what replays the packets of others, if it does that.
fn replica_graphs(
    part: &Part,
    mut making: Making,
    rings: Rings,
    told: &Sender<(Stream, Vec<u8>)>,
    replays: Option<(usize, Arc<Replayed>)>,
) -> Result<(Graph, Option<Replica>), NotMade> {
    let teller = || Teller { told: told.clone(), live: false };
    let inbox = Arc::clone(&rings.inbox);
    replays.iter().for_each(|(_, replayed)| replayed.share(&mut making));
    let mut graph = finish_graph(part, making.clone(), rings, None, Box::new(teller()))?;
    graph.open();
    let Some((index, replayed)) = replays else { return Ok((graph, None)) };
    let others = replayed.graph(making, &inbox, teller())?;
    Ok((graph, Some(Replica { index, others, reached: 0 })))
}

impl Ends {
    /// The next batch, looking up from time to time; none if nothing comes any more.
    fn receive(&self, mut between: impl FnMut()) -> Option<Batch> {
        loop {
            match self.input.recv_timeout(NAP) {
                Ok(batch) => return Some(batch),
                Err(RecvTimeoutError::Timeout) => between(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn give_back(&self, mut batch: Batch) {
        batch.clear();
        // Nobody needs it when the sources have ended.
        let _ = self.returns.send(batch);
    }
}

/// What some elements are before there are packets: handlers that say numbers, and memories.
/// Entries of tables are none, and there may be many.
pub(super) fn numbers(graph: &mut Graph, of: impl Fn(&str) -> bool) -> Bases {
    let lists = |handler: &str| handler.ends_with(".list") || handler.ends_with(".dump");
    let is_one = |name: &String| name.split_once('.').is_some_and(|(element, handler)| of(element) && !lists(handler));
    let handlers = graph.readable().into_iter().filter(is_one);
    let number = |name: String| {
        let value = graph.read(&name, "", None).ok()?.trim().parse().ok()?;
        Some((name, value))
    };
    let numbers = handlers.collect::<Vec<_>>().into_iter().filter_map(number).collect();
    let names = graph.elements().into_iter().map(|it| it.name).filter(|name| of(name));
    let memories =
        names.filter_map(|name| graph.own_memory(&name).filter(|memory| !memory.is_empty()).map(|memory| (name, memory))).collect();
    Bases { numbers, memories }
}

/// A thread has failed.
pub(super) fn failed(thread: &str, why: &str) -> Fault {
    Fault { instance: usize::MAX, error: ElementError::resource(format!("the thread '{thread}' has failed: {why}")) }
}

/// Answers requests until the run may begin. False if it does not.
pub(super) fn wait_for_go(graph: &mut Graph, requests: &Receiver<Request>, gauge: &Gauge) -> bool {
    while let Ok(request) = requests.recv() {
        if matches!(request, Request::Go) {
            return true;
        }
        answer(graph, request, gauge);
    }
    false
}

/// Answers requests until nobody has any.
pub(super) fn serve(graph: &mut Graph, requests: &Receiver<Request>, fails: &Sender<Fault>, gauge: &Gauge) {
    while let Ok(request) = requests.recv() {
        if let Some(faults) = answer(graph, request, gauge) {
            // Who would hear of it may be gone.
            faults.into_iter().for_each(|fault| drop(fails.send(fault)));
        }
    }
}
