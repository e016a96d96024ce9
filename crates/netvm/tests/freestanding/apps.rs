//! Configurations in C for processors without an operating system: what leaves by each device, and
//! what is dropped where and why.

use super::support::{make, write};
use netvm::application::{Application, Reading};
use netvm::engines::{self, EngineInfo};
use netvm::scripts::scenarios::run::{self, Job};
use netvm::scripts::scenarios::{self, Config};
use netvm::targets::{Options, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// By device.
pub type Inputs = BTreeMap<String, run::Packets>;

/// What leaves, by device, and what is dropped, by element and reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Played {
    pub outputs: BTreeMap<String, Vec<Vec<u8>>>,
    pub drops: BTreeMap<(String, String), u64>,
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
    let files = application.build(target, &Options::default()).map_err(|why| why.to_string())?;
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("application-{}-{name}-{}", target.name, std::process::id()));
    write(&folder, files);
    let mut arguments = String::from("INPUTS=");
    for (device, packets) in inputs {
        std::fs::write(folder.join(format!("{device}.in")), capture(packets)).expect("a file");
        arguments += &format!("{device}={device}.in ");
    }
    // A host program for OpenCL reads one file.
    let one = inputs.keys().next().map_or_else(String::new, |device| format!("PCAP={device}.in"));
    // In VPP a vector of one packet has that packet's time.
    let text = make(&folder, &["run", if target.name == "opencl" { &one } else { &arguments }, "VECTOR=1"]);
    let mut played = Played::default();
    for line in text.lines() {
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
            _ => panic!("{name} on {}: {line}", target.name),
        }
    }
    for (device, all) in &mut played.outputs {
        *all = packets(&folder.join(format!("port-{device}.pcap")));
    }
    if std::env::var_os("NETVM_KEEP").is_none() {
        std::fs::remove_dir_all(&folder).expect("the folder");
    }
    Ok(played)
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
    let elements = if let Config::File(file) = config { vec![file.with_file_name("elements")] } else { Vec::new() };
    let folder = std::env::temp_dir().join(format!("netvm-freestanding-{}-{name}", std::process::id()));
    let (files, inputs) = (BTreeMap::new(), inputs.clone());
    let job = Job { config, parameters, elements: &elements, files: &files, inputs, captures: vec![], texts: vec![], calls: &[] };
    let found = run::run(&job, engine, engines::Settings::default(), &folder).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_dir_all(&folder).expect("the folder");
    let outputs = found.outputs.iter().filter(|(_, all)| !all.is_empty());
    Played {
        outputs: outputs.map(|(name, all)| (name.clone(), all.iter().map(|(_, bytes)| bytes.clone()).collect())).collect(),
        drops: scenarios::drops(&found),
    }
}
