//! Elements that run as one, with a cluster that is no compiled code.

use super::super::Replay;
use super::*;
use netil::cluster::{Cluster, Ended, Host as Outside, Plan};
use netil::exec::{Disposition, DropReason};
use netil::pool::Pool;
use std::time::{Duration, Instant};

/// Drops what comes, or lets it out by its first exit.
pub(super) struct Simple {
    pub lets_out: bool,
    pub entered: u64,
}

impl Cluster for Simple {
    fn run(&mut self, slots: &[u32], _: u32, pool: &mut Pool, host: &mut dyn Outside) {
        self.entered += slots.len() as u64;
        let ended = Ended { member: 0, disposition: Disposition::Drop(DropReason::Verdict) };
        match self.lets_out {
            true => host.exit(0, slots, pool),
            false => host.ended(ended, slots, pool),
        }
    }

    fn entered(&self) -> Vec<u64> {
        vec![self.entered]
    }
}

const PASS: (&str, &str) = ("pass", "segment .ports push_input a push_output b ends segment .push pkt.send b ends");

pub(super) fn plan(app: &Application) -> Plan {
    Plan::new(app, &|_| true, &|_| true, &|_| false)
}

/// A thousand packets on their way from a device through a program into a queue of so many and a
/// sink.
fn thousand(capacity: u32) -> (Application, Graph) {
    let app =
        application(&format!("f :: FromDevice(eth0)\n p :: pass\n q :: Queue({capacity})\n d :: Discard\n f -> p -> q -> d"), &[PASS]);
    let packets = vec![&[7u8; 60][..]; 100];
    let replays = [("eth0".to_owned(), Arc::new(Replay::new(packets, 10, 10)))].into();
    let (graph, _) = graph(&app, Settings { replays, ..Settings::default() }).unwrap();
    (app, graph)
}

fn finish(mut graph: Graph) -> Graph {
    graph.start();
    while graph.turn() {}
    graph
}

/// The bytes of the capture that packets end in, of which no more than 20 bytes each are wanted.
fn cut(way: &str, linked: bool) -> Vec<u8> {
    let file = std::env::temp_dir().join(format!("netvm-cut-{}-{linked}.pcap", std::process::id()));
    let app = application(&format!("f :: FromDevice(eth0 | SNAPLEN 20)\n p :: pass\n d :: ToDump({})\n {way}", file.display()), &[PASS]);
    let packets = [&[7u8; 60][..], &[8; 21], &[9; 20], &[10; 64]];
    let replays = [("eth0".to_owned(), Arc::new(Replay::new(packets, 2, 10)))].into();
    let (mut graph, _) = graph(&app, Settings { replays, ..Settings::default() }).unwrap();
    if linked {
        graph.link(&app, plan(&app), Box::new(Simple { lets_out: true, entered: 0 }));
    }
    assert!(finish(graph).finish().is_empty());
    let written = std::fs::read(&file).unwrap();
    std::fs::remove_file(file).unwrap();
    written
}

#[test]
fn packets_of_memory_are_cut_as_those_of_files_and_their_length_on_the_wire_stays() {
    for (way, linked) in [("f -> p -> d", false), ("f -> p -> d", true), ("u :: Unqueue\n f -> u -> p -> d", false)] {
        let written = cut(way, linked);
        let records = written[24..].chunks(16 + 20).map(|record| (record[8], record[12], &record[16..]));
        let first = [(20, 60, &[7u8; 20][..]), (20, 21, &[8; 20]), (20, 20, &[9; 20]), (20, 64, &[10; 20])];
        assert_eq!(records.collect::<Vec<_>>(), [first, first].concat(), "{way}");
    }
}

#[test]
fn bursts_go_through_a_cluster_and_queues_however_small() {
    for capacity in [1, 3, 1000] {
        let (app, mut graph) = thousand(capacity);
        graph.link(&app, plan(&app), Box::new(Simple { lets_out: true, entered: 0 }));
        let mut graph = finish(graph);
        assert_eq!(
            (graph.read("d.count", "", None).unwrap(), graph.read("q.drops", "", None).unwrap()),
            ("1000".into(), "0".into()),
            "{capacity}"
        );
        let packets: Vec<u64> = graph.stats().nodes.iter().map(|node| node.2.packets).collect();
        assert_eq!((packets, graph.core.pool.room()), (vec![0, 1000, 1000, 1000], 4096), "{capacity}");
    }
}

