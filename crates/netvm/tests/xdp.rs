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
use netvm::targets::XdpLoaded;
use play::{Divided, by_device, loaded_divided, made, permitted, play};
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
fn alike(config: &Config, inputs: BTreeMap<String, run::Packets>, devices: &[&str]) -> Option<XdpLoaded> {
    if !permitted() {
        return None;
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
    Some(loaded)
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

/// A variable that each run writes before it reads it is on the stack, so that processors do not
/// disturb each other; one that lasts is in the map.
#[test]
fn what_each_run_writes_first_is_on_the_stack() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("xdp-scratch-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("elements")).unwrap();
    std::fs::write(
        folder.join("elements/Mark.c"),
        "/* Mark() -- writes a number into packets */
#include <netvm.h>
ELEMENT(Mark, \"1/1\", \"a/a\");
static u32 number;
static u32 packets;
void packet(int port)
{
    u8 *first = header(u8, 0);
    u8 *second = header(u8, 1);
    if (*first & 1)
        number = packet_length();
    else
        number = 7;
    packets += 1;
    *second = (u8) number;
    emit(0);
}
",
    )
    .unwrap();
    let config = folder.join("mark.click");
    std::fs::write(&config, "FromDevice(in) -> Mark -> Queue -> ToDevice(out);").unwrap();
    let packets = trace(8, &["in"]);
    let count = packets["in"].len() as u32;
    if let Some(loaded) = alike(&Config::File(config), packets, &["in", "out"]) {
        let (_, memory) = loaded.memories().unwrap().remove(0);
        let words: Vec<u32> = memory.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        assert!(words.contains(&count) && words.iter().filter(|word| **word != 0).count() == 1, "{words:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Each scenario of an application's configuration, with the application.
fn each_scenario(name: &str, config: &str, mut work: impl FnMut(&Scenario, &Application)) {
    if !permitted() {
        return;
    }
    std::env::set_current_dir(apps().join("..")).unwrap();
    let mut worked = 0;
    for entry in std::fs::read_dir(apps().join(name).join("tests")).unwrap() {
        let file = entry.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        for scenario in scenarios::parse(&file, &text).unwrap_or_else(|wrong| panic!("{wrong}")) {
            let Config::File(path) = &scenario.config else { continue };
            if !path.ends_with(config) {
                continue;
            }
            println!("{}", file.display());
            let reading =
                Reading { parameters: scenario.parameters.clone(), elements: vec![path.with_file_name("elements")], ..Reading::default() };
            work(&scenario, &read(config, &std::fs::read_to_string(path).unwrap(), &reading));
            worked += 1;
        }
    }
    assert!(worked > 0);
}

fn inputs(scenario: &Scenario) -> BTreeMap<String, run::Packets> {
    let plain = |all: &Vec<scenarios::Timed>| all.iter().map(|packet| (packet.time_ns, packet.bytes.clone())).collect();
    scenario.inputs.iter().map(|(name, all)| (name.clone(), plain(all))).collect()
}

/// The scenarios of an application hold, in the kernel alone.
fn hold(name: &str, config: &str, devices: &[&str]) {
    each_scenario(name, config, |scenario, application| {
        let made = made(application, devices).unwrap_or_else(|error| panic!("{error}"));
        println!("{} instructions, {} functions", made.program().insts.len(), made.program().functions.len());
        let loaded = made.load().unwrap_or_else(|error| panic!("{error}"));
        let played = play(&inputs(scenario), &loaded, devices);
        judge(scenario, by_device(application, &played), &played.drops);
    });
}

/// They hold where the kernel runs what it can, and a process the rest; `alone`: of so many packets
/// at least the process knows nothing.
fn hold_divided(name: &str, config: &str, devices: &[&str], alone: u64) {
    let mut sum = 0;
    each_scenario(name, config, |scenario, application| {
        let loaded = loaded_divided(application, devices).unwrap_or_else(|error| panic!("{error}"));
        let (count, rows) = loaded.made().handed_rows();
        println!("{} instructions; {count} elements in the kernel", loaded.made().program().insts.len());
        rows.iter().for_each(|row| println!("    {row:?}"));
        let mut divided = Divided::new(application, loaded);
        let played = divided.play(&inputs(scenario), devices);
        println!("{} packets were the kernel's alone", divided.alone);
        sum += divided.alone;
        judge(scenario, played.outputs, &played.drops);
    });
    assert!(!permitted() || sum >= alone, "{sum} packets were the kernel's alone");
}

fn judge(scenario: &Scenario, mut outputs: BTreeMap<String, Vec<Vec<u8>>>, drops: &BTreeMap<(String, String), u64>) {
    for (device, wanted) in &scenario.outputs {
        let there = outputs.remove(device).unwrap_or_default();
        for (n, awaited) in wanted.iter().enumerate() {
            assert_eq!(there.get(n), Some(&awaited.bytes), "line {}: packet {n} of {device}", awaited.line);
        }
        assert_eq!(there.len(), wanted.len(), "{device}");
    }
    assert!(outputs.values().all(Vec::is_empty), "{outputs:02x?}");
    assert_eq!(*drops, scenario.drops);
}

/// How long the kernel takes for a packet that it forwards; `--nocapture` tells. Each run is
/// measured by itself, since packets are changed.
#[test]
fn nanoseconds_of_a_packet() {
    const RUNS: usize = 2001;
    let told = |name: &str, loaded: &XdpLoaded, inputs: &BTreeMap<String, run::Packets>, devices: &[&str]| {
        let forwarded = inputs.iter().flat_map(|(device, packets)| packets.iter().map(move |(time, packet)| (device, *time, packet)));
        let interface = |device: &String| 1000 + devices.iter().position(|known| known == device).unwrap() as u32;
        let tried = |(device, time, packet): (&String, u64, &Vec<u8>)| {
            loaded.set_world(time, interface(device)).unwrap();
            let handed = loaded.handed_over().unwrap();
            let tried = loaded.program.test(packet, 1).unwrap();
            (tried.action == play::REDIRECT && loaded.handed_over().unwrap() == handed).then_some(tried.nanoseconds)
        };
        let one = forwarded.into_iter().find(|one| tried(*one).is_some()).expect("a packet that is forwarded");
        let mut times: Vec<u32> = (0..RUNS).filter_map(|_| tried(one)).collect();
        times.sort_unstable();
        assert_eq!(times.len(), RUNS, "{name}: a packet is forwarded each time");
        println!("{name}: {} ns, {} instructions", times[RUNS / 10], loaded.made().program().insts.len());
    };
    each_scenario("firewall", "firewall.click", |scenario, application| {
        let loaded = made(application, &["inside", "outside"]).unwrap().load().unwrap();
        play(&inputs(scenario), &loaded, &["inside", "outside"]);
        told("firewall", &loaded, &inputs(scenario), &["inside", "outside"]);
    });
    each_scenario("router", "router.click", |scenario, application| {
        let mut divided = Divided::new(application, loaded_divided(application, &PORTS).unwrap());
        divided.play(&inputs(scenario), &PORTS);
        if divided.alone > 0 {
            told("router", &divided.loaded, &inputs(scenario), &PORTS);
        }
    });
}

#[test]
fn firewall() {
    hold("firewall", "firewall.click", &["inside", "outside"]);
}

const PORTS: [&str; 4] = ["eth0", "eth1", "eth2", "eth3"];

#[test]
fn the_router_in_kernel_and_process() {
    hold_divided("router", "router.click", &PORTS, 10);
}

#[test]
fn the_router_for_ip6_in_kernel_and_process() {
    hold_divided("router", "router6.click", &PORTS, 5);
}

#[test]
fn the_router_with_sixteen_ports_in_kernel_and_process() {
    let ports: Vec<String> = (0..16).map(|n| format!("eth{n}")).collect();
    hold_divided("router", "router16.click", &ports.iter().map(String::as_str).collect::<Vec<_>>(), 0);
}

#[test]
fn the_nat_in_kernel_and_process() {
    hold_divided("nat", "nat.click", &["inside", "outside"], 5);
}
