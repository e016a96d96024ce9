//! A configuration is replaced while packets flow: nothing is lost, doubled or out of order, what
//! elements know stays, and a version that is wrong changes nothing.

mod graphs;
#[path = "replace/placements.rs"]
mod placements;

use graphs::{Kept, capture, capture_of, engines as unkept, reading};
use netvm::application::{
    Application, ChangeError, Described, Graph, Placement, Policies, Policy, Prepared, RECORD, Recipe, Replaced, Settings, Stats,
    Succession, Version,
};
use netvm::control::{Controlled, Door, Handlers, Preparation, Replaceable, Server, why};
use netvm::engines;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

const PLAIN: &str = "FromDump(IN, STOP true) -> t :: Tee(2); t[0] -> Strip(14) -> h :: CheckIPHeader -> f :: FlowCount -> Unstrip(14) -> q :: Queue(4) -> ToDump(OUT0, SNAPLEN 0);
     t[1] -> d :: Queue(100000) -> DelayUnqueue(3ms) -> ToDump(OUT1, SNAPLEN 0);";
const COUNTED: &str = "FromDump(IN, STOP true) -> t :: Tee(2); t[0] -> n :: Counter -> Strip(14) -> h :: CheckIPHeader -> f :: FlowCount -> Unstrip(14) -> q :: Queue(4) -> ToDump(OUT0, SNAPLEN 0);
     t[1] -> d :: Queue(100000) -> DelayUnqueue(3ms) -> ToDump(OUT1, SNAPLEN 0);";

fn version(text: String) -> Version {
    Version { text, ..Version::default() }
}

struct Run {
    graph: Graph,
    recipe: Recipe,
    folder: PathBuf,
    input: PathBuf,
}

impl Run {
    fn placed(folder: &Path, input: &Path, text: &str) -> String {
        text.replace("IN,", &format!("{},", input.display())).replace("(OUT", &format!("({}/out", folder.display()))
    }

    fn new(name: &str, engine: &str, text: &str) -> Self {
        Self::on(capture(), name, engine, text)
    }

    /// A run on that capture.
    fn on(capture: Vec<u8>, name: &str, engine: &str, text: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("netvm-replace-{}-{name}-{engine}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let input = folder.join("in.pcap");
        std::fs::write(&input, capture).unwrap();
        let engine = engines::find(engine).unwrap();
        let recipe = Recipe::new("test.click".into(), reading(), engine, unkept(), Settings::default());
        let application =
            Application::read("test.click", &Self::placed(&folder, &input, text), &recipe.reading).unwrap_or_else(|e| panic!("{e}"));
        let graph = application.start(engine, unkept(), Settings::default(), Box::new(Kept::default())).unwrap_or_else(|e| panic!("{e}"));
        let mut run = Self { graph, recipe, folder, input };
        run.graph.start();
        run
    }

    /// A run whose packets are recorded.
    fn recorded(name: &str, engine: &str, text: &str) -> Self {
        let mut run = Self::new(name, engine, text);
        let placed = Self::placed(&run.folder, &run.input, text);
        let mut application = Application::read("test.click", &placed, &run.recipe.reading).unwrap_or_else(|e| panic!("{e}"));
        application.record().unwrap();
        // The captures that the first one wrote are written anew.
        assert_eq!(run.graph.finish(), []);
        let started = application.start(engines::find(engine).unwrap(), unkept(), Settings::default(), Box::new(Kept::default()));
        run.graph = started.unwrap_or_else(|e| panic!("{e}"));
        run.graph.record(1 << 16, RECORD).unwrap();
        run.graph.start();
        run
    }

    fn replace(&mut self, text: &str) -> Result<netvm::application::Replaced, String> {
        let text = Self::placed(&self.folder, &self.input, text);
        self.recipe.replace(&mut self.graph, &version(text)).map_err(|error| error.to_string())
    }

    fn read(&mut self, handler: &str) -> u64 {
        self.graph.read(handler, "", None).unwrap().trim().parse().unwrap()
    }

    /// Runs to the end; what was written.
    fn end(mut self, reads: &[&str]) -> ([Vec<u8>; 2], Vec<u64>) {
        while self.graph.turn() {}
        let values = reads.iter().map(|handler| self.read(handler)).collect();
        assert_eq!(self.graph.finish(), []);
        let written = ["out0", "out1"].map(|name| std::fs::read(self.folder.join(name)).unwrap());
        std::fs::remove_dir_all(&self.folder).unwrap();
        (written, values)
    }
}

#[test]
fn nothing_is_lost_while_versions_take_turns() {
    let reads = ["f.flows", "f.uncounted", "h.drops", "q.drops", "q.highwater_length"];
    let wanted = Run::new("wanted", "interp", PLAIN).end(&reads);
    assert!(wanted.0.iter().all(|file| file.len() > 100_000) && wanted.1[0] > 100, "{:?}", wanted.1);
    for engine in ["interp", "jit", "auto"] {
        let mut run = Run::new("turns", engine, PLAIN);
        let (mut times, mut counted) = (0, 0);
        'run: loop {
            for _ in 0..if engine == "interp" { 1000 } else { 100 } {
                if !run.graph.turn() {
                    break 'run;
                }
            }
            times += 1;
            let replaced = run.replace(if times % 2 == 1 { COUNTED } else { PLAIN }).unwrap();
            let succession = &replaced.succession;
            counted += u64::from(times % 2 == 0 && succession.gone == ["n"]);
            assert_eq!((succession.packets_lost, succession.entries_lost), (0, 0));
            assert_eq!(succession.made, if times % 2 == 1 { &["n"][..] } else { &[] });
        }
        assert!(times > 4 && counted == times / 2, "{times} {counted}");
        assert!(run.end(&reads) == wanted, "{engine}");
    }
}

