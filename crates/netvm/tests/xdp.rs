//! Configurations as XDP programs: what leaves, what is dropped and why, and what elements keep is
//! what the interpreter has, and the applications' scenarios hold. The kernel runs them
//! (`BPF_PROG_TEST_RUN`); where the process may not use the system call `bpf` the tests say so, and
//! fail with `NETVM_BPF=required`.
#![cfg(target_os = "linux")]

#[path = "xdp/play.rs"]
mod play;

use netvm::application::{Application, Reading};
use netvm::engines;
use netvm::io::bpf;
use netvm::scripts::scenarios::run::{self, Job};
use netvm::scripts::scenarios::{self, Config, Scenario};
use play::{Played, by_device, made, permitted, play};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn apps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps").canonicalize().unwrap()
}

fn read(name: &str, text: &str, reading: &Reading) -> Application {
    Application::read(name, text, reading).unwrap_or_else(|error| panic!("{error}"))
}

/// A mixed trace, by devices in turn.
fn trace(seed: u64, devices: &[&str]) -> BTreeMap<String, run::Packets> {
    let mut inputs: BTreeMap<String, run::Packets> = devices.iter().map(|device| ((*device).to_owned(), Vec::new())).collect();
    let frames = netvm::io::synth::mixed_trace(seed, 400).into_iter().map(|(_, frame)| frame);
    for (n, frame) in frames.filter(|frame| bpf::TESTED.contains(&frame.len())).enumerate() {
        let time = 1_700_000_000_000_000_000 + n as u64 * 3_000_000;
        inputs.get_mut(devices[n % devices.len()]).unwrap().push((time, frame));
    }
    inputs
}

/// The kernel does with packets what the interpreter does: what leaves, what is dropped where and
/// why, how many come to each element.
fn alike(config: &Config, inputs: BTreeMap<String, run::Packets>, devices: &[&str]) {
    if !permitted() {
        return;
    }
    let (name, text, elements) = match config {
        Config::File(file) => (file.display().to_string(), std::fs::read_to_string(file).unwrap(), vec![file.with_file_name("elements")]),
        Config::Text(text) => ("text".to_owned(), text.clone(), Vec::new()),
    };
    let application = read(&name, &text, &Reading { elements: elements.clone(), ..Reading::default() });
    let made = made(&application, devices).unwrap_or_else(|error| panic!("{error}"));
    println!("{name}: {} instructions, {} functions", made.program().insts.len(), made.program().functions.len());
    let loaded = made.load().unwrap_or_else(|error| panic!("{name}: {error}"));
    let played = play(&inputs, &loaded, devices);
    let folder = std::env::temp_dir().join(format!("netvm-xdp-{}-{}", std::process::id(), text.len()));
    let (parameters, files) = (BTreeMap::new(), BTreeMap::new());
    let job =
        Job { config, parameters: &parameters, elements: &elements, files: &files, inputs, captures: vec![], texts: vec![], calls: &[] };
    let interpreter = engines::find("interp").unwrap();
    let found = run::run(&job, interpreter, engines::Settings::default(), &folder).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_dir_all(&folder).unwrap();
    let wanted: BTreeMap<String, Vec<Vec<u8>>> =
        found.outputs.iter().map(|(name, all)| (name.clone(), all.iter().map(|(_, bytes)| bytes.clone()).collect())).collect();
    assert!(wanted.values().map(Vec::len).sum::<usize>() > 0, "{name}: nothing comes through");
    assert_eq!(by_device(&application, &played), wanted, "{name}");
    assert_eq!(played.drops, scenarios::drops(&found), "{name}");
    for ((element, class, node), (.., there)) in loaded.stats().unwrap().nodes.iter().zip(&found.stats.nodes) {
        assert_eq!((node.packets, node.traps), (there.packets, there.traps), "{name}: {element} :: {class}");
    }
}

#[test]
fn a_counter_and_a_filter_between_devices() {
    let text = "FromDevice(in) -> c :: Counter -> Classifier(12/0800) -> Strip(14) -> CheckIPHeader -> f :: IPFilter(allow udp, deny all)
        -> Unstrip(14) -> Queue -> ToDevice(out);";
    alike(&Config::Text(text.to_owned()), trace(5, &["in"]), &["in", "out"]);
}

#[test]
fn the_forward_path_of_the_router() {
    std::env::set_current_dir(apps().join("..")).unwrap();
    let mut inputs = trace(6, &["in"]);
    for (_, frame) in inputs.values_mut().flatten() {
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    }
    alike(&Config::File(apps().join("router/forward.click")), inputs, &["in", "eth0", "eth1", "eth2", "eth3"]);
}

/// The scenarios of an application hold.
fn hold(name: &str, config: &str, devices: &[&str]) {
    if !permitted() {
        return;
    }
    std::env::set_current_dir(apps().join("..")).unwrap();
    let mut played_some = 0;
    for entry in std::fs::read_dir(apps().join(name).join("tests")).unwrap() {
        let file = entry.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        for scenario in scenarios::parse(&file, &text).unwrap_or_else(|wrong| panic!("{wrong}")) {
            let Config::File(path) = &scenario.config else { continue };
            if !path.ends_with(config) {
                continue;
            }
            let reading = Reading { parameters: scenario.parameters.clone(), elements: vec![path.with_file_name("elements")] };
            let application = read(config, &std::fs::read_to_string(path).unwrap(), &reading);
            let made = made(&application, devices).unwrap_or_else(|error| panic!("{error}"));
            println!("{}: {} instructions, {} functions", file.display(), made.program().insts.len(), made.program().functions.len());
            let loaded = made.load().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let plain = |all: &Vec<scenarios::Timed>| all.iter().map(|packet| (packet.time_ns, packet.bytes.clone())).collect();
            let inputs = scenario.inputs.iter().map(|(name, all)| (name.clone(), plain(all))).collect();
            judge(&scenario, &application, &play(&inputs, &loaded, devices));
            played_some += 1;
        }
    }
    assert!(played_some > 0);
}

fn judge(scenario: &Scenario, application: &Application, played: &Played) {
    let mut outputs = by_device(application, played);
    for (device, wanted) in &scenario.outputs {
        let there = outputs.remove(device).unwrap_or_default();
        for (n, awaited) in wanted.iter().enumerate() {
            assert_eq!(there.get(n), Some(&awaited.bytes), "line {}: packet {n} of {device}", awaited.line);
        }
        assert_eq!(there.len(), wanted.len(), "{device}");
    }
    assert!(outputs.values().all(Vec::is_empty), "{outputs:02x?}");
    assert_eq!(played.drops, scenario.drops);
}

#[test]
fn firewall() {
    hold("firewall", "firewall.click", &["inside", "outside"]);
}
