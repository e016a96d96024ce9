//! The threads of sources and replicas.

use super::handlers::{Directory, Request, Worker, answer};
use super::{DEPTH, Fault, Making, NotMade, Part, Placement, Run, Stage, Teller, finish_graph, lock, present, receive, run_epoch};
use crate::Error;
use netil::app;
use runtime::graph::ring::{Batch, Dispatcher, Handover, Rings};
use runtime::graph::{Graph, Stream};
use std::collections::HashMap;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{Builder, JoinHandle};

/// Turns of the sources between two looks at requests.
const TURNS: u32 = 64;

/// What a thread says when its graph is made: numbers that handlers say before there are packets, or what is wrong.
pub(super) type Ready = Result<HashMap<String, u64>, NotMade>;

/// Threads that have begun, and who can be asked there.
type Begun = (Vec<JoinHandle<()>>, Arc<Directory>);

/// Threads that are being begun.
pub(super) struct Workers {
    making: Making,
    run: Arc<Run>,
    told: Sender<(Stream, Vec<u8>)>,
    fails: Sender<Fault>,
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
}

impl Workers {
    pub(super) fn new(making: Making, run: Arc<Run>, told: Sender<(Stream, Vec<u8>)>, fails: Sender<Fault>) -> Self {
        Self { making, run, told, fails, threads: Vec::new(), workers: Vec::new(), ready: Vec::new() }
    }

