//! The router of the IXP1200's kind, with answers computed by hand.

use machine::description::named;
use machine::router::{Assignment, Ports, Setup, hand, run, search};
use machine::steps::{Step, Work};
use netvm_machine as machine;

fn ports() -> Ports {
    named("ixp1200").unwrap().ports.unwrap()
}

fn nothing() -> Vec<Work> {
    vec![Work { steps: vec![Step::Compute(1)], flow: 0, bytes: 64 }]
}

/// One port of 100 Mb/s, frames of 64 bytes: 84 bytes on the wire are 1,344 cycles at 200 MHz, so
/// 148,809 frames a second.
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
        queued: 0,
    };
    let report = run(&setup, &Ports { entries: 1, ..one }, 1.0);
    assert_eq!((report.received, report.dropped), (1000, 0));
    // Those under way at the end: on the wire, and in hand.
    assert!((997..=999).contains(&report.sent), "{report:?}");
    let half = run(&setup, &Ports { entries: 1, ..one }, 0.5);
    assert!((499..=501).contains(&half.received), "{half:?}");
}

/// A thread that needs 2,000 cycles for a packet handles 100,000 packets a second at 200 MHz, of
/// 148,809 that come: 67 %.
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
        queued: 0,
    };
    let (load, report) = search(&setup, &one);
    // 1,800, 30 for the cell, 20 for the packet, 4, and requests of 12 to 60 cycles each: 2,000 to
    // 2,150.
    assert!((0.60..=0.68).contains(&load), "{load} {report:?}");
}

/// The FIFO waits at an entry that is never filled: of sixteen ports each has sent one cell at most
/// when it comes to the seventeenth entry.
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
        queued: 0,
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
        queued: 0,
    };
    assert_eq!(run(&setup, &ports(), 0.7), run(&setup, &ports(), 0.7));
    let wrong = |text: &str| Assignment::read(text, &machine, &ports()).unwrap_err();
    assert_eq!(wrong("0.0 receive 0").to_string(), "port 0 has no thread that transmits");
    assert_eq!(wrong("9.0 receive 0").to_string(), "line 1: `9` is no number below 6");
    assert_eq!(wrong("0.1 forward 0").to_string(), "line 1: `0.1 forward 0`: receive or transmit, and ports");
}

/// A policy of one's own: an entry for each port, for which a thread waits. It gives what the one
/// that goes on to the next port gives if each thread has one port; with many it is slower, as
/// threads stand at an entry that the FIFO has not come to.
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
        run(
            &Setup { machine: &machine, work: &work, sizes: &[64], assignment: &assignment, arbitration, cycles: 400_000, queued: 0 },
            &ports,
            1.0,
        )
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

/// An entry for each port, and frames that leave by any port: the FIFO sends each port as many
/// cells as the one that has got fewest, so what is left in the queues is how far that one is
/// behind. Of N frames for each port the least of sixteen normal numbers is 1.77 deviations, 1.77
/// √N, behind, give or take half of that; after four times as long it is twice as much. With frames
/// in each queue at the beginning all leave that come.
#[test]
fn an_entry_for_each_port_leaves_behind_what_is_uneven() {
    let machine = named("ixp1200").unwrap();
    let assignment = Assignment::split(&machine, &ports(), 4);
    let work = nothing();
    let after = |cycles: u64, queued: u32| {
        let arbitration = &machine.arbitration["partition"];
        let setup = Setup { machine: &machine, work: &work, sizes: &[64], assignment: &assignment, arbitration, cycles, queued };
        let report = run(&setup, &ports(), 0.5);
        let frames = report.received as f64 / 16.0;
        (report, (report.received as f64 - report.sent as f64) / 16.0 / frames.sqrt())
    };
    // 10 and 40 ms at half of the rate: 744 and 2,976 frames for each port.
    let ((early, one), (late, four)) = (after(2_000_000, 0), after(8_000_000, 0));
    assert!((0.9..=2.7).contains(&one) && (0.9..=2.7).contains(&four), "{one} {four}");
    assert_eq!((early.dropped, late.dropped), (0, 0));
    assert!(early.mbits < early.offered * 0.98, "{early:?}");
    let (stocked, _) = after(2_000_000, 256);
    assert!(stocked.mbits >= stocked.offered && stocked.dropped == 0, "{stocked:?}");
}

