//! Writes to handlers of elements whose state each replica has of all packets: all replicas do them
//! between the same two packets.
//!
//! ```text
//!  who writes ── which epoch are you behind? ──▶ each replica, between two epochs, which then waits
//!             ◀─────────── 6, 8, 7 ───────────
//!             ─────── write behind the 8th ────▶ a replica that is behind that writes; the others go on, and write when they are
//! ```
//!
//! Invariant: one write at a time is agreed on, so that no two replicas wait for the answers to
//! different ones.

use super::lock;
use runtime::graph::{Graph, HandlerError};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// What a replica is asked.
pub(super) struct Agreed {
    handler: String,
    text: String,
    epoch: Sender<u64>,
    until: Receiver<u64>,
    reply: Sender<Result<(), HandlerError>>,
}

/// What who writes waits for.
pub(super) struct Wait {
    epoch: Receiver<u64>,
    until: Sender<u64>,
    reply: Receiver<Result<(), HandlerError>>,
}

/// What a replica has run, and what it is to write.
#[derive(Default)]
pub(super) struct Agreements {
    epochs: AtomicU64,
    later: Mutex<Vec<(u64, Agreed)>>,
}

/// A write for one replica.
pub(super) fn agreed(handler: &str, text: String) -> (Agreed, Wait) {
    let ((epoch, hears), (until, waits), (reply, answers)) = (channel(), channel(), channel());
    let asked = Agreed { handler: handler.to_owned(), text, epoch, until: waits, reply };
    (asked, Wait { epoch: hears, until, reply: answers })
}

/// Lets all write behind the newest epoch that one of them has run; none if a replica has ended.
pub(super) fn settle(waits: &[Wait]) -> Option<Result<(), HandlerError>> {
    let epochs: Option<Vec<u64>> = waits.iter().map(|wait| wait.epoch.recv().ok()).collect();
    let newest = epochs?.into_iter().max()?;
    for wait in waits {
        wait.until.send(newest).ok()?;
    }
    let replies: Option<Vec<Result<(), HandlerError>>> = waits.iter().map(|wait| wait.reply.recv().ok()).collect();
    Some(replies?.into_iter().collect())
}

impl Agreed {
    fn write(self, graph: &mut Graph) {
        // Who asked may have gone.
        let _ = self.reply.send(graph.write(&self.handler, &self.text, None));
    }
}

impl Agreements {
    /// Writes now or behind a later epoch. Who asks has gone if nothing comes, and then no replica
    /// writes.
    pub(super) fn agree(&self, asked: Agreed, graph: &mut Graph) {
        let own = self.epochs.load(Ordering::Relaxed);
        if asked.epoch.send(own).is_err() {
            return;
        }
        match asked.until.recv() {
            Ok(until) if until <= own => asked.write(graph),
            Ok(until) => lock(&self.later).push((until, asked)),
            Err(_) => {}
        }
    }

    /// An epoch has been run: writes what is to be written behind it.
    pub(super) fn pass(&self, graph: &mut Graph) {
        let epoch = self.epochs.fetch_add(1, Ordering::Relaxed) + 1;
        let mut later = lock(&self.later);
        while let Some(at) = later.iter().position(|(until, _)| *until <= epoch) {
            later.remove(at).1.write(graph);
        }
    }
}
