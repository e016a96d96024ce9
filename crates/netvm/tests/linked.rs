//! Elements that run as one give the captures and counts that they give one packet after the other
//! on the interpreter.

mod graphs;

use graphs::made::MADE;
use graphs::{CONFIGURATIONS, capture, engines as unkept, filter, run, run_with};
use netvm::application::{Replay, Settings};
use netvm::engines;
use runtime::io::synth;
use std::sync::Arc;

/// Graphs without programs, in which arrivals go into queues in bursts.
const NATIVE: [(&str, &str, &[&str]); 4] = [
    ("a capture that is counted", "f :: FromDump(IN, STOP true) -> ToDump(OUT0) -> d :: Discard;", &["f.count", "d.count"]),
    (
        "small queues, times between packets, and a part by chance",
        "FromDump(IN, STOP true) -> q :: Queue(3) -> Unqueue -> s :: RandomSample(0.6) -> p :: Queue(2) -> ToDump(OUT0); TimedSource(0.003, made) -> o :: Queue(5) -> ToDump(OUT1);
         s[1] -> d :: Discard;",
        &["q.drops", "p.drops", "o.drops", "d.count"],
    ),
    (
        "text of a script that looks at elements at times between packets",
        "f :: FromDump(IN, STOP true) -> q :: Queue(5000) -> u :: Unqueue(LIMIT 900) -> ToDump(OUT0); Script(TYPE ACTIVE, wait 20ms, print $(f.count) $(q.length) $(u.count), loop);",
        &["f.count", "q.length"],
    ),
    (
        "queues that overflow into each other",
        "f :: FromDump(IN, STOP true) -> q :: Queue(20) -> Idle; q[1] -> p :: FrontDropQueue(30) -> Idle; p[1] -> d :: ToDump(OUT0);",
        &["q.drops", "p.drops", "d.count", "q.length"],
    ),
];

