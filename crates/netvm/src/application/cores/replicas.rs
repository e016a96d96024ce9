//! The thread of a replica that runs what the sources hand over.

use super::bases::numbers;
use super::channel::{Receiver as Input, Sender as Output};
use super::handlers::{Request, answer};
use super::replay::{Replayed, Replica};
use super::threads::Gauge;
use super::workers::{Own, serve, wait_for_go};
use super::{Making, NAP, NotMade, Part, Run, Teller, finish_graph, lock, run_epoch};
use runtime::graph::ring::{Batch, Inbox, Rings};
use runtime::graph::{Graph, Stream};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};

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