    /// Begins all; what the last stage receives from.
    pub(super) fn begin(
        &mut self,
        sources: Part,
        middle: Option<Part>,
        annotated: Vec<bool>,
        placement: &Placement,
        replicas: usize,
    ) -> Result<Vec<Receiver<Batch>>, Error> {
        let count = if middle.is_some() { replicas.max(1) } else { 1 };
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| mpsc::sync_channel(DEPTH)).unzip();
        let (returns, spare) = mpsc::channel();
        let flow = placement.flow;
        self.spawn("sources", Stage::Source, move |own| run_sources(own, &sources, Link { flow, senders, spare }))?;
        let Some(middle) = middle.map(Arc::new) else { return Ok(receivers) };
        let mut results = Vec::new();
        for (n, input) in receivers.into_iter().enumerate() {
            let (output, result) = mpsc::sync_channel(DEPTH);
            let (part, rings) = (Arc::clone(&middle), Rings { numbers: true, annotated: annotated.clone(), ..Rings::default() });
            let returns = returns.clone();
            self.spawn(&format!("replica {n}"), Stage::Replica, move |own| {
                run_replica(own, &part, rings, Ends { input, output, returns })
            })?;
            results.push(result);
        }
        Ok(results)
    }

    fn spawn(&mut self, name: &str, stage: Stage, work: impl FnOnce(Own) + Send + 'static) -> Result<(), Error> {
        let worker = self.spawn_with(name, self.making.clone(), stage, work)?;
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

    fn spawn_with(&mut self, name: &str, making: Making, stage: Stage, work: impl FnOnce(Own) + Send + 'static) -> Result<Worker, Error> {
        let (sender, requests) = mpsc::channel();
        let (ready, made) = mpsc::channel();
        let (run, told, fails) = (Arc::clone(&self.run), self.told.clone(), self.fails.clone());
        let own = Own { making, run, told, fails, requests, ready };
        let thread = Builder::new().name(name.to_owned()).spawn(move || work(own));
        self.threads.push(thread.map_err(|error| Error::Engine { engine: "threads", reason: error.to_string() })?);
        self.ready.push(made);
        Ok(Worker::new(sender, stage))
    }

    /// Waits until all graphs are made.
    pub(super) fn wait(self, application: &app::Application, placement: &Placement) -> Result<Begun, Vec<Fault>> {
        self.wait_with(application, placement, HashMap::new())
    }

    /// The same; `bases`: what handlers said before there were packets.
    pub(super) fn wait_with(
        self,
        application: &app::Application,
        placement: &Placement,
        mut bases: HashMap<String, u64>,
    ) -> Result<Begun, Vec<Fault>> {
        let mut faults = Vec::new();
        for ready in &self.ready {
            match ready.recv() {
                Ok(Ok(base)) => bases.extend(base),
                Ok(Err(NotMade::Faults(of))) => faults.extend(of),
                Ok(Err(NotMade::Other(error))) => faults.push(Fault { instance: usize::MAX, message: error.to_string() }),
                Err(_) => faults.push(Fault { instance: usize::MAX, message: "a thread of the run has failed".to_owned() }),
            }
        }
        let members = [Stage::Source, Stage::Replica].map(|stage| present(placement, stage, application));
        let directory = Arc::new(Directory::new(self.workers, members, bases));
        if faults.is_empty() {
            return Ok((self.threads, directory));
        }
        self.run.stop();
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
    flow: runtime::graph::ring::Flow,
    senders: Vec<SyncSender<Batch>>,
    /// Batches that were received and can be filled again.
    spare: Receiver<Batch>,
}

fn run_sources(own: Own, part: &Part, Link { flow, senders, spare }: Link) {
    let Own { making, run, told, fails, requests, ready } = own;
    let settings = super::Settings { rings: Some(Rings::default()), waker: None, ..making.settings };
    let live = !settings.live.is_empty();
    let made = super::super::make(&part.application, making.engine, making.engines, settings, Box::new(Teller { told, live }));
    let mut graph = match made {
        Ok(graph) => graph,
        Err(faults) => return drop(ready.send(Err(NotMade::Faults(faults)))),
    };
    let replicas = senders.len();
    let dispatcher = Dispatcher::new(replicas, flow, handover(Arc::clone(&run), senders, spare));
    if let Some(ring) = part.to.first() {
        graph.dispatch(&part.application, *ring, if live { dispatcher.eager() } else { dispatcher });
    }
    let _ = ready.send(Ok(HashMap::new()));
    if !wait_for_go(&mut graph, &requests, Stage::Source) {
        return;
    }
    graph.start();
    let mut turns = 0_u32;
    while !run.is_stopped() && graph.turn() {
        turns = turns.wrapping_add(1);
        if live || turns.is_multiple_of(TURNS) {
            note_progress(&mut graph, &run);
            requests.try_iter().for_each(|request| drop(answer(&mut graph, request, Stage::Source)));
        }
    }
    graph.unlink();
    serve(&mut graph, &requests, &fails, Stage::Source);
}

/// Sends each replica its batch of an epoch, and takes back one that is empty again. Where nobody receives any more, the run ends.
fn handover(run: Arc<Run>, senders: Vec<SyncSender<Batch>>, spare: Receiver<Batch>) -> Handover {
    Box::new(move |batches| {
        let sent = batches.iter_mut().zip(&senders).all(|(batch, sender)| {
            let empty = spare.try_recv().unwrap_or_default();
            sender.send(std::mem::replace(batch, empty)).is_ok()
        });
        if !sent {
            run.stop();
        }
        sent
    })
}

fn note_progress(graph: &mut Graph, run: &Run) {
    let (read, total) = graph.progress();
    run.read.store(read, Ordering::Relaxed);
    run.total.store(total.unwrap_or(0), Ordering::Relaxed);
}

/// What a replica receives from and sends to.
struct Ends {
    input: Receiver<Batch>,
    output: SyncSender<Batch>,
    /// Where batches go back to that are empty again.
    returns: Sender<Batch>,
}

fn run_replica(own: Own, part: &Part, rings: Rings, ends: Ends) {
    let Own { mut making, run, told, fails, requests, ready } = own;
    // Its packets come from the sources, with their times.
    making.settings.live.clear();
    let (inbox, outbox) = (Arc::clone(&rings.inbox), Arc::clone(&rings.outbox));
    let mut graph = match finish_graph(part, making, rings, None, Box::new(Teller { told, live: false })) {
        Ok(graph) => graph,
        Err(error) => return drop(ready.send(Err(error))),
    };
    graph.open();
    let _ = ready.send(Ok(numbers(&mut graph, |_| true)));
    if !wait_for_go(&mut graph, &requests, Stage::Replica) {
        return;
    }
    graph.start();
    let mut begun = false;
    while let Some(batch) =
        receive(&ends.input, || requests.try_iter().for_each(|request| drop(answer(&mut graph, request, Stage::Replica))))
    {
        let span = batch.span();
        run_epoch(&mut graph, &inbox, vec![batch], &mut begun).into_iter().for_each(|batch| ends.give_back(batch));
        let mut result = std::mem::take(&mut *lock(&outbox));
        result.spans(span);
        if ends.output.send(result).is_err() {
            run.stop();
            break;
        }
        requests.try_iter().for_each(|request| drop(answer(&mut graph, request, Stage::Replica)));
    }
    drop(ends);
    graph.close();
    serve(&mut graph, &requests, &fails, Stage::Replica);
}

impl Ends {
    fn give_back(&self, mut batch: Batch) {
        batch.clear();
        // Nobody needs it when the sources have ended.
        let _ = self.returns.send(batch);
    }
}

/// What handlers of some elements say before there are packets, as far as these are numbers.
pub(super) fn numbers(graph: &mut Graph, of: impl Fn(&str) -> bool) -> HashMap<String, u64> {
    let handlers = graph.readable().into_iter().filter(|name| name.rsplit_once('.').is_some_and(|(element, _)| of(element)));
    let number = |name: String| {
        let value = graph.read(&name, "", None).ok()?.trim().parse().ok()?;
        Some((name, value))
    };
    handlers.collect::<Vec<_>>().into_iter().filter_map(number).collect()
}

/// Answers requests until the run may begin. False if it does not.
pub(super) fn wait_for_go(graph: &mut Graph, requests: &Receiver<Request>, stage: Stage) -> bool {
    while let Ok(request) = requests.recv() {
        if matches!(request, Request::Go) {
            return true;
        }
        answer(graph, request, stage);
    }
    false
}

/// Answers requests until nobody has any.
pub(super) fn serve(graph: &mut Graph, requests: &Receiver<Request>, fails: &Sender<Fault>, stage: Stage) {
    while let Ok(request) = requests.recv() {
        if let Some(faults) = answer(graph, request, stage) {
            // Who would hear of it may be gone.
            faults.into_iter().for_each(|fault| drop(fails.send(fault)));
        }
    }
}