/// Sources whose packets come at the same times, one of which ends the run; a queue in which
/// packets of two ways meet. `SHORT` is a capture of half a burst, so that with as many of another
/// source its end is found when the arrival behind a burst is looked for.
const SOURCES: [(&str, &str, &[&str]); 27] = [
    (
        "text of a driver that looks at elements at times between packets and at the end",
        "FromDump(IN, STOP true) -> a :: Counter -> Strip(1) -> q :: Queue -> ToDump(OUT0); FromDump(SHORT, STOP true) -> b :: Counter -> Queue -> ToDump(OUT1);
         DriverManager(wait 50ms, print $(a.count) $(b.count), wait_stop, print $(a.count) $(b.count), wait 1ms, print $(q.length), wait_stop, stop);",
        &["a.count", "b.count"],
    ),
    (
        "sources of which none ends the run, with packets at the same times",
        "f :: FromDump(IN, STOP false) -> Paint(1) -> r :: RoundRobinSwitch; g :: FromDump(SHORT) -> Paint(2) -> r; h :: FromDump(IN, STOP false) -> Paint(3) -> Strip(1) -> r;
         r[0] -> Queue(2) -> ToDump(OUT0); r[1] -> k :: Counter -> Queue -> ToDump(OUT1); r[2] -> Discard; r[3] -> k; r[4] -> Discard;",
        &["k.count", "f.count", "g.count", "h.count"],
    ),
    (
        "ways of different lengths that meet where the order tells",
        "FromDump(IN, STOP true) -> s :: RoundRobinSwitch; s[0] -> Strip(1) -> Unstrip(1) -> Paint(1) -> r :: RoundRobinSwitch; s[1] -> Paint(2) -> r; s[2] -> r;
         r[0] -> Queue -> ToDump(OUT0); r[1] -> k :: Counter -> Queue -> ToDump(OUT1); r[2] -> p :: PaintSwitch; p[0] -> Discard; p[1] -> k; p[2] -> k;",
        &["k.count"],
    ),
    (
        "a source that ends the run behind a burst",
        "f :: FromDump(SHORT, STOP true) -> k :: Counter -> Queue(5) -> ToDump(OUT0); g :: FromDump(IN, STOP false) -> k; Idle -> Queue -> ToDump(OUT1);",
        &["f.count", "k.count"],
    ),
    (
        "a small queue, into which packets go at the end of a burst and at once",
        "FromDump(IN, STOP true) -> r :: RoundRobinSwitch; r[0] -> q :: Queue(2) -> ToDump(OUT0); r[1] -> Strip(1) -> q; r[2] -> t :: Tee; t[0] -> q; t[1] -> q;",
        &["q.drops"],
    ),
    (
        "a switch between two sources",
        "FromDump(IN, STOP true) -> Truncate(70) -> s :: EtherSwitch; FromDump(IN, STOP true) -> [1] s;
         s[0] -> a :: Counter -> Queue(3) -> ToDump(OUT0); s[1] -> b :: Counter -> Queue -> ToDump(OUT1);",
        &["a.count", "b.byte_count"],
    ),
    (
        "a capture on one of the ways to a queue",
        "FromDump(IN, STOP true) -> r :: RoundRobinSwitch; r[0] -> Strip(1) -> ToDump(OUT0) -> q :: Queue(3) -> ToDump(OUT1); r[1] -> Paint(1) -> q;",
        &["q.drops"],
    ),
    (
        "a queue that overflows into another",
        "FromDump(IN, STOP true) -> r :: RoundRobinSwitch; r[0] -> Strip(1) -> o :: Queue(2) -> Idle; o[1] -> q :: Queue(3) -> ToDump(OUT0); r[1] -> Paint(1) -> q;",
        &["o.drops", "q.drops"],
    ),
    (
        "a scheduler of two queues",
        "FromDump(IN, STOP true) -> h :: HashSwitch(26, 2); h[0] -> Strip(1) -> q :: Queue(50) -> [0]s :: DRRSched(700); h[1] -> Queue(50) -> [1]s; s -> ToDump(OUT0);",
        &["q.drops"],
    ),
    (
        "copies that meet where the order tells",
        "FromDump(IN, STOP true) -> t :: Tee(3); t[0] -> Strip(1) -> s :: Tee -> Unstrip(1) -> Paint(1) -> r :: RoundRobinSwitch; s[1] -> [0]r; t[1] -> r; t[2] -> Paint(2) -> r;
         r[0] -> q :: Queue(2) -> ToDump(OUT0); r[1] -> k :: Counter -> Queue -> ToDump(OUT1); r[2] -> p :: PaintSwitch; p[0] -> Discard; p[1] -> k; p[2] -> q;",
        &["k.count", "q.drops"],
    ),
    (
        "what leads back to what looks at the order, some of it too often",
        "FromDump(IN, STOP true) -> r :: RoundRobinSwitch; FromDump(SHORT) -> r; r[0] -> Paint(1) -> a :: Counter -> q :: Queue(3) -> ToDump(OUT0);
         r[1] -> t :: Tee -> Strip(1) -> c :: Classifier(11/08, -) -> r; t[1] -> b :: Counter -> Queue -> ToDump(OUT1); c[1] -> CheckLength(100) -> Unstrip(1) -> r;",
        &["a.count", "b.byte_count", "q.drops"],
    ),
    (
        "queues that are emptied on the way, some of them small",
        "FromDump(IN, STOP true) -> a :: Counter -> q :: Queue(5) -> Unqueue -> Strip(1) -> b :: Counter -> o :: Queue(3) -> Unqueue(BURST 4) -> Paint(1) -> c :: Counter
         -> Queue -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);",
        &["a.count", "b.count", "c.byte_count", "q.drops", "o.drops"],
    ),
    (
        "a queue that is emptied no further than to a limit",
        "FromDump(IN, STOP true) -> q :: Queue(20) -> u :: Unqueue(LIMIT 700) -> Strip(1) -> b :: Counter -> Queue -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);",
        &["b.count", "q.drops", "q.length", "u.count"],
    ),
    (
        "queues that are emptied to where the order tells",
        "FromDump(IN, STOP true) -> s :: RoundRobinSwitch; s[0] -> Queue -> Unqueue -> Strip(1) -> Paint(1) -> r :: RoundRobinSwitch; s[1] -> Queue(9) -> Unqueue -> Paint(2) -> r; s[2] -> r;
         r[0] -> q :: Queue(2) -> ToDump(OUT0); r[1] -> Queue -> Unqueue -> k :: Counter -> Queue -> ToDump(OUT1); r[2] -> Discard;",
        &["k.count", "q.drops"],
    ),
    (
        "copies into queues that are emptied on the way",
        "FromDump(IN, STOP true) -> Strip(1) -> t :: Tee(3); t[0] -> q :: Queue(2) -> Unqueue -> Unstrip(1) -> ToDump(OUT0); t[1] -> s :: Tee -> a :: Counter -> Queue -> ToDump(OUT1);
         s[1] -> o :: Queue(7) -> Unqueue -> v :: Tee -> b :: Counter -> Discard; v[1] -> Strip(3) -> c :: Counter -> Discard; t[2] -> Discard;",
        &["a.count", "b.count", "c.byte_count", "q.drops", "o.drops"],
    ),
    (
        "a switch that floods into small queues",
        "FromDump(IN, STOP true) -> Truncate(90) -> s :: EtherSwitch(CAPACITY 2); Idle -> [1]s; Idle -> [2]s; Idle -> [3]s; s[0] -> Discard;
         s[1] -> a :: Counter -> q :: Queue(2) -> ToDump(OUT0); s[2] -> b :: Counter -> o :: Queue(5) -> ToDump(OUT1); s[3] -> c :: Counter -> Queue(1) -> Unqueue -> Discard;",
        &["a.count", "b.byte_count", "c.count", "q.drops", "o.drops"],
    ),
    (
        "text of a script that looks at elements at times between packets",
        "FromDump(IN, STOP true) -> a :: Counter -> q :: Queue -> Unqueue -> b :: Counter -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);
         Script(TYPE ACTIVE, wait 20ms, print $(a.count) $(b.count) $(q.length), loop);",
        &["a.count", "b.count"],
    ),
    (
        "text of a script that a source calls at its end",
        "FromDump(IN, END_CALL s.run) -> a :: Counter -> Queue -> b :: Unqueue -> ToDump(OUT0); FromDump(SHORT, END_CALL s.run) -> c :: Counter -> Queue -> ToDump(OUT1);
         s :: Script(TYPE PASSIVE, print $(a.count) $(b.count) $(c.count));",
        &["a.count", "c.count"],
    ),
    (
        "packets that are made at times between those of captures",
        "FromDump(IN, STOP true) -> Paint(1) -> r :: RoundRobinSwitch; TimedSource(0.003, made) -> Paint(2) -> r; r[0] -> a :: Counter -> q :: Queue(3) -> ToDump(OUT0);
         r[1] -> b :: Counter -> Queue -> Unqueue -> Strip(1) -> ToDump(OUT1); r[2] -> Discard;",
        &["a.count", "b.byte_count", "q.drops"],
    ),
    (
        "packets of which some are taken by chance",
        "FromDump(IN, STOP true) -> Strip(1) -> s :: RandomSample(0.7) -> Paint(1) -> t :: RandomSample(0.5) -> a :: Counter -> Queue -> ToDump(OUT0);
         s[1] -> o :: RoundRobinSwitch; t[1] -> Strip(2) -> o; o[0] -> b :: Counter -> Queue(9) -> ToDump(OUT1); o[1] -> Discard;",
        &["a.count", "b.byte_count", "s.drops", "t.drops"],
    ),
    (
        "small queues behind elements that take packets out of bursts",
        "FromDump(IN, STOP true) -> Strip(1) -> ToDump(OUT0) -> q :: Queue(3) -> Unqueue -> RandomSample(0.9) -> p :: Queue(2) -> Unqueue -> Strip(1) -> RandomSample(0.8) -> o :: Queue(2) -> ToDump(OUT1);",
        &["q.drops", "p.drops", "o.drops"],
    ),
    (
        "copies before elements that set timers, lead back, and send where the order tells",
        "FromDump(IN, STOP true) -> c :: Classifier(12/0800, -); c[1] -> Discard; c[0] -> Strip(14) -> CheckIPHeader -> t :: Tee(3); Idle -> [1]q :: ARPQuerier(10.0.0.1/8, 1:1:1:1:1:1, TIMEOUT 1s);
         t[0] -> SetIPAddress(10.0.0.9) -> q -> a :: Counter -> o :: Queue(3) -> ToDump(OUT0); t[1] -> d :: DecIPTTL -> b :: Counter -> p :: Queue(2) -> Unqueue -> Paint(1) -> r :: RoundRobinSwitch;
         d[1] -> ICMPError(10.0.0.1, timeexceeded) -> e :: Counter -> t; t[2] -> Paint(2) -> r; r[0] -> k :: Counter -> Queue(4) -> ToDump(OUT1); r[1] -> q; r[2] -> Discard;",
        &["a.count", "b.count", "e.count", "k.byte_count", "o.drops", "p.drops"],
    ),
    (
        "copies that nobody changes, in queues that overflow, and some that are taken one by one",
        "FromDump(IN, STOP true) -> c :: Classifier(12/0800, -); c[0] -> Strip(14) -> t :: Tee(5); c[1] -> u :: Tee(3); t[0] -> q :: Queue(3) -> ToDump(OUT0); t[1] -> p :: Queue -> ToDump(OUT1);
         t[2] -> o :: Queue(2) -> Unqueue -> d :: Discard; t[3] -> e :: Discard; t[4] -> f :: FrontDropQueue(4) -> RatedUnqueue(500) -> k :: Discard; u[0] -> x :: Queue(2) -> Discard; u[1] -> y :: Discard; u[2] -> Queue(7) -> Idle;",
        &["q.drops", "p.drops", "o.drops", "d.count", "e.count", "f.drops", "k.count", "x.drops", "y.count"],
    ),
    (
        "copies that go on through elements while their packets leave, and the other way round",
        "FromDump(IN, STOP true) -> t :: Tee(3); t[0] -> Strip(2) -> a :: Counter -> q :: Queue(4) -> ToDump(OUT0); t[1] -> Truncate(20) -> b :: Counter -> s :: Tee(2); t[2] -> d :: Discard;
         s[0] -> p :: Queue(3) -> ToDump(OUT1); s[1] -> Strip(3) -> e :: Counter -> Discard;",
        &["a.byte_count", "b.byte_count", "e.byte_count", "d.count", "q.drops", "p.drops"],
    ),
    (
        "thousands of copies of some packets, more than there is room for",
        "FromDump(SHORT, STOP true) -> RandomSample(0.01) -> a :: Tee(8); a[0] -> b :: Tee(8); a[1] -> b; a[2] -> b; a[3] -> b; a[4] -> b; a[5] -> b; a[6] -> b; a[7] -> b;
         b[0] -> c :: Tee(8); b[1] -> Strip(1) -> c; b[2] -> c; b[3] -> c; b[4] -> c; b[5] -> c; b[6] -> c; b[7] -> k :: Counter; c[0] -> d :: Tee(8); c[1] -> d; c[2] -> d; c[3] -> d; c[4] -> d; c[5] -> d;
         c[6] -> Strip(2) -> d; c[7] -> k; d[0] -> k; d[1] -> k; d[2] -> k; d[3] -> k; d[4] -> Truncate(40) -> m :: Counter -> q :: Queue(900) -> ToDump(OUT0); d[5] -> k; d[6] -> k; d[7] -> k; k -> Discard;",
        &["k.count", "k.byte_count", "m.byte_count", "q.drops"],
    ),
    (
        "copies of copies that come back more often than they may",
        "FromDump(SHORT, STOP true) -> RandomSample(0.003) -> k :: Counter -> t :: Tee(3); t[0] -> a :: Counter -> Queue(7) -> ToDump(OUT0); t[1] -> Strip(1) -> k; t[2] -> Paint(1) -> b :: Counter -> k;",
        &["k.count", "a.byte_count", "b.byte_count"],
    ),
    (
        "text from one of three sources",
        "FromDump(IN, STOP true) -> k :: Counter -> q :: Queue(5) -> ToDump(OUT0); FromDump(IN, STOP false) -> Print(x, 4) -> k;
         FromDump(IN, STOP false) -> Paint(1) -> Strip(2) -> k; Idle -> Queue -> ToDump(OUT1);",
        &["k.count", "q.drops"],
    ),
];

