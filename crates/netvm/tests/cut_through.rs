//! Queues that packets leave as soon as they come are cut through, and do what they do one packet
//! at a time on the interpreter: order of all packets, counts, handlers and text, also where a
//! handler stops the task behind one.
//!
//! `NETVM_CASES` sets the number of generated configurations, `NETVM_SEED` the first.

mod graphs;

use graphs::{Found, Kept, capture, engines, reading, run};
use netvm::application::{Application, Settings};
use netvm::engines;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Configurations, with what is read from them afterwards and the queues that are cut through.
const CONFIGURATIONS: [(&str, &str, &[&str], &[&str]); 17] = [
    (
        "a router with a queue on the way of all packets",
        "FromDump(IN, STOP true) -> c :: Classifier(12/0800, -); c[1] -> d :: Discard;
         c[0] -> Paint(1) -> Strip(14) -> ch :: CheckIPHeader(INTERFACES 10.0.0.1/24 10.1.0.1/24) -> q :: Queue(9) -> u :: Unqueue(BURST 4) -> GetIPAddress(16)
           -> rt :: RadixIPLookup(10.0.0.1/32 0, 10.0.0.0/8 10.0.0.7 1, 0.0.0.0/0 10.1.0.7 1);
         rt[0] -> Discard;
         rt[1] -> DropBroadcasts -> p0 :: PaintTee(1) -> t0 :: DecIPTTL -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> n0 :: Counter -> o :: Queue(2) -> ToDump(OUT0);
         p0[1] -> ICMPError(10.0.0.1, redirect, host) -> rt; t0[1] -> ICMPError(10.0.0.1, timeexceeded) -> rt;",
        &["q.highwater_length", "q.length", "q.drops", "u.count", "ch.drops", "n0.count", "o.highwater_length"],
        &["q", "u"],
    ),
    (
        "what drops early, two queues one behind the other, packets that go elsewhere",
        "FromDump(IN, STOP true) -> a :: Counter -> r :: RED(2, 8, 0.2) -> q :: Queue(20) -> u :: Unqueue -> h :: HashSwitch(26, 3) -> b :: Counter -> p :: SimpleQueue(1) -> v :: Unqueue(-1)
           -> Strip(1) -> o :: Queue -> ToDump(OUT0); h[1] -> o; h[2] -> ToDump(OUT1);",
        &["r.drops", "r.avg_queue_size", "r.stats", "q.highwater_length", "p.highwater_length", "u.count", "v.count", "a.count", "b.byte_count"],
        &["r", "q", "u", "p", "v"],
    ),
    (
        "timers behind a queue, which are due between packets",
        "FromDump(IN, STOP true) -> Paint(1) -> q :: Queue(3) -> u :: Unqueue -> d :: Delay(0.01) -> g :: Gate(2, 0.03) -> o :: Queue(3) -> ToDump(OUT0); g[1] -> Strip(4) -> o;",
        &["d.length", "g.periods", "u.count"],
        &["q", "u"],
    ),
    (
        "timers that are due when packets come, before a queue that a task empties whose turn is before",
        "o :: Queue(3) -> ToDump(OUT0); FromDump(IN, STOP true) -> Paint(1) -> q :: Queue(3) -> u :: Unqueue -> g :: Gate(3, 0.001) -> d :: Delay(0.001, MOST 3) -> o; g[1] -> Strip(3) -> o;",
        &["o.drops", "d.length", "g.periods", "u.count"],
        &["q", "u"],
    ),
    (
        "timers that are due at once, before a queue that a task empties whose turn is before",
        "o :: Queue(1) -> ToDump(OUT0); FromDump(IN, STOP true) -> q :: Queue(3) -> u :: Unqueue -> t :: Tee; t[1] -> Strip(1) -> o; t[0] -> Delay(0) -> o;",
        &["o.drops", "u.count"],
        &["q", "u"],
    ),
    (
        "timers that are due at once, of one of two copies, behind an element",
        "o :: Queue(1) -> ToDump(OUT0); FromDump(IN, STOP true) -> Paint(1) -> q :: Queue(3) -> u :: Unqueue -> t :: Tee; t[1] -> Strip(1) -> o; t[0] -> Delay(0) -> o;",
        &["o.drops", "u.count"],
        &["q", "u"],
    ),
    (
        "timers that are due at once, and packets before that go another way",
        "o :: Queue(1) -> ToDump(OUT0); FromDump(IN, STOP true) -> c :: CheckLength(200); c[1] -> Truncate(50) -> o; c[0] -> Delay(0) -> o;",
        &["o.drops"],
        &[],
    ),
    (
        "the same where its turn is behind",
        "FromDump(IN, STOP true) -> q :: Queue(3) -> u :: Unqueue -> t :: Tee; t[1] -> Strip(1) -> o :: Queue(1) -> ToDump(OUT0); t[0] -> Delay(0) -> o;",
        &["o.drops", "u.count"],
        &["q", "u"],
    ),
    (
        "timers that are due at once or before the next packet, behind a queue that is not cut through",
        "o :: Queue(3) -> ToDump(OUT0); FromDump(IN, STOP true) -> Paint(1) -> q :: Queue(2) -> u :: Unqueue -> g :: Gate(2, 0.0002); g[1] -> Discard;
         g[0] -> t :: Tee; t[1] -> Strip(2) -> o; t[0] -> h :: HashSwitch(26, 2); h[0] -> Delay(0) -> o; h[1] -> Delay(0.00001) -> o;",
        &["o.drops", "u.count", "g.periods"],
        &[],
    ),
    (
        "two sources, one of which ends the run, and a queue straight behind them",
        "q :: Queue(2) -> u :: Unqueue(3) -> p :: Pause(0.003, 0.001) -> o :: Queue(2) -> ToDump(OUT0); FromDump(IN, STOP true, END_AFTER 1) -> q; FromDump(IN, STOP false) -> q;",
        &["p.pauses", "q.highwater_length", "u.count"],
        &["q", "u"],
    ),
    (
        "a script that stops the task, and makes the queue small",
        "FromDump(IN, STOP true) -> a :: Counter -> r :: RED(3, 9, 0.3) -> q :: Queue(7) -> u :: Unqueue -> Delay(0.002) -> b :: Counter -> o :: Queue -> ToDump(OUT0);
         Script(TYPE ACTIVE, wait 0.2s, print $(q.length) $(q.highwater_length) $(u.count), write u.active false, wait 0.1s, print $(q.length) $(q.highwater_length) $(u.count) $(r.avg_queue_size),
           write u.active true, wait 0.1s, print $(q.length) $(u.count) $(r.drops), write q.capacity 0, wait 0.05s, print $(q.drops), write q.capacity 3, write u.reset_counts, wait 0.1s, print $(u.count),
           write u.burst 0, wait 0.05s, write u.burst 2, write q.reset_counts, wait 0.1s, print $(q.highwater_length), write u.limit 900, wait 0.1s, print $(u.count));",
        &["q.drops", "q.highwater_length", "u.count", "r.drops", "a.count", "b.count"],
        &["r", "q", "u"],
    ),
    (
        "a task that waits from the beginning, and copies behind it",
        "FromDump(IN, STOP true) -> Paint(2) -> q :: Queue(700) -> u :: Unqueue(ACTIVE false, BURST 3) -> t :: Tee; t[0] -> Strip(1) -> o :: Queue(2) -> ToDump(OUT0); t[1] -> o;
         TimedSource(0.4, LIMIT 3) -> b :: Counter(COUNT_CALL 2 u.active true) -> Discard;",
        &["q.drops", "q.highwater_length", "u.count", "o.drops", "b.count"],
        &["q", "u"],
    ),
    (
        "queues that may hold more: copies come before, made packets, or what is led back",
        "FromDump(IN, STOP true) -> t :: Tee; t[0] -> q :: Queue(1) -> u :: Unqueue -> c :: Classifier(12/0800, -) -> o :: Queue -> ToDump(OUT0); t[1] -> q; c[1] -> Strip(1) -> p :: Queue -> v :: Unqueue -> o;
         InfiniteSource(LIMIT 50, BURST 9) -> s :: Queue(3) -> w :: Unqueue -> ToDump(OUT1);",
        &["q.drops", "u.count", "p.highwater_length", "s.drops"],
        &[],
    ),
    (
        "packets that are pulled from a queue by a program, and a task with a limit",
        "FromDump(IN, STOP true) -> a :: Queue -> Strip(1) -> u :: Unqueue -> q :: Queue -> v :: Unqueue(LIMIT 40) -> ToDump(OUT0);",
        &["q.length", "u.count", "v.count"],
        &[],
    ),
    (
        "shapers that have tokens for a burst until they are empty, one of them for some of the packets",
        "FromDump(IN, STOP true) -> a :: Counter -> q :: Queue(90) -> s :: Shaper(700, BURST_SIZE 1900) -> u :: Unqueue -> h :: HashSwitch(26, 2) -> p :: Queue(20)
           -> t :: Shaper(90000) -> w :: Shaper(400, BURST_SIZE 900) -> v :: Unqueue(BURST 3) -> o :: Queue -> ToDump(OUT0); h[1] -> b :: Counter -> o;",
        &["q.drops", "q.highwater_length", "p.drops", "p.highwater_length", "u.count", "v.count", "s.rate", "b.count"],
        &["q", "s", "u", "p", "t", "w", "v"],
    ),
    (
        "a script that changes a shaper's rate, and takes its tokens",
        "FromDump(IN, STOP true) -> q :: Queue(40) -> s :: Shaper(200000) -> u :: Unqueue -> b :: Counter -> o :: Queue -> ToDump(OUT0);
         Script(TYPE ACTIVE, wait 0.2s, print $(q.length) $(u.count), write s.rate 300, wait 0.1s, print $(q.length) $(u.count) $(s.rate), write s.rate 100000, wait 0.1s, print $(u.count),
           write s.reset, wait 0.0001s, print $(q.length) $(u.count), wait 0.1s, print $(q.length) $(u.count), write s.rate 0, wait 0.1s, write s.rate 50000, wait 0.1s, print $(q.drops));",
        &["q.drops", "q.highwater_length", "u.count", "b.count"],
        &["q", "s", "u"],
    ),
    (
        "text for people behind a queue, and packets without a way",
        "FromDump(IN, STOP true) -> Paint(1) -> q :: Queue(3) -> u :: Unqueue -> CheckIPHeader(14, VERBOSE true) -> Print(good, 20) -> h :: HashSwitch(26, 2) -> a :: Counter -> Queue -> ToDump(OUT0);",
        &["a.count", "u.count"],
        &["q", "u"],
    ),
];