#[test]
fn a_version_that_is_wrong_changes_nothing() {
    let wanted = Run::new("right", "interp", PLAIN).end(&["f.flows"]);
    let mut run = Run::new("wrong", "jit", PLAIN);
    for wrong in [
        "FromDump(IN, STOP true) -> Nonsense -> Discard;",
        "FromDump(IN, STOP true) -> q :: Queue(x) -> Discard;",
        // It is written by another element already, and stays open.
        "FromDump(IN, STOP true) -> Discard; Idle -> other :: ToDump(OUT0, SNAPLEN 7);",
        "FromDump(IN, STOP true) -> Discard; FromDump(/nonexistent/file.pcap) -> Discard;",
    ] {
        (0..5).for_each(|_| assert!(run.graph.turn()));
        let why = run.replace(wrong).unwrap_err();
        assert!(why.contains("test.click:1") || why.contains("out0") || why.contains("nonexistent"), "{why}");
    }
    assert!(run.end(&["f.flows"]) == wanted);
}

#[test]
fn entries_that_packets_made_stay_where_an_element_is_made_anew() {
    let mut run = Run::new("entries", "jit", PLAIN);
    while run.read("f.counts.count") <= 20 {
        assert!(run.graph.turn());
    }
    let flows = run.read("f.counts.count");
    let plan = run
        .recipe
        .plan(&run.graph, &version(Run::placed(&run.folder, &run.input, &PLAIN.replace("FlowCount", "FlowCount(CAPACITY 9000)"))))
        .unwrap();
    assert_eq!((plan.succession.tables.get("f.counts"), plan.succession.made), (Some(&flows), vec!["f".to_owned()]));
    let replaced = run.replace(&PLAIN.replace("FlowCount", "FlowCount(CAPACITY 9000)")).unwrap();
    assert_eq!((replaced.succession.tables.get("f.counts"), replaced.succession.entries_lost), (Some(&flows), 0));
    assert_eq!(run.read("f.counts.count"), flows);
    // Too small for them.
    let replaced = run.replace(&PLAIN.replace("FlowCount", "FlowCount(CAPACITY 16)")).unwrap();
    assert_eq!((replaced.succession.tables.get("f.counts"), replaced.succession.entries_lost), (Some(&16), flows - 16));
    run.end(&[]);
}