#[test]
fn arrivals_go_into_queues_in_bursts_where_there_are_no_programs() {
    let app = application("f :: FromDevice(eth0)\n q :: Queue(7)\n d :: Discard\n f -> q -> d", &[]);
    let packets = vec![&[7u8; 60][..]; 100];
    let replays = [("eth0".to_owned(), Arc::new(Replay::new(packets, 10, 10)))].into();
    let (mut graph, _) = graph(&app, Settings { replays, ..Settings::default() }).unwrap();
    assert!(graph.gather_arrivals(&app));
    let mut graph = finish(graph);
    let told = ["d.count", "q.drops"].map(|handler| graph.read(handler, "", None).unwrap());
    assert_eq!((told, graph.fusion.packets, graph.core.pool.room()), (["1000", "0"].map(str::to_owned), 1000, 4096));
    assert_eq!((graph.core.arrivals, graph.stats().linked), (1000, None));
    let (app, mut graph) = thousand(7);
    assert!(!graph.gather_arrivals(&app));
}

#[test]
fn packets_that_wait_in_the_pool_are_there_for_the_graph_that_comes_next() {
    let packets = vec![&[7u8; 60][..]; 100];
    let settings = || {
        let replays = [("eth0".to_owned(), Arc::new(Replay::new(packets.clone(), 10, 10)))].into();
        Settings { replays, ..Settings::default() }
    };
    let text = |more: &str| format!("f :: FromDevice(eth0)\n p :: pass\n q :: Queue(1000)\n i :: Idle\n f -> p -> q -> i\n {more}");
    let app = application(&text("g :: Queue\n j :: Idle\n g -> j"), &[PASS]);
    let (mut first, _) = graph(&app, settings()).unwrap();
    first.link(&app, plan(&app), Box::new(Simple { lets_out: true, entered: 0 }));
    let mut first = finish(first);
    assert_eq!((first.read("q.length", "", None).unwrap(), first.core.pool.room()), ("1000".to_owned(), 3096));
    for (more, length) in [("d :: Discard", "1000"), ("", "0")] {
        let app = application(&if length == "0" { text("").replace("q ::", "r ::").replace("-> q", "-> r") } else { text(more) }, &[PASS]);
        let factories = Factories { engine: &interpreter, coprocessor: &crate::coproc::make, table: &crate::coproc::tables::make_for };
        let (mut next, _) = first.succeed(&app, &factories, settings()).unwrap_or_else(|faults| panic!("{}", faults[0].message()));
        next.link(&app, plan(&app), Box::new(Simple { lets_out: true, entered: 0 }));
        let queue = if length == "0" { "r" } else { "q" };
        assert_eq!(next.read(&format!("{queue}.length"), "", None).unwrap(), length);
        assert_eq!(next.core.pool.room(), 4096 - length.parse::<usize>().unwrap());
        first = next;
    }
}

#[test]
fn what_a_cluster_drops_is_counted_and_leaves_room() {
    let (app, mut graph) = thousand(1000);
    graph.link(&app, plan(&app), Box::new(Simple { lets_out: false, entered: 0 }));
    let graph = finish(graph);
    assert_eq!(graph.stats().nodes[1].2.drops.values().sum::<u64>(), 1000);
    assert_eq!(graph.core.pool.room(), 4096);
}

#[test]
fn a_cluster_may_come_later() {
    let (app, mut graph) = thousand(1000);
    let app = Arc::new(app);
    let its = Arc::clone(&app);
    let linking = move || Some((plan(&its), Box::new(Simple { lets_out: false, entered: 0 }) as Box<dyn Cluster>));
    graph.link_later(app, 10, Box::new(linking));
    graph.start();
    let begun = Instant::now();
    while graph.core.arrivals < 10 {
        assert!(graph.turn() && graph.fusion.linked.is_none());
    }
    while graph.fusion.later.is_some() && begun.elapsed() < Duration::from_secs(60) {
        graph.look_for_links();
    }
    let mut graph = finish(graph);
    let dropped = graph.stats().nodes[1].2.drops.values().sum::<u64>();
    assert_eq!((graph.read("d.count", "", None).unwrap(), dropped), ("10".to_owned(), 990));
}

#[test]
fn without_a_cluster_it_goes_on_as_it_was() {
    let (app, mut graph) = thousand(1000);
    graph.link_later(Arc::new(app), 0, Box::new(|| None));
    let mut graph = finish(graph);
    assert_eq!(graph.read("d.count", "", None).unwrap(), "1000");
}

#[test]
fn more_packets_than_the_pool_holds_wait_in_memory_of_their_own() {
    let app = application("f :: FromDevice(eth0)\n p :: pass\n q :: Queue(6000)\n i :: Idle\n f -> p -> q -> i", &[PASS]);
    let packets = vec![&[7u8; 60][..]; 5000];
    let replays = [("eth0".to_owned(), Arc::new(Replay::new(packets, 1, 10)))].into();
    let (mut graph, _) = graph(&app, Settings { replays, ..Settings::default() }).unwrap();
    graph.link(&app, plan(&app), Box::new(Simple { lets_out: true, entered: 0 }));
    let mut graph = finish(graph);
    assert_eq!((graph.read("q.length", "", None).unwrap(), graph.core.pool.room()), ("5000".to_owned(), 0));
    graph.write("q.reset", "", None).unwrap();
    assert_eq!(graph.core.pool.room(), 4096);
}

