//! Every application on several threads, under every placement and policy that takes it, on a small
//! capture: with the order of all packets the result is that of the interpreter on one thread, with
//! that of flows each flow gets what it gets there.

use super::{apps, folder, remove};
use netil::app::Application;
use netvm::application::{Cuts, Placement, Policies, Policy};
use netvm::engines;
use netvm::io::Timestamp;
use netvm::io::between::Between;
use netvm::io::synth::{self, dhcp::Hosts, messages::Messages, services::Services};
use netvm::scripts::scenarios::run::{self, Found, Job, Packets};
use netvm::scripts::scenarios::{Call, Config};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// What of a run must be the same where flows are in their order.
#[derive(Clone, Copy, PartialEq)]
pub enum ByFlow {
    /// The packets that leave, device by device, however flows are mixed.
    Packets,
    /// How many leave; which ports or outputs they get depends on others.
    Count,
    /// Nothing is said: what a flow gets depends on other flows.
    Free,
}

/// An application, its devices, and handlers whose numbers must be the same with the order of all
/// packets.
pub struct App {
    pub config: &'static str,
    pub devices: &'static [&'static str],
    pub handlers: &'static [&'static str],
    pub by_flow: ByFlow,
}

pub const APPS: [App; 10] = [
    App { config: "count/count.click", devices: &["in"], handlers: &[], by_flow: ByFlow::Packets },
    App {
        config: "firewall/firewall.click",
        devices: &["inside", "outside"],
        handlers: &["known.admitted", "known.invalid"],
        by_flow: ByFlow::Packets,
    },
    App {
        config: "balancer/balancer.click",
        devices: &["front"],
        handlers: &["balancer.known", "balancer.counts"],
        by_flow: ByFlow::Packets,
    },
    App { config: "switch/switch.click", devices: &["eth0", "eth1", "eth2", "eth3"], handlers: &[], by_flow: ByFlow::Free },
    App { config: "nat/nat.click", devices: &["inside", "outside"], handlers: &["nat.created"], by_flow: ByFlow::Free },
    App { config: "nat/forward.click", devices: &["inside", "outside"], handlers: &[], by_flow: ByFlow::Count },
    App { config: "classifier/classifier.click", devices: &["in"], handlers: &["protocols.table"], by_flow: ByFlow::Packets },
    App { config: "intruder/intruder.click", devices: &["in"], handlers: &["fragments.messages"], by_flow: ByFlow::Packets },
    App { config: "dhcp/dhcp.click", devices: &["lan"], handlers: &["server.list"], by_flow: ByFlow::Count },
    // Forwards to known next hops: nothing is kept, so replicas come and go, and packets go to them
    // by any function.
    App { config: "router/forward.click", devices: &["in"], handlers: &[], by_flow: ByFlow::Packets },
];

fn timed(packets: impl Iterator<Item = (Timestamp, Vec<u8>)>) -> Packets {
    packets.map(|(time, frame)| (time.as_nanos() as u64, frame)).collect()
}

/// The traffic of a device.
pub fn traffic(config: &str, n: u64) -> Packets {
    match config.split('/').next() {
        Some("classifier") => timed(Services::new(7 + n, 40).take(1200)),
        Some("intruder") => timed(Messages::new(7 + n, 64).take(1200)),
        Some("dhcp") => timed(Hosts::new(7 + n, 30).take(300)),
        Some("router") => {
            let network = |first| Some((Ipv4Addr::new(first, 0, 0, 0), 8));
            timed(Between { ether: Some([2, 0, 0, 0, 0, 1]), src: network(10), dst: network(4), arp: false }.packets(7 + n).take(20_000))
        }
        _ => timed(synth::mixed_trace(7 + n, 700).into_iter()),
    }
}

fn frames(packets: &Packets) -> Vec<&[u8]> {
    let mut frames: Vec<&[u8]> = packets.iter().map(|(_, frame)| &frame[..]).collect();
    frames.sort_unstable();
    frames
}

/// By element its packets, traps and drops.
pub fn counts(found: &Found) -> Vec<String> {
    found.stats.nodes.iter().map(|(name, _, node)| format!("{name} {} {} {:?}", node.packets, node.traps, node.drops)).collect()
}

