//! Configurations in C for processors without an operating system: what leaves by each device, and what is dropped where and why.

use super::support::{tried, write};
use netvm::application::{Application, Reading};
use netvm::engines;
use netvm::scripts::scenarios::run::{self, Job};
use netvm::scripts::scenarios::{self, Config};
use netvm::targets::{Options, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// By device.
pub type Inputs = BTreeMap<String, run::Packets>;

/// What leaves, by device, and what is dropped, by element and reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Played {
    pub outputs: BTreeMap<String, Vec<Vec<u8>>>,
    pub drops: BTreeMap<(String, String), u64>,
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
    let mut rest = &bytes[24..];
    let mut all = Vec::new();
    while rest.len() >= 16 {
        let len = u32::from_be_bytes([rest[8], rest[9], rest[10], rest[11]]) as usize;
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
    let make = |arguments: &[&str]| Command::new("make").arg("-s").arg("-C").arg(&folder).args(arguments).output().expect("make");
    let built = make(&["program"]);
    assert!(built.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&built.stderr));
    let done = make(&["--no-print-directory", "run", &arguments]);
    assert!(done.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&done.stderr));
    let mut played = Played::default();
    for line in String::from_utf8(done.stdout).expect("text").lines() {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match words[..] {
            ["sent", device, _] => _ = played.outputs.entry(device.to_owned()).or_default(),
            ["dropped", _, "discarded"] => {}
            ["dropped", element, reason] => {
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
    let reading = Reading { parameters: parameters.clone(), elements };
    Application::read(&name, &text, &reading).unwrap_or_else(|error| panic!("{error}"))
}

/// What the interpreter does.
pub fn interpreted(config: &Config, parameters: &BTreeMap<String, String>, inputs: &Inputs, name: &str) -> Played {
    let elements = if let Config::File(file) = config { vec![file.with_file_name("elements")] } else { Vec::new() };
    let folder = std::env::temp_dir().join(format!("netvm-freestanding-{}-{name}", std::process::id()));
    let (files, inputs) = (BTreeMap::new(), inputs.clone());
    let job = Job { config, parameters, elements: &elements, files: &files, inputs, captures: vec![], texts: vec![], calls: &[] };
    let interpreter = engines::find("interp").expect("an engine");
    let found = run::run(&job, interpreter, engines::Settings::default(), &folder).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_dir_all(&folder).expect("the folder");
    let outputs = found.outputs.iter().filter(|(_, all)| !all.is_empty());
    Played {
        outputs: outputs.map(|(name, all)| (name.clone(), all.iter().map(|(_, bytes)| bytes.clone()).collect())).collect(),
        drops: scenarios::drops(&found),
    }
}

/// Each target does what the interpreter does.
pub fn alike(config: &Config, parameters: &BTreeMap<String, String>, inputs: &Inputs, name: &str) {
    let application = read(config, parameters);
    let wanted = interpreted(config, parameters, inputs, name);
    for target in tried() {
        let got = played(target, &application, inputs, name).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(got, wanted, "{name} on {}", target.name);
    }
}

/// The scenarios of a configuration hold: what leaves and what is dropped.
pub fn hold(config: &str) {
    std::env::set_current_dir(apps().join("..")).expect("the folder");
    let (mut held, folder) = (0, apps().join(config).with_file_name("tests"));
    for entry in std::fs::read_dir(folder).expect("the scenarios") {
        let file = entry.expect("a file").path();
        let text = std::fs::read_to_string(&file).expect("text");
        for (n, scenario) in scenarios::parse(&file, &text).unwrap_or_else(|wrong| panic!("{wrong}")).iter().enumerate() {
            if !matches!(&scenario.config, Config::File(path) if path.ends_with(config)) {
                continue;
            }
            let application = read(&scenario.config, &scenario.parameters);
            let plain = |all: &Vec<scenarios::Timed>| all.iter().map(|packet| (packet.time_ns, packet.bytes.clone())).collect();
            let inputs = scenario.inputs.iter().map(|(name, all)| (name.clone(), plain(all))).collect();
            let wanted = scenario.outputs.iter().filter(|(_, all)| !all.is_empty());
            let wanted = wanted.map(|(device, all)| (device.clone(), all.iter().map(|packet| packet.bytes.clone()).collect())).collect();
            let wanted = Played { outputs: wanted, drops: scenario.drops.clone() };
            for target in tried() {
                let name = format!("{}-{n}", config.replace('/', "-"));
                let got = played(target, &application, &inputs, &name).unwrap_or_else(|why| panic!("{why}"));
                assert_eq!(got.drops, wanted.drops, "{}: scenario {n} on {}", file.display(), target.name);
                assert_eq!(got.outputs, wanted.outputs, "{}: scenario {n} on {}", file.display(), target.name);
            }
            held += 1;
        }
    }
    assert!(held > 0, "no scenario of {config}");
}
