//! Inputs that a thread of the program around a pipeline runs: it sends packets by calls.

use super::thread::{Ending, Own};
use super::{Burst, Outlets, Packet};
use crate::sync::lock;
use std::sync::{Arc, Mutex, MutexGuard};

/// Sends packets into a pipeline that runs. The input ends when this is dropped, or when the
/// pipeline is asked to end; what was sent goes through.
///
/// What was sent goes on when there is a burst of it, and with [`Self::flush`]. Between the first
/// packet and the flush behind the last one the pipeline takes the thread for busy: a change of the
/// number of replicas waits for the next call.
pub struct Injector(Arc<SharedInput>);

/// An input, as the injector and the pipeline have it.
pub(super) struct SharedInput(Mutex<State>);

/// None: it has ended.
type State = Option<Sending>;

struct Sending {
    // Before what says that the input has ended: what waits there goes on first.
    outlets: Outlets,
    ending: Ending,
}

impl Sending {
    fn own(&self) -> &Own {
        &self.ending.own
    }

    /// The thread is busy from now on; it waits while the number of replicas changes.
    fn begin(&mut self) {
        let run = Arc::clone(&self.ending.own.run);
        if !std::mem::replace(&mut self.ending.passes, true) {
            run.gate.come_again();
        } else if run.gate.is_closed() {
            self.outlets.flush();
            run.gate.pass();
        }
    }

    fn flush(&mut self) {
        self.outlets.flush();
        if std::mem::take(&mut self.ending.passes) {
            self.own().run.gate.leave();
        }
    }
}

impl SharedInput {
    /// An input that is not busy.
    pub(super) fn new(own: Arc<Own>, outlets: Outlets) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(Sending { outlets, ending: Ending { own, passes: false } }))))
    }

    pub(super) fn injector(self: &Arc<Self>) -> Injector {
        Injector(Arc::clone(self))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// Nothing more is sent.
    pub(super) fn end(&self) {
        *self.state() = None;
    }
}

impl Injector {
    /// Sends a packet, which is copied. Waits as long as there is no room. False if there is no
    /// such output, or the pipeline was asked to end.
    pub fn send(&mut self, output: usize, packet: Packet<'_>) -> bool {
        let mut state = self.0.state();
        state.as_mut().is_some_and(|sending| {
            sending.begin();
            sending.outlets.send(output, packet)
        })
    }

    /// Sends all packets of a burst, which has none then; otherwise as [`Self::send`].
    pub fn send_all(&mut self, output: usize, burst: &mut Burst) -> bool {
        let mut state = self.0.state();
        state.as_mut().is_some_and(|sending| {
            sending.begin();
            sending.outlets.send_all(output, burst)
        })
    }

    /// All that was sent goes on.
    pub fn flush(&mut self) {
        self.0.state().iter_mut().for_each(Sending::flush);
    }

    /// Whether the pipeline was asked to end: nothing is sent any more.
    pub fn is_ended(&self) -> bool {
        self.0.state().is_none()
    }
}

impl Drop for Injector {
    fn drop(&mut self) {
        self.0.end();
    }
}
