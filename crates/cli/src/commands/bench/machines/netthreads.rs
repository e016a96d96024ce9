//! NetThreads and NetTM: throughput of the schemes (figure 7), commit rates (section 6.2), accesses
//! in sections (table 2).
//!
//! The paper's programs are not public. NAT is netvm's; the others are programs of the same kind in
//! crates/machine/workloads, whose headers say what they leave out. Beside them are netvm's own
//! applications of these kinds (apps/), with the traffic of `netvm synth`: they do more for a
//! packet, and their sections are others.

use super::traffic::{self, Folder, Packets};
use crate::commands::simulate::observed::Observed;
use crate::failure::{Failure, Outcome};
use machine::conflicts::profile;
use machine::figure::Figure;
use machine::steps::{Access, Step, Work};
use machine::{Machine, Scheme, description, saturation, steps};
use std::path::Path;

const PACKETS: usize = 5000;
/// Words that no program has.
const OWN: u64 = 1 << 40;
/// Packets that have words of their own: more than the input holds.
const OWNERS: u64 = 16;
/// Packets before what is measured: tables fill.
const WARM: usize = 1000;

/// A program: the paper's name, its configuration, the device that packets come in by and what else
/// is mapped, its traffic, and the paper's numbers.
struct Program {
    name: &'static str,
    file: &'static str,
    device: &'static str,
    other: Option<&'static str>,
    traffic: fn(usize) -> Packets,
    /// Gains of affinity to a processor, to a thread, and of transactions, in percent; the commit
    /// rate. Of affinity the text tells the better one for two programs.
    paper: [Option<f64>; 4],
    /// Loads and stores in a section, on average and at most.
    accesses: [f64; 4],
    /// With locks it takes one of the packet's flow, as the paper says of Intruder2, not one of the
    /// element.
    flow_locks: bool,
}

const PROGRAMS: [Program; 7] = [
    Program {
        name: "NAT",
        file: "apps/nat/forward.click",
        device: "inside",
        other: Some("outside"),
        traffic: traffic::web,
        paper: [Some(2.0), None, Some(6.0), Some(67.0)],
        accesses: [114.0, 739.0, 42.0, 98.0],
        flow_locks: false,
    },
    Program {
        name: "Classifier",
        file: "crates/machine/workloads/classifier.click",
        device: "in",
        other: None,
        traffic: traffic::web,
        paper: [Some(20.0), None, Some(57.0), Some(78.0)],
        accesses: [2433.0, 67873.0, 64.0, 573.0],
        flow_locks: false,
    },
    Program {
        name: "Intruder2",
        file: "crates/machine/workloads/intruder.click",
        device: "in",
        other: None,
        traffic: traffic::messages,
        paper: [None, None, Some(-8.0), Some(97.0)],
        accesses: [95.0, 593.0, 16.0, 182.0],
        flow_locks: true,
    },
    Program {
        name: "UDHCP",
        file: "crates/machine/workloads/leases.click",
        device: "in",
        other: None,
        traffic: traffic::leases,
        paper: [None, None, Some(54.0), Some(79.0)],
        accesses: [61.0, 3504.0, 11.0, 36.0],
        flow_locks: false,
    },
    Program {
        name: "apps/classifier",
        file: "apps/classifier/classifier.click",
        device: "in",
        other: None,
        traffic: traffic::services,
        paper: [Some(20.0), None, Some(57.0), Some(78.0)],
        accesses: [2433.0, 67873.0, 64.0, 573.0],
        flow_locks: false,
    },
    Program {
        name: "apps/intruder",
        file: "apps/intruder/intruder.click",
        device: "in",
        other: None,
        traffic: traffic::fragments,
        paper: [None, None, Some(-8.0), Some(97.0)],
        accesses: [95.0, 593.0, 16.0, 182.0],
        flow_locks: false,
    },
    Program {
        name: "apps/dhcp",
        file: "apps/dhcp/dhcp.click",
        device: "lan",
        other: None,
        traffic: traffic::hosts,
        paper: [None, None, Some(54.0), Some(79.0)],
        accesses: [61.0, 3504.0, 11.0, 36.0],
        flow_locks: false,
    },
];

/// What one program does on the machine.
struct Measured {
    gains: [f64; 3],
    /// Of transactions, with sections as long as the paper's: of the program with locks of flows.
    longer: Option<f64>,
    commits: f64,
    accesses: [f64; 4],
    windows: Vec<f64>,
    /// Sections of a packet, instructions in one, and those of a packet.
    lengths: [f64; 3],
}

