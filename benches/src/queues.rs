//! What threads hand packets over with: a queue that they share under a lock beside a ring for each
//! pair (NRTE paper, Figure 1), and what a stage boundary costs.
//!
//! One producer, one to three consumers, numbers of 64 bits. The queue under a lock is a ring of
//! the same size; numbers go in and out one by one, as in the paper, or in bursts. Rings are those
//! of the library rtrb, one by one and in chunks, and netvm's own, which know bursts only. Times
//! are those of the clock on the wall and of all processors together: with fewer processors than
//! threads only the latter tell.
//!
//! Threads on cores of their own beside threads that the system places (NRTE paper, section 5:
//! 12.04 against 16.19 s): a pipeline of an input, two stages of which one has two replicas, and a
//! last one, each of which works on every byte of a packet.
//!
//! A stage boundary is measured as a difference: packets of 60 bytes go from an input to a stage
//! that looks at each, on one core; then with a stage between that hands them on, on the same core
//! or on another (two boundaries more, but no packet's bytes go to another core), and with the
//! input on another core, so that all of them do.

use netvm::stages::{Burst, Outlets, Packet, Pipeline, Stage, Turn};
use rings::{Bell, Got, Inputs, Pushed, ring};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What was measured.
#[derive(Serialize)]
pub struct Row {
    /// What packets go through.
    pub what: String,
    /// Threads that take.
    pub consumers: usize,
    /// Nanoseconds for one on the wall.
    pub median_ns: f64,
    /// Of all processors together.
    pub processor_ns: f64,
}

/// Numbers that are handed over in a run.
const COUNT: u64 = 4_000_000;
/// Numbers of a burst.
const BURST: usize = 64;
/// Numbers that a queue has room for.
const ROOM: usize = 2048;
/// Packets of a pipeline's run.
const PACKETS: u64 = 4_000_000;
const NAP: Duration = Duration::from_millis(5);

/// Nanoseconds of a run, for one number: on the wall, of all processors.
type Took = (f64, f64);

/// A way to hand over.
type HandoverFn = fn(usize) -> u64;

const WAYS: [(&str, HandoverFn); 6] = [
    ("one queue under a lock, one by one", |consumers| locked(consumers, 1)),
    ("one queue under a lock, in bursts", |consumers| locked(consumers, BURST)),
    ("a ring each (rtrb), one by one", |consumers| foreign(consumers, 1)),
    ("a ring each (rtrb), in bursts", |consumers| foreign(consumers, BURST)),
    ("a ring each, in bursts", rings_of_bursts),
    ("nothing: the producer adds up itself", |_| (0..COUNT).fold(0, |sum, n| sum ^ std::hint::black_box(n))),
];

fn processors() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn time(count: u64, run: impl FnOnce()) -> Took {
    let (begun, before) = (Instant::now(), processors());
    run();
    (begun.elapsed().as_nanos() as f64 / count as f64, (processors() - before) / count as f64)
}

