//! The threads of a pipeline: one for each input and each replica of a stage.
//!
//! A thread that has nothing to do looks around for a moment and then sleeps, until a packet comes
//! or something is asked of it.

use super::thread::Own;
use super::{Burst, Input, NotMade, Outlets, StageError, Turn, Work};
use rings::{Got, Inputs, Rest};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// The longest sleep without a look around.
const NAP: Duration = Duration::from_millis(20);
/// The longest sleep of an input that has nothing at present.
const MOST_IDLE: Duration = Duration::from_millis(1);
/// Looks at empty rings before a thread sleeps.
const LOOKS: u32 = 64;
/// Bursts, or turns of an input, between two times when everything goes on though the thread is
/// busy.
const BUSY: u32 = 32;

/// What a thread says when it is ready, and what lets it go on.
pub(super) struct Begin {
    pub ready: Sender<Result<(), StageError>>,
    pub go: Receiver<()>,
}

impl Begin {
    /// Whether the run begins.
    fn begins(self, made: Result<(), StageError>) -> bool {
        let good = made.is_ok();
        // Who began the threads waits for all of them, so is there.
        let _ = self.ready.send(made);
        good && self.go.recv().is_ok()
    }
}

/// An input, until it has ended.
pub(super) fn run_input(own: &Own, mut function: Input, mut outlets: Outlets, begin: Begin) {
    if !begin.begins(Ok(())) {
        return;
    }
    let (mut busy, mut nap) = (0, Duration::ZERO);
    while !own.run.is_stopping() {
        own.answer_all(None);
        if own.run.gate.is_closed() {
            outlets.flush();
            own.run.gate.pass();
        }
        match function(&mut outlets) {
            Turn::More => {
                (busy, nap) = (busy + 1, Duration::ZERO);
                if busy >= BUSY {
                    busy = 0;
                    outlets.flush();
                }
            }
            Turn::Idle => {
                busy = 0;
                outlets.flush();
                nap = (nap * 2 + Duration::from_micros(10)).min(MOST_IDLE);
                own.bell.wait(|| own.run.is_stopping(), nap);
            }
            Turn::End => break,
        }
    }
}

/// Makes the work of a replica.
pub(super) type Make = dyn Fn(usize) -> Result<Box<dyn Work>, NotMade> + Send + Sync;

/// A replica of a stage, until nothing comes any more.
pub(super) fn run_replica(own: &Own, (make, replica): (&Make, usize), mut inputs: Inputs<Burst>, mut outlets: Outlets, begin: Begin) {
    let (made, work) = match make(replica) {
        Ok(work) => (Ok(()), Some(work)),
        Err(error) => (Err(StageError::NotMade(error.to_string())), None),
    };
    let (true, Some(mut work)) = (begin.begins(made), work) else { return };
    let (mut burst, mut busy, mut looks) = (Burst::default(), 0, 0);
    loop {
        own.answer_all(Some(&mut *work));
        match inputs.take(&mut burst) {
            Got::One(_) => {
                own.came(burst.len());
                work.run(&mut burst, &mut outlets);
                burst.clear();
                (busy, looks) = (busy + 1, 0);
                if busy >= BUSY {
                    busy = 0;
                    outlets.flush();
                }
            }
            Got::Nothing => {
                outlets.flush();
                inputs.rests();
                busy = 0;
                rest(own, &mut inputs, &mut looks);
            }
            Got::End => break,
        }
    }
    work.end(&mut outlets);
    outlets.flush();
    inputs.rests();
}

/// Looks around, and then sleeps.
fn rest(own: &Own, inputs: &mut Inputs<Burst>, looks: &mut u32) {
    *looks += 1;
    if *looks < LOOKS {
        std::hint::spin_loop();
    } else {
        inputs.wait(&own.bell, NAP);
    }
}

/// What there is of a replica for others.
pub(super) struct Seen {
    pub own: Arc<Own>,
    /// None of an input.
    pub rest: Option<Arc<Rest>>,
}
