//! Models: two or three threads, a few bursts, all orders (`--cfg loom`) or many random ones
//! (`--cfg shuttle`).
//!
//! A place of a ring that both sides touch, a wake-up that is lost (models have no time, so the
//! thread sleeps for ever), a burst that is lost or doubled, or a rest that is none fails. Left
//! out: what waits with a time limit because it looks around anyway (`sync`).

use crate::sync::{Arc, AtomicUsize, Ordering};
use crate::{Bell, Gate, Got, Inputs, Popped, Producer, Pushed, Relief, channel, ring};
use std::time::Duration;

#[cfg(loom)]
use loom::thread::spawn;
#[cfg(shuttle)]
use shuttle::thread::spawn;

const LONG: Duration = Duration::from_secs(3600);

#[cfg(loom)]
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[cfg(shuttle)]
fn check(_: usize, model: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(model, 5_000);
}

/// Pushes, and sleeps while there is no room.
fn push(ring: &mut Producer<usize>, mut value: usize, own: &Bell, consumer: &Bell) {
    while ring.push(&mut value) == Pushed::Full {
        own.wait(|| ring.has_room(), LONG);
    }
    consumer.ring();
}

#[test]
fn bursts_come_in_order_and_places_are_one_sides() {
    check(3, || {
        let (mut producer, mut consumer) = ring(2);
        let pushing = spawn(move || {
            let mut pushed = 0;
            for n in 1..=3 {
                let mut value = n;
                if producer.push(&mut value) != Pushed::Full {
                    pushed += 1;
                }
            }
            pushed
        });
        let (mut last, mut count) = (0, 0);
        loop {
            let mut value = 0;
            match consumer.pop(&mut value) {
                Popped::Done(_) => {
                    assert!(value > last);
                    (last, count) = (value, count + 1);
                }
                Popped::Empty => yields(),
                Popped::End => break,
            }
        }
        assert_eq!(pushing.join().unwrap(), count, "neither lost nor doubled");
    });
}

fn yields() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(shuttle)]
    shuttle::thread::yield_now();
}

#[test]
fn no_wake_up_is_lost_either_way() {
    check(3, || {
        let (mut producer, consumer) = ring(1);
        let (full, empty) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
        let mut inputs = Inputs::new(vec![(consumer, Arc::clone(&full))]);
        let wakes = Arc::clone(&empty);
        let pushing = spawn(move || {
            (1..=2).for_each(|n| push(&mut producer, n, &full, &wakes));
            drop(producer);
            wakes.ring();
        });
        let mut all = Vec::new();
        loop {
            let mut value = 0;
            match inputs.take(&mut value) {
                Got::One(_) => all.push(value),
                Got::Nothing => inputs.wait(&empty, LONG),
                Got::End => break,
            }
        }
        pushing.join().unwrap();
        assert_eq!(all, [1, 2]);
    });
}

#[test]
fn a_producer_learns_that_nobody_pops() {
    check(3, || {
        let (mut producer, consumer) = ring(1);
        let bell = Arc::new(Bell::default());
        let inputs = Inputs::new(vec![(consumer, Arc::clone(&bell))]);
        let leaving = spawn(move || drop(inputs));
        let mut value = 1;
        loop {
            match producer.push(&mut value) {
                Pushed::Gone => break,
                Pushed::Done(_) => value = 1,
                Pushed::Full => bell.wait(|| producer.has_room(), LONG),
            }
        }
        leaving.join().unwrap();
    });
}

/// What `--place` and pipelines do to change replicas: the gate is closed, the thread behind it
/// comes to rest, and then all that passed the gate has been worked through.
#[test]
fn behind_a_closed_gate_everything_comes_to_rest() {
    check(2, || {
        let (mut producer, consumer) = ring(2);
        let gate = Arc::new(Gate::default());
        let mut inputs = Inputs::new(vec![(consumer, Arc::default())]);
        let rest = inputs.rest();
        let (brought, worked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        gate.enter();
        let (its_gate, its_brought) = (Arc::clone(&gate), Arc::clone(&brought));
        let bringing = spawn(move || {
            let mut value = 1;
            assert!(matches!(producer.push(&mut value), Pushed::Done(_)));
            its_brought.fetch_add(1, Ordering::Relaxed);
            its_gate.pass();
            let mut value = 2;
            assert!(matches!(producer.push(&mut value), Pushed::Done(_)));
            its_gate.leave();
        });
        let its_worked = Arc::clone(&worked);
        let working = spawn(move || {
            loop {
                let mut value = 0;
                match inputs.take(&mut value) {
                    Got::One(_) => drop(its_worked.fetch_add(1, Ordering::Relaxed)),
                    Got::Nothing => {
                        inputs.rests();
                        yields();
                    }
                    Got::End => break inputs.rests(),
                }
            }
        });
        let closed = gate.close(LONG).unwrap();
        while !rest.is_at_rest() {
            yields();
        }
        let so_far = worked.load(Ordering::Relaxed);
        assert!(so_far >= brought.load(Ordering::Relaxed) && so_far >= 1);
        drop(closed);
        bringing.join().unwrap();
        working.join().unwrap();
        assert_eq!(worked.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn who_comes_and_goes_is_not_inside_a_closed_gate() {
    check(2, || {
        let (gate, inside) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
        let (its_gate, its_inside) = (Arc::clone(&gate), Arc::clone(&inside));
        let calling = spawn(move || {
            for _ in 0..2 {
                its_gate.come_again();
                its_inside.fetch_add(1, Ordering::Relaxed);
                yields();
                its_inside.fetch_sub(1, Ordering::Relaxed);
                its_gate.leave();
            }
        });
        let closed = gate.close(LONG).unwrap();
        assert_eq!(inside.load(Ordering::Relaxed), 0);
        yields();
        assert_eq!(inside.load(Ordering::Relaxed), 0);
        drop(closed);
        calling.join().unwrap();
    });
}

#[test]
fn a_channel_keeps_its_depth_unless_relieved_and_loses_nothing() {
    check(2, || {
        let relief = Arc::new(Relief::default());
        let (sender, receiver) = channel(1, &relief);
        let level = receiver.level();
        let sending = spawn(move || (1..=3).all(|n| sender.send(n, || ())));
        assert!(level.waiting() <= 1);
        let held = relief.hold();
        // While it is held, the sender comes to its end whether anything is received or not.
        assert!(sending.join().unwrap());
        drop(held);
        let all: Vec<usize> = std::iter::from_fn(|| receiver.recv().ok()).collect();
        assert_eq!(all, [1, 2, 3]);
    });
}

#[test]
fn a_channel_hands_over_and_ends() {
    check(2, || {
        let (sender, receiver) = channel(1, &Arc::new(Relief::default()));
        let sending = spawn(move || (1..=2).all(|n| sender.send(n, || ())));
        let all: Vec<usize> = std::iter::from_fn(|| receiver.recv().ok()).collect();
        assert!(all == [1, 2] && sending.join().unwrap());
    });
}

#[test]
fn a_call_is_not_lost_by_who_begins_to_wait() {
    check(2, || {
        let (sender, receiver) = channel::<usize>(1, &Arc::new(Relief::default()));
        let level = receiver.level();
        // In the model a wait does not end by itself.
        let receiving = spawn(move || receiver.recv_timeout(LONG));
        level.call_receiver();
        assert!(receiving.join().unwrap().is_err());
        drop(sender);
    });
}
