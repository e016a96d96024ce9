//! Programs for processors without an operating system do what the interpreter does: each target's
//! files, made by its own Makefile, run by QEMU's user emulation on a trace, with the packets that
//! leave and the data memory at the end. Where a compiler or an emulator is missing the test says
//! so; with `CI=true` it fails then.

#[path = "freestanding/support.rs"]
mod support;

#[path = "freestanding/apps.rs"]
mod apps;
#[path = "freestanding/entries.rs"]
mod entries;
#[path = "freestanding/groups.rs"]
mod groups;
#[path = "freestanding/searches.rs"]
mod searches;
#[path = "freestanding/vpp.rs"]
mod vpp;

use netvm::engines;
use netvm::netil::{Verified, arbitrary, asm, verify};
use netvm::scripts::scenarios::{self, Config};
use netvm::targets::{self, Options, Target};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::{expected, ran, trace, tried, wanted};

/// Each target does what the interpreter does, or refuses the program; those that refuse, and why.
fn agree(name: &str, program: &Arc<Verified>, packets: &[Vec<u8>]) -> Result<Vec<(&'static str, String)>, String> {
    let lines = wanted(&netvm::engines::ALL[0], program, packets)?;
    let mut refused = Vec::new();
    for target in tried() {
        let wanted = expected(target.name, &lines);
        let got = match ran(target, program, packets, name) {
            Ok(got) => got,
            Err(why) => {
                refused.push((target.name, why));
                continue;
            }
        };
        for (i, (got, wanted)) in got.lines().zip(wanted.lines()).enumerate() {
            assert_eq!(got, wanted, "{name} on {}: packet {i}", target.name);
        }
        assert_eq!(got.lines().count(), wanted.lines().count(), "{name} on {}", target.name);
    }
    Ok(refused)
}

/// Processors without an operating system; OpenCL keeps nothing from packet to packet.
fn cores() -> Vec<&'static Target> {
    tried().into_iter().filter(|target| target.name != OPENCL).collect()
}

const OPENCL: &str = "opencl";

fn assembled(text: &str) -> Arc<Verified> {
    Arc::new(verify(asm::assemble(text, "test.netil").expect("NetIL")).expect("a program"))
}

#[test]
fn filters() {
    for (n, expression) in
        ["tcp port 80", "ip6 or vlan", "udp and net 10.0.0.0/8 and len > 100", "not ether broadcast and ip[8] < 65"].iter().enumerate()
    {
        let mut prepared = netvm::Filter::new(expression, &netvm::engines::ALL[0]).expect("a filter");
        let program = prepared.prepare(netvm::io::LinkType::EN10MB).expect("a program").program.clone();
        assert_eq!(agree(&format!("filter{n}"), &program, &trace()), Ok(Vec::new()));
    }
}

/// Memories are little-endian and packets big-endian, on all processors.
#[test]
fn made_up_programs() {
    let (first, count) = (number("NETVM_SEED", 0), number("NETVM_CASES", 12));
    let (mut made, mut refused) = (BTreeMap::new(), Vec::new());
    for seed in first..first + count {
        let (statements, widest) = ([2, 5, 12][(seed % 3) as usize], [32, 64, 128][(seed / 3 % 3) as usize]);
        let options = arbitrary::Options { coprocessors: false, pull: false, statements, widest };
        let program = Arc::new(verify(arbitrary::seeded_module(seed, &options)).expect("a program"));
        let packets: Vec<_> = (0..40).map(|n| arbitrary::seeded_packet(seed ^ n)).collect();
        let Ok(refusals) = agree(&format!("seed{seed}"), &program, &packets) else { continue };
        for target in tried().iter().filter(|target| !refusals.iter().any(|(name, _)| *name == target.name)) {
            *made.entry(target.name).or_insert(0) += 1;
        }
        refused.extend(refusals);
    }
    println!("made of {count}: {made:?}; refused: {refused:#?}");
    assert!(tried().iter().all(|target| made.contains_key(target.name)), "{refused:#?}");
}

