//! The IXP1200: the IPv4 router of 16 ports in figure 6 of the NP-Click paper.
//!
//! The router is netvm's router of 16 ports with 1,000 routes that are made, as elements; each element reads the packet's descriptor in SRAM when a packet comes to it, as NP-Click's do. Beside it a version in the machine's
//! own terms ([`machine::router::by_hand`]).

use super::traffic::{self, Folder, Random};
use crate::commands::simulate::observed::Observed;
use crate::failure::{Failure, Outcome};
use machine::figure::Figure;
use machine::router::{Arbitration, Assignment, Ports, Setup, by_hand, search};
use machine::steps::{self, Access, Step, Work};
use machine::trace::Event;
use machine::{Machine, Trace, description};
use std::path::Path;

/// Sizes of the paper.
const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
const PACKETS: usize = 1024;
const ROUTES: u64 = 1000;
/// Cycles of a run at 200 MHz: 10 ms, and longer where frames are long and few.
const CYCLES: u64 = 2_000_000;
const LONG: u32 = 512;

pub(super) fn figures(_: &Path) -> Outcome<Vec<Figure>> {
    let machine = description::named("ixp1200").ok_or_else(|| Failure::failed("the machine ixp1200 is not there"))?;
    let Some(ports) = machine.ports else { return Err(Failure::failed("the machine ixp1200 has no ports")) };
    let program = elements(&machine)?;
    let hand = vec![by_hand(&machine)];
    let assignment = Assignment::split(&machine, &ports, 4);
    let mut figure = Figure {
        name: "ixp1200-router",
        title: "NP-Click, figure 6: IPv4 router of 16 ports of 100 Mb/s".to_owned(),
        unit: "Mb/s",
        columns: ["shared variable", "check-out", "partition", "by hand"].map(str::to_owned).to_vec(),
        rows: Vec::new(),
    };
    let mix: Vec<u32> = SIZES.to_vec();
    let rows = SIZES.iter().map(|size| (size.to_string(), vec![*size])).chain([("mix".to_owned(), mix)]);
    for (label, sizes) in rows {
        let rate = |work: &[Work], arbitration: &Arbitration| {
            let cycles = if sizes.iter().any(|size| *size > LONG) { 3 * CYCLES } else { CYCLES };
            let setup = Setup { machine: &machine, work, sizes: &sizes, assignment: &assignment, arbitration, cycles };
            rate_of(&setup, &ports)
        };
        let policy = |name: &str| machine.arbitration.get(name);
        let mut values: Vec<_> = ["shared", "check-out", "partition"].iter().map(|name| Some(rate(&program, policy(name)?))).collect();
        values.push(policy("partition").map(|partition| rate(&hand, partition)));
        figure.row(label, values);
    }
    Ok(vec![figure, shortest(&machine, &ports, &assignment, &program, &hand), packet(&machine, &program, &hand)])
}

/// What the shortest frames lose: the program with the instructions, or the accesses, of the one by hand, and without the descriptors that elements read.
fn shortest(machine: &Machine, ports: &Ports, assignment: &Assignment, program: &[Work], hand: &[Work]) -> Figure {
    let mut figure = Figure {
        name: "ixp1200-shortest",
        title: "Frames of 64 bytes, an entry for each port".to_owned(),
        unit: "Mb/s",
        columns: vec!["rate".to_owned()],
        rows: Vec::new(),
    };
    let (own, best) = (instructions(program), instructions(hand));
    let rows = [
        ("elements", program.to_vec()),
        ("without descriptors", program.iter().map(|work| without_descriptors(work, machine)).collect()),
        ("with the instructions of the one by hand", program.iter().map(|work| scaled(work, best / own)).collect()),
        ("with the accesses of the one by hand", hand.iter().map(|work| scaled(work, own / best)).collect()),
        ("by hand", hand.to_vec()),
    ];
    for (label, work) in rows {
        let rate = |arbitration| rate_of(&Setup { machine, work: &work, sizes: &[64], assignment, arbitration, cycles: CYCLES }, ports);
        figure.row(label, vec![machine.arbitration.get("partition").map(rate)]);
    }
    figure
}

/// Instructions and accesses of a packet.
fn packet(machine: &Machine, program: &[Work], hand: &[Work]) -> Figure {
    let memories = ["sdram", "sram", "scratch"];
    let mut figure = Figure {
        name: "ixp1200-packet",
        title: "A packet, without what threads do for cells".to_owned(),
        unit: "on average",
        columns: ["instructions", "sdram", "sram", "scratch"].map(str::to_owned).to_vec(),
        rows: Vec::new(),
    };
    for (label, work) in [("elements", program), ("by hand", hand)] {
        let of = |name: &str| {
            let number = machine.memory.keys().position(|known| known == name).unwrap_or(0) as u32;
            let asks = |step: &&Step| matches!(step, Step::Access(access) if access.memory == number);
            work.iter().flat_map(|work| &work.steps).filter(asks).count() as f64 / work.len() as f64
        };
        figure.row(label, [instructions(work)].into_iter().chain(memories.map(of)).map(Some).collect());
    }
    figure
}

