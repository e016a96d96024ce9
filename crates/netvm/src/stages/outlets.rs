//! Where a stage sends packets: one ring to each replica of each stage behind it.
//!
//! Packets wait here until there is a burst of them. A burst goes on when it is full, and all do
//! when the stage has nothing to do, so that at little traffic nothing waits. Who sleeps behind a
//! ring is woken when that is half full, or when the stage has nothing to do: so two stages on one
//! core do not change places for each burst.
//!
//! Invariant: packets of one flow go through one ring, in order, as long as the number of replicas
//! and the flow function stay; they change only while nothing is on the way.

use super::thread::Own;
use super::{BURST, Burst, Flow, Packet, Target};
use crate::sync::lock;
use rings::{Bell, Producer, Pushed};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The longest sleep before a full ring.
const NAP: std::time::Duration = std::time::Duration::from_millis(5);

/// To one replica.
pub(super) struct Lane {
    pub pending: Burst,
    pub ring: Producer<Burst>,
    /// Who takes from the ring.
    pub bell: Arc<Bell>,
    /// There is something in the ring of which the other side may not know.
    pub untold: bool,
}

/// To one stage.
pub(super) struct Outlet {
    pub target: Arc<Target>,
    pub flow: OwnFlow,
    pub lanes: Vec<Lane>,
}

/// The stages that a stage sends to, numbered as they were named when it was registered.
pub struct Outlets {
    pub(super) outlets: Vec<Outlet>,
    pub(super) own: Arc<Own>,
}

impl Outlets {
    pub(super) fn new(outlets: Vec<Outlet>, own: Arc<Own>) -> Self {
        Self { outlets, own }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.outlets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.outlets.is_empty()
    }

    /// The name of a stage behind.
    pub fn name(&self, output: usize) -> Option<&str> {
        self.outlets.get(output).map(|outlet| outlet.target.name.as_str())
    }

    /// Sends a packet, which is copied. Waits as long as there is no room. False if there is no
    /// such output.
    pub fn send(&mut self, output: usize, packet: Packet<'_>) -> bool {
        let Some(outlet) = self.outlets.get_mut(output) else { return false };
        let lane = outlet.lane(&packet);
        let Some(to) = outlet.lanes.get_mut(lane) else { return false };
        to.pending.push(packet);
        if to.pending.len() >= BURST {
            to.hand_over(&self.own);
        }
        true
    }

    /// Sends all packets of a burst, to one replica as they lie there, without a look at them.
    pub fn send_all(&mut self, output: usize, burst: &mut Burst) -> bool {
        let Some(outlet) = self.outlets.get_mut(output) else { return false };
        match &mut outlet.lanes[..] {
            [only] if only.pending.is_empty() && burst.len() * 2 >= BURST => {
                std::mem::swap(&mut only.pending, burst);
                only.hand_over(&self.own);
            }
            _ => burst.iter().for_each(|packet| {
                self.send(output, packet);
            }),
        }
        burst.clear();
        true
    }

    /// Whether the run is to end: an input that sends packets in a loop of its own looks here.
    pub fn is_stopping(&self) -> bool {
        self.own.run.is_stopping()
    }

    /// Everything goes on, and who sleeps behind it is woken.
    pub fn flush(&mut self) {
        for lane in self.outlets.iter_mut().flat_map(|outlet| &mut outlet.lanes) {
            if !lane.pending.is_empty() {
                lane.hand_over(&self.own);
            }
            lane.tell();
        }
    }
}

impl Lane {
    fn tell(&mut self) {
        if std::mem::take(&mut self.untold) {
            self.bell.ring();
        }
    }

    /// Waits for room. What nobody takes any more is counted.
    fn hand_over(&mut self, own: &Own) {
        let count = self.pending.len() as u64;
        loop {
            match self.ring.push(&mut self.pending) {
                Pushed::Done(waiting) => {
                    self.untold = true;
                    if waiting * 2 >= self.ring.room() {
                        self.tell();
                    }
                    own.sent(count);
                    break;
                }
                Pushed::Gone => {
                    own.lost(count);
                    break;
                }
                Pushed::Full => {
                    self.tell();
                    own.answer_moves();
                    let ring = &mut self.ring;
                    own.bell.wait(|| ring.has_room(), NAP);
                }
            }
        }
        self.pending.clear();
    }
}

impl Drop for Outlets {
    fn drop(&mut self) {
        self.flush();
        for lane in self.outlets.drain(..).flat_map(|outlet| outlet.lanes) {
            let Lane { ring, bell, .. } = lane;
            drop(ring);
            bell.ring();
        }
    }
}

/// A stage's flow function, which changes only while nothing is on the way.
pub(super) struct SharedFlow {
    function: Mutex<Arc<Flow>>,
    /// How often it has changed.
    changes: AtomicUsize,
}

/// A stage's flow function as one thread knows it, so that no thread waits for another at each
/// packet.
pub(super) struct OwnFlow {
    function: Arc<Flow>,
    changes: usize,
}

impl SharedFlow {
    pub(super) fn new(function: Arc<Flow>) -> Self {
        Self { function: Mutex::new(function), changes: AtomicUsize::new(0) }
    }

    pub(super) fn own(&self) -> OwnFlow {
        let function = lock(&self.function);
        OwnFlow { function: Arc::clone(&function), changes: self.changes.load(Ordering::Relaxed) }
    }

    pub(super) fn change(&self, to: Arc<Flow>) {
        let mut function = lock(&self.function);
        *function = to;
        self.changes.fetch_add(1, Ordering::Relaxed);
    }
}

impl Outlet {
    /// Which replica has a packet.
    fn lane(&mut self, packet: &Packet<'_>) -> usize {
        if self.flow.changes != self.target.flow.changes.load(Ordering::Relaxed) {
            self.flow = self.target.flow.own();
        }
        match self.target.active.load(Ordering::Relaxed) {
            1 => 0,
            active => {
                let hash = (self.flow.function)(packet).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                ((u128::from(hash) * active as u128) >> 64) as usize
            }
        }
    }
}
