//! The programs of the corpus: filters, NetIL, P4, elements, and the applications.

use super::apps::{self, Inputs};
use super::support::trace;
use netvm::netil::{Verified, asm, verify};
use netvm::scripts::scenarios::{self, Config};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Filters of the corpus.
const FILTERS: &[&str] = &[
    "ip",
    "tcp port 80",
    "udp",
    "host 10.1.2.3 and not port 22",
    "tcp[13] & 7 != 0",
    "icmp or icmp6",
    "src net 10.0.0.0/8 and dst port 53",
    "ip6 host fe80::1",
    "arp or rarp",
    "len > 100 and udp",
    "tcp port 80 or tcp port 443 or udp port 53",
    "vlan and ip",
    "ip[8] < 5",
    "portrange 6000-6010",
    "ip6 protochain 6",
    "ether broadcast",
];

/// Elements between a classifier of Ethernet frames and a device; `Strip(14)` before and
/// `EtherEncap` behind those that work on IP packets. What is behind a semicolon is connected
/// besides.
const ELEMENTS: &[(&str, &str)] = &[
    ("Counter", "Counter"),
    ("Paint, PaintSwitch", "Paint(1) -> PaintSwitch"),
    ("HashSwitch", "HashSwitch(26, 4)"),
    ("RoundRobinSwitch", "RoundRobinSwitch"),
    ("EtherMirror", "EtherMirror"),
    ("VLANEncap", "VLANEncap(VLAN_ID 7)"),
    ("StoreData, Truncate", "StoreData(6, \\<0102>) -> Truncate(60)"),
    ("Print", "Print(x)"),
    ("Tee", "t :: Tee ; t[1] -> Queue -> ToDevice(rest)"),
    ("CheckIPHeader", "IP CheckIPHeader"),
    ("IPFilter", "IP CheckIPHeader -> IPFilter(allow udp && dst port < 1024, allow tcp, deny all)"),
    ("IPClassifier", "IP CheckIPHeader -> k :: IPClassifier(src net 10.0.0.0/8, -) ; k[1] -> Queue -> ToDevice(rest)"),
    ("DecIPTTL", "IP CheckIPHeader -> DecIPTTL"),
    ("SetIPDSCP, SetIPChecksum", "IP CheckIPHeader -> SetIPDSCP(10) -> SetIPChecksum"),
    ("IPMirror", "IP CheckIPHeader -> IPMirror"),
    ("SetTCPChecksum", "IP CheckIPHeader -> IPFilter(allow tcp) -> SetTCPChecksum"),
    ("UDPIPEncap", "IP UDPIPEncap(1.0.0.1, 100, 2.0.0.2, 200)"),
    ("RadixIPLookup", "IP CheckIPHeader -> RadixIPLookup(10.0.0.0/8 0, 10.1.0.0/16 0, 192.168.0.0/16 0, 0.0.0.0/0 0)"),
    ("DirectIPLookup", "IP CheckIPHeader -> DirectIPLookup(10.0.0.0/8 0, 10.1.0.0/16 0, 0.0.0.0/0 0)"),
    ("LookupIP6Route", "Strip(14) -> LookupIP6Route(2001:db8::/32 0, ::/0 0) -> Unstrip(14)"),
    ("IPAddrRewriter", "IP CheckIPHeader -> IPAddrRewriter(pattern 10.9.0.1-10.9.0.200 - 0 0)"),
    ("UDPRewriter", "IP CheckIPHeader -> IPFilter(allow udp) -> UDPRewriter(pattern 10.9.0.1 1024-65535 - - 0 0)"),
    ("AggregateIPFlows", "IP CheckIPHeader -> AggregateIPFlows"),
    ("ICMPPingResponder", "IP CheckIPHeader -> ICMPPingResponder"),
    ("IPFragmenter", "IP CheckIPHeader -> IPFragmenter(200)"),
    ("Meter", "m :: Meter(1000) ; m[1] -> Queue -> ToDevice(rest)"),
    ("Shaper", "Queue -> Shaper(1000) -> Unqueue"),
];

/// Configurations in `apps/`, and their devices where no scenario is taken.
const APPS: &[&str] = &[
    "firewall/firewall.click",
    "balancer/balancer.click",
    "nat/forward.click",
    "nat/nat.click",
    "router/forward.click",
    "router/router.click",
    "router/router6.click",
    "switch/switch.click",
    "count/count.click",
    "dhcp/dhcp.click",
    "classifier/classifier.click",
    "intruder/intruder.click",
];