/// Another timeout holds for the entries that are there, from when they were used last; with
/// another capacity they end when they would have.
#[test]
fn entries_age_on_under_another_timeout() {
    let long = "FromDump(IN, STOP true) -> Strip(14) -> CheckIPHeader -> [0] n :: Napt(198.51.100.0/24, TIMEOUT 300s, CAPACITY 65536);
         Idle -> [1] n; n[0] -> Discard; n[1] -> Discard; Idle -> ToDump(OUT0); Idle -> ToDump(OUT1);";
    let short = long.replace("300s", "100ms");
    for engine in ["interp", "jit"] {
        let live = |first: &str, next: &str| {
            let mut run = Run::new("ages", engine, first);
            while run.read("n.outward.count") <= 200 {
                assert!(run.graph.turn());
            }
            let known = run.read("n.outward.count");
            let replaced = run.replace(next).unwrap();
            let kept = replaced.succession.tables.get("n.outward").copied();
            (known, kept, run.end(&["n.outward.count", "n.inward.count"]).1)
        };
        let ((known, kept, all), (.., wanted)) = (live(long, &long.replace("65536", "65000")), live(&short, &short));
        assert_eq!(kept, Some(known), "{engine}");
        assert!(wanted[0] > 50 && wanted[0] * 2 < all[0], "{engine}: {wanted:?} {all:?}");
        let (_, kept, aged) = live(long, &short);
        assert!(kept.is_some_and(|kept| kept > 0) && aged == wanted, "{engine}: {kept:?} {aged:?} {wanted:?}");
        for capacity in ["65000", "1000000"] {
            let (_, kept, aged) = live(&short, &short.replace("65536", capacity));
            assert!(kept.is_some_and(|kept| kept > 0) && aged == wanted, "{engine}, {capacity}: {kept:?} {aged:?} {wanted:?}");
        }
    }
}

/// What a source has read ahead has its annotations where the new version looks for them.
#[test]
fn packets_that_sources_have_read_keep_their_annotations() {
    const REST: &str = "Idle -> ToDump(OUT0); Idle -> ToDump(OUT1);";
    let painted = "s :: FromIPSummaryDump(IN, MULTIPACKET true, STOP true) -> p :: PaintSwitch; p[0] -> a :: Counter -> Discard; p[1] -> b :: Counter -> Discard;";
    let dump = "s :: FromDump(IN, STOP true, END_AFTER 1000s) -> a :: Counter -> Discard;";
    let switched = "s :: FromDump(IN, STOP true, END_AFTER 1000s) -> Paint(1) -> p :: PaintSwitch; p[0] -> a :: Counter -> Discard; p[1] -> b :: Counter -> Discard;";
    for engine in ["interp", "jit"] {
        let lines = b"!data paint count\n1 6\n0 2\n".to_vec();
        let mut run = Run::on(lines, "annotations", engine, &format!("{painted} {REST}"));
        while run.read("s.count") < 3 {
            assert!(run.graph.turn());
        }
        // Fields of headers come before those of summaries, and elements in C are made anew.
        let before = run.read("b.count");
        let replaced = run.replace(&format!("Idle -> IPReassembler -> Discard; {painted} {REST}")).unwrap();
        assert!(replaced.succession.kept.contains(&"s".to_owned()), "{:?}", replaced.succession);
        assert_eq!(run.end(&["a.count", "b.count"]).1, [2, 6 - before], "{engine}");
        let mut run = Run::new("annotations-dump", engine, &format!("{dump} {REST}"));
        while run.read("s.count") < 3 {
            assert!(run.graph.turn());
        }
        let before = run.read("a.count");
        let replaced = run.replace(&format!("Idle -> IPReassembler -> Discard; {switched} {REST}")).unwrap();
        assert!(replaced.succession.kept.contains(&"s".to_owned()), "{:?}", replaced.succession);
        let counts = run.end(&["s.count", "a.count", "b.count"]).1;
        assert!(counts[2] > 100 && counts[1] == 0 && counts[0] == before + counts[2], "{engine}: {counts:?}");
    }
}