/// Sees the order in which packets come, and by which entries.
struct Watching(Arc<std::sync::Mutex<Vec<(u32, u8)>>>);

impl Cluster for Watching {
    fn run(&mut self, slots: &[u32], _: u32, pool: &mut Pool, host: &mut dyn Outside) {
        let seen = slots.iter().map(|slot| (pool.slot(*slot).entry(), pool.bytes(*slot)[0]));
        self.0.lock().unwrap().extend(seen);
        host.exit(0, slots, pool);
    }

    fn entered(&self) -> Vec<u64> {
        vec![0]
    }
}

#[test]
fn arrivals_of_several_sources_come_in_the_order_of_their_times() {
    let two = ("two", "segment .ports push_input a, b push_output c ends segment .push pkt.send c ends");
    let app = application(
        "f :: FromDevice(eth0)\n g :: FromDevice(eth1)\n p :: two\n q :: Queue(7)\n d :: Discard\n f -> p -> q -> d\n g -> [1] p",
        &[two],
    );
    let (every_2, every_3): (Vec<[u8; 1]>, Vec<[u8; 1]>) = ((0..6).map(|n| [n]).collect(), (10..14).map(|n| [n]).collect());
    let replays = [
        ("eth0".to_owned(), Arc::new(Replay::new(every_2.iter().map(|p| &p[..]), 1, 2))),
        ("eth1".to_owned(), Arc::new(Replay::new(every_3.iter().map(|p| &p[..]), 1, 3))),
    ];
    let (mut graph, _) = graph(&app, Settings { replays: replays.into(), ..Settings::default() }).unwrap();
    let seen = Arc::default();
    graph.link(&app, plan(&app), Box::new(Watching(Arc::clone(&seen))));
    let mut graph = finish(graph);
    let order = [(0, 0), (1, 10), (0, 1), (0, 2), (1, 11), (0, 3), (1, 12), (0, 4), (0, 5), (1, 13)];
    assert_eq!((&seen.lock().unwrap()[..], graph.read("d.count", "", None).unwrap()), (&order[..], "10".to_owned()));
}

/// Packets, passes, interval.
type Of = (u64, u64, u64);

#[test]
fn runs_of_sources_are_merged_whatever_their_lengths() {
    // One that comes often, one that comes at the same times now and then, a few; the packets of
    // the second are of several lengths.
    merged([(700, 4, 10), (500, 5, 20), (3, 200, 7)], |source, n| if source == 1 { [1, 64, 65, 200][n % 4] } else { 60 });
}

#[test]
fn sources_of_one_rate_take_turns_until_they_end() {
    merged([(700, 4, 10), (500, 5, 10), (3, 200, 10)], |_, n| [60, 1, 64][n % 3]);
    // One is of another kind, so they do not.
    merged([(700, 4, 10), (500, 5, 10), (3, 200, 10)], |source, n| if source == 2 && n == 1 { 65 } else { 60 });
}

/// Packets of three sources come in the order of their times, whatever their lengths.
fn merged(sources: [Of; 3], len: fn(usize, usize) -> usize) {
    let three = ("three", "segment .ports push_input a, b, c push_output d ends segment .push pkt.send d ends");
    let app = application(
        "f :: FromDevice(eth0)\n g :: FromDevice(eth1)\n h :: FromDevice(eth2)\n p :: three\n q :: Queue(700)\n d :: Discard\n f -> p -> q -> d\n g -> [1] p\n h -> [2] p",
        &[three],
    );
    let replay = |source: usize, (packets, passes, interval): Of| {
        let bytes: Vec<Vec<u8>> = (0..packets).map(|n| vec![n as u8; len(source, n as usize)]).collect();
        Arc::new(Replay::new(bytes.iter().map(|p| &p[..]), passes, interval))
    };
    let replays = sources.iter().enumerate().map(|(n, source)| (format!("eth{n}"), replay(n, *source))).collect();
    let (mut graph, _) = graph(&app, Settings { replays, ..Settings::default() }).unwrap();
    let seen = Arc::default();
    graph.link(&app, plan(&app), Box::new(Watching(Arc::clone(&seen))));
    let mut graph = finish(graph);
    let of =
        |(n, (packets, passes, interval)): (u32, Of)| (0..packets * passes).map(move |at| ((at + 1) * interval, n, (at % packets) as u8));
    let mut order: Vec<(u64, u32, u8)> = (0..).zip(sources).flat_map(of).collect();
    order.sort_by_key(|(time, n, _)| (*time, *n));
    assert!(seen.lock().unwrap().iter().copied().eq(order.iter().map(|(_, n, byte)| (*n, *byte))));
    let counts = ["f", "g", "h", "d"].map(|name| graph.read(&format!("{name}.count"), "", None).unwrap());
    assert_eq!((counts, graph.core.pool.room()), (["2800", "2500", "600", "5900"].map(str::to_owned), 4096));
}
