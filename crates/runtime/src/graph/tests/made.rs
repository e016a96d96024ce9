//! Packets that elements make in bursts.

use super::linked::plan;
use super::*;
use netil::cluster::{Cluster, Ended, Host as Outside};
use netil::exec::{CloneOut, Disposition, ExchangeBuffer};
use netil::pool::Pool;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// By burst of a cluster, packets' times and first bytes.
type Seen = Arc<Mutex<Vec<Vec<(u64, u8)>>>>;

/// Lets all packets out, and notes what comes.
struct Watching(Seen, u64);

impl Cluster for Watching {
    fn run(&mut self, slots: &[u32], _: u32, pool: &mut Pool, host: &mut dyn Outside) {
        let burst = slots.iter().map(|slot| (pool.slot(*slot).time_ns, pool.bytes(*slot).first().copied().unwrap_or(0)));
        self.0.lock().unwrap().push(burst.collect());
        self.1 += slots.len() as u64;
        host.exit(0, slots, pool);
    }

    fn entered(&self) -> Vec<u64> {
        vec![self.1]
    }

    fn another(&self) -> Option<Box<dyn Cluster>> {
        Some(Box::new(Self(Arc::clone(&self.0), 0)))
    }
}

/// A host with a clock that goes on by a microsecond each time that it is looked at.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Host for Clock {
    fn write(&mut self, _: Stream, _: &[u8]) {}

    fn clock(&self) -> Option<u64> {
        Some(self.0.fetch_add(1000, Ordering::Relaxed) + 1000)
    }
}

const PASS: (&str, &str) = ("pass", "segment .ports push_input a push_output b ends segment .push pkt.send b ends");
const COPY: (&str, &str) = ("copy", "segment .ports push_input a push_output b ends segment .push pkt.senddup b pkt.send b ends");

/// Lets each packet leave with a copy of it.
struct Copying(u64);

impl Cluster for Copying {
    fn run(&mut self, slots: &[u32], _: u32, pool: &mut Pool, host: &mut dyn Outside) {
        self.0 += slots.len() as u64;
        for slot in slots {
            let mut buffer = ExchangeBuffer::borrowed(pool.bytes(*slot)).into_owned();
            buffer.info.resize(pool.info_size(), 0);
            host.leave(
                Ended { member: 0, disposition: Disposition::Port(1) },
                *slot,
                vec![CloneOut { source: 0, port: 1, copied: 0, buffer }],
                pool,
            );
        }
    }

    fn entered(&self) -> Vec<u64> {
        vec![self.0]
    }
}

/// Compiled C leaves copies to the runtime; where machine code is there that makes them, it is back
/// when many packets have been copied.
#[test]
fn a_cluster_that_does_not_make_copies_gives_way() {
    let app = application("s :: InfiniteSource(\\<07> | LIMIT 20000)\n p :: copy\n d :: Discard\n s -> p -> d", &[COPY]);
    let factories = Factories { engine: &interpreter, coprocessor: &crate::coproc::make, table: &crate::coproc::tables::make_for };
    let seen = Seen::default();
    let mut graph = Graph::new(&app, &factories, Settings::default(), Box::new(Console::default()))
        .unwrap_or_else(|faults| panic!("{}", faults[0].message()));
    graph.link(&app, plan(&app), Box::new(Watching(Arc::clone(&seen), 0)));
    graph.link(&app, plan(&app), Box::new(Copying(0)));
    graph.start();
    while graph.turn() {}
    // The cluster that watches makes none.
    let alone = seen.lock().unwrap().iter().map(Vec::len).sum::<usize>();
    assert!((20_000 - 6000..20_000 - 4096).contains(&alone), "{alone}");
    assert_eq!(graph.read("d.count", "", None).unwrap(), (20_000 + 20_000 - alone).to_string());
}

fn run_of(text: &str, programs: &[(&str, &str)], host: Option<Clock>, linked: bool) -> (Graph, Vec<Vec<(u64, u8)>>) {
    let (mut graph, seen) = begun(text, programs, host, linked);
    while graph.turn() {}
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (graph, seen)
}