/// An element that goes on is not initialised again.
#[test]
fn init_handlers_of_what_goes_on_do_not_run_again() {
    let text = "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> rt :: RadixIPLookup(10.0.0.0/8 0, 0.0.0.0/0 0) -> d :: Discard; Idle -> ToDump(OUT0); Idle -> ToDump(OUT1);";
    for engine in ["interp", "jit"] {
        let mut run = Run::new("inits", engine, text);
        assert!(run.graph.turn());
        run.graph.write("rt.remove", "10.0.0.0/8", None).unwrap();
        let table = run.graph.read("rt.table", "", None).unwrap();
        let replaced = run.replace(&text.replace("-> d ::", "-> n :: Counter -> d ::")).unwrap();
        assert_eq!(replaced.succession.made, ["n"]);
        assert_eq!(run.graph.read("rt.table", "", None), Ok(table), "{engine}: the route stays away");
        run.end(&["d.count"]);
    }
}

#[test]
fn packets_of_queues_that_are_no_more_are_counted() {
    let mut run = Run::new(
        "queues",
        "jit",
        "FromDump(IN, STOP true) -> d :: Queue(100000) -> DelayUnqueue(1s) -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);",
    );
    while run.read("d.length") <= 10 {
        assert!(run.graph.turn());
    }
    let waiting = run.read("d.length");
    let replaced = run
        .replace("FromDump(IN, STOP true) -> d :: Queue(99) -> DelayUnqueue(1s) -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);")
        .unwrap();
    assert_eq!(replaced.succession.packets_lost, waiting);
    assert_eq!(run.read("d.length"), 0);
    run.end(&[]);
}

/// Where packets' annotations lie elsewhere in the new version, no element goes on with packets of
/// the old one; sources do, and the length of what they make is no number of packets.
#[test]
fn packets_with_other_annotations_are_lost_and_counted() {
    let delayed = "-> d :: Queue(100000) -> u :: LinkUnqueue(1s, 1MBps) -> ToDump(OUT0); i :: InfiniteSource(LIMIT 0) -> ToDump(OUT1);";
    let mut run = Run::new("annotations", "jit", &format!("FromDump(IN, STOP true) {delayed}"));
    while run.read("u.size") <= 10 {
        assert!(run.graph.turn());
    }
    let waiting = run.read("d.length") + run.read("u.size");
    let replaced = run.replace(&format!("FromDump(IN, STOP true) -> Paint(1) -> p :: PaintSwitch -> Discard; p[1] {delayed}")).unwrap();
    let Succession { kept, made, packets_lost, .. } = replaced.succession;
    assert!(kept.contains(&"i".to_owned()) && made.contains(&"u".to_owned()) && made.contains(&"d".to_owned()), "{kept:?} {made:?}");
    assert_eq!((packets_lost, run.read("u.size")), (waiting, 0));
    let replaced = run.replace("FromDump(IN, STOP true) -> ToDump(OUT0); Idle -> ToDump(OUT1);").unwrap();
    assert_eq!((replaced.succession.gone.contains(&"i".to_owned()), replaced.succession.packets_lost), (true, 0));
    run.end(&[]);
}

/// What was recorded before is known behind a replacement, and packets that come then are recorded,
/// too.
#[test]
fn packets_stay_recorded_while_versions_take_turns() {
    for engine in ["interp", "jit"] {
        let mut run = Run::recorded("recorded", engine, PLAIN);
        for version in [COUNTED, PLAIN, COUNTED] {
            (0..20).for_each(|_| assert!(run.graph.turn()));
            run.replace(version).unwrap();
        }
        while run.graph.turn() {}
        let packets = why::packets(&run.graph).unwrap();
        let is_copy = |packet: &&serde_json::Value| !packet["copy_of"].is_null();
        let has = |packet: &&serde_json::Value, name: &str| packet["way"].as_array().unwrap().iter().any(|it| it == name);
        // All arrived, whichever version they came to; of an element that is no more nothing is
        // known.
        let arrived: Vec<_> = packets.iter().filter(|packet| !is_copy(packet)).collect();
        assert_eq!((arrived.len(), arrived.iter().filter(|packet| has(packet, "t")).count()), (3000, 3000), "{engine}");
        let through = packets.iter().filter(|packet| has(packet, "n")).count();
        assert!(through > 500 && through < 3000, "{engine}: {through}");
        let numbers: std::collections::BTreeSet<u64> = packets.iter().map(|packet| packet["packet"].as_u64().unwrap()).collect();
        assert_eq!(numbers.len(), packets.len(), "{engine}: a number each");
        run.end(&[]);
    }
}

