//! Every application on several threads, under every placement and policy that takes it, on a small
//! capture: with the order of all packets the result is that of the interpreter on one thread, with
//! that of flows each flow gets what it gets there. Where a policy is refused, and for which
//! element, is written down.

use super::{apps, chaos, folder, remove};
use netil::app::Application;
use netvm::application::{Cuts, Order, Placement, PlacementError, Policies, Policy, Stage};
use netvm::engines::{self, EngineInfo};
use netvm::io::Timestamp;
use netvm::io::between::Between;
use netvm::io::synth::{self, dhcp::Hosts, messages::Messages, services::Services};
use netvm::scripts::scenarios::run::{self, Found, Job, Packets};
use netvm::scripts::scenarios::{Call, Config, Scenario, ScenarioError};
use std::collections::{BTreeMap, BTreeSet};
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
    /// The elements for which `affinity` and `shard` are refused with the order of flows, and with
    /// that of all packets; empty where they are taken. No other policy is refused.
    pub refused: [&'static str; 4],
}

pub const APPS: [App; 11] = [
    App { config: "count/count.click", devices: &["in"], handlers: &[], by_flow: ByFlow::Packets, refused: ["all"; 4] },
    App {
        config: "firewall/firewall.click",
        devices: &["inside", "outside"],
        handlers: &["known.admitted", "known.invalid"],
        by_flow: ByFlow::Packets,
        refused: ["", "known", "", "known"],
    },
    App {
        config: "balancer/balancer.click",
        devices: &["front"],
        handlers: &["balancer.known", "balancer.counts"],
        by_flow: ByFlow::Packets,
        refused: ["", "balancer", "", "balancer"],
    },
    App {
        config: "switch/switch.click",
        devices: &["eth0", "eth1", "eth2", "eth3"],
        handlers: &[],
        by_flow: ByFlow::Free,
        refused: ["switch"; 4],
    },
    App {
        config: "switch/switch8.click",
        devices: &["eth0", "eth1", "eth2", "eth3", "eth4", "eth5", "eth6", "eth7"],
        handlers: &[],
        by_flow: ByFlow::Free,
        refused: ["switch"; 4],
    },
    App {
        config: "nat/nat.click",
        devices: &["inside", "outside"],
        handlers: &["nat.created"],
        by_flow: ByFlow::Free,
        refused: ["stats", "nat", "nat", "nat"],
    },
    App {
        config: "nat/forward.click",
        devices: &["inside", "outside"],
        handlers: &[],
        by_flow: ByFlow::Count,
        refused: ["", "nat", "nat", "nat"],
    },
    App {
        config: "classifier/classifier.click",
        devices: &["in"],
        handlers: &["protocols.table"],
        by_flow: ByFlow::Packets,
        refused: ["protocols", "apps", "protocols", "apps"],
    },
    App {
        config: "intruder/intruder.click",
        devices: &["in"],
        handlers: &["fragments.messages"],
        by_flow: ByFlow::Packets,
        refused: ["fragments"; 4],
    },
    App { config: "dhcp/dhcp.click", devices: &["lan"], handlers: &["server.list"], by_flow: ByFlow::Count, refused: ["arp"; 4] },
    // Forwards to known next hops: nothing is kept, so replicas come and go, and packets go to them
    // by any function.
    App { config: "router/forward.click", devices: &["in"], handlers: &[], by_flow: ByFlow::Packets, refused: [""; 4] },
];

/// Routers whose traffic is that of their scenarios: neighbours must answer them.
const ROUTERS: [&str; 2] = ["router/router.click", "router/router6.click"];

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

/// An application with what comes in.
struct Case {
    app: App,
    config: Config,
    calls: Vec<Call>,
    inputs: BTreeMap<String, Packets>,
    parameters: BTreeMap<String, String>,
    files: BTreeMap<String, Vec<u8>>,
}

/// By order and policy that were taken: how replicas then share the states in common.
type Taken = BTreeMap<String, BTreeSet<String>>;

impl Case {
    fn new(app: App, inputs: BTreeMap<String, Packets>, parameters: BTreeMap<String, String>) -> Self {
        let read = |handler: &&str| Call { line: 0, write: false, handler: (*handler).to_owned(), value: String::new(), error: None };
        let (config, calls) = (Config::File(apps().join(app.config)), app.handlers.iter().map(read).collect());
        Self { app, config, calls, inputs, parameters, files: BTreeMap::new() }
    }

