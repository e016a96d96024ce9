//! The threads between the sources and the last stage: replicas, which run what the sources hand
//! over, and stages in order.

use super::bases::numbers;
use super::channel::Sender as Output;
use super::handlers::{Request, answer};
use super::inputs::{Inputs, Next};
use super::recut::Left;
use super::replay::{Replayed, Replica};
use super::threads::Gauge;
use super::workers::{Own, serve, wait_for_go};
use super::{Making, NAP, NotMade, Part, Run, Stage, Teller, finish_graph, lock, run_epoch};
use crate::control::why;
use runtime::graph::ring::{Batch, Inbox, Rings};
use runtime::graph::{Graph, Stream};
use std::cell::Cell;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

/// What a thread receives from and sends to.
pub(super) struct Ends {
    pub inputs: Inputs,
    pub output: Output,
    /// Where batches of the sources go back to that are empty again.
    pub returns: Option<Sender<Batch>>,
}

/// `replays`: the number of a replica that replays the packets of others, and what.
pub(super) fn run_between(own: Own, part: &Part, ends: Ends, replays: Option<(usize, Arc<Replayed>)>) {
    let Own { mut making, run, told, fails, requests, ready, gauge } = own;
    // Its packets come from the sources, with their times.
    making.settings.live.clear();
    let rings = Rings { numbers: true, annotated: part.annotated.clone(), ..Rings::default() };
    let (inbox, outbox, own) = (Arc::clone(&rings.inbox), Arc::clone(&rings.outbox), rings.clone());
    let (mut graph, mut replica) = match graphs(part, making, rings, &told, replays) {
        Ok(graphs) => graphs,
        Err(error) => return drop(ready.send(Err(error))),
    };
    let _ = ready.send(Ok(numbers(&mut graph, |_| true)));
    if !wait_for_go(&mut graph, &requests, &gauge) {
        return;
    }
    gauge.sends(ends.output.level());
    // Who waits for its end, if its stage is to be no more.
    let leaves = Cell::new(None);
    let answer_all = |graph: &mut Graph| {
        let mut stays = true;
        requests.try_iter().for_each(|request| match request {
            Request::Renew(renewing) => renewing.between(graph, &own),
            Request::Leave(reply) => {
                leaves.set(Some(reply));
                stays = false;
            }
            request => drop(answer(graph, request, &gauge)),
        });
        stays
    };
    // If the thread fails its ends of channels are there until that is known.
    let mut ends = Some(ends);
    run.crashes.watch(gauge.name(), &mut graph, |graph| {
        if let Some(ends) = &mut ends {
            run_epochs(graph, replica.as_mut(), (&inbox, &outbox), (&run, &gauge), ends, answer_all);
        }
        if let (Some(reply), Some(ends)) = (leaves.take(), ends.take()) {
            // Who asked has it all, or is gone with the run.
            let recorded = why::noted(graph);
            let _ = reply.send(Left { inputs: ends.inputs.into_all(), carried: graph.carry(|_| true), pins: Vec::new(), recorded });
            return;
        }
        ends = None;
        graph.close();
        serve(graph, &requests, &fails, &gauge);
    });
}

/// Runs what comes to a thread, up to the end, or until it is to leave.
fn run_epochs(
    graph: &mut Graph,
    mut replica: Option<&mut Replica>,
    (inbox, outbox): (&Mutex<Inbox>, &Mutex<Batch>),
    (run, gauge): (&Run, &Gauge),
    ends: &mut Ends,
    answer_all: impl Fn(&mut Graph) -> bool,
) {
    graph.start();
    replica.iter_mut().for_each(|replica| replica.others.start());
    let mut begun = false;
    while let Some(batches) = ends.receive(|| answer_all(graph)) {
        let (span, recorded) = (batches.iter().find_map(Batch::span), batches.iter().any(Batch::is_recorded));
        // The last stage, or the next one, takes as many of an epoch as there are replicas.
        let width = if gauge.stage == Stage::Replica { batches.first().map_or(1, Batch::width) } else { 1 };
        gauge.count(batches.iter().map(Batch::packets).sum());
        let emptied = match &mut replica {
            Some(replica) => batches.into_iter().flat_map(|batch| replica.run_epoch(graph, inbox, batch, &mut begun)).collect(),
            None => run_epoch(graph, inbox, batches, &mut begun),
        };
        emptied.into_iter().for_each(|batch| ends.give_back(batch));
        gauge.agreements.pass(graph);
        let result = outcome(outbox, span, width, recorded);
        if !ends.output.send(result, || _ = answer_all(graph)) {
            run.stop();
            break;
        }
        if !answer_all(graph) {
            break;
        }
    }
}

/// What came of an epoch, for the next stage.
fn outcome(outbox: &Mutex<Batch>, span: Option<(u64, u64)>, width: usize, recorded: bool) -> Batch {
    let mut result = std::mem::take(&mut *lock(outbox));
    result.spans(span);
    result.is_one_of(width);
    result.records(recorded);
    result
}

/// The graph of a thread, and what replays the packets of others, if it does that.
fn graphs(
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
    /// The batches of the next epoch, looking up from time to time; none if nothing comes any more,
    /// or it is not to go on.
    fn receive(&mut self, mut goes_on: impl FnMut() -> bool) -> Option<Vec<Batch>> {
        loop {
            match self.inputs.receive(NAP) {
                Next::Epoch(batches) => return Some(batches),
                Next::Nothing if goes_on() => {}
                Next::Nothing | Next::End => return None,
            }
        }
    }

    fn give_back(&self, mut batch: Batch) {
        batch.clear();
        if let Some(returns) = &self.returns {
            // Nobody needs it when the sources have ended.
            let _ = returns.send(batch);
        }
    }
}