#[test]
fn linked_elements_do_what_they_do_one_after_the_other() {
    match aot::build::Compiler::system() {
        Ok(_) => _ = compare("aot"),
        Err(_) => eprintln!("no C compiler: nothing to compare"),
    }
}

#[test]
fn elements_fused_in_machine_code_do_what_they_do_one_after_the_other() {
    assert_eq!(compare("jit"), CONFIGURATIONS.len() + SOURCES.len() + MADE.len());
}

/// All configurations by an engine and by the interpreter. Gives in how many of them the engine
/// `jit` fuses elements.
fn compare(engine: &str) -> usize {
    let folder = std::env::temp_dir().join(format!("netvm-linked-{}-{engine}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [input, short] = ["in.pcap", "short.pcap"].map(|name| folder.join(name));
    std::fs::write(&input, capture()).unwrap();
    std::fs::write(&short, first_records(&capture(), 128)).unwrap();
    let [plain, linked] = ["interp", engine].map(|name| engines::find(name).unwrap());
    let mut fused = 0;
    for (name, text, reads) in CONFIGURATIONS.into_iter().chain(SOURCES).chain(MADE).chain(NATIVE) {
        let text = text.replace("SHORT", &short.display().to_string());
        let wanted = run(&text, reads, plain, &folder, &input);
        assert_eq!(wanted.text.is_empty(), !name.starts_with("text"), "{name}");
        assert!(wanted.captures.iter().flatten().any(|file| file.len() > 1000), "{name}: nothing was written");
        for settings in settings(engine, &text) {
            let found = run_with(&text, reads, linked, settings, &folder, &input, Settings::default());
            assert_same(&found, &wanted, &format!("{name}, tables large from {} on: {reads:?}", settings.large));
            fused += usize::from(found.in_machine_code > 0);
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
    fused
}

/// How a configuration is linked: also with every table large, so that slices run, if there is a
/// class with tables in it.
fn settings(engine: &str, text: &str) -> Vec<engines::Settings> {
    const WITH_TABLES: [&str; 5] = ["StaticIPLookup", "RadixIPLookup", "EtherSwitch", "IPRewriter", "Wide"];
    let sliced = engine == "aot" && WITH_TABLES.iter().any(|class| text.contains(class));
    let every = engines::Settings { large: 0, ..unkept() };
    if sliced { vec![unkept(), every] } else { vec![unkept()] }
}

fn assert_same(found: &graphs::Found, wanted: &graphs::Found, name: &str) {
    assert_eq!(found.counts, wanted.counts, "{name}");
    assert_eq!(found.nodes, wanted.nodes, "{name}");
    assert!(found.captures == wanted.captures, "{name}: captures differ");
    assert!(found.text == wanted.text, "{name}: text differs");
}

/// Elements that do the same behind three sources, which meet in a switch and part again: some drop
/// packets, some are too short for others, and each counts for itself.
const SAME: &str = "FromDevice(d0) -> Strip(12) -> a :: Classifier(0/0800, 0/86dd, -); FromDevice(d1) -> Strip(12) -> b :: Classifier(0/0800, 0/86dd, -);
    FromDevice(d2) -> Strip(12) -> c :: Classifier(0/0800, 0/86dd, -); a[0] -> Strip(2) -> al :: CheckLength(200) -> Unstrip(14) -> [0]s :: EtherSwitch;
    b[0] -> Strip(2) -> bl :: CheckLength(200) -> Unstrip(14) -> [2]s; c[0] -> Strip(2) -> cl :: CheckLength(200) -> Unstrip(14) -> [1]s;
    al[1] -> Queue -> ToDump(OUT0); bl[1] -> Queue -> ToDump(OUT1); cl[1] -> Queue -> Discard; a[1] -> Strip(300) -> Discard; b[1] -> Strip(300) -> Queue -> Discard;
    c[1] -> Strip(300) -> Discard; a[2] -> Strip(60) -> Discard; b[2] -> Strip(60) -> Discard; c[2] -> Strip(60) -> Discard;
    s[0] -> k :: Counter -> Discard; s[1] -> Paint(1) -> Discard; s[2] -> k;";

#[test]
fn elements_that_do_the_same_share_code_and_nothing_else() {
    let folder = std::env::temp_dir().join(format!("netvm-same-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let frames: Vec<Vec<u8>> = synth::mixed_trace(11, 3000).into_iter().map(|(_, frame)| frame).collect();
    let replay = |n: usize| Replay::new(frames.iter().skip(7 * n).step_by(n + 1).map(|frame| &frame[..]), 2, 1000 + n as u64);
    let found = |engine: &str| {
        let replays = (0..3).map(|n| (format!("d{n}"), Arc::new(replay(n)))).collect();
        let settings = Settings { replays, ..Settings::default() };
        run_with(SAME, &["k.count"], engines::find(engine).unwrap(), unkept(), &folder, &folder, settings)
    };
    let wanted = found("interp");
    assert!(["b", "c"].iter().all(|name| wanted.nodes.iter().any(|node| node.starts_with(&format!("{name} ")))), "{:?}", wanted.nodes);
    assert!(wanted.nodes.iter().filter(|node| node.contains("outside the packet")).count() >= 6, "{:?}", wanted.nodes);
    let others = if aot::build::Compiler::system().is_ok() { &["jit", "aot"][..] } else { &["jit"] };
    for engine in others {
        let found = found(engine);
        assert_eq!((&found.nodes, &found.counts), (&wanted.nodes, &wanted.counts), "{engine}");
        assert!(
            found.captures == wanted.captures && wanted.captures.iter().flatten().all(|file| file.len() > 1000),
            "{engine}: captures differ"
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Elements that search: two of a class with other texts, an expression behind bytes that were
/// taken off, one that takes off what is before a text.
const SEARCHES: &str = r#"FromDump(IN, STOP true) -> Paint(3) -> s :: StringSwitch("E", "\<86dd>"); s[0] -> Strip(14) -> f :: RegexFilter("^E[^a]{8}[\<0611>]|^no.{200}", OFFSET 0)
    -> Unstrip(14) -> t :: StringSwitch("\<35>", "\<01bb>") -> a :: Counter -> Queue -> ToDump(OUT0); t[1] -> a; t[2] -> g :: Search("\<40>") -> b :: Counter -> UnstripAnno -> a;
    f[1] -> c :: Counter -> Discard; g[1] -> a; s[1] -> Queue -> ToDump(OUT1); s[2] -> Discard;"#;

/// With a budget that long packets exceed, too: each element has its own, for each packet.
#[test]
fn elements_that_search_are_linked() {
    let folder = std::env::temp_dir().join(format!("netvm-searches-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (input, reads) = (folder.join("in.pcap"), ["a.count", "b.count", "c.count"]);
    std::fs::write(&input, capture()).unwrap();
    let others = if aot::build::Compiler::system().is_ok() { &["jit", "aot"][..] } else { &["jit"] };
    for budget in [None, Some(300)] {
        let found = |engine: &str| {
            let settings = Settings { budget, ..Settings::default() };
            run_with(SEARCHES, &reads, engines::find(engine).unwrap(), unkept(), &folder, &input, settings)
        };
        let wanted = found("interp");
        assert!(wanted.counts.iter().all(|count| count.parse::<u32>().unwrap() > 10), "{:?}", wanted.counts);
        assert_eq!(wanted.nodes.iter().any(|node| node.contains("budget")), budget.is_some(), "{:?}", wanted.nodes);
        for engine in others {
            let found = found(engine);
            assert_same(&found, &wanted, &format!("{engine} with the budget {budget:?}"));
            assert!(found.in_machine_code >= 9, "{}", found.in_machine_code);
        }
    }
    let application = netvm::application::Application::read("t", &graphs::placed(SEARCHES, &input, &folder), &graphs::reading()).unwrap();
    let account = application.explain(None);
    for name in ["s ::", "f ::", "t ::", "g ::"] {
        assert!(account.ways.iter().any(|way| way.element.starts_with(name) && way.alone.is_none()), "{name} {account}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Filters of many rules are tables. All engines give what the interpreter gives, and that is what
/// the rules mean one by one (they are tested for that where they are written).
#[test]
fn filters_of_many_rules_decide_alike() {
    let folder = std::env::temp_dir().join(format!("netvm-filters-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input = folder.join("in.pcap");
    std::fs::write(&input, capture()).unwrap();
    let others = if aot::build::Compiler::system().is_ok() { &["jit", "aot"][..] } else { &["jit"] };
    for count in [63, 130, 600] {
        let (text, reads) = filter(count);
        let reads = if count < 100 { &reads[..2] } else { &reads };
        let wanted = run(&text, reads, engines::find("interp").unwrap(), &folder, &input);
        assert!(wanted.counts.iter().all(|count| count.parse::<u32>().unwrap() > 40), "{:?}", wanted.counts);
        for name in others {
            let found = run(&text, reads, engines::find(name).unwrap(), &folder, &input);
            assert_eq!(found.counts, wanted.counts, "{count} rules, {name}");
            assert!(found.captures == wanted.captures, "{count} rules, {name}: captures differ");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// As many rules as nobody has: they are one table.
#[test]
fn a_hundred_thousand_rules_are_looked_up() {
    let folder = std::env::temp_dir().join(format!("netvm-rules-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input = folder.join("in.pcap");
    std::fs::write(&input, capture()).unwrap();
    let rule = |n: u32| format!("deny src net {}.{}.{}.0/24 && udp && dst port {}", 200 + (n >> 16), n >> 8 & 255, n & 255, n % 50_000);
    let rules: Vec<String> = (0..100_000).map(rule).collect();
    let text = format!(
        "FromDump(IN, STOP true) -> Classifier(12/0800) -> Strip(14) -> MarkIPHeader -> f :: IPFilter({}, allow tcp) -> a :: Counter -> Queue -> ToDump(OUT0);",
        rules.join(", ")
    );
    let found = run(&text, &["a.count", "f.classify_rules1.count"], engines::find("jit").unwrap(), &folder, &input);
    assert!(found.counts[0].parse::<u32>().unwrap() > 100 && found.counts[1] == "100001", "{:?}", found.counts);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A capture that ends behind so many packets.
fn first_records(file: &[u8], count: usize) -> &[u8] {
    let length = |at: usize| u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
    &file[..(0..count).fold(24, |at, _| at + 16 + length(at))]
}