    /// With the traffic that is made for it.
    fn usual(app: App) -> Self {
        let inputs = app.devices.iter().zip(0..).map(|(name, n)| ((*name).to_owned(), traffic(app.config, n))).collect();
        Self::new(app, inputs, BTreeMap::new())
    }

    /// With packets of its scenarios, and their parameters.
    fn of_scenarios(app: App) -> Self {
        let (file, all) = (apps().join(app.config), super::scenarios(app.config.split('/').next().unwrap()));
        let its = |scenario: &&Scenario| scenario.file() == Some(file.as_path());
        let own: Vec<&Scenario> = all.iter().map(|(_, scenario)| scenario).filter(its).collect();
        let devices: Vec<String> = app.devices.iter().map(|name| (*name).to_owned()).collect();
        Self::new(
            app,
            chaos::packets(&own, &devices, 1500, 7, false),
            own.first().map(|scenario| scenario.parameters.clone()).unwrap_or_default(),
        )
    }

    fn job(&self) -> Job<'_> {
        Job {
            config: &self.config,
            parameters: &self.parameters,
            elements: &[],
            files: &self.files,
            inputs: self.inputs.clone(),
            captures: Vec::new(),
            texts: Vec::new(),
            calls: &self.calls,
        }
    }

    fn one_thread(&self) -> Found {
        let (interp, at) = (engines::find("interp").unwrap(), folder("placed"));
        let found = run::run(&self.job(), interp, engines::Settings::default(), &at);
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", self.app.config));
        remove(&at);
        assert!(found.stats.arrivals >= 300, "{}", self.app.config);
        found
    }

    /// Linked elements where that takes little time.
    fn engine(&self) -> &'static EngineInfo {
        let quick = ["count/count.click", "firewall/firewall.click", "switch/switch.click"].contains(&self.app.config);
        engines::find(if quick { "jit" } else { "interp" }).unwrap()
    }

    fn run_on(
        &self,
        replicas: usize,
        place: impl FnOnce(&Application) -> Result<Placement, PlacementError>,
    ) -> Result<Found, ScenarioError> {
        let at = folder("placed");
        let found = run::run_on(&self.job(), self.engine(), engines::Settings::default(), &at, replicas, place);
        remove(&at);
        found
    }

    /// The order of all packets: replicas, with copies of the state of all packets, too.
    fn holds_in_replicas(&self, wanted: &Found) {
        for (replicas, policies) in [(2, vec![]), (5, vec![]), (3, vec![(None, Policy::Replicate)])] {
            let (name, policies) = (format!("{}, {replicas} replicas, {policies:?}", self.app.config), Policies(policies));
            let found = self.run_on(replicas, |app| Placement::total(app, &[], &policies));
            assert_all_same(&found.unwrap_or_else(|error| panic!("{name}: {error}")), wanted, &name);
        }
    }

    /// The order of all packets: several stages in order.
    fn holds_in_stages(&self, wanted: &Found) {
        for cuts in [Cuts::Queues, Cuts::Threads(5)] {
            let name = format!("{}, {cuts:?}", self.app.config);
            let found = self.run_on(2, |app| Placement::new(app, &[])?.cut_by(app, &cuts));
            assert_all_same(&found.unwrap_or_else(|error| panic!("{name}: {error}")), wanted, &name);
        }
    }

    /// The element for which a policy is refused; empty if it is taken.
    fn refused(&self, order: Order, policy: Policy) -> &'static str {
        match (order, policy) {
            (Order::Flow, Policy::Affinity) => self.app.refused[0],
            (Order::Flow, Policy::Shard) => self.app.refused[1],
            (Order::Total, Policy::Affinity) => self.app.refused[2],
            (Order::Total, Policy::Shard) => self.app.refused[3],
            _ => "",
        }
    }

    /// One policy for all elements: it is refused for the element that is written down, or the
    /// result is right.
    fn holds_with(&self, wanted: &Found, order: Order, (replicas, policy): (usize, Policy), taken: &mut Taken) {
        let kind = format!("{order:?} {}", policy.word());
        let name = format!("{}, {kind}, {replicas} replicas", self.app.config);
        let found = self.run_on(replicas, |app| {
            let policies = Policies(vec![(None, policy)]);
            let placement = match order {
                Order::Flow => Placement::by_flow(app, &[], &policies)?,
                Order::Total => Placement::total(app, &[], &policies)?,
            };
            let ways = placement.of(Stage::Shared).map(|at| placement.policy_shown(at));
            taken.entry(kind).or_default().extend(ways);
            Ok(placement)
        });
        match (found, self.refused(order, policy)) {
            (Ok(found), "") if order == Order::Flow => self.assert_flows_same(&found, wanted, &name),
            (Ok(found), "") => assert_all_same(&found, wanted, &name),
            (Ok(_), element) => panic!("{name}: it is taken, and was refused for `{element}`"),
            (Err(why), "") => panic!("{name}: {why}"),
            (Err(why), element) => {
                assert!(why.to_string().starts_with(&format!("--state {}: `{element}` (", policy.word())), "{name}: {why}")
            }
        }
    }

    fn assert_flows_same(&self, found: &Found, wanted: &Found, name: &str) {
        compare_flows(self.app.by_flow, found, wanted, name);
        assert_eq!((found.stats.arrivals, traps(found)), (wanted.stats.arrivals, traps(wanted)), "{name}");
        // What replicas have parts of by flow is the same together.
        if ["firewall/firewall.click", "balancer/balancer.click"].contains(&self.app.config) {
            assert_eq!(found.calls, wanted.calls, "{name}");
        }
    }
}

