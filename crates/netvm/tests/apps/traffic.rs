//! Applications on the traffic that is made for them, against models: what must hold whatever the
//! packets are.

use super::{EngineVariant, apps, folder, remove, ways};
use netil::app::Application;
use netvm::application::{Placement, Policies, Policy, Stats};
use netvm::engines;
use netvm::io::Timestamp;
use netvm::io::synth::dhcp::Hosts;
use netvm::io::synth::messages::{ATTACKS, Messages};
use netvm::io::synth::services::Services;
use netvm::scripts::scenarios::run::{self, Found, Job, Packets};
use netvm::scripts::scenarios::{Call, Config};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Handlers that are read at the end.
fn reads(handlers: &[&str]) -> Vec<Call> {
    let read = |handler: &&str| Call { line: 0, write: false, handler: (*handler).to_owned(), value: String::new(), error: None };
    handlers.iter().map(read).collect()
}

/// Runs an application on packets of one device with every engine.
fn play(config: &str, parameters: &[(&str, &str)], reads: (&str, &[&str]), packets: &Packets, mut judge: impl FnMut(&str, Found)) {
    for way in ways().into_iter().filter(|way| way.name != "aot-sliced") {
        judge(&way.name, play_on(&way, config, parameters, reads, packets));
    }
}

/// Runs it with one engine.
fn play_on(
    way: &EngineVariant,
    config: &str,
    parameters: &[(&str, &str)],
    (device, handlers): (&str, &[&str]),
    packets: &Packets,
) -> Found {
    std::env::set_current_dir(apps().join("..")).unwrap();
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let job = Job {
        config: &Config::File(apps().join(config)),
        parameters: &parameters,
        elements: &[],
        files: &BTreeMap::new(),
        inputs: BTreeMap::from([(device.to_owned(), packets.clone())]),
        captures: Vec::new(),
        texts: Vec::new(),
        calls: &reads(handlers),
    };
    let folder = folder(&format!("traffic-{device}-{}", way.name));
    let found = run::run(&job, way.engine, way.settings, &folder).unwrap_or_else(|error| panic!("{error}"));
    remove(&folder);
    assert_eq!((found.errors.len(), traps(&found.stats)), (0, 0), "{config} on {}", way.name);
    found
}

/// Runs an application on packets of one device with replicas that keep the order of each flow
/// only, under every policy for what they have in common.
fn play_by_flow(config: &str, (device, handlers): (&str, &[&str]), packets: &Packets, mut judge: impl FnMut(&str, Found)) {
    std::env::set_current_dir(apps().join("..")).unwrap();
    let job = Job {
        config: &Config::File(apps().join(config)),
        parameters: &BTreeMap::new(),
        elements: &[],
        files: &BTreeMap::new(),
        inputs: BTreeMap::from([(device.to_owned(), packets.clone())]),
        captures: Vec::new(),
        texts: Vec::new(),
        calls: &reads(handlers),
    };
    let jit = engines::find("jit").unwrap();
    for (replicas, policy) in [1, 2, 4].into_iter().flat_map(|n| [Policy::Lock, Policy::Transaction].map(|policy| (n, policy))) {
        let name = format!("{replicas} replicas, {policy:?}");
        let folder = folder(&format!("traffic-flow-{device}-{replicas}-{policy:?}"));
        let place = |app: &Application| Placement::by_flow(app, &[], &Policies(vec![(None, policy)]));
        let found = run::run_on(&job, jit, engines::Settings::default(), &folder, replicas, place);
        let found = found.unwrap_or_else(|error| panic!("{config}, {name}: {error}"));
        remove(&folder);
        assert_eq!((found.errors.len(), traps(&found.stats)), (0, 0), "{config}, {name}");
        judge(&name, found);
    }
}

fn traps(stats: &Stats) -> u64 {
    stats.nodes.iter().map(|(.., node)| node.traps).sum()
}

fn timed(packets: impl Iterator<Item = (Timestamp, Vec<u8>)>) -> Packets {
    packets.map(|(time, frame)| (time.as_nanos() as u64, frame)).collect()
}

/// A DHCP message.
struct Message {
    kind: u8,
    /// The client's address, and the one that it gets.
    ciaddr: [u8; 4],
    yiaddr: [u8; 4],
    mac: [u8; 6],
    /// Seconds of the lease.
    lease: u64,
}

fn message(frame: &[u8]) -> Option<Message> {
    let message = frame.get(42..).filter(|_| frame[12..14] == [8, 0] && frame[23] == 17)?;
    let (mut at, mut kind, mut lease) = (240, 0, 0);
    while message[at] != 255 {
        let value = &message[at + 2..at + 2 + usize::from(message[at + 1])];
        match message[at] {
            53 => kind = value[0],
            51 => lease = u64::from(u32::from_be_bytes(value.try_into().unwrap())),
            _ => {}
        }
        at += 2 + value.len();
    }
    let part = |at: usize| <[u8; 4]>::try_from(&message[at..at + 4]).unwrap();
    Some(Message { kind, ciaddr: part(12), yiaddr: part(16), mac: message[28..34].try_into().unwrap(), lease })
}

