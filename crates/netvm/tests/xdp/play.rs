//! Configurations as XDP programs that the kernel runs on one packet after the other.

use netvm::application::Application;
use netvm::io::bpf;
use netvm::scripts::scenarios;
use netvm::scripts::scenarios::run;
use netvm::targets::{XdpApplication, XdpLoaded, XdpWorld};
use std::collections::BTreeMap;

/// XDP's actions.
const PASS: u32 = 2;
const REDIRECT: u32 = 4;

/// Whether this process may load programs at all.
pub fn permitted() -> bool {
    let exit = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];
    match bpf::Program::load(&exit, &[], &[]) {
        Ok(_) => true,
        Err(error) => {
            let required = std::env::var_os("NETVM_BPF").is_some_and(|how| how == "required");
            assert!(!required, "programs of XDP are tested by the kernel, which refuses: {error}");
            println!("skipped: the system call bpf is not permitted: {error}");
            false
        }
    }
}

/// The devices get interfaces that there are not: programs are tried, and never attached.
pub fn made(application: &Application, devices: &[&str]) -> Result<XdpApplication, String> {
    let interfaces = devices.iter().zip(1000..).map(|(device, index)| ((*device).to_owned(), index)).collect();
    application.xdp(&interfaces, XdpWorld::Map).map_err(|error| error.to_string())
}

/// What leaves and what is dropped, as a scenario says it.
pub struct Played {
    pub outputs: BTreeMap<String, Vec<Vec<u8>>>,
    pub drops: BTreeMap<(String, String), u64>,
}

/// Lets packets come one after the other.
pub fn play(inputs: &BTreeMap<String, run::Packets>, loaded: &XdpLoaded, devices: &[&str]) -> Played {
    let mut arrivals: Vec<(u64, &str, &[u8])> = Vec::new();
    for (device, packets) in inputs {
        arrivals.extend(packets.iter().map(|(time, bytes)| (*time, device.as_str(), bytes.as_slice())));
    }
    arrivals.sort_by_key(|(time, ..)| *time);
    let mut outputs: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    let mut before: BTreeMap<String, u64> = BTreeMap::new();
    for (time, device, packet) in arrivals {
        let interface = 1000 + devices.iter().position(|d| *d == device).unwrap() as u32;
        loaded.set_world(time, interface).unwrap();
        let tried = loaded.program.test(packet, 1).unwrap_or_else(|error| panic!("{error}: {packet:02x?}"));
        let stats = loaded.stats().unwrap();
        let arrived = stats.nodes.iter().filter(|(_, class, _)| class == "ToDevice");
        for (name, _, node) in arrived {
            let known = before.entry(name.clone()).or_default();
            if node.packets > *known {
                *known = node.packets;
                assert_eq!(tried.action, REDIRECT, "{name}");
                outputs.entry(name.clone()).or_default().push(tried.packet.clone());
            }
        }
        assert_ne!(tried.action, PASS);
    }
    let drops = scenarios::drops_of(&loaded.stats().unwrap());
    Played { outputs, drops }
}

/// What left, by device.
pub fn by_device(application: &Application, played: &Played) -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut outputs: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for element in application.flat().elements.iter().filter(|element| element.class == "ToDevice") {
        let packets = played.outputs.get(&element.name).cloned().unwrap_or_default();
        outputs.entry(element.arguments[0].trim().to_owned()).or_default().extend(packets);
    }
    outputs
}