/// A graph that has begun, and what its cluster sees.
fn begun(text: &str, programs: &[(&str, &str)], host: Option<Clock>, linked: bool) -> (Graph, Seen) {
    let app = application(text, programs);
    let factories = Factories { engine: &interpreter, coprocessor: &crate::coproc::make, table: &crate::coproc::tables::make_for };
    let host: Box<dyn Host> = host.map_or(Box::new(Console::default()) as Box<dyn Host>, |clock| Box::new(clock));
    let mut graph = Graph::new(&app, &factories, Settings::default(), host).unwrap_or_else(|faults| panic!("{}", faults[0].message()));
    let seen = Seen::default();
    if linked {
        graph.link(&app, plan(&app), Box::new(Watching(Arc::clone(&seen), 0)));
    }
    graph.start();
    (graph, seen)
}

/// What several turns would make goes through the cluster at once, with the times of those turns.
#[test]
fn turns_are_bursts_with_times_of_their_own() {
    for (burst, most) in [(1, 6), (3, 6), (700, 7), (5000, 8)] {
        let text = format!("s :: InfiniteSource(\\<07> | LIMIT 3000 | BURST {burst})\n p :: pass\n d :: Discard\n s -> p -> d");
        let (mut graph, seen) = run_of(&text, &[PASS], None, true);
        let begin = 1_000_000_000_000_000_000;
        assert!(seen.concat().iter().copied().eq((0..3000).map(|n| (begin + n / burst * 1000, 7))), "{burst}");
        assert!(seen.len() <= most, "{burst}: {}", seen.len());
        assert_eq!(["s.count", "d.count"].map(|handler| graph.read(handler, "", None).unwrap()), ["3000", "3000"]);
        let packets: Vec<u64> = graph.stats().nodes.iter().map(|node| node.2.packets).collect();
        assert_eq!((packets, graph.core.pool.room()), (vec![0, 3000, 3000], 4096), "{burst}");
    }
}

/// How many bursts come, of 1,000 packets, in graphs that make bursts of them and such that may
/// not.
#[test]
fn bursts_are_made_where_nobody_can_tell() {
    let source = "s :: InfiniteSource(LIMIT 1000)\n p :: pass\n d :: Discard\n";
    let twice = "s :: InfiniteSource(LIMIT 500)\n t :: InfiniteSource(LIMIT 500)\n p :: pass\n d :: Discard\n s -> p -> d\n t -> p";
    for (name, text, bursts) in [
        ("alone", format!("{source} s -> p -> d"), 3),
        ("a queue on its way", format!("{source} q :: Queue\n u :: Unqueue\n s -> q -> u -> p -> d"), 3),
        ("a small queue on its way", format!("{source} q :: Queue(3)\n u :: Unqueue\n s -> q -> u -> p -> d"), 334),
        ("a queue behind", format!("{source} q :: Queue\n e :: Discard\n s -> p -> q -> e"), 3),
        ("random bytes", "s :: RandomSource(40 | LIMIT 1000)\n p :: pass\n d :: Discard\n s -> p -> d".to_owned(), 3),
        ("two of them", twice.to_owned(), 1000),
        (
            "several a turn, and a queue",
            format!("{source} q :: Queue\n u :: Unqueue\n s -> q -> u -> p -> d").replace("1000", "1000 | BURST 2"),
            1000,
        ),
        ("one that discards before", format!("q :: Queue\n e :: Discard\n {source} s -> p -> q -> e"), 4),
        ("a small queue, and one that discards before", format!("q :: Queue(3)\n e :: Discard\n {source} s -> p -> q -> e"), 500),
        ("one that discards several before", format!("q :: Queue\n e :: Discard(BURST 2)\n {source} s -> p -> q -> e"), 4),
        ("a task before", format!("q :: Queue\n u :: Unqueue\n {source} s -> q -> u -> p -> d"), 1000),
        ("copies and a queue", format!("{source} q :: Queue\n u :: Unqueue\n c :: copy\n s -> q -> u -> c -> d"), 2000),
        ("an element that works at its times", format!("{source} q :: Queue\n u :: RatedUnqueue(1000000)\n s -> p -> q -> u -> d"), 1000),
        ("no times", format!("{source} s -> p -> d").replace("1000", "1000 | TIMESTAMP false"), 1000),
    ] {
        let (mut graph, seen) = run_of(&text, &[PASS, COPY], None, true);
        let runs = seen.iter().filter(|burst| !burst.is_empty()).count();
        let wanted = if name == "copies and a queue" { 1000 } else { bursts };
        assert_eq!((seen.concat().len(), runs), (1000, wanted), "{name}");
        assert_eq!(graph.read("s.count", "", None).unwrap(), if name == "two of them" { "500" } else { "1000" }, "{name}");
    }
}