/// The message of a host that wants an address of a hundred, three hosts the same one.
fn crowded(mut frame: Vec<u8>) -> Vec<u8> {
    let host = u16::from_be_bytes([frame[10], frame[11]]);
    let own = [10, 0, 1 + (host >> 8) as u8, host as u8];
    let wanted = [10, 0, 1, (host % 100) as u8];
    for at in 54..frame.len() - 4 {
        if frame[at..at + 4] == own && (at == 54 || frame[at - 2..at] == [50, 4]) {
            frame[at..at + 4].copy_from_slice(&wanted);
        }
    }
    // No checksum.
    frame[40..42].fill(0);
    frame
}

/// Three hosts for each address, which come and go: nobody gets an address that another one has.
#[test]
fn an_address_is_leased_to_one_host_at_a_time() {
    for (seed, lease) in [(1, "1000s"), (2, "3600s")] {
        let packets = timed(Hosts::new(seed, 300).take(6000).map(|(time, frame)| (time, crowded(frame))));
        let parameters = [("LAST", "10.0.1.99"), ("LEASE", lease), ("PING", "100ms")];
        play("dhcp/dhcp.click", &parameters, ("lan", &[]), &packets, |engine, found| {
            let sent = &found.outputs["lan"];
            let mut all: Vec<(u64, u8, &[u8])> = packets.iter().map(|(time, frame)| (*time, 0, &frame[..])).collect();
            all.extend(sent.iter().map(|(time, frame)| (*time, 1, &frame[..])));
            all.sort_by_key(|(time, order, _)| (*time, *order));
            let mut holders: HashMap<[u8; 4], ([u8; 6], u64)> = HashMap::new();
            let mut granted = HashSet::new();
            for (time, _, frame) in all {
                let Some(Message { kind, ciaddr, yiaddr, mac, lease }) = message(frame) else { continue };
                match kind {
                    // RELEASE, DECLINE.
                    7 if holders.get(&ciaddr).is_some_and(|holder| holder.0 == mac) => drop(holders.remove(&ciaddr)),
                    4 => holders.retain(|_, holder| holder.0 != mac),
                    5 if yiaddr != [0; 4] => {
                        let holder = holders.insert(yiaddr, (mac, time + lease * 1_000_000_000));
                        let taken = holder.is_some_and(|(other, ends)| other != mac && ends > time);
                        assert!(!taken, "{engine}: {yiaddr:?} is leased twice at {time}");
                        assert!(([10, 0, 1, 0]..=[10, 0, 1, 99]).contains(&yiaddr), "{yiaddr:?}");
                        granted.insert(mac);
                    }
                    _ => {}
                }
            }
            assert!(granted.len() >= 100, "{engine}: {} hosts got leases", granted.len());
        });
    }
}

/// The network that the server is for (apps/dhcp/README.md): all hosts have come up before the
/// first lease is renewed, and each has the address that it asked for.
#[test]
fn twenty_thousand_hosts_have_leases() {
    const HOSTS: u32 = 20_000;
    // Each asks for an address and takes it.
    let packets = timed(Hosts::new(3, HOSTS).take(2 * HOSTS as usize));
    let jit = engines::find("jit").unwrap();
    let way = EngineVariant { engine: jit, settings: engines::Settings::default(), name: "jit".to_owned() };
    let handlers = ["server.active", "server.acks", "server.naks", "server.conflicts", "server.waiting", "server.list"];
    let found = play_on(&way, "dhcp/dhcp.click", &[], ("lan", &handlers), &packets);
    let told: Vec<&str> = found.calls.iter().map(|told| told.as_deref().unwrap().trim()).collect();
    assert_eq!(told[..5], ["20000", "20000", "0", "0", "0"]);
    assert_eq!(told[5].lines().count(), HOSTS as usize);
    let granted = |frame: &[u8]| message(frame).filter(|message| message.kind == 5).map(|message| (message.mac, message.yiaddr));
    let leases: HashMap<[u8; 6], [u8; 4]> = found.outputs["lan"].iter().filter_map(|(_, frame)| granted(frame)).collect();
    let first = u32::from_be_bytes([10, 0, 1, 0]);
    for host in 0..HOSTS {
        let [a, b, c, d] = host.to_be_bytes();
        assert_eq!(leases.get(&[2, 1, a, b, c, d]), Some(&(first + host).to_be_bytes()), "host {host}");
    }
    assert_eq!(leases.len(), HOSTS as usize);
}