/// Packets of all threads go through one section of 1,000 cycles, which takes 18 more to hand over:
/// 196,000 packets a second of the 2.38 million that come, 8.2 %. Without the section 16 threads do
/// 16 times as much, or all.
#[test]
fn threads_wait_for_critical_sections() {
    let machine = named("ixp1200").unwrap();
    let assignment = Assignment::split(&machine, &ports(), 4);
    let inside = |steps: Vec<Step>| vec![Work { steps, flow: 0, bytes: 64 }];
    let found = |work: &[Work]| {
        let arbitration = &machine.arbitration["check-out"];
        search(
            &Setup { machine: &machine, work, sizes: &[64], assignment: &assignment, arbitration, cycles: 2_000_000, queued: 256 },
            &ports(),
        )
    };
    let (load, report) = found(&inside(vec![Step::Enter(3), Step::Compute(1000), Step::Leave(3)]));
    assert!((0.070..=0.083).contains(&load), "{load}");
    assert!(report.sections > 1000 && report.sections_waited <= report.sections && report.section > 0.0, "{report:?}");
    let (free, without) = found(&inside(vec![Step::Compute(1000)]));
    assert!(free > 0.25 && without.sections == 0 && without.section == 0.0, "{free} {without:?}");
}

/// Work that no assignment can do in time gives none, not the first.
#[test]
fn no_assignment_is_best_if_none_sustains_a_rate() {
    let machine = named("ixp1200").unwrap();
    let split = Assignment::split(&machine, &ports(), 4);
    let policies: Vec<_> = machine.arbitration.values().collect();
    let best_of = |cycles: u32| {
        let work = [Work { steps: vec![Step::Compute(cycles)], flow: 0, bytes: 64 }];
        let arbitration = policies[0];
        let setup = Setup { machine: &machine, work: &work, sizes: &[64], assignment: &split, arbitration, cycles: 1_000_000, queued: 256 };
        machine::router::best(&setup, &ports(), &policies[..1]).map(|(assignment, load)| (assignment.counts(), load))
    };
    assert_eq!(best_of(1_000_000), None);
    let ((receiving, _), load) = best_of(2000).unwrap();
    assert!(receiving >= 16 && load > 0.1, "{receiving} {load}");
}

/// An IPv4 frame with a checksum that holds.
fn frame(to: u32, ttl: u8) -> Vec<u8> {
    let mut ip = [&[0x45, 0, 0, 46, 0, 1, 0, 0, ttl, 17, 0, 0, 10, 0, 0, 1][..], &to.to_be_bytes()].concat();
    let sum = !checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&[9; 12][..], &[8, 0], &ip, &[7; 26]].concat()
}

fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// The router by hand does what it is for: the longest prefix, the next hop's addresses, one less
/// to live with the checksum for that. It costs what it does: an access to SRAM for each byte of
/// the address that it looks at and one for the next hop, and two to SDRAM.
#[test]
fn the_router_by_hand_routes() {
    let machine = named("ixp1200").unwrap();
    let routes = [(0x0a00_0000, 8, 1), (0x0a01_0000, 16, 2), (0x0a01_0200, 23, 3), (0x0a01_0203, 32, 4), (0xc0a8_0000, 12, 5)];
    let hops: Vec<[u32; 4]> = (0..6).map(|n| [n, 0x0200_0000, 0x0100_0200 | n << 16, 1]).collect();
    let table = hand::Table::new(&routes, &hops, 0);
    let longest = |to: u32| {
        let fits = routes.iter().filter(|(prefix, length, _)| (to ^ prefix) >> (32 - length) == 0);
        fits.max_by_key(|(_, length, _)| *length).map_or(0, |(.., hop)| *hop)
    };
    let all = [0x0a01_0203, 0x0a01_0204, 0x0a01_0303, 0x0a01_0401, 0x0aff_0000, 0xc0af_ffff, 0xc0b0_0000, 0x0900_0000, 0xffff_ffff];
    for to in all {
        let mut packet = frame(to, 64);
        let (port, work) = hand::route(&machine, &table, &mut packet);
        assert_eq!(port, Some(longest(to)), "{to:#x}");
        assert_eq!((packet[22], checksum(&packet[14..34])), (63, 0xffff), "{packet:02x?}");
        assert_eq!(packet[..14], [2, 0, 0, 0, 1, longest(to) as u8, 2, 0, 0, 0, 0, 1, 8, 0]);
        assert_eq!(packet[34..], [7; 26]);
        let accesses = work.steps.iter().filter(|step| matches!(step, Step::Access(_))).count();
        assert_eq!(accesses, 3 + if longest(to) == 4 { 4 } else { accesses - 3 }, "{to:#x}");
        assert!((4..=7).contains(&accesses), "{to:#x}: {accesses}");
    }
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = frame(0x0a01_0203, 64);
        change(&mut packet);
        let before = packet.clone();
        assert_eq!((hand::route(&machine, &table, &mut packet).0, &packet), (None, &before));
    };
    refused(&|packet| packet[24] ^= 1);
    refused(&|packet| packet[13] = 6);
    refused(&|packet| packet[14] = 0x46);
    refused(&|packet| packet.truncate(50));
    refused(&|packet| *packet = frame(0x0a01_0203, 1));
}