/// A version may stand in another folder, with classes of its own.
#[test]
fn classes_beside_the_file_of_a_version_are_found() {
    let mut run = Run::new("beside", "interp", PLAIN);
    let elements = run.folder.join("elements");
    std::fs::create_dir_all(&elements).unwrap();
    std::fs::write(elements.join("Beside.c"), "/*\n * Beside -- passes packets on\n */\n#include <netvm.h>\n\nELEMENT(Beside, \"1/1\", \"a/a\");\n\nvoid packet(int port) { emit(0); }\n").unwrap();
    let text = Run::placed(&run.folder, &run.input, &COUNTED.replace("n :: Counter", "n :: Beside"));
    assert!(run.recipe.replace(&mut run.graph, &version(text.clone())).is_err());
    let file = Some(run.folder.join("next.click"));
    let wrong = Version { text: text.replace("Beside", "Bside"), file: file.clone(), ..Version::default() };
    assert!(run.recipe.replace(&mut run.graph, &wrong).unwrap_err().to_string().contains("next.click"));
    let replaced = run.recipe.replace(&mut run.graph, &Version { text, file, ..Version::default() }).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(replaced.succession.made, ["n"]);
    run.end(&[]);
}

/// On several threads, with elements in replicas: the same captures and counts as on one thread
/// without a replacement.
#[test]
fn versions_take_turns_on_several_threads() {
    const MORE: &str = "-> n :: Null -> Strip(14)";
    let reads = ["f.flows", "f.uncounted", "h.drops", "q.drops", "q.highwater_length"];
    // More epochs than wait between stages, since a replacement takes all that wait.
    let input = capture_of(300_000);
    let wanted = Run::on(input.clone(), "cores-wanted", "jit", PLAIN).end(&reads);
    for (engine, replicas) in [("jit", 2)] {
        let mut run = Run::on(input.clone(), "cores", engine, PLAIN);
        assert_eq!(run.graph.finish(), []);
        let place = |application: &Application| Placement::new(application.application(), &[]);
        let text = Run::placed(&run.folder, &run.input, PLAIN);
        let application = Application::read("test.click", &text, &run.recipe.reading).unwrap_or_else(|e| panic!("{e}"));
        let (found, settings) = (engines::find(engine).unwrap(), Settings::default());
        let started = application.start_on(place(&application).unwrap(), replicas, found, unkept(), settings, Box::new(Kept::default()));
        let mut cores = started.unwrap_or_else(|e| panic!("{e}"));
        cores.renew_by(run.recipe.clone(), Box::new(place));
        cores.start();
        let (plain, more) = (text.clone(), text.replace("-> Strip(14)", MORE));
        let wrong = text.replace("CheckIPHeader", "CheckIPHaeder");
        let mut times = 0;
        loop {
            let (next, made) = if times % 2 == 0 { (&more, vec!["n".to_owned()]) } else { (&plain, Vec::new()) };
            let plan = cores.replace(&version(next.clone()), true).unwrap().succession;
            assert_eq!(plan.made, made);
            match cores.replace(&version(next.clone()), false) {
                Ok(replaced) => {
                    assert_eq!((&replaced.succession.made, &replaced.faults), (&made, &Vec::new()), "{engine}");
                    assert_eq!(replaced.succession.gone, if times % 2 == 0 { vec![] } else { vec!["n".to_owned()] });
                    times += 1;
                }
                // There is nothing left to read.
                Err(why) => {
                    assert!(why.to_string().contains("have ended"), "{why}");
                    break;
                }
            }
            assert!(cores.replace(&version(wrong.clone()), false).unwrap_err().to_string().contains("CheckIPHaeder"));
            if !cores.turn() {
                break;
            }
        }
        while cores.turn() {}
        let values: Vec<u64> = reads.iter().map(|handler| cores.graph().read(handler, "", None).unwrap().trim().parse().unwrap()).collect();
        assert_eq!(cores.finish(), []);
        drop(cores);
        let written = ["out0", "out1"].map(|name| std::fs::read(run.folder.join(name)).unwrap());
        assert!(times > 1, "{engine}, {replicas} replicas: {times} replacements");
        assert_eq!(values, wanted.1, "{engine}, {replicas} replicas, {times} replacements");
        assert!(written == wanted.0, "{engine}, {replicas} replicas, {times} replacements: captures differ");
        std::fs::remove_dir_all(&run.folder).unwrap();
    }
}

