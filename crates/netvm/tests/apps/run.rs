//! Runs an application between captures, on an engine, and tells all that came of it.

use netvm::application::{Application, Graph, Host, Reading, Settings, Stats, Stream};
use netvm::engines::{self, EngineInfo};
use netvm::io::{Capture, Format, LinkType, Plan, Timestamp, Writer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Packets with their times in nanoseconds.
pub type Packets = Vec<(u64, Vec<u8>)>;

/// What comes in, and what is asked of the application.
pub struct Job<'a> {
    pub config: &'a Path,
    pub parameters: &'a BTreeMap<String, String>,
    /// By device.
    pub inputs: BTreeMap<String, Packets>,
    /// Devices that are written.
    pub outputs: Vec<String>,
    pub reads: Vec<String>,
}

/// What came of it.
pub struct Found {
    pub outputs: BTreeMap<String, Packets>,
    pub reads: Vec<String>,
    pub stats: Stats,
    /// Packets that elements made, beside those that arrived: ARP queries, copies.
    pub made: u64,
    /// Packets that elements keep or have dropped by themselves: while an address is asked for.
    pub kept: u64,
    /// Bytes of each output's capture.
    pub captures: BTreeMap<String, Vec<u8>>,
}

struct Quiet;

impl Host for Quiet {
    fn write(&mut self, _: Stream, _: &[u8]) {}
}

/// The folder of applications.
pub fn apps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps").canonicalize().unwrap()
}

/// Devices of a configuration: those read and those written.
pub fn devices(config: &Path, parameters: &BTreeMap<String, String>) -> (Vec<String>, Vec<String>) {
    let application = application(config, parameters);
    let named = |classes: &[&str]| {
        let elements = application.flat().elements.iter().filter(|element| classes.contains(&element.class.as_str()));
        elements.filter_map(|element| element.arguments.first().map(|name| name.trim().to_owned())).collect()
    };
    (named(&["FromDevice"]), named(&["ToDevice"]))
}

fn application(config: &Path, parameters: &BTreeMap<String, String>) -> Application {
    let text = std::fs::read_to_string(config).unwrap();
    let elements = config.parent().map(|folder| folder.join("elements")).filter(|folder| folder.is_dir());
    let reading = Reading { parameters: parameters.clone(), elements: elements.into_iter().collect() };
    Application::read(&config.display().to_string(), &text, &reading).unwrap_or_else(|error| panic!("{}: {error}", config.display()))
}

/// Runs it in a folder of its own; captures of devices that nothing is said of are empty.
pub fn run(job: &Job<'_>, engine: &EngineInfo, folder: &Path) -> Found {
    let application = application(job.config, job.parameters);
    let mut settings = Settings::default();
    let none = Packets::new();
    for device in devices(job.config, job.parameters).0 {
        let file = folder.join(format!("{device}-in.pcap"));
        write(&file, job.inputs.get(&device).unwrap_or(&none));
        settings.devices.insert(device, file);
    }
    for device in &job.outputs {
        settings.outputs.insert(device.clone(), folder.join(format!("{device}-out.pcap")));
    }
    let outputs = settings.outputs.clone();
    let engines = engines::Settings::default();
    let mut graph = application.start(engine, engines, settings, Box::new(Quiet)).unwrap_or_else(|error| panic!("{error}"));
    graph.start();
    while graph.turn() {}
    let reads = job.reads.iter().map(|handler| graph.read(handler, "", None).unwrap_or_else(|error| panic!("{handler}: {error}")));
    let reads = reads.map(|value| value.trim_end().to_owned()).collect();
    let stats = graph.stats();
    let (made, kept) = (made(&mut graph, &stats), kept(&mut graph, &stats));
    assert!(graph.finish().is_empty());
    let captures = outputs.iter().map(|(device, file)| (device.clone(), std::fs::read(file).unwrap())).collect();
    Found { outputs: outputs.into_iter().map(|(device, file)| (device, packets(&file))).collect(), reads, stats, made, kept, captures }
}

/// The sum of handlers of all elements of a class.
fn sum(graph: &mut Graph, stats: &Stats, class: &str, handlers: &[&str]) -> u64 {
    let elements = stats.nodes.iter().filter(|(_, of, _)| of == class);
    let mut value = |name: &str, handler| graph.read(&format!("{name}.{handler}"), "", None).unwrap().trim().parse::<u64>().unwrap();
    elements.flat_map(|(name, ..)| handlers.iter().map(move |handler| (name, handler))).map(|(name, handler)| value(name, handler)).sum()
}

/// Packets that ARP queriers keep, have dropped themselves, and replies in whose place packets left that had waited: others end as `dropped`.
fn kept(graph: &mut Graph, stats: &Stats) -> u64 {
    let queriers = stats.nodes.iter().filter(|(_, class, _)| class == "ARPQuerier");
    let ended: u64 = queriers.filter_map(|(.., node)| node.drops.get("dropped")).sum();
    sum(graph, stats, "ARPQuerier", &["drops", "length", "responses"]) - ended
}

/// Packets that there are beside those that arrived: copies for redirects, and ARP queries.
fn made(graph: &mut Graph, stats: &Stats) -> u64 {
    let redirects = stats.nodes.iter().filter(|(name, ..)| name.ends_with("/redirects")).map(|(.., node)| node.packets).sum::<u64>();
    redirects + sum(graph, stats, "ARPQuerier", &["queries"])
}

fn write(file: &Path, packets: &Packets) {
    let plan = Plan { format: Format::Pcap, link_type: LinkType::EN10MB, ..Plan::for_output("in.pcap", &[]) };
    let mut writer = Writer::create(file, &plan).unwrap();
    for (time, bytes) in packets {
        let time = Timestamp::from_nanos((time / 1_000_000_000) as i64, (time % 1_000_000_000) as u32);
        writer.write_packet(LinkType::EN10MB, time, bytes.len() as u32, bytes).unwrap();
    }
    writer.finish().unwrap();
}

fn packets(file: &Path) -> Packets {
    let mut capture = Capture::open(file).unwrap();
    let mut all = Packets::new();
    while let Some(burst) = capture.next_burst(1024).unwrap() {
        all.extend(burst.records().map(|record| (record.timestamp().as_nanos() as u64, record.data.to_vec())));
    }
    all
}