pub fn compare_flows(kind: ByFlow, found: &Found, wanted: &Found, name: &str) {
    for (device, packets) in &wanted.outputs {
        let sent = &found.outputs[device];
        match kind {
            ByFlow::Packets => {
                assert!(frames(sent) == frames(packets), "{name}: packets of {device} differ: {} and {}", sent.len(), packets.len())
            }
            ByFlow::Count => assert_eq!(sent.len(), packets.len(), "{name}: {device}"),
            ByFlow::Free => {}
        }
    }
}

#[test]
fn applications_give_the_same_under_every_placement_and_policy() {
    std::env::set_current_dir(apps().join("..")).unwrap();
    let (interp, jit) = (engines::find("interp").unwrap(), engines::find("jit").unwrap());
    // Linked elements where that takes little time.
    let engine =
        |config: &str| if ["count/count.click", "firewall/firewall.click", "switch/switch.click"].contains(&config) { jit } else { interp };
    for App { config, devices, handlers, by_flow } in APPS {
        let read = |handler: &&str| Call { line: 0, write: false, handler: (*handler).to_owned(), value: String::new(), error: None };
        let calls: Vec<Call> = handlers.iter().map(read).collect();
        let inputs: BTreeMap<String, Packets> = devices.iter().zip(0..).map(|(name, n)| ((*name).to_owned(), traffic(config, n))).collect();
        let job = Job {
            config: &Config::File(apps().join(config)),
            parameters: &BTreeMap::new(),
            elements: &[],
            files: &BTreeMap::new(),
            inputs,
            captures: Vec::new(),
            texts: Vec::new(),
            calls: &calls,
        };
        let at = folder("placed");
        let wanted = run::run(&job, interp, engines::Settings::default(), &at).unwrap_or_else(|error| panic!("{config}: {error}"));
        remove(&at);
        assert!(wanted.stats.arrivals >= 300, "{config}");
        for (replicas, policies) in [(2, vec![]), (5, vec![]), (3, vec![(None, Policy::Replicate)])] {
            let (name, at) = (format!("{config}, {replicas} replicas, {policies:?}"), folder("placed"));
            let place = |app: &Application| Placement::total(app, &[], &Policies(policies));
            let found = run::run_on(&job, engine(config), engines::Settings::default(), &at, replicas, place);
            let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
            remove(&at);
            assert!(found.outputs == wanted.outputs, "{name}: packets differ");
            assert_eq!(counts(&found), counts(&wanted), "{name}");
            assert_eq!(found.calls, wanted.calls, "{name}");
        }
        for cuts in [Cuts::Queues, Cuts::Threads(5)] {
            let (name, at) = (format!("{config}, {cuts:?}"), folder("placed"));
            let place = |app: &Application| Placement::new(app, &[])?.cut_by(app, &cuts);
            let found = run::run_on(&job, engine(config), engines::Settings::default(), &at, 2, place);
            let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
            remove(&at);
            assert!(found.outputs == wanted.outputs, "{name}: packets differ");
            assert_eq!(counts(&found), counts(&wanted), "{name}");
            assert_eq!(found.calls, wanted.calls, "{name}");
        }
        for (replicas, policy) in [(2, Policy::Auto), (3, Policy::Transaction), (2, Policy::Copies)] {
            let (name, at) = (format!("{config}, order of flows, {replicas} replicas, {policy:?}"), folder("placed"));
            let place = |app: &Application| Placement::by_flow(app, &[], &Policies(vec![(None, policy)]));
            let found = run::run_on(&job, engine(config), engines::Settings::default(), &at, replicas, place);
            remove(&at);
            match found {
                Ok(found) => {
                    compare_flows(by_flow, &found, &wanted, &name);
                    // What replicas have parts of by flow is the same together.
                    if ["firewall/firewall.click", "balancer/balancer.click"].contains(&config) {
                        assert_eq!(found.calls, wanted.calls, "{name}");
                    }
                }
                // What cannot be each replica's is told.
                Err(error) => assert!(error.to_string().contains('`'), "{name}: {error}"),
            }
        }
    }
}