/// What cannot be replaced is told, and goes on.
#[test]
fn a_run_that_cannot_go_on_with_another_version_tells_why() {
    let run = Run::new("cores-refused", "interp", PLAIN);
    let read = |text: &str| {
        Application::read("test.click", &Run::placed(&run.folder, &run.input, text), &reading()).unwrap_or_else(|e| panic!("{e}"))
    };
    let place = |application: &Application| Placement::by_flow(application.application(), &[], &Policies::default());
    let plain = "FromDump(IN, STOP true) -> Strip(14) -> CheckIPHeader -> Queue -> Discard;";
    let application = read(plain);
    let jit = engines::find("jit").unwrap();
    let started = application.start_on(place(&application).unwrap(), 2, jit, unkept(), Settings::default(), Box::new(Kept::default()));
    let mut cores = started.unwrap_or_else(|e| panic!("{e}"));
    cores.renew_by(run.recipe.clone(), Box::new(|application| Placement::new(application.application(), &[])));
    let refused = cores.replace(&version(Run::placed(&run.folder, &run.input, plain)), false).unwrap_err();
    assert!(refused.to_string().contains("each replica has the whole configuration"), "{refused}");
    cores.start();
    while cores.turn() {}
    assert_eq!(cores.finish(), []);
    std::fs::remove_dir_all(&run.folder).unwrap();
}

/// An element whose state is in common, one whose state is found by flow, and queues.
const SHARED: &str =
    "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> f :: FlowCount -> Unstrip(14) -> s :: RoundRobinSwitch; s[1] -> Discard;
     s[0] -> q :: Queue(100000) -> ToDump(OUT0, SNAPLEN 0);";

/// The packets of a capture, in no order.
fn packets_of(file: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).unwrap();
    let (mut at, mut all) = (24, Vec::new());
    while at + 16 <= bytes.len() {
        let len = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        all.push(bytes[at + 16..at + 16 + len].to_vec());
        at += 16 + len;
    }
    all.sort_unstable();
    all
}

