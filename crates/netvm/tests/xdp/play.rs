//! Configurations as XDP programs that the kernel runs on one packet after the other.

use netvm::application::{Application, Embedded, Lent, Settings, Silent};
use netvm::engines;
use netvm::io::{LinkType, bpf};
use netvm::scripts::scenarios;
use netvm::scripts::scenarios::run;
use netvm::targets::{XdpApplication, XdpLoaded, XdpProcess, XdpWorld};
use std::collections::BTreeMap;

/// XDP's actions.
const PASS: u32 = 2;
pub const REDIRECT: u32 = 4;

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

/// What the kernel can run of a configuration.
pub fn loaded_divided(application: &Application, devices: &[&str]) -> Result<XdpLoaded, String> {
    let interfaces = devices.iter().zip(1000..).map(|(device, index)| ((*device).to_owned(), index)).collect();
    let loaded = application.load_xdp_divided(&interfaces, XdpWorld::Map).map_err(|error| error.to_string())?;
    loaded.map_err(|error| error.to_string())
}

/// A configuration in the kernel and in this process.
pub struct Divided {
    pub loaded: XdpLoaded,
    process: XdpProcess,
    embedded: Embedded,
    /// Packets by output device that came out so far.
    outputs: BTreeMap<String, Vec<Vec<u8>>>,
    /// Packets that the kernel did not hand over.
    pub alone: u64,
}

impl Divided {
    pub fn new(application: &Application, loaded: XdpLoaded) -> Self {
        let settings = Settings { handed: Some(loaded.made().info()), ..Settings::default() };
        let interpreter = engines::find("interp").unwrap();
        let embedded = application.embed(interpreter, engines::Settings::default(), settings, Box::new(Silent));
        let mut embedded = embedded.unwrap_or_else(|error| panic!("{error}"));
        let process = XdpProcess::join(&loaded, embedded.graph()).unwrap();
        Self { loaded, process, embedded, outputs: BTreeMap::new(), alone: 0 }
    }

    /// Lets packets come one after the other; what left by each device.
    pub fn play(&mut self, inputs: &BTreeMap<String, run::Packets>, devices: &[&str]) -> Played {
        let mut arrivals: Vec<(u64, &str, &[u8])> = Vec::new();
        for (device, packets) in inputs {
            arrivals.extend(packets.iter().map(|(time, bytes)| (*time, device.as_str(), bytes.as_slice())));
        }
        arrivals.sort_by_key(|(time, ..)| *time);
        for (time, device, packet) in arrivals {
            let interface = 1000 + devices.iter().position(|d| *d == device).unwrap() as u32;
            self.loaded.set_world(time, interface).unwrap();
            let before = self.loaded.handed_over().unwrap();
            let (tried, out) = self.run(packet);
            let handed = self.loaded.handed_over().unwrap() > before;
            self.alone += u64::from(!handed);
            if !handed && let Some(device) = out {
                assert_eq!(tried.action, REDIRECT);
                self.outputs.entry(device).or_default().push(tried.packet.clone());
            }
            self.go_on(time, device, handed.then_some(&*tried.packet));
        }
        let stats = self.process.stats(&self.loaded, self.embedded.graph()).unwrap();
        Played { outputs: std::mem::take(&mut self.outputs), drops: scenarios::drops_of(&stats) }
    }

    /// The kernel runs a packet; by which device it left.
    fn run(&self, packet: &[u8]) -> (bpf::Tried, Option<String>) {
        let sent = || {
            let nodes = self.loaded.stats().unwrap().nodes.into_iter();
            nodes.filter(|(_, class, _)| class == "ToDevice").map(|(name, _, node)| (name, node.packets)).collect::<Vec<_>>()
        };
        let before = sent();
        let tried = self.loaded.program.test(packet, 1).unwrap_or_else(|error| panic!("{error}: {packet:02x?}"));
        let after = sent().into_iter().zip(before).find(|(after, before)| after.1 > before.1);
        (tried, after.map(|((name, _), _)| self.loaded.made().device_of(&name)))
    }

    /// The process goes on, and time with it.
    fn go_on(&mut self, time: u64, device: &str, frame: Option<&[u8]>) {
        if let Some(bytes) = frame {
            let packet = Lent { bytes, wire_len: bytes.len() as u32, time_ns: time, link: LinkType::EN10MB };
            assert!(self.embedded.push(device, packet).unwrap());
        }
        self.process.begin(self.embedded.graph(), time);
        self.embedded.run_until(time);
        self.process.end(self.embedded.graph());
        let ports: Vec<String> = self.embedded.ports().map(str::to_owned).collect();
        for port in ports {
            let to = self.outputs.entry(port.clone()).or_default();
            self.embedded
                .take(&port, |packet| {
                    to.push(packet.bytes.to_vec());
                    true
                })
                .unwrap();
        }
    }
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
