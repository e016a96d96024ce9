//! What a stage receives epochs from: each replica of the stage before it, or that stage's only
//! thread.

use super::channel::Receiver;
use runtime::graph::ring::Batch;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// What comes next.
pub(super) enum Next {
    Epoch(Vec<Batch>),
    Nothing,
    End,
}

/// Where batches come from.
pub(super) struct Inputs {
    all: Vec<Receiver>,
    /// Those of new replicas; none where an epoch is one batch, as it is for a replica.
    new: Option<mpsc::Receiver<Receiver>>,
}

/// Where the output of a new replica is given to the stage behind it.
pub(super) type NewInputs = mpsc::Sender<Receiver>;

impl Inputs {
    /// Of a stage: a batch of each that the epoch has.
    pub(super) fn new(all: Vec<Receiver>) -> (Self, NewInputs) {
        let (gives, new) = mpsc::channel();
        (Self { all, new: Some(new) }, gives)
    }

    /// Of a replica: its batch.
    pub(super) fn of_replica(input: Receiver) -> Self {
        Self { all: vec![input], new: None }
    }

    /// The batches of the next epoch, if it comes within that time.
    pub(super) fn receive(&mut self, patience: Duration) -> Next {
        let (mut batches, mut width): (Vec<Batch>, _) = (Vec::with_capacity(self.all.len()), 1);
        // Replicas behind the last one have nothing of this epoch.
        while batches.len() < width {
            if batches.len() == self.all.len() {
                // A replica is given here before it gets packets.
                let Some(Ok(input)) = self.new.as_ref().map(mpsc::Receiver::recv) else { return Next::End };
                self.all.push(input);
            }
            let input = &self.all[batches.len()];
            let received = if batches.is_empty() { input.recv_timeout(patience) } else { input.recv() };
            if self.new.is_some() {
                width = received.as_ref().map_or(width, Batch::width);
            }
            match received {
                Ok(batch) => batches.push(batch),
                Err(RecvTimeoutError::Timeout) => return Next::Nothing,
                Err(RecvTimeoutError::Disconnected) => return Next::End,
            }
        }
        Next::Epoch(batches)
    }

    /// What waits in each at present.
    pub(super) fn levels(&self) -> impl Iterator<Item = super::channel::Level> {
        self.all.iter().map(Receiver::level)
    }

    /// What it takes from, for who takes from it instead.
    pub(super) fn into_all(self) -> Vec<Receiver> {
        let new = self.new.iter().flat_map(mpsc::Receiver::try_iter).collect::<Vec<_>>();
        self.all.into_iter().chain(new).collect()
    }

    /// Nothing is taken any more: who sends goes on.
    pub(super) fn close(&mut self) {
        self.all.clear();
        self.new = None;
    }
}
