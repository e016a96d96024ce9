//! The router of the IXP1200's kind, with answers computed by hand.

use machine::description::named;
use machine::router::{Assignment, Ports, Setup, run, search};
use machine::steps::{Step, Work};
use netvm_machine as machine;

fn ports() -> Ports {
    named("ixp1200").unwrap().ports.unwrap()
}

fn nothing() -> Vec<Work> {
    vec![Work { steps: vec![Step::Compute(1)], flow: 0, bytes: 64 }]
}

/// One port of 100 Mb/s, frames of 64 bytes: 84 bytes on the wire are 1,344 cycles at 200 MHz, so 148,809 frames a second.
#[test]
fn a_port_at_its_rate() {
    let machine = named("ixp1200").unwrap();
    let one = Ports { count: 1, ..ports() };
    let assignment = Assignment::read("0.0 receive 0\n4.0 transmit 0", &machine, &one).unwrap();
    let work = nothing();
    let setup = Setup {
        machine: &machine,
        work: &work,
        sizes: &[64],
        assignment: &assignment,
        arbitration: &machine.arbitration["partition"],
        cycles: 1_344_000,
    };
    let report = run(&setup, &Ports { entries: 1, ..one }, 1.0);
    assert_eq!((report.received, report.dropped), (1000, 0));
    // Those under way at the end: on the wire, and in hand.
    assert!((997..=999).contains(&report.sent), "{report:?}");
    let half = run(&setup, &Ports { entries: 1, ..one }, 0.5);
    assert!((499..=501).contains(&half.received), "{half:?}");
}

/// A thread that needs 2,000 cycles for a packet handles 100,000 packets a second at 200 MHz, of 148,809 that come: 67 %.
#[test]
fn a_thread_that_is_too_slow_bounds_the_rate() {
    let machine = named("ixp1200").unwrap();
    let one = Ports { count: 1, entries: 1, ..ports() };
    let assignment = Assignment::read("0.0 receive 0\n4.0 transmit 0", &machine, &one).unwrap();
    let work = vec![Work { steps: vec![Step::Compute(1800)], flow: 0, bytes: 64 }];
    let setup = Setup {
        machine: &machine,
        work: &work,
        sizes: &[64],
        assignment: &assignment,
        arbitration: &machine.arbitration["partition"],
        cycles: 2_000_000,
    };
    let (load, report) = search(&setup, &one);
    // 1,800, 30 for the cell, 20 for the packet, 4, and requests of 12 to 60 cycles each: 2,000 to 2,150.
    assert!((0.60..=0.68).contains(&load), "{load} {report:?}");
}

/// The FIFO waits at an entry that is never filled: of sixteen ports each has sent one cell at most when it comes to the seventeenth entry.
#[test]
fn the_fifo_waits_in_order() {
    let machine = named("ixp1200").unwrap();
    let ports = Ports { count: 16, ..ports() };
    let assignment = Assignment::split(&machine, &ports, 4);
    let work = nothing();
    let setup = Setup {
        machine: &machine,
        work: &work,
        sizes: &[64],
        assignment: &assignment,
        arbitration: &machine.arbitration["partition"],
        cycles: 400_000,
    };
    let some = run(&setup, &ports, 0.1);
    assert!(some.sent > 0 && some.sent <= some.received, "{some:?}");
    // Seventeen entries for sixteen ports: the last one is nobody's.
    let stuck = run(&setup, &Ports { entries: 17, ..ports }, 0.1);
    assert!(stuck.sent <= 16, "{stuck:?}");
}

#[test]
fn equal_setups_give_equal_reports_and_wrong_files_are_told() {
    let machine = named("ixp1200").unwrap();
    let assignment = Assignment::split(&machine, &ports(), 4);
    assert_eq!(assignment.counts(), (16, 8));
    let work = nothing();
    let setup = Setup {
        machine: &machine,
        work: &work,
        sizes: &[64, 128],
        assignment: &assignment,
        arbitration: &machine.arbitration["shared"],
        cycles: 200_000,
    };
    assert_eq!(run(&setup, &ports(), 0.7), run(&setup, &ports(), 0.7));
    let wrong = |text: &str| Assignment::read(text, &machine, &ports()).unwrap_err();
    assert_eq!(wrong("0.0 receive 0"), "port 0 has no thread that transmits");
    assert_eq!(wrong("9.0 receive 0"), "line 1: `9` is no number below 6");
    assert_eq!(wrong("0.1 forward 0"), "line 1: `0.1 forward 0`: receive or transmit, and ports");
}

/// A policy of one's own: an entry for each port, for which a thread waits. It gives what the one that goes on to the next port gives if each
/// thread has one port; with many it is slower, as threads stand at an entry that the FIFO has not come to.
#[test]
fn policies_are_data() {
    let text = machine::description::built_in().find(|(name, _)| *name == "ixp1200").unwrap().1;
    let own = format!("{text}\n[arbitration.patient]\nentry = \"port\"\nlock = \"none\"\nbusy = \"wait\"\n");
    let machine = machine::Machine::read(&own).unwrap();
    let ports = machine.ports.unwrap();
    let assignment = Assignment::split(&machine, &ports, 4);
    let work = nothing();
    let rate = |name: &str| {
        let arbitration = &machine.arbitration[name];
        run(&Setup { machine: &machine, work: &work, sizes: &[64], assignment: &assignment, arbitration, cycles: 400_000 }, &ports, 1.0)
    };
    let (patient, partition, shared) = (rate("patient"), rate("partition"), rate("shared"));
    assert!(patient != partition && patient.sent > 0, "{patient:?} {partition:?}");
    assert!(partition.mbits > shared.mbits && shared.lock > 0.0 && patient.lock == 0.0, "{shared:?}");
    let wrong = |from: &str, to: &str| machine::Machine::read(&text.replacen(from, to, 1)).unwrap_err().to_string();
    assert!(wrong("lock = \"cell\"", "lock = \"none\"").contains("arbitration.shared: entries that are taken in turn need a lock"));
    assert!(wrong("busy = \"next-port\"", "busy = \"next\"").contains("next"));
    assert!(wrong("memory = \"sram\"       # E\nbusy", "memory = \"dram\"\nbusy").contains("the memory `dram` is not described"));
    assert!(wrong("entries = 16 ", "entries = 15 ").contains("arbitration.partition: 15 entries"));
}