/// Tables of each kind, with entries from the start, changed and counted by packets; exact ones
/// time out, and are too small for all that comes.
#[test]
fn tables_of_each_kind() {
    let text = include_str!("freestanding/tables.netil");
    let program = assembled(text);
    let packets: Vec<Vec<u8>> = (0..600u32)
        .map(|n| {
            let key = n.wrapping_mul(0x9e37_79b9) >> 7;
            let few = (key % 23) as u8;
            [&[(n % 7) as u8, few, (key >> 8) as u8, (key >> 16) as u8][..], &key.to_be_bytes(), &[0; 56]].concat()
        })
        .collect();
    let refused = agree("tables", &program, &packets).expect("an init handler that ends");
    assert!(refused.iter().all(|(target, why)| *target == OPENCL && why.contains("no C for")), "{refused:?}");
}

/// Entries come and go in a table that is often full, and whose chains are said to be too long
/// where four keys meet, so that it gets other seeds.
#[test]
fn open_tables_that_are_seeded_again() {
    let text = include_str!("freestanding/tables.netil").replace("flows, exact, 16, 8, 12, 2000000000", "flows, exact, 16, 8, 100");
    let program = assembled(&text);
    let packets: Vec<Vec<u8>> = (0..3000u32)
        .map(|n| {
            let key = n.wrapping_mul(0x9e37_79b9) >> 7;
            [&[(key % 5) as u8, (key >> 4) as u8 % 180, 7, 0][..], &key.to_be_bytes(), &[0; 56]].concat()
        })
        .collect();
    let wanted = wanted(&engines::ALL[0], &program, &packets).expect("an init handler that ends");
    let chain = ["NV_CHAIN = 32", "NV_CHAIN = 4"];
    for target in cores() {
        let got = support::ran_with(target, &program, &packets, "seeds", &Options::default(), chain).expect("a program");
        assert!(got == wanted, "{}", target.name);
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn what_is_not_for_them_is_refused_with_a_reason() {
    let octeon = targets::find("octeon").expect("a target");
    let program = assembled("segment .push\n pop\n push 0\n pkt.hold\n push 0\n ret\nends\n");
    let why = (octeon.build)(&program, &Options::default()).expect_err("packets are held").to_string();
    assert!(why.contains("octeon") && why.ends_with("'pkt.hold' (test.netil:4): no C for packets that wait in the program"), "{why}");
    let drop = "drop".parse().expect("an action");
    let filter = assembled("segment .push\n pop\n push 1\n ret\nends\n");
    let why = (octeon.build)(&filter, &Options { accept: Some(drop), ..Options::default() }).expect_err("actions are XDP's").to_string();
    assert!(why.contains("actions are XDP's"), "{why}");
}

/// Each target does what the interpreter does.
fn alike(config: &Config, parameters: &BTreeMap<String, String>, inputs: &apps::Inputs, name: &str) {
    let application = apps::read(config, parameters);
    let wanted = apps::played_by(&engines::ALL[0], config, parameters, inputs, name);
    for target in cores() {
        let got = apps::played(target, &application, inputs, name).unwrap_or_else(|why| panic!("{why}"));
        got.must_be(&wanted, &format!("{name} on {}", target.name));
    }
}

/// The scenarios of a configuration hold: what leaves and what is dropped.
fn hold(config: &str) {
    std::env::set_current_dir(apps::apps().join("..")).expect("the folder");
    let (mut held, folder) = (0, apps::apps().join(config).with_file_name("tests"));
    for entry in std::fs::read_dir(folder).expect("the scenarios") {
        let file = entry.expect("a file").path();
        let text = std::fs::read_to_string(&file).expect("text");
        for (n, scenario) in scenarios::parse(&file, &text).unwrap_or_else(|wrong| panic!("{wrong}")).iter().enumerate() {
            if !matches!(&scenario.config, Config::File(path) if path.ends_with(config)) {
                continue;
            }
            let application = apps::read(&scenario.config, &scenario.parameters);
            let plain = |all: &Vec<scenarios::Timed>| all.iter().map(|packet| (packet.time_ns, packet.bytes.clone())).collect();
            let inputs = scenario.inputs.iter().map(|(name, all)| (name.clone(), plain(all))).collect();
            let wanted = scenario.outputs.iter().filter(|(_, all)| !all.is_empty());
            let wanted = wanted.map(|(device, all)| (device.clone(), all.iter().map(|packet| packet.bytes.clone()).collect())).collect();
            let wanted = apps::Played { outputs: wanted, drops: scenario.drops.clone(), ..apps::Played::default() };
            for target in cores() {
                let name = format!("{}-{n}", config.replace('/', "-"));
                let got = apps::played(target, &application, &inputs, &name).unwrap_or_else(|why| panic!("{why}"));
                got.must_be(&wanted, &format!("{}: scenario {n} on {}", file.display(), target.name));
            }
            held += 1;
        }
    }
    assert!(held > 0, "no scenario of {config}");
}

/// A mixed trace, by devices in turn.
fn arrivals(seed: u64, devices: &[&str]) -> apps::Inputs {
    let mut inputs: apps::Inputs = devices.iter().map(|device| ((*device).to_owned(), Vec::new())).collect();
    for (n, (_, frame)) in netvm::io::synth::mixed_trace(seed, 600).into_iter().enumerate() {
        let time = 1_700_000_000_000_000_000 + n as u64 * 3_000_000;
        inputs.get_mut(devices[n % devices.len()]).expect("a device").push((time, frame));
    }
    inputs
}

#[test]
fn configurations() {
    let text = "FromDevice(in) -> c :: Counter -> class :: Classifier(12/0800, 12/86dd, -) -> Strip(14) -> CheckIPHeader
        -> IPAddrRewriter(pattern 10.9.0.1-10.9.0.200 - 0 0) -> f :: IPFilter(allow udp, deny all) -> Unstrip(14) -> q :: Queue -> ToDevice(out);
        class[1] -> Queue(5) -> u :: Unqueue -> other :: Queue; class[2] -> Discard;
        s :: RoundRobinSched -> ToDevice(six); other -> s; FromDevice(out) -> back :: Queue -> [1] s;";
    alike(&Config::Text(text.to_owned()), &BTreeMap::new(), &arrivals(5, &["in", "out"]), "graph");
}

/// Copies go their ways when the element that makes them has ended, in order and before the packet.
#[test]
fn copies_of_packets() {
    let text = "FromDevice(in) -> c :: Classifier(12/0800, -) -> t :: Tee -> Strip(14) -> CheckIPHeader -> u :: Tee -> Unstrip(14)
        -> q :: Queue -> ToDevice(out); t[1] -> n :: Counter -> RoundRobinSwitch -> q; u[1] -> DecIPTTL -> Unstrip(14) -> v :: Tee -> q;
        v[1] -> VLANEncap(VLAN_ID 7) -> Queue -> ToDevice(tagged); v[2] -> StoreData(0, \\<ffff>) -> q; c[1] -> Discard;";
    alike(&Config::Text(text.to_owned()), &BTreeMap::new(), &arrivals(8, &["in"]), "copies");
}

#[test]
fn the_forward_path_of_the_router() {
    std::env::set_current_dir(apps::apps().join("..")).expect("the folder");
    let mut inputs = arrivals(6, &["in"]);
    for (_, frame) in inputs.values_mut().flatten() {
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    }
    alike(&Config::File(apps::apps().join("router/forward.click")), &BTreeMap::new(), &inputs, "forward");
}

#[test]
fn scenarios_of_the_applications() {
    for config in ["firewall/firewall.click", "switch/switch.click", "router/forward.click", "balancer/balancer.click", "nat/forward.click"]
    {
        hold(config);
    }
}

/// What the reference schedule does otherwise, and what needs another packet or another time, is
/// refused at its element.
#[test]
fn configurations_that_are_not_for_them_are_refused() {
    let octeon = targets::find("octeon").expect("a target");
    let refused = |text: &str| {
        let application = apps::read(&Config::Text(text.to_owned()), &BTreeMap::new());
        application.build(octeon, &Options::default()).expect_err(text).to_string()
    };
    let plain = apps::read(&Config::Text("FromDevice(a) -> Queue -> ToDevice(b);".to_owned()), &BTreeMap::new());
    let mapped = Options { interfaces: BTreeMap::from([("a".to_owned(), 1)]), ..Options::default() };
    let why = plain.build(octeon, &mapped).expect_err("interfaces are XDP's").to_string();
    assert!(why.contains("interfaces are XDP's: device a is an input"), "{why}");
    for (text, element, reason) in [
        ("FromDevice(a) -> t :: Tee -> Queue -> u :: Unqueue -> Discard; t[1] -> Discard;", "`u :: Unqueue`", "come in another order"),
        ("FromDevice(a) -> t :: Tee -> q :: Queue(9) -> ToDevice(b); t[1] -> Discard;", "`q :: Queue`", "full of copies of one packet"),
        ("FromDevice(a) -> q :: Queue(0) -> ToDevice(b);", "`q :: Queue`", "a queue that holds no packet"),
        ("FromDevice(a) -> Queue -> s :: Shaper(10) -> ToDevice(b);", "`s :: Shaper`", "it lets packets wait"),
        ("FromDevice(a) -> Queue -> c :: Counter -> ToDevice(b);", "`c :: Counter`", "packets are pulled through it"),
        ("FromDevice(a) -> Queue -> u :: Unqueue(2) -> Discard;", "`u :: Unqueue`", "with arguments it is more than a wire"),
        ("InfiniteSource(LIMIT 1) -> Queue -> ToDevice(b); FromDevice(a) -> Discard;", "InfiniteSource`", "it does not wait for packets"),
        ("FromDevice(a) -> c :: Counter -> q :: Queue -> Unqueue -> s :: Strip(1) -> p :: Counter -> q;", "", "led back through a queue"),
        ("FromDevice(a) -> e :: EtherEncap(1, 2:2:2:2:2:2, 3:3:3:3:3:3) -> d :: ToDump(x) ;", "`d :: ToDump`", "it writes to a file"),
    ] {
        let why = refused(text);
        assert!(why.contains(element) && why.contains(reason), "{text}\n{why}");
    }
}

/// Elements that keep nothing are one kernel.
#[test]
fn configurations_on_opencl() {
    let text = "FromDevice(in) -> class :: Classifier(12/0800, 12/86dd, -) -> Paint(3) -> Strip(14) -> MarkIPHeader
        -> f :: IPClassifier(udp, dst net 10.0.0.0/8, -) -> IPMirror -> CheckPaint(3) -> Queue -> ToDevice(out);
        f[1] -> SetIPDSCP(12) -> Queue -> ToDevice(ten); f[2] -> Discard; class[1] -> ToDevice(six); class[2] -> Discard;";
    let config = Config::Text(text.to_owned());
    let (application, inputs) = (apps::read(&config, &BTreeMap::new()), arrivals(7, &["in"]));
    let wanted = apps::played_by(&engines::ALL[0], &config, &BTreeMap::new(), &inputs, "opencl");
    assert_eq!(wanted.outputs.len(), 3, "packets leave by each device");
    for target in tried().into_iter().filter(|target| target.name == OPENCL) {
        let got = apps::played(target, &application, &inputs, "stateless").unwrap_or_else(|why| panic!("{why}"));
        got.must_be(&wanted, "elements on OpenCL");
    }
    let opencl = targets::find(OPENCL).expect("a target");
    for (text, reason) in [
        ("FromDevice(a) -> c :: Counter -> Queue -> ToDevice(b);", "no C for memory that lasts: packets are run at once"),
        ("FromDevice(a) -> Queue -> ToDevice(b); FromDevice(b) -> Paint(1) -> Queue -> ToDevice(a);", "2 devices that packets come in by"),
        ("FromDevice(a) -> EtherEncap(1, 2:2:2:2:2:2, 3:3:3:3:3:3) -> Queue -> ToDevice(b);", "no C for packets that get longer"),
    ] {
        let application = apps::read(&Config::Text(text.to_owned()), &BTreeMap::new());
        let why = application.build(opencl, &Options::default()).expect_err(text).to_string();
        assert!(why.contains(reason), "{text}\n{why}");
    }
}