/// A chain of elements with queues among them. All packets end in one capture, which shows their
/// order.
fn configuration(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = move |n: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) % n
    };
    let mut text = format!("o :: Queue({}) -> ToDump(OUT0); FromDump(IN, STOP true) -> first :: Paint(1)", [1, 3, 1000][below(3) as usize]);
    let mut tasks = Vec::new();
    for n in 0..3 + below(4) {
        let (number, time) = (1 + below(4), ["0", "0.001", "0.02", "0.3"][below(4) as usize]);
        let _ = match below(10) {
            0..=3 => {
                tasks.push(n);
                let early = ["", " -> RED(1, 3, 0.5)"][below(2) as usize];
                let shaper = ["", "", " -> Shaper(100000)", " -> Shaper(900, BURST_SIZE 1500)"][below(4) as usize];
                write!(text, "{early} -> q{n} :: Queue({number}){shaper} -> u{n} :: Unqueue({})", [1, 3, -1][below(3) as usize])
            }
            4 => write!(text, " -> Delay({time}, MOST {})", 3 * number),
            5 => write!(text, " -> g{n} :: Gate({number}, {time}); g{n}[1] -> Strip({number}) -> o; g{n}[0]"),
            6 => write!(text, " -> t{n} :: Tee(2); t{n}[1] -> Strip({number}) -> o; t{n}[0]"),
            7 => write!(text, " -> c{n} :: CheckLength({}); c{n}[1] -> Truncate(50) -> o; c{n}[0]", 100 * number),
            8 => write!(text, " -> HashSwitch(26, 1) -> Strip(1)"),
            _ => write!(text, " -> Counter -> Print(x, 8)"),
        };
    }
    text += " -> o;";
    if below(2) == 0 {
        text += " FromDump(IN, STOP false, SAMPLE 0.3) -> Truncate(60) -> first;";
    }
    if let (Some(task), true) = (tasks.first(), below(2) == 0) {
        let _ = write!(
            text,
            " Script(TYPE ACTIVE, wait 0.3s, write u{task}.active false, wait 0.05s, print $(q{task}.length), write u{task}.active true, print $(u{task}.count));"
        );
    }
    text
}

