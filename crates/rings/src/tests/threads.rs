//! On real threads: many bursts through small rings, and what is told of them.

use crate::{Bell, Gate, Got, Inputs, Popped, Pushed, Relief, channel, ring};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

const MOMENT: Duration = Duration::from_millis(5);
const LONG: Duration = Duration::from_secs(60);

#[test]
fn bursts_of_several_rings_come_in_order_and_memory_goes_back() {
    let own = Arc::new(Bell::default());
    let (mut producers, mut rings) = (Vec::new(), Vec::new());
    for room in [1, 3, 16] {
        let (producer, consumer) = ring::<Vec<u32>>(room);
        let bell = Arc::new(Bell::default());
        rings.push((consumer, Arc::clone(&bell)));
        producers.push((producer, bell));
    }
    let mut inputs = Inputs::new(rings);
    let mut counts = [0_u32; 3];
    std::thread::scope(|scope| {
        for (mut producer, bell) in producers {
            let consumer = Arc::clone(&own);
            scope.spawn(move || {
                let mut burst = Vec::new();
                for n in 0..20_000 {
                    burst.clear();
                    burst.extend([n; 3]);
                    while producer.push(&mut burst) == Pushed::Full {
                        bell.wait(|| producer.has_room(), LONG);
                    }
                    assert!(n < 40 || burst.capacity() >= 3, "a burst that was used up comes back");
                    consumer.ring();
                }
                drop(producer);
                consumer.ring();
            });
        }
        let mut burst = Vec::new();
        loop {
            match inputs.take(&mut burst) {
                Got::One(at) => {
                    assert_eq!(burst, [counts[at]; 3]);
                    counts[at] += 1;
                }
                Got::Nothing => {
                    inputs.rests();
                    inputs.wait(&own, LONG);
                }
                Got::End => break,
            }
        }
    });
    assert_eq!(counts, [20_000; 3]);
}

#[test]
fn a_ring_tells_how_it_is() {
    let (mut producer, mut consumer) = ring(2);
    assert_eq!(consumer.pop(&mut 0), Popped::Empty);
    assert_eq!([producer.push(&mut 1), producer.push(&mut 2), producer.push(&mut 3)], [Pushed::Done(1), Pushed::Done(2), Pushed::Full]);
    let mut value = 7;
    assert_eq!((consumer.pop(&mut value), value), (Popped::Done(1), 1));
    drop(producer);
    assert_eq!([consumer.pop(&mut value), consumer.pop(&mut value)], [Popped::Done(0), Popped::End]);
    let (mut producer, consumer) = ring(1);
    let mut inputs = Inputs::new(vec![(consumer, Arc::default())]);
    let rest = inputs.rest();
    assert!(rest.is_at_rest());
    producer.push(&mut 1);
    assert!(!rest.is_at_rest() && rest.waiting() == 1);
    assert_eq!(inputs.take(&mut value), Got::One(0));
    assert!(!rest.is_at_rest() && rest.waiting() == 0, "taken, not worked through");
    inputs.rests();
    assert!(rest.is_at_rest());
    drop(inputs);
    assert_eq!(producer.push(&mut value), Pushed::Gone);
}

#[test]
fn a_gate_waits_for_those_inside_but_not_for_ever() {
    let gate = Gate::default();
    drop(gate.close(MOMENT).expect("nobody is inside"));
    gate.enter();
    assert!(gate.close(MOMENT).is_none() && !gate.is_closed());
    std::thread::scope(|scope| {
        let (passed, passes) = std::sync::mpsc::channel();
        let gate = &gate;
        scope.spawn(move || {
            while !gate.is_closed() {
                std::thread::yield_now();
            }
            gate.pass();
            passed.send(()).unwrap();
            gate.leave();
        });
        let closed = gate.close(LONG).unwrap();
        assert!(passes.recv_timeout(MOMENT).is_err());
        drop(closed);
        passes.recv().unwrap();
    });
}

#[test]
fn epochs_arrive_in_order_and_the_end_is_told() {
    const DEPTH: usize = 4;
    let (sender, receiver) = channel(DEPTH, &Arc::default());
    let level = receiver.level();
    std::thread::scope(|scope| {
        scope.spawn(move || (0..100).for_each(|n| assert!(sender.send(n, || ()))));
        for n in 0..100 {
            assert!(level.waiting() <= DEPTH);
            assert_eq!(receiver.recv(), Ok(n));
        }
    });
    assert_eq!(receiver.recv(), Err(RecvTimeoutError::Disconnected));
    let (sender, receiver) = channel::<u32>(DEPTH, &Arc::default());
    assert_eq!(receiver.recv_timeout(MOMENT), Err(RecvTimeoutError::Timeout));
    drop(receiver);
    assert!(!sender.send(0, || ()));
}

#[test]
fn a_sender_waits_for_room_unless_it_is_relieved() {
    let relief = Arc::new(Relief::default());
    let (sender, receiver) = channel(4, &relief);
    let level = receiver.level();
    (0..4).for_each(|n| assert!(sender.send(n, || ())));
    let (looks, looked) = std::sync::mpsc::channel();
    let sending = std::thread::spawn(move || {
        sender.send(4, || {
            let _ = looks.send(());
        })
    });
    looked.recv().unwrap();
    assert!(!sending.is_finished() && level.waiting() == 4);
    let held = relief.hold();
    assert!(sending.join().unwrap() && level.waiting() == 5);
    drop(held);
    assert!(!relief.is_held());
    drop(receiver);
}

#[test]
fn who_waits_at_a_channel_looks_up_when_it_is_called() {
    let (sender, receiver) = channel(1, &Arc::default());
    let (room, epochs) = (sender.level(), receiver.level());
    std::thread::scope(|scope| {
        // It would wait for so long.
        let receiving = scope.spawn(|| receiver.recv_timeout(LONG));
        epochs.call_receiver();
        assert_eq!(receiving.join().unwrap(), Err(RecvTimeoutError::Timeout));
    });
    // A call that comes before the wait is not lost, and is for one wait.
    epochs.call_receiver();
    assert!(sender.send(1, || ()));
    assert_eq!(receiver.recv_timeout(MOMENT), Ok(1));
    let begun = std::time::Instant::now();
    assert_eq!(receiver.recv_timeout(LONG), Err(RecvTimeoutError::Timeout));
    assert!(begun.elapsed() < LONG / 2);
    room.call_sender();
    assert!(sender.send(2, || unreachable!("there is room")));
    let looked = std::cell::Cell::new(0);
    let begun = std::time::Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(MOMENT);
            receiver.recv()
        });
        assert!(sender.send(3, || looked.set(looked.get() + 1)));
    });
    assert!(looked.get() > 0 && begun.elapsed() < LONG);
}