/// What runs, and what it is tried with.
pub enum Subject {
    /// A program and packets.
    Program(Arc<Verified>, Vec<Vec<u8>>),
    /// A configuration, values for its parameters, and packets by device.
    Configuration(Config, BTreeMap<String, String>, Inputs),
}

/// A program of the corpus.
pub struct Case {
    /// What kind it is of.
    pub kind: &'static str,
    pub name: String,
    pub subject: Subject,
}

/// All of it.
pub fn cases() -> Vec<Case> {
    filters().chain(modules()).chain(p4()).chain(elements()).chain(applications()).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the folder")
}

fn filters() -> impl Iterator<Item = Case> {
    FILTERS.iter().map(|text| {
        let mut filter = netvm::Filter::new(text, &netvm::engines::ALL[0]).expect("a filter");
        let program = Arc::clone(&filter.prepare(netvm::io::LinkType::EN10MB).expect("a program").program);
        Case { kind: "Filters", name: format!("`{text}`"), subject: Subject::Program(program, trace()) }
    })
}

/// NetIL of `tests/filetests/run`, each case with its own packets and a trace behind them.
fn modules() -> impl Iterator<Item = Case> {
    let directory = root().join("tests/filetests/run");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory).expect("the folder").map(|e| e.expect("a file").path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "netil"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).expect("text");
        for part in text.split("; case: ").skip(1) {
            let (name, body) = part.split_once('\n').expect("a name");
            let own = body.lines().filter_map(|line| line.strip_prefix("; packet:")).map(bytes);
            let packets = own.chain(trace().into_iter().take(40)).collect();
            let Ok(module) = asm::assemble(body, "case.netil") else { continue };
            let Ok(program) = verify(module) else { continue };
            let subject = Subject::Program(Arc::new(program), packets);
            cases.push(Case { kind: "NetIL", name: format!("{stem}: {}", name.trim()), subject });
        }
    }
    cases.into_iter()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("digits");
    digits.chunks(2).map(byte).collect()
}

/// The modules of P4 programs: what their ingress does.
fn p4() -> impl Iterator<Item = Case> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(root().join("tests/p4")).expect("the folder").map(|e| e.expect("a file").path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "p4"));
    files.sort();
    files.into_iter().map(|file| {
        let pipeline = netvm::p4::load(&file, &[], &[]).unwrap_or_else(|why| panic!("{why}"));
        let program = Arc::new(verify(pipeline.module).expect("a program"));
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Case { kind: "P4 programs (ingress, with their constant entries)", name, subject: Subject::Program(program, trace()) }
    })
}

fn elements() -> impl Iterator<Item = Case> {
    ELEMENTS.iter().map(|(name, text)| {
        let (text, more) = text.split_once(" ; ").unwrap_or((text, ""));
        let way = match text.strip_prefix("IP ") {
            Some(inner) => format!("Strip(14) -> {inner} -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2)"),
            None => text.to_owned(),
        };
        let text = format!(
            "FromDevice(in) -> c :: Classifier(12/0800, -) -> {way} -> Queue -> ToDevice(out); c[1] -> Queue -> ToDevice(other); {more}"
        );
        let packets = trace().into_iter().enumerate().map(|(n, packet)| (1_700_000_000_000_000_000 + n as u64 * 3_000_000, packet));
        let inputs = BTreeMap::from([("in".to_owned(), packets.collect())]);
        let subject = Subject::Configuration(Config::Text(text), BTreeMap::new(), inputs);
        Case { kind: "Elements", name: (*name).to_owned(), subject }
    })
}

/// The applications with the packets of all their scenarios' first cases.
fn applications() -> impl Iterator<Item = Case> {
    APPS.iter().map(|config| {
        let folder = apps::apps().join(config).with_file_name("tests");
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder).expect("the scenarios").map(|e| e.expect("a file").path()).collect();
        files.sort();
        let all = files.iter().flat_map(|file| {
            let text = std::fs::read_to_string(file).expect("text");
            scenarios::parse(file, &text).unwrap_or_else(|wrong| panic!("{wrong}"))
        });
        let mut of_this = all.filter(|scenario| matches!(&scenario.config, Config::File(path) if path.ends_with(config)));
        let scenario = of_this.next().expect("a scenario");
        let plain = |all: &Vec<scenarios::Timed>| all.iter().map(|packet| (packet.time_ns, packet.bytes.clone())).collect();
        let inputs = scenario.inputs.iter().map(|(name, all)| (name.clone(), plain(all))).collect();
        let subject = Subject::Configuration(scenario.config, scenario.parameters, inputs);
        Case { kind: "Applications (with the packets of their first scenario)", name: format!("`apps/{config}`"), subject }
    })
}
