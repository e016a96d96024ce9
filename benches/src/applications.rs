//! Applications on packets in memory: netvm's engines, the same elements compiled by a C compiler
//! (`netvm compile --emit standalone`), and C written by hand in bursts.
//!
//! All sides get the same packets, copied into their buffers, and must send the same ones: order
//! and bytes are compared port by port before anything is timed. A time is the processor's, of a
//! run without its first pass over the trace, in which tables fill and memory is first touched;
//! sides take turns. That pass has a time of its own: on all sides tables have room for as many
//! entries, and no page of them was touched before.

pub mod bmv2;
pub mod cores;
mod detours;
pub mod gains;
pub mod moves;
mod p4;
mod papers;
mod sides;
pub mod sizes;
pub mod swaps;
pub mod whole;

use crate::captures::{FLOWS, ROUTES, RULES, STATIONS};
use crate::hand::Hand;
use crate::traffic::varied::{self, Mix};
use crate::traffic::{self, PORTS, Packet, connections, six};
use serde::Serialize;
use sides::{Case, Side};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// What was measured of one application.
#[derive(Serialize)]
pub struct Row {
    /// Which.
    pub application: &'static str,
    /// Routes, flows, stations or rules.
    pub entries: usize,
    /// Packets in the trace.
    pub packets: usize,
    /// The sides.
    pub sides: Vec<Timing>,
}

/// One side.
#[derive(Serialize)]
pub struct Timing {
    /// Which.
    pub side: &'static str,
    /// Per packet; none if it is not there or wrong.
    pub median_ns: Option<f64>,
    /// Per packet of the first pass, in which tables fill and memory is first touched: new state.
    pub first_ns: Option<f64>,
    /// How much of the hand-written one's time.
    pub ratio: Option<f64>,
    /// Why there is no time.
    pub wrong: Option<String>,
}

/// Packets that are timed in a round, about: of sides that take bursts, and of others.
const TIMED: [usize; 2] = [2_000_000, 100_000];
/// And passes at least, of sides that take bursts: what the first pass takes is taken off, and must
/// not outweigh the rest.
const PASSES: usize = 8;
/// From one packet to the next, in nanoseconds.
const INTERVAL: u64 = 1000;

/// A side, and how it differs from the first.
type Judged<'s> = (&'s Side, Option<String>);
/// What a packet takes, and one of the first pass.
type Medians = (Option<f64>, Option<f64>);

/// What is measured: a name, what makes it with so many entries, and these numbers.
type Measured<'a, C> = (&'a str, fn(usize) -> C, &'a [usize]);

