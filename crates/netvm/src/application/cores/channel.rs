//! The channels between stages: whole epochs, [`DEPTH`] of them at most unless their sender is let
//! go on ([`rings::channel`]).

use super::DEPTH;
use runtime::graph::ring::Batch;
use std::sync::Arc;

pub(super) use rings::Relief;
pub(super) type Sender = rings::Sender<Batch>;
pub(super) type Receiver = rings::Receiver<Batch>;
pub(super) type Level = rings::Level<Batch>;

/// A channel whose sender goes on without room while that relief is held.
pub(super) fn channel(relief: &Arc<Relief>) -> (Sender, Receiver) {
    rings::channel(DEPTH, relief)
}