fn row(what: String, consumers: usize, took: Vec<Took>) -> Row {
    let median = |part: fn(&Took) -> f64| {
        let mut all: Vec<f64> = took.iter().map(part).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let row = Row { what, consumers, median_ns: median(|took| took.0), processor_ns: median(|took| took.1) };
    eprintln!("{}, {} consumers: {:.1} ns ({:.1} of processors)", row.what, row.consumers, row.median_ns, row.processor_ns);
    row
}

/// All rows.
pub fn measure(rounds: usize) -> Vec<Row> {
    let wanted = (0..COUNT).fold(0, |sum, n| sum ^ n);
    let mut rows = Vec::new();
    for consumers in 1..=3 {
        for (what, way) in WAYS.iter().filter(|(what, _)| consumers == 1 || !what.starts_with("nothing")) {
            let run = || time(COUNT, || assert_eq!(way(consumers), wanted, "{what}"));
            rows.push(row((*what).to_owned(), consumers, (0..rounds).map(|_| run()).collect()));
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let places = [Some([0, 0, 0]), (cores > 1).then_some([0, 1, 0]), (cores > 1).then_some([1, 1, 0])];
    let names = ["another stage between, all on one core", "another stage between, on a core of its own", "the input on a core of its own"];
    let runs: Vec<Vec<Took>> = (0..rounds)
        .map(|_| {
            let alone = boundary(false, [0; 3]);
            let more = places
                .into_iter()
                .zip([true, true, false])
                .map(|(place, with)| place.map_or((f64::NAN, f64::NAN), |at| boundary(with, at)));
            [alone].into_iter().chain(more.map(|took| (took.0 - alone.0, took.1 - alone.1))).collect()
        })
        .collect();
    for (at, name) in ["input to stage, on one core"].into_iter().chain(names).enumerate() {
        rows.push(row(name.to_owned(), 1, runs.iter().map(|run| run[at]).collect()));
    }
    for (name, pinned) in [("four stages, placed by the system", false), ("four stages, pinned to cores in turn", true)] {
        rows.push(row(name.to_owned(), 1, (0..rounds).map(|_| placed(pinned)).collect()));
    }
    rows
}

/// A pipeline that works on all bytes in each stage: the input, one with two replicas, one more,
/// and the last.
fn placed(pinned: bool) -> Took {
    let works = |_| {
        |burst: &mut Burst, out: &mut Outlets| {
            burst.iter_mut().for_each(|packet| {
                let sum = packet.bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte));
                packet.bytes[0] = sum;
            });
            out.send_all(0, burst);
        }
    };
    let ends = |_| {
        |burst: &mut Burst, _: &mut Outlets| {
            std::hint::black_box(
                burst.iter().map(|packet| packet.bytes.iter().fold(0_u64, |sum, byte| sum + u64::from(*byte))).sum::<u64>(),
            );
        }
    };
    let (mut left, mut n) = (PACKETS / 4 / BURST as u64, 0_u64);
    let input = move |out: &mut Outlets| {
        for _ in 0..BURST {
            n += 1;
            out.send(0, Packet { tag: n, ..Packet::new(&[n as u8; 60], n) });
        }
        left -= 1;
        if left > 0 { Turn::More } else { Turn::End }
    };
    let mut pipeline = Pipeline::default();
    let made = pipeline.stage(Stage::new("last", ends)).map(drop);
    let made = made.and_then(|()| pipeline.stage(Stage::new("third", works).to("last")).map(drop));
    let made = made.and_then(|()| pipeline.stage(Stage::new("second", works).to("third").replicas(2).flow(|packet| packet.tag)).map(drop));
    let made = made.and_then(|()| pipeline.input("input", &["second"], input).map(drop));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    time(PACKETS / 4, || {
        let Ok(running) = made.and_then(|()| pipeline.start()) else { return };
        let threads = [("input", 0), ("second", 0), ("second", 1), ("third", 0), ("last", 0)];
        for ((stage, replica), core) in threads.into_iter().zip((0..cores).cycle()).filter(|_| pinned) {
            let _ = running.move_to(stage, replica, Some(core));
        }
        let _ = running.wait();
    })
}

/// What all threads give together.
fn all(consumers: Vec<std::thread::JoinHandle<u64>>) -> u64 {
    consumers.into_iter().map(|consumer| consumer.join().unwrap_or(0)).fold(0, |sum, its| sum ^ its)
}

#[derive(Default)]
struct Queue {
    numbers: VecDeque<u64>,
    ended: bool,
}

/// A queue that all share, with so many numbers at a time.
fn locked(consumers: usize, burst: usize) -> u64 {
    let shared = Arc::new((Mutex::new(Queue::default()), Condvar::new(), Condvar::new()));
    let consume = |shared: Arc<(Mutex<Queue>, Condvar, Condvar)>| {
        move || {
            let (queue, filled, emptied) = &*shared;
            let mut sum = 0;
            loop {
                let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
                while queue.numbers.is_empty() && !queue.ended {
                    queue = filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                let count = burst.min(queue.numbers.len());
                if count == 0 {
                    return sum;
                }
                sum = queue.numbers.drain(..count).fold(sum, |sum, n| sum ^ n);
                let low = queue.numbers.len() <= ROOM / 2;
                drop(queue);
                if low {
                    emptied.notify_one();
                }
            }
        }
    };
    let taking = (0..consumers).map(|_| std::thread::spawn(consume(Arc::clone(&shared)))).collect();
    let (queue, filled, emptied) = &*shared;
    let mut next = 0;
    while next < COUNT {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        while queue.numbers.len() + burst > ROOM {
            queue = emptied.wait_timeout(queue, NAP).unwrap_or_else(PoisonError::into_inner).0;
        }
        let end = (next + burst as u64).min(COUNT);
        queue.numbers.extend(next..end);
        next = end;
        drop(queue);
        filled.notify_one();
    }
    queue.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
    filled.notify_all();
    all(taking)
}

/// A ring of rtrb for each consumer, in turn.
fn foreign(consumers: usize, burst: usize) -> u64 {
    let (mut producers, mut taking) = (Vec::new(), Vec::new());
    for _ in 0..consumers {
        let (producer, mut consumer) = rtrb::RingBuffer::<u64>::new(ROOM);
        producers.push(producer);
        taking.push(std::thread::spawn(move || {
            let mut sum = 0;
            loop {
                let ended = consumer.is_abandoned();
                match consumer.slots().min(burst) {
                    0 if ended => return sum,
                    0 => std::thread::yield_now(),
                    count => {
                        let chunk = consumer.read_chunk(count);
                        sum = chunk.into_iter().flatten().fold(sum, |sum, n| sum ^ n);
                    }
                }
            }
        }));
    }
    let mut next = 0;
    for turn in 0.. {
        if next == COUNT {
            break;
        }
        let producer = &mut producers[turn % consumers];
        let end = (next + burst as u64).min(COUNT);
        match producer.write_chunk_uninit((end - next) as usize) {
            Ok(chunk) => {
                chunk.fill_from_iter(next..end);
                next = end;
            }
            Err(_) => std::thread::yield_now(),
        }
    }
    drop(producers);
    all(taking)
}

/// A ring of netvm for each consumer, in turn.
fn rings_of_bursts(consumers: usize) -> u64 {
    let own = Arc::new(Bell::default());
    let (mut producers, mut taking) = (Vec::new(), Vec::new());
    for _ in 0..consumers {
        let (producer, consumer) = ring::<Vec<u64>>(ROOM / BURST);
        let bell = Arc::new(Bell::default());
        let mut inputs = Inputs::new(vec![(consumer, Arc::clone(&own))]);
        producers.push((producer, Arc::clone(&bell)));
        taking.push(std::thread::spawn(move || {
            let (mut sum, mut burst) = (0, Vec::new());
            loop {
                match inputs.take(&mut burst) {
                    Got::One(_) => sum = burst.iter().fold(sum, |sum, n| sum ^ n),
                    Got::Nothing => inputs.wait(&bell, NAP),
                    Got::End => return sum,
                }
            }
        }));
    }
    let (mut next, mut burst) = (0, Vec::with_capacity(BURST));
    for turn in 0.. {
        if next == COUNT {
            break;
        }
        let (producer, bell) = &mut producers[turn % consumers];
        let end = (next + BURST as u64).min(COUNT);
        burst.clear();
        burst.extend(next..end);
        next = end;
        loop {
            match producer.push(&mut burst) {
                Pushed::Full => own.wait(|| producer.has_room(), NAP),
                Pushed::Done(waiting) if waiting * 2 < producer.room() => break,
                _ => break bell.ring(),
            }
        }
    }
    for (producer, bell) in producers {
        drop(producer);
        bell.ring();
    }
    all(taking)
}

/// A pipeline's run, with the cores of the input, the stage between and the last stage.
fn boundary(with_another: bool, cores: [usize; 3]) -> Took {
    let mut pipeline = Pipeline::default();
    let counts = |_| {
        |burst: &mut Burst, _: &mut Outlets| {
            std::hint::black_box(burst.iter().map(|it| it.tag).sum::<u64>());
        }
    };
    let passes = |_| {
        |burst: &mut Burst, out: &mut Outlets| {
            out.send_all(0, burst);
        }
    };
    let made = pipeline.stage(Stage::new("last", counts)).map(drop);
    let next = if with_another { "middle" } else { "last" };
    let made = made.and_then(|()| pipeline.stage(Stage::new("middle", passes).to("last")).map(drop));
    let mut left = PACKETS / BURST as u64;
    let (begin, begins) = std::sync::mpsc::channel::<()>();
    let input = move |out: &mut Outlets| {
        // The first turn waits until all threads are where they are to be.
        let _ = begins.recv();
        for _ in 0..BURST {
            out.send(0, Packet::new(&[7; 60], 1));
        }
        left -= 1;
        if left > 0 { Turn::More } else { Turn::End }
    };
    let made = made.and_then(|()| pipeline.input("input", &[next], input).map(drop));
    let Ok(running) = made.and_then(|()| pipeline.start()) else { return (f64::NAN, f64::NAN) };
    for (stage, core) in [("middle", cores[1]), ("last", cores[2])] {
        let _ = running.move_to(stage, 0, Some(core));
    }
    time(PACKETS, || {
        // The input moves as soon as it has begun.
        drop(begin);
        let _ = running.move_to("input", 0, Some(cores[0]));
        let _ = running.wait();
    })
}

/// The rows as text.
pub fn table(rows: &[Row]) -> String {
    let line = |row: &Row| format!("| {} | {} | {:.1} | {:.1} |\n", row.what, row.consumers, row.median_ns, row.processor_ns);
    let head = "| handed over by | consumers | ns on the wall | ns of processors |\n|---|---|---|---|\n";
    rows.iter().fold(head.to_owned(), |text, row| text + &line(row))
}