/// Instructions of a packet, on average.
fn instructions(work: &[Work]) -> f64 {
    let one = |step: &Step| if let Step::Compute(count) = step { f64::from(*count) } else { 0.0 };
    work.iter().flat_map(|work| &work.steps).map(one).sum::<f64>() / work.len() as f64
}

/// With so many times the instructions.
fn scaled(work: &Work, by: f64) -> Work {
    let one = |step: &Step| match step {
        Step::Compute(count) => Step::Compute((f64::from(*count) * by).round() as u32),
        other => *other,
    };
    Work { steps: work.steps.iter().map(one).collect(), ..work.clone() }
}

/// Without the last accesses to SRAM, which are those that [`descriptors`] adds.
fn without_descriptors(work: &Work, machine: &Machine) -> Work {
    let memory = machine.memory.keys().position(|name| name == "sram").unwrap_or(0) as u32;
    let is_one = |step: &Step| matches!(step, Step::Access(Access { memory: of, write: false, units: 1, address: 0, shared: None }) if *of == memory);
    let kept = work.steps.iter().rposition(|step| !is_one(step)).map_or(0, |at| at + 1);
    Work { steps: work.steps[..kept].to_vec(), ..work.clone() }
}

/// Bits of frames in a second, in millions, that are sustained.
fn rate_of(setup: &Setup<'_>, ports: &Ports) -> f64 {
    let (load, _) = search(setup, ports);
    let bytes: f64 = setup.sizes.iter().map(|size| f64::from(*size)).sum();
    let wire: f64 = setup.sizes.iter().map(|size| f64::from(size + ports.gap)).sum();
    load * f64::from(ports.count * ports.mbits) * bytes / wire
}

/// What the router does for packets, in the machine's terms, without what threads do for cells.
fn elements(machine: &Machine) -> Outcome<Vec<Work>> {
    let folder = Folder::new()?;
    let capture = folder.capture("in.pcap", &packets())?;
    let text = folder.text("router.click", &configuration())?;
    let trace = Observed::given(text, vec![format!("in={}", capture.display())]).trace()?;
    let mut bare = machine.clone();
    for port in [&mut bare.receive, &mut bare.transmit] {
        port.instructions = 0.0;
        port.accesses.clear();
    }
    let mut work = steps::of(&trace, &bare);
    work.iter_mut().zip(elements_of(&trace)).for_each(|(work, count)| descriptors(work, count, machine));
    Ok(work)
}

/// How many elements a packet comes to.
fn elements_of(trace: &Trace) -> Vec<usize> {
    let count = |events: &[Event]| events.iter().filter(|event| matches!(event, Event::Begin(_))).count();
    trace.packets.iter().map(|packet| count(&packet.events)).collect()
}

fn descriptors(work: &mut Work, count: usize, machine: &Machine) {
    let memory = machine.memory.keys().position(|name| name == "sram").unwrap_or(0) as u32;
    let read = Step::Access(Access { memory, write: false, units: 1, address: 0, shared: None });
    work.steps.extend(std::iter::repeat_n(read, count));
}

fn routes() -> Vec<(u32, u32, u64)> {
    let mut random = Random::new(5);
    let mut all: Vec<(u32, u32, u64)> = (0..ROUTES)
        .map(|n| {
            let length = 12 + random.below(13) as u32;
            let prefix = (random.below(1 << 32) as u32) & (u32::MAX << (32 - length));
            (prefix, length, n % 16)
        })
        .collect();
    all.sort_unstable();
    all.dedup_by_key(|(prefix, length, _)| (*prefix, *length));
    all
}

fn configuration() -> String {
    let dotted = |a: u32| a.to_be_bytes().map(|byte| byte.to_string()).join(".");
    let routes: Vec<String> = routes().iter().map(|(prefix, length, port)| format!("{}/{length} {port}", dotted(*prefix))).collect();
    let outs: String = (0..16)
        .map(|n| {
            format!("r[{n}] -> ttl :: DecIPTTL -> e{n} :: EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:1:{n}) -> Discard;\n")
                .replace("ttl ::", &format!("t{n} ::"))
        })
        .collect();
    format!(
        "r :: RadixIPLookup({}, 0.0.0.0/0 0);\nFromDevice(in) -> Classifier(12/0800) -> Strip(14) -> CheckIPHeader -> r;\n{outs}",
        routes.join(", ")
    )
}

fn packets() -> traffic::Packets {
    let (mut random, routes) = (Random::new(3), routes());
    let one = |n: usize| {
        let (prefix, length, _) = routes[random.below(routes.len() as u64) as usize];
        let host = (random.below(1 << 32) as u32) & !(u32::MAX << (32 - length));
        let dst = (prefix | host).to_be_bytes();
        (n as u64 * 1000, traffic::ip([10, 0, 0, 1], dst, [1000, 2000], 17, &[0; 18]))
    };
    (0..PACKETS).map(one).collect()
}