/// Hosts that come hours apart: replicas stay so near each other in the time of the capture that
/// none takes away what another is about to lease.
#[test]
fn replicas_of_a_server_of_leases_answer_as_one_does() {
    let packets = timed(Hosts::new(5, 20).take(240));
    let answers = |found: &Found| {
        let of = |frame: &[u8]| message(frame).map(|message| (message.mac, message.kind, message.yiaddr));
        let mut all: Vec<_> = found.outputs["lan"].iter().filter_map(|(_, frame)| of(frame)).collect();
        all.sort_unstable();
        all
    };
    // That of one replica, which is one graph.
    let mut wanted = None;
    play_by_flow("dhcp/dhcp.click", ("lan", &[]), &packets, |name, found| {
        let answers = answers(&found);
        assert!(answers.len() > 60, "{}", answers.len());
        assert_eq!(wanted.get_or_insert_with(|| answers.clone()), &answers, "{name}");
    });
}

/// Whole messages, and those with attacks, as one puts them together who has all fragments at once.
#[test]
fn all_attacks_in_fragments_are_found() {
    let packets = timed(Messages::new(3, 256).take(6000));
    let mut parts: HashMap<Vec<u8>, (Vec<u8>, usize)> = HashMap::new();
    let (mut whole, mut attacks) = (0, 0);
    for (_, frame) in &packets {
        let end = 14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
        let (header, bytes) = frame[42..end].split_at(10);
        let (place, length) = (usize::from(header[8]), usize::from(header[9]));
        let (message, there) = parts.entry(header[..6].to_vec()).or_insert_with(|| (vec![0; length], 0));
        message[place..place + bytes.len()].copy_from_slice(bytes);
        *there += bytes.len();
        if *there == length {
            whole += 1;
            attacks += usize::from(ATTACKS.iter().any(|attack| String::from_utf8_lossy(message).contains(attack)));
        }
    }
    let frames = |packets: &Packets| {
        let mut frames: Vec<Vec<u8>> = packets.iter().map(|(_, frame)| frame.clone()).collect();
        frames.sort();
        frames
    };
    let mut alerts = None;
    play("intruder/intruder.click", &[], ("in", &["fragments.messages"]), &packets, |engine, found| {
        alerts.get_or_insert_with(|| frames(&found.outputs["alerts"]));
        // CheckIPHeader takes off what fills frames up.
        let sent = &found.outputs["out"];
        assert_eq!(sent.len(), packets.len(), "{engine}");
        assert!(sent.iter().zip(&packets).all(|(sent, came)| came.1.starts_with(&sent.1)), "{engine}");
        assert_eq!(found.outputs["alerts"].len(), attacks, "{engine}");
        let messages = found.calls[0].as_ref().unwrap();
        assert_eq!(messages.trim().parse(), Ok(whole), "{engine}");
    });
    play_by_flow("intruder/intruder.click", ("in", &["fragments.transactions"]), &packets, |name, found| {
        let transactions = found.calls[0].as_deref().unwrap_or_default();
        let commits = transactions.lines().find_map(|line| line.strip_prefix("commits ")?.parse::<u64>().ok());
        assert!(
            !name.ends_with("Transaction") || name.starts_with('1') || commits.is_some_and(|commits| commits > 1000),
            "{name}: {transactions}"
        );
        assert_eq!(Some(frames(&found.outputs["alerts"])), alerts, "{name}");
        assert_eq!(found.outputs["out"].len(), packets.len(), "{name}");
    });
}

/// Protocols, flows, packets and bytes; what rates are depends on when packets are run.
fn protocols(found: &Found) -> Vec<String> {
    let table = found.calls[0].as_ref().unwrap();
    table.lines().map(|line| line.split(' ').take(4).collect::<Vec<_>>().join(" ")).collect()
}

/// All sorts of connections that are made are known, and counted alike however their packets are
/// run.
#[test]
fn protocols_of_connections_are_told() {
    let packets = timed(Services::new(5, 200).take(20_000));
    let mut tables = Vec::new();
    let reads: (&str, &[&str]) = ("in", &["protocols.table"]);
    play("classifier/classifier.click", &[], reads, &packets, |_, found| tables.push(protocols(&found)));
    assert!(tables.iter().all(|table| *table == tables[0]), "{tables:#?}");
    for protocol in ["http", "tls", "ssh", "smtp", "ftp", "pop3", "imap", "bittorrent", "redis", "unknown"] {
        assert!(tables[0].iter().any(|line| line.starts_with(&format!("{protocol} "))), "{protocol}: {:#?}", tables[0]);
    }
    play_by_flow("classifier/classifier.click", reads, &packets, |name, found| assert_eq!(protocols(&found), tables[0], "{name}"));
}