pub(super) fn figures(sources: &Path, seconds: f64) -> Outcome<Vec<Figure>> {
    let machine = description::named("netthreads").ok_or_else(|| Failure::failed("the machine netthreads is not there"))?;
    let folder = Folder::new()?;
    let mut gains = super::figure(
        "netthreads-throughput",
        "NetTM, figure 7: throughput against locks alone",
        "%",
        &["CPU affinity", "thread affinity", "transactions", "paper: affinity", "paper: transactions"],
    );
    let mut commits = super::figure("netthreads-commits", "NetTM, section 6.2: transactions that commit at once", "%", &["ours", "paper"]);
    let mut accesses = super::figure(
        "netthreads-accesses",
        "NetTM, table 2: accesses in a critical section",
        "words",
        &["loads", "paper", "most", "paper ", "stores", "paper  ", "most ", "paper   "],
    );
    let mut conflicts =
        super::figure("netthreads-conflicts", "NetTM, figure 1: packets that conflict, by window", "% of pairs", &["2", "4", "8", "16"]);
    let mut sections = super::figure(
        "netthreads-sections",
        "Critical sections",
        "on average",
        &["of a packet", "instructions in one", "instructions of a packet", "% of them in sections"],
    );
    for program in &PROGRAMS {
        let found = measured(program, sources, &folder, &machine, seconds)?;
        let [cpu, thread, transactions] = found.gains;
        gains.row(program.name, vec![Some(cpu), Some(thread), Some(transactions), program.paper[0], program.paper[2]]);
        if let Some(longer) = found.longer {
            gains.row(format!("{}, longer", program.name), vec![None, None, Some(longer), None, program.paper[2]]);
        }
        commits.row(program.name, vec![Some(found.commits), program.paper[3]]);
        let pairs = found.accesses.iter().zip(program.accesses).flat_map(|(own, paper)| [Some(*own), Some(paper)]);
        accesses.row(program.name, pairs.collect());
        conflicts.row(program.name, found.windows.into_iter().map(Some).collect());
        let [count, one, packet] = found.lengths;
        sections.row(program.name, [count, one, packet, count * one / packet * 100.0].map(Some).to_vec());
    }
    Ok(vec![gains, commits, accesses, sections, conflicts])
}

/// Work with as many loads and stores in each section as the paper counts, of words that no other
/// packet of that time touches: the fragment's own place in the array of its message, and the
/// thread's stack, which transactions watch as well.
fn longer(work: &[Work], accesses: [f64; 4]) -> Vec<Work> {
    let counts = [accesses[0] as u64, accesses[2] as u64];
    let one = |(number, packet): (u64, &Work)| {
        let known =
            packet.steps.iter().find_map(|step| if let Step::Access(access) = step { access.shared.map(|_| *access) } else { None });
        let mut steps = Vec::new();
        for step in &packet.steps {
            steps.push(*step);
            let (Step::Enter(_), Some(known)) = (step, known) else { continue };
            for (n, write) in (0..counts[0]).map(|n| (n, false)).chain((0..counts[1]).map(|n| (n, true))) {
                let word = OWN + number % OWNERS * 128 + n;
                steps.extend([
                    Step::Compute(1),
                    Step::Access(Access { write, units: 1, address: word * 4, shared: Some((word, 1)), ..known }),
                ]);
            }
        }
        Work { steps, ..packet.clone() }
    };
    (0..).zip(work).map(one).collect()
}

/// Work with a mutex of the packet's flow in the place of the element's.
fn by_flow(work: &[Work], machine: &Machine) -> Vec<Work> {
    let mut work = work.to_vec();
    for packet in &mut work {
        let mutex = (packet.flow % u64::from(machine.locks.mutexes)) as u32;
        for step in &mut packet.steps {
            match step {
                Step::Enter(lock) | Step::Leave(lock) => *lock = mutex,
                Step::Compute(_) | Step::Access(_) => {}
            }
        }
    }
    work
}

fn measured(program: &Program, sources: &Path, folder: &Folder, machine: &Machine, seconds: f64) -> Outcome<Measured> {
    let capture = folder.capture("in.pcap", &(program.traffic)(PACKETS))?;
    let nothing = folder.capture("nothing.pcap", &Vec::new())?;
    let mut maps = vec![format!("{}={}", program.device, capture.display())];
    maps.extend(program.other.map(|device| format!("{device}={}", nothing.display())));
    let trace = Observed::given(sources.join(program.file), maps).trace()?;
    let mut work = steps::of(&trace, machine);
    work.drain(..WARM.min(work.len() / 2));
    let rate = |scheme: Scheme| saturation::search(machine, &work, scheme, seconds);
    let locked = if program.flow_locks { by_flow(&work, machine) } else { work.clone() };
    let locks = saturation::search(machine, &locked, Scheme::Locks, seconds).packets_per_second;
    let gain = |rate: f64| (rate / locks - 1.0) * 100.0;
    let transactions = rate(Scheme::Transactions);
    let longer = program.flow_locks.then(|| {
        let work = longer(&work, program.accesses);
        let rate = |work: &[Work], scheme| saturation::search(machine, work, scheme, seconds).packets_per_second;
        (rate(&work, Scheme::Transactions) / rate(&by_flow(&work, machine), Scheme::Locks) - 1.0) * 100.0
    });
    let found = profile(&work);
    Ok(Measured {
        longer,
        gains: [
            gain(rate(Scheme::CpuAffinity).packets_per_second),
            gain(rate(Scheme::ThreadAffinity).packets_per_second),
            gain(transactions.packets_per_second),
        ],
        commits: transactions.report.sections.commit_rate * 100.0,
        accesses: [found.loads_per_section, found.most_loads as f64, found.stores_per_section, found.most_stores as f64],
        lengths: [found.sections_per_packet, found.instructions_per_section, found.instructions_per_packet],
        windows: found.windows.iter().map(|window| window.conflicts * 100.0).collect(),
    })
}