/// Those with these names, or everything if there are none; what cannot be run is left out, and
/// told.
pub fn measure(rounds: usize, only: &[String]) -> Vec<Row> {
    let makers: [Measured<'_, Case>; 31] = [
        ("router", router, &ROUTES),
        ("router-zipf", |entries| mixed("router, Zipf", router(entries), Mix::Zipf), &ROUTES[1..2]),
        ("router-trains", |entries| mixed("router, trains", router(entries), Mix::Trains), &ROUTES[1..2]),
        ("router-odd", |entries| mixed("router, odd packets", router(entries), Mix::Odd), &ROUTES[1..2]),
        ("router-tee", detours::tee, &ROUTES[..1]),
        ("router-queue", detours::queue, &ROUTES[..1]),
        ("router-script", detours::script, &ROUTES[..1]),
        ("full-router", |entries| full_router("full router", entries, PORTS), &ROUTES[1..2]),
        ("full-router16", |entries| full_router("full router of 16 ports", entries, 16), &ROUTES[1..2]),
        ("router6", router6, &ROUTES[1..2]),
        ("nat", nat, &FLOWS),
        ("nat-zipf", |entries| mixed("nat, Zipf", nat(entries), Mix::Zipf), &FLOWS[1..2]),
        ("nat-trains", |entries| mixed("nat, trains", nat(entries), Mix::Trains), &FLOWS[1..2]),
        ("nat-odd", |entries| mixed("nat, odd packets", nat(entries), Mix::Odd), &FLOWS[1..2]),
        ("full-nat", full_nat, &FLOWS),
        ("switch", switch, &STATIONS),
        ("switch-zipf", |entries| mixed("switch, Zipf", switch(entries), Mix::Zipf), &STATIONS[1..2]),
        ("switch-trains", |entries| mixed("switch, trains", switch(entries), Mix::Trains), &STATIONS[1..2]),
        ("switch-odd", |entries| mixed("switch, odd packets", switch(entries), Mix::Odd), &STATIONS[1..2]),
        ("floods", floods, &[1, 5, 20, 100]),
        ("firewall", firewall, &RULES),
        ("stateful", stateful, &FLOWS[..2]),
        ("count", count, &FLOWS[1..2]),
        ("balancer", balancer, &FLOWS[1..2]),
        ("classifier", classifier, &FLOWS[1..2]),
        ("p4-forward", p4::forward, &ROUTES[..2]),
        ("p4-forward-zipf", p4::forward_zipf, &ROUTES[..1]),
        ("p4-switch", p4::switch, &STATIONS[1..2]),
        ("p4-paper", p4::paper, &ROUTES[..1]),
        ("p4-acl", p4::acl, &[10_000]),
        ("p4-meters", p4::meters, &FLOWS[1..2]),
    ];
    rows(&makers, only, |case, entries| row(case, entries, rounds))
}

/// Measures applications on several threads, with so many replicas each.
pub fn measure_cores(rounds: usize, only: &[String], chosen: &cores::Chosen<'_>) -> Vec<cores::Row> {
    let makers: [Measured<'_, cores::Subject>; 18] = [
        ("p4-forward", |n| p4::forward(n).into(), &ROUTES[..1]),
        ("p4-paper", |n| p4::paper(n).into(), &ROUTES[..1]),
        ("p4-acl", |n| p4::acl(n).into(), &[10_000]),
        ("p4-meters", |n| p4::meters(n).into(), &FLOWS[..1]),
        ("router", |n| router(n).into(), &ROUTES[..2]),
        ("full-router", |n| full_router("full router", n, PORTS).into(), &ROUTES[1..2]),
        ("nat", |n| nat(n).into(), &[4096]),
        // All packets are of one flow, which only replicated state lets several cores have.
        ("nat-one", |n| nat(n).into(), &[1]),
        ("nat-few", |n| nat(n).into(), &[16]),
        ("switch", |n| switch(n).into(), &STATIONS[1..2]),
        ("firewall", |n| firewall(n).into(), &RULES[1..2]),
        ("stateful", |n| stateful(n).into(), &FLOWS[..1]),
        ("count", |n| count(n).into(), &FLOWS[..1]),
        ("balancer", |n| balancer(n).into(), &FLOWS[..1]),
        // Of the NetTM paper.
        ("classifier", papers::classifier, &[16, 4096]),
        ("intruder", papers::intruder, &[16, 4096]),
        ("dhcp", papers::dhcp, &[48, 20_000]),
        ("full-nat", |n| full_nat(n).into(), &[4096]),
    ];
    rows(&makers, only, |subject, entries| cores::row(subject, entries, rounds, chosen))
}

/// Threads moved and replicas changed while packets flow.
pub fn measure_moves() -> Vec<moves::Row> {
    let _cleared = sides::Cleared;
    let row = |case: Case| moves::row(case).inspect_err(|why| eprintln!("skipped: {why}")).ok();
    [router(1000)].into_iter().filter_map(row).collect()
}

/// Versions of the translator that take each other's place while packets flow.
pub fn measure_swaps(rounds: usize, sides: &[String]) -> Vec<swaps::Row> {
    let _cleared = sides::Cleared;
    let rows = |flows: &usize| {
        swaps::rows(*flows, (rounds, sides), || nat(*flows)).inspect_err(|why| eprintln!("skipped: {why}")).unwrap_or_default()
    };
    [4096, FLOWS[1]].iter().flat_map(rows).collect()
}

