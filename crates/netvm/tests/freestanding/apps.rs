//! Configurations in C for processors without an operating system: what leaves by each device, and
//! what is dropped where and why.
#![allow(dead_code, reason = "each test program uses a part")]

use super::support::{Made, digest};
use netvm::application::{Application, Reading};
use netvm::engines::{self, EngineInfo};
use netvm::scripts::scenarios::run::{self, Job};
use netvm::scripts::scenarios::{self, Config};
use netvm::targets::{Options, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// By device.
pub type Inputs = BTreeMap<String, run::Packets>;

/// What leaves, by device, and what is dropped, by element and reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Played {
    pub outputs: BTreeMap<String, Vec<Vec<u8>>>,
    pub drops: BTreeMap<(String, String), u64>,
    /// How long a graph ran.
    pub took: Duration,
    /// What its elements keep: data memory and tables.
    pub kept: Vec<String>,
}

impl Played {
    /// That the other is the same; else the first difference.
    pub fn must_be(&self, wanted: &Self, what: &str) {
        assert_eq!(self.drops, wanted.drops, "{what}: what is dropped");
        let devices = |played: &Self| played.outputs.keys().cloned().collect::<Vec<_>>();
        assert_eq!(devices(self), devices(wanted), "{what}: devices that packets leave by");
        for (device, packets) in &wanted.outputs {
            for (n, (got, wanted)) in self.outputs[device].iter().zip(packets).enumerate() {
                assert_eq!(got, wanted, "{what}: packet {n} of {device}");
            }
            assert_eq!(self.outputs[device].len(), packets.len(), "{what}: packets of {device}");
        }
    }
}

pub fn apps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps").canonicalize().expect("the folder")
}

fn capture(packets: &run::Packets) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut file = words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 1 << 18, 1]);
    for (time, packet) in packets {
        let len = packet.len() as u32;
        file.extend(words(&[(time / 1_000_000_000) as u32, (time % 1_000_000_000) as u32, len, len]));
        file.extend(packet);
    }
    file
}

/// The packets of a capture that a program wrote.
fn packets(file: &Path) -> Vec<Vec<u8>> {
    let Ok(bytes) = std::fs::read(file) else { return Vec::new() };
    let big = bytes[0] == 0xa1;
    let mut rest = &bytes[24..];
    let mut all = Vec::new();
    while rest.len() >= 16 {
        let len = [rest[8], rest[9], rest[10], rest[11]];
        let len = if big { u32::from_be_bytes(len) } else { u32::from_le_bytes(len) } as usize;
        all.push(rest[16..16 + len].to_vec());
        rest = &rest[16 + len..];
    }
    all
}

/// Builds, makes and runs a configuration; what the target says if it refuses.
pub fn played(target: &Target, application: &Application, inputs: &Inputs, name: &str) -> Result<Played, String> {
    Ok(played_in(&made(target, application, inputs, name)?, application))
}

/// Builds a configuration, with what comes in by each device.
pub fn made(target: &Target, application: &Application, inputs: &Inputs, name: &str) -> Result<Made, String> {
    let files = application.build(target, &Options::default()).map_err(|why| why.to_string())?;
    let mut made = Made::new(target, "application", name, files, inputs.values().map(Vec::len).sum());
    let mut arguments = String::from("INPUTS=");
    for (device, packets) in inputs {
        std::fs::write(made.folder.join(format!("{device}.in")), capture(packets)).expect("a file");
        arguments += &format!("{device}={device}.in ");
    }
    // A host program for OpenCL reads one file.
    let one = inputs.keys().next().map_or_else(String::new, |device| format!("PCAP={device}.in"));
    // In VPP a vector of one packet has that packet's time.
    made.arguments.extend([if target.name == "opencl" { one } else { arguments }, "VECTOR=1".to_owned()]);
    Ok(made)
}

/// Makes and runs it.
pub fn played_in(made: &Made, application: &Application) -> Played {
    let mut played = Played::default();
    for line in made.run().lines() {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match words[..] {
            ["sent", device, _] => _ = played.outputs.entry(device.to_owned()).or_default(),
            ["dropped", _, "discarded"] => {}
            ["dropped" | "trapped", element, reason] => {
                let reason = if words[0] == "trapped" { "trap" } else { reason };
                // Elements without a name of their own have their class's.
                let class = || &application.application().instances.iter().find(|i| i.name == element).expect("an element").class;
                let element = if element.contains('@') { class() } else { element };
                *played.drops.entry((element.to_owned(), reason.to_owned())).or_default() += 1;
            }
            ["data" | "table", ..] => {}
            _ => panic!("{}: {line}", made.folder.display()),
        }
    }
    for (device, all) in &mut played.outputs {
        *all = packets(&made.folder.join(format!("port-{device}.pcap")));
    }
    played
}

pub fn read(config: &Config, parameters: &BTreeMap<String, String>) -> Application {
    let (name, text, elements) = match config {
        Config::File(file) => {
            (file.display().to_string(), std::fs::read_to_string(file).expect("text"), vec![file.with_file_name("elements")])
        }
        Config::Text(text) => ("text".to_owned(), text.clone(), Vec::new()),
    };
    let reading = Reading { parameters: parameters.clone(), elements, ..Reading::default() };
    Application::read(&name, &text, &reading).unwrap_or_else(|error| panic!("{error}"))
}

/// What an engine does.
pub fn played_by(engine: &EngineInfo, config: &Config, parameters: &BTreeMap<String, String>, inputs: &Inputs, name: &str) -> Played {
    played_with(config, parameters, inputs, name, |job, folder| {
        run::run(job, engine, engines::Settings::default(), folder).map_err(|error| error.to_string())
    })
}

/// What comes of a job, however it is run.
pub fn played_with(
    config: &Config,
    parameters: &BTreeMap<String, String>,
    inputs: &Inputs,
    name: &str,
    run: impl FnOnce(&Job<'_>, &Path) -> Result<run::Found, String>,
) -> Played {
    let elements = if let Config::File(file) = config { vec![file.with_file_name("elements")] } else { Vec::new() };
    let folder = std::env::temp_dir().join(format!("netvm-freestanding-{}-{name}", std::process::id()));
    let (files, inputs) = (BTreeMap::new(), inputs.clone());
    let job = Job { config, parameters, elements: &elements, files: &files, inputs, captures: vec![], texts: vec![], calls: &[] };
    let mut found = run(&job, &folder).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_dir_all(&folder).expect("the folder");
    let kept = kept(&mut found);
    let outputs = found.outputs.iter().filter(|(_, all)| !all.is_empty());
    Played {
        outputs: outputs.map(|(name, all)| (name.clone(), all.iter().map(|(_, bytes)| bytes.clone()).collect())).collect(),
        drops: scenarios::drops(&found),
        took: found.took,
        kept,
    }
}

/// What elements keep, as digests.
fn kept(found: &mut run::Found) -> Vec<String> {
    let Some(graph) = &mut found.graph else { return Vec::new() };
    let mut lines = Vec::new();
    for (n, (name, ..)) in found.stats.nodes.iter().enumerate() {
        let memory = graph.memory(n);
        lines.push(format!("{name}: {} bytes, {:x}", memory.len(), digest(memory)));
        for (table, entries) in graph.tables(n).iter().map(|table| table.entries(0)).enumerate() {
            let key = |limbs: &[u64]| limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect::<Vec<u8>>();
            let sum = entries.iter().fold(0_u64, |sum, e| sum.wrapping_add(digest(&[&key(&e.key)[..], &e.value].concat())));
            lines.push(format!("{name}: table {table} of {} entries, {sum:x}", entries.len()));
        }
    }
    lines
}