fn folder(name: &str) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("netvm-cut-through-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input = folder.join("in.pcap");
    std::fs::write(&input, capture()).unwrap();
    (folder, input)
}

/// Compares a configuration's runs; the last one.
fn compare(name: &str, text: &str, reads: &[&str], folder: &Path, input: &Path) -> Found {
    let run = |engine: &str| run(text, reads, engines::find(engine).unwrap(), folder, input);
    let wanted = run("interp");
    let others = if aot::build::Compiler::system().is_ok() { &["jit", "aot"][..] } else { &["jit"] };
    for engine in others {
        let found = run(engine);
        assert_eq!(found.counts, wanted.counts, "{name}: {engine}: {reads:?}\n{text}");
        assert_eq!(found.nodes, wanted.nodes, "{name}: {engine}\n{text}");
        assert!(found.captures == wanted.captures, "{name}: {engine}: captures differ\n{text}");
        assert_eq!(String::from_utf8_lossy(&found.text), String::from_utf8_lossy(&wanted.text), "{name}: {engine}\n{text}");
    }
    wanted
}

/// The built-in elements that run fused with others.
fn through(text: &str, folder: &Path, input: &Path) -> Vec<String> {
    let text = graphs::placed(text, input, &folder.join("out"));
    let application = Application::read("test.click", &text, &reading()).unwrap_or_else(|e| panic!("{e}"));
    let graph = application.start(engines::find("interp").unwrap(), engines(), Settings::default(), Box::new(Kept::default()));
    let account = application.explain(Some(&graph.unwrap_or_else(|e| panic!("{e}"))));
    let built_in = |class: &str| ["Queue", "SimpleQueue", "Unqueue", "RED", "Shaper"].contains(&class);
    let fused = account.ways.iter().filter(|way| way.alone.is_none()).filter_map(|way| way.element.split_once(" :: "));
    fused.filter(|(_, class)| built_in(class)).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn queues_that_are_cut_through_do_what_queues_do() {
    let (folder, input) = folder("fixed");
    for (name, text, reads, queues) in CONFIGURATIONS {
        let mut found = through(text, &folder, &input);
        let mut wanted: Vec<String> = queues.iter().map(|name| (*name).to_owned()).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{name}");
        let wanted = compare(name, text, reads, &folder, &input);
        assert!(wanted.captures.iter().flatten().any(|file| file.len() > 100), "{name}: nothing was written");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_shaper_goes_by_the_time_of_the_run_where_times_go_back() {
    let (folder, _) = folder("back");
    let mut bytes = capture();
    let (mut at, mut n) = (24, 0_u32);
    while at < bytes.len() {
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        // Every ninth packet comes up to some milliseconds before its time.
        let micros = word(&bytes, at + 4).saturating_sub(if n % 9 == 0 { 1000 * (n % 50) } else { 0 });
        bytes[at + 4..at + 8].copy_from_slice(&micros.to_le_bytes());
        (at, n) = (at + 16 + word(&bytes, at + 8) as usize, n + 1);
    }
    let input = folder.join("back.pcap");
    std::fs::write(&input, bytes).unwrap();
    let text = "FromDump(IN, STOP true) -> h :: HashSwitch(26, 2) -> q :: Queue(90) -> s :: Shaper(500, BURST_SIZE 1100) -> u :: Unqueue -> o :: Queue -> ToDump(OUT0); h[1] -> o;";
    assert_eq!(through(text, &folder, &input).len(), 3);
    compare("times that go back", text, &["u.count", "q.drops", "q.highwater_length"], &folder, &input);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn generated_configurations() {
    let number = |name: &str, otherwise| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise);
    let (first, cases) = (number("NETVM_SEED", 0u64), number("NETVM_CASES", 12));
    let (folder, input) = folder("generated");
    let mut cut = 0;
    for seed in first..first + cases {
        let text = configuration(seed);
        cut += u64::from(!through(&text, &folder, &input).is_empty());
        compare(&format!("seed {seed}"), &text, &[], &folder, &input);
    }
    assert!(cut >= cases / 5, "only {cut} of {cases} have a queue that is cut through");
    std::fs::remove_dir_all(folder).unwrap();
}