fn assert_all_same(found: &Found, wanted: &Found, name: &str) {
    assert!(found.outputs == wanted.outputs, "{name}: packets differ");
    assert_eq!(counts(found), counts(wanted), "{name}");
    assert_eq!(found.calls, wanted.calls, "{name}");
}

fn traps(found: &Found) -> u64 {
    found.stats.nodes.iter().map(|(.., node)| node.traps).sum()
}

/// Each policy is taken by some application, and does there what it is for.
fn assert_policies_work(taken: &Taken) {
    let kinds: Vec<&str> = taken.keys().map(String::as_str).collect();
    let flow = ["Flow affinity", "Flow auto", "Flow copies", "Flow lock", "Flow shard", "Flow transaction"];
    assert_eq!(kinds, [&flow[..], &["Total affinity", "Total shard"]].concat());
    let has = |kind: &str, way: &str| taken[kind].iter().any(|its| its.starts_with(way));
    assert!(taken["Flow lock"].iter().all(|way| way == "a lock") && has("Flow lock", "a lock"), "{taken:#?}");
    assert!(has("Flow transaction", "transactions") && has("Flow copies", "read in copies"), "{taken:#?}");
    for alone in ["Flow affinity", "Flow shard"] {
        assert!(taken[alone].is_empty(), "{alone}: {:?}", taken[alone]);
    }
}

#[test]
fn applications_give_the_same_under_every_placement_and_policy() {
    std::env::set_current_dir(apps().join("..")).unwrap();
    let mut taken = Taken::new();
    for app in APPS {
        let case = Case::usual(app);
        let wanted = case.one_thread();
        case.holds_in_replicas(&wanted);
        case.holds_in_stages(&wanted);
        for way in [(2, Policy::Affinity), (3, Policy::Shard)] {
            case.holds_with(&wanted, Order::Total, way, &mut taken);
        }
        for policy in [Policy::Auto, Policy::Lock, Policy::Transaction, Policy::Copies, Policy::Affinity, Policy::Shard] {
            let replicas = if policy == Policy::Transaction { 3 } else { 2 };
            case.holds_with(&wanted, Order::Flow, (replicas, policy), &mut taken);
        }
    }
    assert_policies_work(&taken);
}

/// Replicas with the order of all packets are in the tests of damaged packets and of checksums.
#[test]
fn routers_give_the_same_in_several_stages_and_by_flow() {
    std::env::set_current_dir(apps().join("..")).unwrap();
    for config in ROUTERS {
        let devices = &["eth0", "eth1", "eth2", "eth3"];
        let case = Case::of_scenarios(App { config, devices, handlers: &[], by_flow: ByFlow::Free, refused: ["errors"; 4] });
        let wanted = case.one_thread();
        assert!(wanted.outputs.values().filter(|sent| !sent.is_empty()).count() >= 2, "{config}: next to nothing came through");
        case.holds_in_stages(&wanted);
        for way in [(2, Policy::Lock), (3, Policy::Transaction)] {
            case.holds_with(&wanted, Order::Flow, way, &mut Taken::new());
        }
    }
}