/// What can be told of a graph between its turns, by its clock.
fn told_by_turn(text: &str, programs: &[(&str, &str)], linked: bool) -> BTreeMap<u64, Vec<String>> {
    let (mut graph, _) = begun(text, programs, None, linked);
    let handlers = ["s.count", "q.length", "q.drops", "q.highwater_length", "e.count"];
    let mut told = BTreeMap::new();
    while graph.turn() {
        let values = handlers.map(|handler| graph.read(handler, "", None).unwrap());
        told.insert(graph.core.clock.now(), values.to_vec());
    }
    told
}

/// Whenever somebody can ask, all is as it would be with one packet a turn.
#[test]
fn between_turns_nobody_can_tell_bursts() {
    let source =
        "s :: InfiniteSource(LIMIT 3000)\n p :: pass\n t :: TimedSource(0.0001 | x | LIMIT 20)\n i :: Discard\n t -> i\n s -> p -> q";
    for (name, text) in [
        ("discards before", format!("q :: Queue\n e :: Discard\n q -> e\n {source}")),
        ("discards behind", format!("q :: Queue\n {source}\n e :: Discard\n q -> e")),
        ("one before and one behind", format!("q :: Queue\n e :: Discard\n q -> e\n {source}\n r :: Queue\n f :: Discard\n r -> f")),
    ] {
        let [single, bursts] = [false, true].map(|linked| told_by_turn(&text, &[PASS], linked));
        assert!(bursts.len() < single.len() / 4, "{name}: {} of {}", bursts.len(), single.len());
        for (time, told) in bursts {
            assert_eq!(single.get(&time), Some(&told), "{name}, {time} ns");
        }
    }
}

/// A graph without programs needs no cluster.
#[test]
fn builtin_elements_alone_take_bursts() {
    let text = "s :: InfiniteSource(LIMIT 5000)\n q :: Queue(50)\n u :: Unqueue\n d :: Discard\n s -> q -> u -> d";
    let (mut graph, _) = run_of(text, &[], None, false);
    let handlers = ["d.count", "q.length", "q.drops", "q.highwater_length"];
    let told = handlers.map(|handler| graph.read(handler, "", None).unwrap());
    assert_eq!((told, graph.core.pool.room()), (["5000", "0", "0", "1"].map(str::to_owned), 4096));
    assert!(graph.fusion.made > 4000, "{}", graph.fusion.made);
    // With a program that runs on its own they come one by one.
    let (graph, _) = run_of("s :: InfiniteSource(LIMIT 50)\n p :: pass\n d :: Discard\n s -> p -> d", &[PASS], None, false);
    assert_eq!(graph.fusion.made, 0);
}

/// Once the end is asked for, a turn is a packet again.
#[test]
fn at_the_end_a_turn_is_a_packet() {
    let text = "s :: InfiniteSource\n p :: pass\n d :: Discard\n t :: TimedSource(0.002 | y | LIMIT 1 | STOP true)\n e :: Discard\n s -> p -> d\n t -> e";
    let count = |linked| {
        let (mut graph, seen) = run_of(text, &[PASS], None, linked);
        (graph.read("d.count", "", None).unwrap(), seen.len())
    };
    let (bursts, single) = (count(true), count(false));
    assert_eq!(bursts.0, single.0);
    assert!((130..150).contains(&bursts.1), "{}", bursts.1);
}

/// By the host's clock, packets of a rate come together as far as it is time for them.
#[test]
fn packets_of_a_rate_that_are_late_come_together() {
    let text = "s :: RatedSource(x | RATE 5000000 | LIMIT 20000)\n p :: pass\n d :: Discard\n s -> p -> d";
    let (mut graph, seen) = run_of(text, &[PASS], Some(Clock::default()), true);
    let all = seen.concat();
    assert_eq!((all.len(), graph.read("s.count", "", None).unwrap()), (20_000, "20000".to_owned()));
    assert!(seen.len() < 5000 && seen.iter().any(|burst| burst.len() > 100), "{}", seen.len());
    assert!(all.is_sorted() && seen.iter().all(|burst| burst.iter().all(|packet| packet.0 == burst[0].0)));
    // No more than what the bucket held at first, and what came in the time.
    let (first, last) = (all[0].0, all[19_999].0);
    assert!(20_000 <= 100_000 + (last - first) / 200 + 1);
}