/// The rows of those applications that are chosen.
fn rows<C, T>(makers: &[Measured<'_, C>], only: &[String], row: impl Fn(C, usize) -> Result<T, String>) -> Vec<T> {
    let chosen = makers.iter().filter(|(name, ..)| only.is_empty() || only.iter().any(|chosen| chosen == name));
    let all = chosen.flat_map(|(_, make, sizes)| sizes.iter().map(move |entries| (make, *entries)));
    let _cleared = sides::Cleared;
    all.filter_map(|(make, entries)| row(make(entries), entries).inspect_err(|why| eprintln!("skipped: {why}")).ok()).collect()
}

fn row(case: Case, entries: usize, rounds: usize) -> Result<Row, String> {
    let (application, packets) = (case.application, case.packets.len());
    // Where ports get different numbers of packets, sides begin their second passes in different
    // orders.
    let alike = (0..case.inputs.len())
        .map(|port| case.packets.iter().filter(|packet| packet.port as usize == port).count())
        .all(|n| n == 0 || n * case.inputs.len() == packets);
    let mut sides = case.sides()?;
    let wrong = compare(&mut sides, if alike && packets <= 1 << 17 { 2 } else { 1 });
    let (mut times, mut firsts) = (vec![Vec::new(); sides.len()], vec![Vec::new(); sides.len()]);
    for round in 0..rounds {
        let measured = sides.iter_mut().zip(times.iter_mut().zip(&mut firsts)).zip(&wrong);
        for ((side, (times, firsts)), _) in measured.filter(|(_, wrong)| wrong.is_none()) {
            let bursts = side.takes_bursts();
            let passes = (TIMED[usize::from(!bursts)] / packets).max(if bursts { PASSES } else { 1 });
            // Slow sides are not run over long traces again and again.
            if round == 0 || packets <= TIMED[0] / 10 || bursts {
                let (ns, first) = side.ns(passes as u64)?;
                times.push(ns);
                firsts.extend(first);
            }
        }
    }
    let medians: Vec<Option<f64>> = times.iter_mut().map(|times| median(times)).collect();
    let by_hand = sides.iter().position(|side| side.name() == sides::BY_HAND).and_then(|at| medians[at]);
    let firsts: Vec<Option<f64>> = firsts.iter_mut().map(|times| median(times)).collect();
    let timing = |((side, wrong), (median_ns, first_ns)): (Judged<'_>, Medians)| Timing {
        side: side.name(),
        median_ns,
        first_ns,
        ratio: median_ns.zip(by_hand).map(|(ns, hand)| ns / hand),
        wrong,
    };
    let sides: Vec<Timing> = sides.iter().zip(wrong).zip(medians.into_iter().zip(firsts)).map(timing).collect();
    let told: String = sides.iter().map(|t| format!("  {} {:.1}", t.side, t.median_ns.unwrap_or(f64::NAN))).collect();
    eprintln!("{application} {entries}{told}");
    Ok(Row { application, entries, packets, sides })
}

fn median(times: &mut [f64]) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

/// For each side, how it differs from the first, or why it has no outputs.
fn compare(sides: &mut [Side], passes: u64) -> Vec<Option<String>> {
    let mut first: Option<Vec<Vec<u8>>> = None;
    let mut judge = |side: &mut Side| match (side.outputs(passes), &first) {
        (Err(error), _) => Some(error),
        (Ok(outputs), None) => {
            first = Some(outputs);
            None
        }
        (Ok(outputs), Some(first)) => difference(first, &outputs),
    };
    sides.iter_mut().map(|side| judge(side).inspect(|wrong| eprintln!("{}: {wrong}", side.name()))).collect()
}

fn difference(wanted: &[Vec<u8>], found: &[Vec<u8>]) -> Option<String> {
    let length = |bytes: &[u8]| bytes.len() / traffic::LENGTH;
    let (port, (wanted, found)) = wanted.iter().zip(found).enumerate().find(|(_, (wanted, found))| wanted != found)?;
    let at = wanted.chunks(traffic::LENGTH).zip(found.chunks(traffic::LENGTH)).take_while(|(wanted, found)| wanted == found).count();
    Some(format!("port {port} sends {} packets and not {}, the first other one is number {at}", length(found), length(wanted)))
}

/// Devices of so many ports.
fn devices(word: &str, ports: u32) -> Vec<String> {
    (0..ports).map(|port| format!("{word}{port}")).collect()
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn of_file(application: &'static str, file: &str, elements: &str, packets: Vec<Packet>) -> Case {
    Case {
        application,
        file: in_repository(file),
        elements: vec![in_repository(elements)],
        parameters: BTreeMap::new(),
        inputs: devices("in", PORTS),
        outputs: devices("out", PORTS),
        packets,
        length: traffic::LENGTH,
        interval: INTERVAL,
        hand: None,
    }
}

/// A file of routes; if it cannot be written, whoever reads it says so.
fn route_file(text: String) -> String {
    let file = sides::scratch().join("routes.txt");
    let _ = std::fs::write(&file, text);
    file.display().to_string()
}

/// The Ethernet addresses of next hops and of the router's ports are those of the configuration.
fn router(entries: usize) -> Case {
    let routes = traffic::routes(entries);
    let mut case = of_file("router", "apps/router/forward.click", "apps/router/elements", traffic::routed(&routes, None));
    case.parameters.insert("ROUTES".to_owned(), route_file(traffic::routes_text(&routes, PORTS, 0)));
    (case.inputs, case.outputs) = (vec!["in".to_owned()], devices("eth", PORTS));
    case.hand = Some([(); 2].map(|()| router_by_hand(&routes)));
    case
}

/// The router by hand.
pub fn router_by_hand(routes: &[traffic::Route]) -> Hand {
    let own = |hop: u32| [2, 0, 0, 8, 0, (hop % PORTS) as u8];
    let macs = |hop: u32| [traffic::neighbour(hop, PORTS), own(hop)].concat().try_into().unwrap_or_default();
    Hand::router(routes, &macs)
}

/// An application on packets in another mix.
fn mixed(application: &'static str, case: Case, mix: Mix) -> Case {
    Case { application, packets: varied::mixed(&case.packets, mix), ..case }
}

/// With ARP, options, errors, fragments, on packets that arrive at all ports; next hops have told
/// their addresses before.
fn full_router(application: &'static str, entries: usize, ports: u32) -> Case {
    let routes = traffic::routes(entries);
    let packets = [traffic::answers(ports), traffic::routed(&routes, Some(ports))].concat();
    let file = if ports == PORTS { "apps/router/router.click".to_owned() } else { format!("apps/router/router{ports}.click") };
    let mut case = of_file(application, &file, "apps/router/elements", packets);
    case.parameters.insert("ROUTES".to_owned(), format!("FILE {}", route_file(traffic::routes_text(&routes, ports, 1))));
    for port in 0..ports {
        case.parameters.insert(format!("NET{port}"), format!("10.255.{port}.254/24"));
        case.parameters.insert(format!("MAC{port}"), "02:00:00:00:00:01".to_owned());
    }
    (case.inputs, case.outputs) = (devices("eth", ports), devices("eth", ports));
    case
}

/// Next hops and their Ethernet addresses are told as parameters, in the same order.
fn router6(entries: usize) -> Case {
    let routes = six::routes(entries);
    let mut case = of_file("IPv6 router", "apps/router/router6.click", "apps/router/elements", six::routed(&routes, PORTS));
    case.parameters.insert("ROUTES".to_owned(), format!("FILE {}", route_file(six::routes_text(&routes, PORTS, 1))));
    let ether = |hop| traffic::neighbour(hop, PORTS).map(|byte| format!("{byte:02x}")).join(":");
    for port in 0..PORTS {
        let listed = |word: &dyn Fn(u32) -> String| (port..traffic::HOPS).step_by(PORTS as usize).map(word).collect::<Vec<_>>().join(" ");
        case.parameters.insert(format!("MAC{port}"), "02:00:00:00:00:01".to_owned());
        case.parameters.insert(format!("HOPS{port}"), listed(&|hop| six::gateway(hop, PORTS).to_string()));
        case.parameters.insert(format!("ETHERS{port}"), listed(&ether));
    }
    (case.inputs, case.outputs) = (devices("eth", PORTS), devices("eth", PORTS));
    case
}

/// Mappings live longer than a run.
const LIFETIME: u64 = 300_000_000_000;

/// The forward path.
fn nat(entries: usize) -> Case {
    let mut case = translator("nat", "apps/nat/forward.click", entries);
    let of_device = |name: &str, device: &str| (name.to_owned(), device.to_owned());
    let devices =
        [of_device("INSIDE", "in0"), of_device("OUTSIDE", "in1"), of_device("TO_INSIDE", "out0"), of_device("TO_OUTSIDE", "out1")];
    case.parameters.extend(devices);
    case.parameters.insert("CAPACITY".to_owned(), mappings(entries).to_string());
    case.hand = Some([(); 2].map(|()| nat_by_hand(entries)));
    case
}

/// For how many mappings a translator has room, netvm's and that by hand.
fn mappings(entries: usize) -> usize {
    entries.max(65_536)
}

/// The translator by hand.
pub fn nat_by_hand(entries: usize) -> Hand {
    let (externals, first) = (traffic::externals(entries), 0xc633_6400);
    let headers = [0, 1].map(|port| [2, 0, 0, 9, 0, port, 2, 0, 0, 8, 0, port]);
    Hand::nat(mappings(entries), LIFETIME, first, externals, &headers)
}

/// With fragments, ICMP, hairpinning, and TCP connections followed.
fn full_nat(entries: usize) -> Case {
    translator("full NAT", "benches/clicks/nat.click", entries)
}

fn translator(application: &'static str, file: &str, entries: usize) -> Case {
    let mut case = of_file(application, file, "apps/nat/elements", traffic::translated(entries));
    case.parameters.insert("EXTERNAL".to_owned(), format!("198.51.100.0/{}", 32 - traffic::externals(entries).trailing_zeros()));
    (case.inputs, case.outputs) = (devices("in", 2), devices("out", 2));
    case
}

fn switch(entries: usize) -> Case {
    let mut case = of_file("switch", "apps/switch/switch.click", "elements", traffic::switched(entries));
    case.parameters.insert("STATIONS".to_owned(), entries.max(8192).to_string());
    (case.inputs, case.outputs) = (devices("eth", PORTS), devices("eth", PORTS));
    case.hand = Some([(); 2].map(|()| Hand::switch(entries.max(8192), LIFETIME)));
    case
}

/// Stations of a switch that floods.
const FLOODING: usize = 4096;

/// Of every hundred frames so many are for stations that nobody knows: they leave by all ports but
/// the one that they came by.
fn floods(percent: usize) -> Case {
    let mut case = of_file("switch, % flooded", "apps/switch/switch.click", "elements", traffic::flooded(FLOODING, percent as u64));
    case.parameters.insert("STATIONS".to_owned(), (2 * FLOODING).to_string());
    (case.inputs, case.outputs) = (devices("eth", PORTS), devices("eth", PORTS));
    case.hand = Some([(); 2].map(|()| Hand::switch(2 * FLOODING, LIFETIME)));
    case
}

fn firewall(entries: usize) -> Case {
    let rules = traffic::rules(entries);
    let mut case = of_file("firewall", "benches/clicks/firewall.click", "elements", traffic::filtered(&rules));
    case.parameters.insert("RULES".to_owned(), traffic::rules_text(&rules));
    (case.inputs, case.outputs) = (devices("in", 1), devices("out", 1));
    case
}

/// Connections that are known, both ways; few packets begin one.
fn stateful(entries: usize) -> Case {
    let mut case = of_file("stateful firewall", "apps/firewall/firewall.click", "apps/firewall/elements", connections::connected(entries));
    (case.inputs, case.outputs) = (vec!["inside".to_owned(), "outside".to_owned()], vec!["outside".to_owned(), "inside".to_owned()]);
    case
}

fn count(entries: usize) -> Case {
    let mut case = of_file("count", "benches/clicks/count.click", "apps/count/elements", traffic::translated(entries));
    (case.inputs, case.outputs) = (vec!["in".to_owned()], vec!["out".to_owned()]);
    case
}

/// To the address of the configuration.
fn balancer(entries: usize) -> Case {
    let packets = traffic::served(entries, Ipv4Addr::new(192, 0, 2, 80));
    let mut case = of_file("balancer", "apps/balancer/balancer.click", "apps/balancer/elements", packets);
    (case.inputs, case.outputs) = (vec!["front".to_owned()], vec!["back".to_owned()]);
    case
}

/// Flows of which nothing is known beforehand: what is looked for in the first segments, and
/// followed in later ones.
fn classifier(entries: usize) -> Case {
    let mut case = of_file("classifier", "apps/classifier/classifier.click", "apps/classifier/elements", traffic::translated(entries));
    (case.inputs, case.outputs) = (vec!["in".to_owned()], vec!["out".to_owned()]);
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told() {
        let packets = |bytes: &[u8]| bytes.iter().flat_map(|byte| [*byte; traffic::LENGTH]).collect::<Vec<u8>>();
        let wanted = [packets(&[1, 2, 3]), packets(&[])];
        assert_eq!(difference(&wanted, &wanted), None);
        let told = difference(&wanted, &[packets(&[1, 3, 2]), packets(&[])]).unwrap();
        assert_eq!(told, "port 0 sends 3 packets and not 3, the first other one is number 1");
        assert!(difference(&wanted, &[packets(&[1, 2, 3]), packets(&[4])]).unwrap().starts_with("port 1 sends 1 packets and not 0"));
    }

    /// One after the other: they write the same files.
    #[test]
    fn sides_send_the_same_and_all_that_is_measured_gets_through() {
        let _cleared = sides::Cleared;
        /// Makes it, with so many entries; sides that there are.
        type Told = (fn(usize) -> Case, usize, usize);
        let makers: [Told; 15] = [
            (router, 1000, 4),
            (switch, 8, 4),
            (router6, 1000, 3),
            (stateful, 1000, 3),
            (classifier, 1000, 3),
            (p4::forward, 1000, 4),
            (p4::switch, 64, 4),
            (p4::forward_zipf, 1000, 4),
            (p4::paper, 1000, 3),
            (p4::acl, 1000, 3),
            (p4::meters, 1000, 3),
            (floods, 20, 4),
            (detours::tee, 1000, 4),
            (detours::queue, 1000, 4),
            (detours::script, 1000, 4),
        ];
        for (nth, (make, entries, there)) in makers.into_iter().enumerate() {
            let case = make(entries);
            let packets = case.packets.len();
            let mut sides = case.sides().unwrap();
            sides.retain(|side| side.name() != sides::NATIVE);
            let wrong = compare(&mut sides, 1);
            assert!(sides.len() == there && wrong.iter().all(Option::is_none), "{nth}: {wrong:?}");
            let sent: usize = sides[0].outputs(1).unwrap().iter().map(|bytes| bytes.len() / traffic::LENGTH).sum();
            // A switch does not send frames back, and floods some.
            assert!(matches!(nth, 1 | 6 | 11) && sent > packets / 2 || sent == packets, "{nth}: {sent} of {packets}");
            assert!(nth != 11 || sent > packets, "flooded frames are copied: {sent} of {packets}");
        }
    }
}