/// Each replica has the whole configuration, and goes on with the state of its flows; state in
/// common goes on for all.
#[test]
fn versions_take_turns_where_only_the_order_of_flows_is_kept() {
    let text = "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> f :: FlowCount(CAPACITY 100000) -> Unstrip(14) -> q :: Queue(100000) -> ToDump(OUT0, SNAPLEN 0);";
    let more = text.replace("-> Unstrip", "-> n :: Counter -> Unstrip");
    let anew = text.replace("FlowCount(CAPACITY 100000)", "FlowCount(CAPACITY 200000)");
    // Variables of an element made anew begin anew, entries do not.
    let reads = ["f.counts.count", "f.uncounted", "h.drops", "q.drops"];
    let input = capture_of(60_000);
    let run = Run::on(input.clone(), "flows-wanted", "jit", &format!("{text} Idle -> ToDump(OUT1);"));
    let (mut graph, out) = (run.graph, run.folder.join("out0"));
    while graph.turn() {}
    let values = |graph: &mut Graph| reads.map(|handler| graph.read(handler, "", None).unwrap().trim().parse::<u64>().unwrap());
    let wanted = values(&mut graph);
    assert!(graph.finish().is_empty() && wanted[0] > 100, "{wanted:?}");
    let packets = packets_of(&out);
    std::fs::remove_dir_all(&run.folder).unwrap();
    for (policy, replicas) in [(Policy::Auto, 3), (Policy::Lock, 2), (Policy::Transaction, 2), (Policy::Copies, 2), (Policy::Auto, 1)] {
        let run = Run::on(input.clone(), &format!("flows-{policy:?}-{replicas}"), "jit", "Idle -> ToDump(OUT0); Idle -> ToDump(OUT1);");
        let Run { mut graph, recipe, folder, input } = run;
        assert_eq!(graph.finish(), []);
        drop(graph);
        let place = move |application: &Application| Placement::by_flow(application.application(), &[], &Policies(vec![(None, policy)]));
        let texts = [text, more.as_str(), anew.as_str()].map(|text| Run::placed(&folder, &input, text));
        let application = Application::read("test.click", &texts[0], &reading()).unwrap_or_else(|e| panic!("{e}"));
        let started = application.start_on(
            place(&application).unwrap(),
            replicas,
            recipe.engine,
            unkept(),
            Settings::default(),
            Box::new(Kept::default()),
        );
        let mut cores = started.unwrap_or_else(|e| panic!("{e}"));
        cores.renew_by(recipe, Box::new(place));
        let mut ready: Vec<_> = [1, 0, 2, 1].map(|n: usize| (n, cores.prepare(&version(texts[n].clone())).unwrap())).into();
        ready.reverse();
        cores.start();
        let (mut times, mut turns, mut tables) = (0, 0, 0);
        while cores.turn() {
            turns += 1;
            if turns % 5 != 0 {
                continue;
            }
            let Some((n, prepared)) = ready.pop() else { continue };
            let plan = cores.replace(&version(texts[n].clone()), true).unwrap().succession;
            match cores.succeed(prepared, false) {
                Ok(replaced) => {
                    let it = &replaced.succession;
                    assert_eq!((it.entries_lost, it.packets_lost, &replaced.faults), (0, 0, &Vec::new()), "{policy:?}");
                    assert_eq!((&it.kept, &it.made, &it.gone), (&plan.kept, &plan.made, &plan.gone), "{policy:?}");
                    tables += it.tables.get("f.counts").copied().unwrap_or(0);
                    times += 1;
                }
                Err(why) => assert!(why.to_string().contains("the run ends"), "{why}"),
            }
        }
        assert!(times >= 3 && tables > 0, "{policy:?}, {replicas} replicas: {times} replacements, {tables} entries");
        assert_eq!(values(cores.graph()), wanted, "{policy:?}, {replicas} replicas, {times} replacements");
        assert_eq!(cores.finish(), []);
        drop(cores);
        assert!(packets_of(&folder.join("out0")) == packets, "{policy:?}, {replicas} replicas, {times} replacements: packets differ");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// A state that would be shared in another way is told, as a version that is wrong is, and replicas
/// go on.
#[test]
fn replicas_do_not_go_on_with_a_state_that_is_shared_in_another_way() {
    let run = Run::on(capture_of(5000), "flows-refused", "jit", "Idle -> ToDump(OUT0); Idle -> ToDump(OUT1);");
    let Run { mut graph, recipe, folder, input } = run;
    assert_eq!(graph.finish(), []);
    let text = Run::placed(&folder, &input, SHARED);
    // Another element lets the version be placed in another way.
    let place = |application: &Application| {
        let policy = if application.application().instances.iter().any(|it| it.name == "n") { Policy::Transaction } else { Policy::Lock };
        Placement::by_flow(application.application(), &[], &Policies(vec![(None, policy)]))
    };
    let application = Application::read("test.click", &text, &reading()).unwrap_or_else(|e| panic!("{e}"));
    let started =
        application.start_on(place(&application).unwrap(), 2, recipe.engine, unkept(), Settings::default(), Box::new(Kept::default()));
    let mut cores = started.unwrap_or_else(|e| panic!("{e}"));
    cores.renew_by(recipe, Box::new(place));
    cores.start();
    assert!(cores.turn());
    let other = cores.replace(&version(text.replace("-> f ::", "-> n :: Null -> f ::")), false).unwrap_err();
    assert!(other.to_string().contains("would share the state of `f` in another way"), "{other}");
    // What cannot be made is told when all replicas rest.
    let wrong = text.replace("ToDump(OUT", "x").replace("-> Discard;", "-> ToDump(/nonexistent/x);");
    let wrong = cores.replace(&version(wrong), false).unwrap_err();
    assert!(wrong.to_string().contains("/nonexistent/x"), "{wrong}");
    let same = cores.replace(&version(text.clone()), false).unwrap().succession;
    assert!(same.made.is_empty() && same.gone.is_empty() && same.kept.contains(&"s".to_owned()), "{same:?}");
    while cores.turn() {}
    assert_eq!(cores.graph().read("f.flows", "", None).map(|flows| flows.trim().parse::<u64>().unwrap() > 10), Ok(true));
    assert_eq!(cores.finish(), []);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A client's version is read and compiled on its own thread: packets flow meanwhile, and what no
/// packet is handled for is shorter.
#[test]
fn a_version_is_prepared_while_packets_flow() {
    let text = "InfiniteSource(LIMIT -1) -> c :: Counter -> Strip(14) -> h :: CheckIPHeader -> f :: FlowCount -> Unstrip(14) -> Discard;";
    let engine = engines::find("jit").unwrap();
    let recipe = Recipe::new("test.click".into(), reading(), engine, unkept(), Settings::default());
    let application = Application::read("test.click", text, &recipe.reading).unwrap_or_else(|e| panic!("{e}"));
    let mut graph = application.start(engine, unkept(), Settings::default(), Box::new(Kept::default())).unwrap_or_else(|e| panic!("{e}"));
    graph.start();
    let (mut server, folder) = (Server::new().unwrap(), std::env::temp_dir().join(format!("netvm-prepared-{}", std::process::id())));
    std::fs::create_dir_all(&folder).unwrap();
    let socket = folder.join("c.sock");
    server.open(Door::Json(socket.clone())).unwrap();
    let next = text.replace("-> f", "-> n :: Null -> f");
    let asking = std::thread::spawn(move || {
        let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
        let (mut lines, mut line) = (BufReader::new(stream.try_clone().unwrap()), String::new());
        lines.read_line(&mut line).unwrap();
        let mut ask = |request: serde_json::Value| -> serde_json::Value {
            writeln!(stream, "{request}").unwrap();
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        };
        let wrong = ask(serde_json::json!({ "op": "replace", "text": "Nonsense -> Discard;", "id": 7 }));
        assert!(wrong["error"].as_str().unwrap().contains("Nonsense") && wrong["id"] == 7, "{wrong}");
        let done = ask(serde_json::json!({ "op": "replace", "text": next, "id": 8 }));
        assert!(done["id"] == 8);
        done["ok"].clone()
    });
    let mut run = Watched { graph, recipe, turns: 0, begun: Vec::new(), beside: Vec::new() };
    while !asking.is_finished() {
        assert!(run.graph.turn());
        run.turns += 1;
        server.serve(&mut run);
    }
    let done = asking.join().unwrap();
    assert_eq!(done["made"], serde_json::json!(["n"]), "{done}");
    assert_eq!((run.begun.len(), run.beside.len()), (2, 1));
    assert!(run.beside[0] > 0, "packets flowed while it was prepared");
    let (pause, prepared) = (done["pause_us"].as_f64().unwrap() / 1e3, done["prepared_ms"].as_f64().unwrap());
    assert!(prepared > pause, "{prepared} ms before, {pause} ms without packets");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A run of which is known how many turns it made while a version was prepared.
struct Watched {
    graph: Graph,
    recipe: Recipe,
    turns: u64,
    begun: Vec<u64>,
    beside: Vec<u64>,
}

impl Controlled for Watched {
    fn graph(&mut self) -> &mut dyn Handlers {
        &mut self.graph
    }

    fn elements(&self) -> Vec<Described> {
        self.graph.elements()
    }

    fn stats(&self) -> Stats {
        self.graph.stats()
    }

    fn stop(&mut self) {}

    fn preparation(&mut self, version: Version, plan: bool) -> Result<Preparation, ChangeError> {
        self.begun.push(self.turns);
        Replaceable { graph: &mut self.graph, recipe: &self.recipe }.preparation(version, plan)
    }

    fn succeed(&mut self, prepared: Prepared, plan: bool) -> Result<Replaced, ChangeError> {
        self.beside.push(self.turns - self.begun[self.begun.len() - 1]);
        Replaceable { graph: &mut self.graph, recipe: &self.recipe }.succeed(prepared, plan)
    }
}
