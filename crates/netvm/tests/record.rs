//! The flight recorder: every engine says the same of where packets went and why, and several
//! threads what one says; a filter takes those that it would take where they arrived; what a thread
//! had recorded that fails is known afterwards.

use netvm::application::{Application, Cores, Graph, Host, Placement, RECORD, Reading, Settings, Stream};
use netvm::control::why;
use netvm::coprocessors::{CoproError, Coprocessor, Descriptor, Registers, Views, register};
use netvm::engines;
use netvm::io::between::Between;
use netvm::io::{LinkType, WriteOptions, Writer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

struct Quiet;

impl Host for Quiet {
    fn write(&mut self, _: Stream, _: &[u8]) {}
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("netvm-record-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn capture(file: &Path, packets: usize, between: Between, seed: u64) {
    let mut writer = Writer::create(file, &WriteOptions::for_output(file, &[])).unwrap();
    for (time, frame) in between.packets(seed).take(packets) {
        writer.write_packet(LinkType::EN10MB, time, frame.len() as u32, &frame).unwrap();
    }
    writer.finish().unwrap();
}

/// Runs an application on captures by device, and records so many packets.
fn recorded(app: &str, engine: &str, captures: &BTreeMap<String, PathBuf>, packets: usize, folder: &Path) -> Graph {
    run(app, engine, captures, |graph| graph.record(packets, RECORD).unwrap(), folder)
}

fn run(app: &str, engine: &str, captures: &BTreeMap<String, PathBuf>, begin: impl Fn(&mut Graph), folder: &Path) -> Graph {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps").join(app);
    let reading = Reading { elements: vec![file.with_file_name("elements")], ..Reading::default() };
    let text = std::fs::read_to_string(&file).unwrap();
    let mut application = Application::read(app, &text, &reading).unwrap_or_else(|error| panic!("{error}"));
    application.record().unwrap();
    let outputs = captures.keys().map(|device| (device.clone(), folder.join(format!("{engine}-{device}.pcap")))).collect();
    let settings = Settings { devices: captures.clone(), outputs, ..Settings::default() };
    let engine = engines::find(engine).unwrap();
    let mut graph = application.start(engine, engines::Settings::default(), settings, Box::new(Quiet)).unwrap();
    begin(&mut graph);
    graph.start();
    while graph.turn() {}
    assert!(graph.finish().is_empty());
    graph
}

/// Packets, ordered by what they are: their numbers depend on when they were run. A part of a way
/// that is not known is left out, with what stands there elsewhere.
fn told(graph: &Graph) -> Vec<(u64, String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |it: Value| (it["time_ns"].as_u64().unwrap_or(0), text(&it["bytes"]), text(&it["element"]), text(&it["dropped"]));
    let mut all: Vec<_> = why::packets(graph).unwrap().into_iter().map(one).collect();
    all.sort();
    all
}

fn network(a: u8, b: u8, c: u8, d: u8, length: u8) -> Option<(Ipv4Addr, u8)> {
    Some((Ipv4Addr::new(a, b, c, d), length))
}

#[test]
fn every_engine_tells_the_same_of_packets() {
    let folder = folder("engines");
    let (inside, outside) = (folder.join("inside.pcap"), folder.join("outside.pcap"));
    capture(&inside, 3000, Between { ether: Some([2, 0, 0, 0, 0, 1]), src: network(10, 0, 0, 0, 8), ..Between::default() }, 1);
    let gateway = Between { ether: Some([2, 0, 0, 0, 0, 2]), src: network(192, 0, 2, 0, 30), dst: network(192, 0, 2, 16, 32), arp: true };
    capture(&outside, 1000, gateway, 2);
    let captures = BTreeMap::from([("inside".to_owned(), inside), ("outside".to_owned(), outside)]);
    for app in ["nat/nat.click", "nat/forward.click", "firewall/firewall.click"] {
        // Linked elements that hold packets, as ARP does, make others of them: of such only those
        // are compared that were dropped.
        let holds = app == "nat/nat.click";
        let told = |graph: &Graph| told(graph).into_iter().filter(|packet| !holds || !packet.3.is_empty()).collect::<Vec<_>>();
        let first = told(&recorded(app, "interp", &captures, 1 << 16, &folder));
        assert!(first.len() >= if holds { 500 } else { 4000 }, "{app}: {}", first.len());
        assert!(first.iter().any(|packet| !packet.3.is_empty()) && (holds || first.iter().any(|packet| packet.3.is_empty())), "{app}");
        for engine in ["jit", "aot"].into_iter().filter(|name| *name != "aot" || aot::build::Compiler::system().is_ok()) {
            let other = told(&recorded(app, engine, &captures, 1 << 16, &folder));
            let different = first.iter().zip(&other).find(|(a, b)| a != b);
            assert!(
                different.is_none() && first.len() == other.len(),
                "{app} on {engine}: {} and {}: {different:#?}",
                first.len(),
                other.len()
            );
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// What a run writes, and what is known of its packets.
fn written(
    app: &str,
    engine: &str,
    captures: &BTreeMap<String, PathBuf>,
    begin: impl Fn(&mut Graph),
    folder: &Path,
) -> (Vec<Vec<u8>>, Option<Vec<Value>>) {
    let graph = run(app, engine, captures, begin, folder);
    let files = captures.keys().map(|device| std::fs::read(folder.join(format!("{engine}-{device}.pcap"))).unwrap());
    (files.collect(), why::packets(&graph))
}

#[test]
fn a_run_is_the_same_whether_all_some_or_no_packets_are_recorded() {
    let folder = folder("some");
    let (inside, outside) = (folder.join("inside.pcap"), folder.join("outside.pcap"));
    capture(&inside, 20_000, Between { ether: Some([2, 0, 0, 0, 0, 1]), src: network(10, 0, 0, 0, 8), ..Between::default() }, 1);
    let gateway = Between { ether: Some([2, 0, 0, 0, 0, 2]), src: network(192, 0, 2, 0, 30), dst: network(192, 0, 2, 16, 32), arp: true };
    capture(&outside, 2000, gateway, 2);
    let captures = BTreeMap::from([("inside".to_owned(), inside), ("outside".to_owned(), outside)]);
    for engine in ["jit", "aot"].into_iter().filter(|name| *name != "aot" || aot::build::Compiler::system().is_ok()) {
        for app in ["nat/nat.click", "nat/forward.click"] {
            let none = written(app, engine, &captures, |_| {}, &folder);
            // So little of the time is that for some hundreds only.
            let some = written(app, engine, &captures, |graph| graph.record_some(1024, RECORD, 1_000_000).unwrap(), &folder);
            let all = written(app, engine, &captures, |graph| graph.record(64, RECORD).unwrap(), &folder);
            assert!(none.1.is_none() && none.0 == some.0 && none.0 == all.0, "{app} on {engine}");
            let known = all.1.unwrap();
            assert!(known.len() == 64 && known.iter().all(|packet| packet["rested"] == false), "{app} on {engine}");
            let known = some.1.unwrap();
            assert!(why::answer(known.clone(), None, 1).unwrap()["sampled"] == true, "{app} on {engine}");
            assert!(known.len() == 1024 && known.iter().all(|packet| packet["element"].is_string()), "{app} on {engine}: {known:?}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_filter_takes_what_it_would_take_of_what_arrived() {
    let folder = folder("filter");
    let inside = folder.join("inside.pcap");
    capture(&inside, 2000, Between { ether: Some([2, 0, 0, 0, 0, 1]), src: network(10, 0, 0, 0, 8), ..Between::default() }, 1);
    let captures = BTreeMap::from([("inside".to_owned(), inside), ("outside".to_owned(), folder.join("none.pcap"))]);
    capture(&folder.join("none.pcap"), 0, Between::default(), 1);
    let graph = recorded("nat/forward.click", "jit", &captures, 1000, &folder);
    let all = why::packets(&graph).unwrap();
    assert_eq!(all.len(), 1000);
    let answer = why::answer(all.clone(), Some("udp"), 5).unwrap();
    let udp = |packet: &Value| packet["bytes"].as_str().is_some_and(|hex| &hex[46..48] == "11");
    assert_eq!(answer["matched"], all.iter().filter(|packet| udp(packet)).count());
    let shown = answer["packets"].as_array().unwrap();
    assert!(shown.len() == 5 && shown.iter().all(udp));
    let ends: u64 = answer["ends"].as_array().unwrap().iter().map(|end| end["packets"].as_u64().unwrap()).sum();
    assert_eq!(answer["matched"], ends);
    // The way goes from the device to where the packet left, through linked elements.
    let sent = all.iter().find(|packet| packet["class"] == "ToDevice").unwrap();
    let way: Vec<&str> = sent["way"].as_array().unwrap().iter().map(|name| name.as_str().unwrap_or("?")).collect();
    assert!(way[0].contains("FromDevice") && way.contains(&"nat") && !way.contains(&"?"), "{way:?}");
    assert!(why::answer(all, Some("no such words"), 5).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Elements in replicas and in order, copies in both, packets that are dropped in both, and a
/// source of which nothing goes past.
const STAGED: &str = "FromDevice(in) -> c :: Classifier(12/0800, -); c[1] -> Discard; c[0] -> Strip(14) -> h :: CheckIPHeader -> t :: Tee(2); t[0] -> Unstrip(14) -> Queue(50) -> ToDevice(out);
     t[1] -> k :: IPClassifier(udp, -); k[0] -> r :: RoundRobinSwitch -> Paint(1) -> u :: Tee -> d :: Discard; r[1] -> Discard; u[1] -> CheckLength(60) -> Discard; k[1] -> Discard; FromDevice(other) -> d;";

fn settings(text: &str, captures: &BTreeMap<String, PathBuf>, folder: &Path) -> (Application, Settings) {
    let mut application = Application::read("test", text, &Reading::default()).unwrap_or_else(|error| panic!("{error}"));
    application.record().unwrap();
    let outputs = BTreeMap::from([("out".to_owned(), folder.join("out.pcap"))]);
    (application, Settings { devices: captures.clone(), outputs, ..Settings::default() })
}

/// Runs a configuration on several threads.
fn on_cores(
    text: &str,
    engine: &str,
    replicas: usize,
    captures: &BTreeMap<String, PathBuf>,
    begin: impl Fn(&mut Cores),
    folder: &Path,
) -> Cores {
    let (application, settings) = settings(text, captures, folder);
    let (placement, engine) = (Placement::new(application.application(), &[]).unwrap(), engines::find(engine).unwrap());
    let started = application.start_on(placement, replicas, engine, engines::Settings::default(), settings, Box::new(Quiet));
    let mut cores = started.unwrap_or_else(|error| panic!("{error}"));
    begin(&mut cores);
    cores.start();
    while cores.turn() {}
    assert!(cores.finish().is_empty());
    cores
}

/// Ways of packets, ordered by what they are.
fn ways(packets: &[Value]) -> Vec<String> {
    let one = |it: &Value| format!("{} {} {} {} {}", it["time_ns"], it["bytes"], it["way"], it["dropped"], it["copy_of"].is_null());
    let mut all: Vec<String> = packets.iter().map(one).collect();
    all.sort();
    all
}

fn staged_captures(folder: &Path, packets: usize) -> BTreeMap<String, PathBuf> {
    let (first, other) = (folder.join("in.pcap"), folder.join("other.pcap"));
    capture(&first, packets, Between { ether: Some([2, 0, 0, 0, 0, 1]), src: network(10, 0, 0, 0, 8), ..Between::default() }, 1);
    capture(&other, 500, Between { ether: Some([2, 0, 0, 0, 0, 2]), src: network(192, 0, 2, 0, 30), arp: true, ..Between::default() }, 2);
    BTreeMap::from([("in".to_owned(), first), ("other".to_owned(), other)])
}

#[test]
fn several_threads_tell_what_one_tells() {
    let folder = folder("threads");
    let captures = staged_captures(&folder, 4000);
    let (application, own) = settings(STAGED, &captures, &folder);
    let interp = engines::find("interp").unwrap();
    let mut graph = application.start(interp, engines::Settings::default(), own, Box::new(Quiet)).unwrap();
    graph.record(1 << 16, RECORD).unwrap();
    graph.start();
    while graph.turn() {}
    let wanted = ways(&why::packets(&graph).unwrap());
    assert!(graph.finish().is_empty());
    drop(graph);
    let copies = wanted.iter().filter(|way| way.ends_with("false")).count();
    assert!(wanted.len() > 8000 && copies > 3000 && wanted.iter().any(|way| !way.contains(" null ")), "{} {copies}", wanted.len());
    for replicas in [1, 3] {
        let cores = on_cores(STAGED, "interp", replicas, &captures, |cores| cores.record(1 << 16, true).unwrap(), &folder);
        let packets = cores.recorded().unwrap();
        assert!(packets.iter().all(|it| it["link"] == 1), "replicas number packets by their link types");
        let found = ways(&packets);
        let different = wanted.iter().zip(&found).find(|(a, b)| a != b);
        assert!(different.is_none() && found.len() == wanted.len(), "{replicas}: {} and {}: {different:#?}", wanted.len(), found.len());
        let known: BTreeMap<(String, u64), &Value> =
            packets.iter().map(|it| ((it["thread"].to_string(), it["packet"].as_u64().unwrap()), it)).collect();
        assert_eq!(known.len(), packets.len(), "a thread and a number say which packet it is");
        for copy in packets.iter().filter(|it| !it["copy_of"].is_null()) {
            let original = known[&(copy["copy_of_thread"].to_string(), copy["copy_of"].as_u64().unwrap())];
            assert!(original["time_ns"] == copy["time_ns"] && original["way"] != copy["way"], "{original} {copy}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn threads_record_the_same_stretches() {
    let folder = folder("stretches");
    let captures = staged_captures(&folder, 60_000);
    for engine in ["interp", "jit"] {
        let none = on_cores(STAGED, engine, 2, &captures, |_| {}, &folder);
        let out = std::fs::read(folder.join("out.pcap")).unwrap();
        assert!(none.recorded().is_none());
        let some = on_cores(STAGED, engine, 2, &captures, |cores| cores.record(2048, false).unwrap(), &folder);
        assert!(std::fs::read(folder.join("out.pcap")).unwrap() == out, "{engine}: the capture differs");
        let told = why::answer(some.recorded().unwrap(), None, 1 << 16).unwrap();
        assert!(
            told["sampled"] == true && told["recorded"].as_u64().unwrap() >= 2048,
            "{engine}: {} {}",
            told["sampled"],
            told["recorded"]
        );
        // Nearly all ways have an end: both stages have recorded the same.
        let ended = told["packets"].as_array().unwrap().iter().filter(|it| it["element"].is_string()).count() as u64;
        assert!(ended * 10 >= told["recorded"].as_u64().unwrap() * 9, "{engine}: {ended} of {}", told["recorded"]);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Panics at the packet whose first bytes are asked for.
struct Bomb;

impl Coprocessor for Bomb {
    fn init(&mut self, _: &[u8]) -> u32 {
        0
    }

    fn invoke(&mut self, _: u32, registers: &mut Registers, _: Views<'_>) -> Result<(), CoproError> {
        if registers[0] == 0x0200_0000 {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

const BOMB: &str = "#include <netvm.h>
ELEMENT(Bomb, \"1/1\", \"h/h\");
void push(int port)
{
    coprocessor_put(\"bomb\", 0, ntohl(*header(be32, 0)));
    coprocessor_run(\"bomb\", \"look\");
    emit(0);
}
";

/// The order of all packets, in replicas or in order, and the order of flows.
#[test]
fn a_thread_that_fails_ends_the_run_and_is_named() {
    let descriptor = Descriptor { name: "bomb", registers: 1, operations: &["look"], cost: 1, prints: false, doc: "panics" };
    register(descriptor, || Box::new(Bomb)).unwrap();
    let folder = folder("crash");
    std::fs::write(folder.join("Bomb.c"), BOMB).unwrap();
    let file = folder.join("in.pcap");
    let mut writer = Writer::create(&file, &WriteOptions::for_output(&file, &[])).unwrap();
    let between = Between { ether: Some([2, 0, 0, 0, 0, 1]), src: network(10, 0, 0, 0, 8), ..Between::default() };
    for (n, (time, mut frame)) in between.packets(3).take(30_000).enumerate() {
        frame[0] = if n == 20_000 { 2 } else { 4 };
        frame[1..4].fill(0);
        writer.write_packet(LinkType::EN10MB, time, frame.len() as u32, &frame).unwrap();
    }
    writer.finish().unwrap();
    let reading = Reading { elements: vec![folder.clone()], ..Reading::default() };
    let text = "FromDevice(in) -> b :: Bomb -> Queue -> ToDevice(out);";
    let mut application = Application::read("test", text, &reading).unwrap_or_else(|e| panic!("{}", e.render(false)));
    application.record().unwrap();
    let ways = [(false, 1), (false, 3), (true, 3)].into_iter().flat_map(|way| ["interp", "jit", "aot"].map(|engine| (way, engine)));
    for ((by_flow, replicas), engine) in ways {
        let engine = engines::find(engine).unwrap();
        let out = folder.join("out.pcap");
        let relaxed = ["Bomb".to_owned()];
        let placement = match by_flow {
            false => Placement::new(application.application(), &relaxed),
            true => Placement::by_flow(application.application(), &relaxed, &Default::default()),
        };
        let settings = Settings {
            devices: BTreeMap::from([("in".to_owned(), file.clone())]),
            outputs: BTreeMap::from([("out".to_owned(), out.clone())]),
            ..Settings::default()
        };
        let started = application.start_on(placement.unwrap(), replicas, engine, Default::default(), settings, Box::new(Quiet));
        let mut cores = started.unwrap_or_else(|error| panic!("{error}"));
        cores.record(256, true).unwrap();
        cores.start();
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| while cores.turn() {}));
        let caller = ran.is_err();
        assert!(!caller || by_flow, "with the order of all packets the caller's thread has other elements");
        let bomb = cores
            .recorded()
            .unwrap()
            .into_iter()
            .filter(|it| it["bytes"].as_str().is_some_and(|bytes| bytes.starts_with("02")))
            .collect::<Vec<_>>();
        assert!(bomb.len() == 1 && bomb[0]["element"] == "b", "{}: {bomb:?}", engine.name);
        assert!(bomb[0]["failed"] == true && bomb[0]["dropped"].as_str().unwrap().starts_with("netvm failed in "), "{bomb:?}");
        if caller {
            drop(cores);
        } else {
            assert!(cores.has_crashed() && !cores.turn());
            let faults: Vec<String> = cores.finish().into_iter().map(|fault| fault.message().to_string()).collect();
            let thread = bomb[0]["thread"].as_str().unwrap();
            assert_eq!(faults, [format!("the thread '{thread}' has failed: on purpose")]);
            drop(cores);
        }
        assert!(!out.exists(), "a capture that is not complete has no name");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
