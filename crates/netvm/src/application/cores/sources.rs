//! The thread of the sources, and the run that begins with it: replicas and stages in order run
//! what it hands over, and the last stage takes what these send (the order of all packets).

use super::bases::Bases;
use super::between::{Ends, run_between};
use super::change::Change;
use super::channel::{Receiver, Sender as Output, channel};
use super::crew::{Crew, Fixed};
use super::handlers::{Request, answer};
use super::inputs::{Inputs, NewInputs};
use super::replay::Replayed;
use super::threads::Gauge;
use super::workers::{Own, Workers, serve, wait_for_go};
use super::{Making, NotMade, Part, Placement, Run, Stage, Teller};
use crate::Error;
use runtime::graph::ring::{Batch, Dispatcher, Flow, FlowState, Handover, Rings};
use runtime::graph::{Fault, Graph};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;

/// Turns of the sources between two looks at requests.
const TURNS: u32 = 64;

/// What the last stage receives from, who makes more replicas, if there are any, and what the
/// sources are told.
pub(super) type Begin = (Inputs, Option<Crew>, Arc<Change>);

impl Workers {
    /// Begins all.
    pub(super) fn begin(
        &mut self,
        before: Vec<Part>,
        (placement, state): (&Placement, FlowState),
        replicas: usize,
    ) -> Result<Begin, Error> {
        let mut parts = before.into_iter().map(Arc::new);
        let Some(sources) = parts.next() else {
            return Err(Error::Engine { engine: "threads", reason: "there are no sources".to_owned() });
        };
        let parts: Vec<Arc<Part>> = parts.collect();
        let middle = parts.first().filter(|part| part.stage == Stage::Replica);
        let count = middle.map_or(1, |_| replicas.max(1));
        let relief = Arc::clone(&self.base.relief);
        let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| channel(&relief)).unzip();
        let (returns, spare) = mpsc::channel();
        let (flow, change) = (placement.flow, Arc::new(Change::new(count, placement.flow)));
        let link = Link { flow, state, senders, spare, change: Arc::clone(&change) };
        self.spawn("sources", Stage::Source, move |own| run_sources(own, &sources, link))?;
        if let Some(middle) = middle {
            receivers = self.begin_replicas(middle, receivers, &returns, placement)?;
        }
        let mut give_back = middle.is_none().then(|| returns.clone());
        let (mut inputs, next) = Inputs::new(receivers);
        for part in parts.iter().filter(|part| part.stage != Stage::Replica) {
            let result = self.begin_stage(part, inputs, give_back.take(), placement)?;
            (inputs, _) = Inputs::new(vec![result]);
        }
        let crew = middle.map(|middle| self.crew(middle, (returns, next), &change, Fixed::of(placement, state)));
        Ok((inputs, crew, change))
    }

    /// A replica for each of these; what they send comes from the channels that this returns.
    fn begin_replicas(
        &mut self,
        part: &Arc<Part>,
        receivers: Vec<Receiver>,
        returns: &mpsc::Sender<Batch>,
        placement: &Placement,
    ) -> Result<Vec<Receiver>, Error> {
        let replayed = Replayed::of(part, &placement.replayed).map(Arc::new);
        let mut results = Vec::new();
        for (n, input) in receivers.into_iter().enumerate() {
            let (output, result) = channel(&self.base.relief);
            let (part, level) = (Arc::clone(part), input.level());
            let ends = Ends { inputs: Inputs::of_replica(input), output, returns: Some(returns.clone()) };
            let replays = replayed.clone().map(|replayed| (n, replayed));
            self.spawn(&format!("replica {n}"), Stage::Replica, move |own| run_between(own, &part, ends, replays))?;
            self.workers.last().into_iter().for_each(|worker| worker.gauge().waits(level.clone()));
            results.push(result);
        }
        Ok(results)
    }

    /// A stage in order; what it sends comes from the channel that this returns.
    pub(super) fn begin_stage(
        &mut self,
        part: &Arc<Part>,
        inputs: Inputs,
        returns: Option<mpsc::Sender<Batch>>,
        placement: &Placement,
    ) -> Result<Receiver, Error> {
        let (output, result) = channel(&self.base.relief);
        let (part, levels) = (Arc::clone(part), inputs.levels().collect::<Vec<_>>());
        let (name, stage) = (part.stage.name(placement.order), part.stage);
        self.spawn(&name, stage, move |own| run_between(own, &part, Ends { inputs, output, returns }, None))?;
        let worker = self.workers.last();
        levels.into_iter().zip(worker.into_iter().cycle()).for_each(|(level, worker)| worker.gauge().waits(level));
        Ok(result)
    }

    fn crew(&self, middle: &Arc<Part>, (returns, next): (mpsc::Sender<Batch>, NewInputs), change: &Arc<Change>, fixed: Fixed) -> Crew {
        Crew::new(self.base.clone(), Arc::clone(middle), (returns, next), Arc::clone(change), fixed)
    }
}

/// Where the sources' packets go.
struct Link {
    flow: Flow,
    state: FlowState,
    senders: Vec<Output>,
    /// Batches that were received and can be filled again.
    spare: mpsc::Receiver<Batch>,
    change: Arc<Change>,
}

impl Link {
    /// What hands over packets there.
    fn dispatcher(self, run: &Arc<Run>, gauge: &Arc<Gauge>, live: bool) -> Dispatcher {
        let Self { flow, state, senders, spare, change } = self;
        let replicas = senders.len();
        let counted = if flow == Flow::All { 1 } else { usize::MAX };
        let handover = handover(Arc::clone(run), senders, spare, (change, Arc::clone(gauge), counted));
        let dispatcher = Dispatcher::new(replicas, flow, handover);
        dispatcher.set_flow_state(state);
        if live { dispatcher.eager() } else { dispatcher }
    }
}

fn run_sources(own: Own, part: &Part, link: Link) {
    let Own { making, run, told, fails, requests, ready, gauge } = own;
    let live = !making.settings.live.is_empty();
    let mut graph = match graph(part, making, Teller { told, live }) {
        Ok(graph) => graph,
        Err(faults) => return drop(ready.send(Err(NotMade::Faults(faults)))),
    };
    let change = Arc::clone(&link.change);
    let dispatcher = link.dispatcher(&run, &gauge, live);
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

fn graph(part: &Part, making: Making, teller: Teller) -> Result<Graph, Vec<Fault>> {
    let settings = super::Settings { rings: Some(Rings::default()), waker: None, ..making.settings };
    super::super::make(&part.application, making.engine, making.engines, settings, Box::new(teller))
}

/// Runs the sources to their end.
fn turn_sources(
    graph: &mut Graph,
    dispatcher: &Dispatcher,
    (run, change): (&Run, &Change),
    (requests, gauge): (&mpsc::Receiver<Request>, &Gauge),
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
    spare: mpsc::Receiver<Batch>,
    (change, gauge, counted): (Arc<Change>, Arc<Gauge>, usize),
) -> Handover {
    senders.iter().for_each(|sender| gauge.sends(sender.level()));
    Box::new(move |batches, pinning| {
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
        change.apply(&mut senders, batches, pinning);
        senders[before..].iter().for_each(|sender| gauge.sends(sender.level()));
        sent
    })
}

fn note_progress(graph: &mut Graph, run: &Run) {
    let (read, total) = graph.progress();
    run.read.store(read, Ordering::Relaxed);
    run.total.store(total.unwrap_or(0), Ordering::Relaxed);
}
