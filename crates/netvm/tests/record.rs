//! The flight recorder: every engine says the same of where packets went and why; a filter takes those that it would take where they arrived.

use netvm::application::{Application, Graph, Host, RECORD, Reading, Settings, Stream};
use netvm::control::why;
use netvm::engines;
use netvm::io::between::Between;
use netvm::io::{LinkType, Plan, Writer};
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
    let mut writer = Writer::create(file, &Plan::for_output(file, &[])).unwrap();
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

/// Packets, ordered by what they are: their numbers depend on when they were run. A part of a way that is not known is left out, with what stands there elsewhere.
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
        // Linked elements that hold packets, as ARP does, make others of them: of such only those are compared that were dropped.
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
