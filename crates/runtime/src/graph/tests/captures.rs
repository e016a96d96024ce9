//! Captures as sources: what is read in bursts and merged is what comes one by one, wherever a
//! source ends the run.

use super::linked::{Simple, plan};
use super::*;
use std::path::{Path, PathBuf};

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A capture whose packets say where they are from: a few to some thousand, often at the same time,
/// now and then before the one ahead.
fn capture(source: u8, numbers: &mut Numbers) -> Vec<u8> {
    let header = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1];
    let mut bytes: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    let (count, apart) = ([0, 1, 7, 300, 3000][numbers.below(5) as usize], [1, 3, 50][numbers.below(3) as usize]);
    let mut time = numbers.below(100);
    for n in 0..count {
        time = (time + numbers.below(apart + 1)).saturating_sub(u64::from(numbers.below(40) == 0));
        let record = [1, time as u32, 4, 4];
        bytes.extend(record.into_iter().flat_map(u32::to_le_bytes));
        bytes.extend([source, 0, n as u8, (n >> 8) as u8]);
    }
    bytes
}

/// What leaves when three captures are read, some of which end the run, and how often each source
/// has sent.
fn run_of(folder: &Path, stops: [bool; 3], driver: &str, linked: bool) -> (Vec<u8>, Vec<String>) {
    let out = folder.join("out.pcap");
    let source = |n: usize| format!("f{n} :: FromDump({} | STOP {})\n f{n} -> [{n}] p\n", folder.join(n.to_string()).display(), stops[n]);
    let text = format!(
        "p :: three\n q :: Queue(100)\n d :: ToDump({})\n p -> q -> d\n {driver}\n {}",
        out.display(),
        (0..3).map(source).collect::<String>()
    );
    let app = application(&text, &[("three", "segment .ports push_input a, b, c push_output d ends segment .push pkt.send d ends")]);
    let (mut graph, _) = graph(&app, Settings::default()).unwrap();
    if linked {
        graph.link(&app, plan(&app), Box::new(Simple { lets_out: true, entered: 0 }));
    }
    graph.start();
    while graph.turn() {}
    let counts = (0..3).map(|n| graph.read(&format!("f{n}.count"), "", None).unwrap()).collect();
    assert!(graph.finish().is_empty());
    (std::fs::read(out).unwrap(), counts)
}

#[test]
fn captures_are_merged_as_if_packets_came_one_by_one_up_to_where_one_ends_the_run() {
    let folder: PathBuf = std::env::temp_dir().join(format!("netvm-merged-captures-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut numbers = Numbers(7);
    let mut some = 0;
    for round in 0..60 {
        (0..3).for_each(|n| std::fs::write(folder.join(n.to_string()), capture(n as u8, &mut numbers)).unwrap());
        let stops = [0, 1, 2].map(|_| numbers.below(2) == 0);
        let driver = ["", "m :: DriverManager(wait_stop | wait_stop)", "m :: DriverManager(wait_stop 3)"][round % 3];
        let alone = run_of(&folder, stops, driver, false);
        assert_eq!(run_of(&folder, stops, driver, true), alone, "{round}: {stops:?} {driver}");
        some += alone.0.len();
    }
    std::fs::remove_dir_all(folder).unwrap();
    assert!(some > 100_000, "{some}");
}

/// Sources of packets at a rate begin when the capture does: no time passes up to its first packet.
#[test]
fn rates_begin_with_the_capture() {
    let folder = std::env::temp_dir().join(format!("netvm-rate-captures-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let header = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1].into_iter();
    let records = (0..3).flat_map(|n| [1_600_000_000, n * 50_000, 0, 0]);
    std::fs::write(folder.join("in"), header.chain(records).flat_map(u32::to_le_bytes).collect::<Vec<u8>>()).unwrap();
    let name = folder.join("in").display().to_string();
    let udp = "10000 | -1 | 60 | 0:0:0:0:0:1 | 1.0.0.1 | 5 | 0:0:0:0:0:2 | 2.0.0.2 | 6";
    let text = format!(
        "s :: FromDump({name} | STOP true)\n d :: Discard\n r :: RatedSource(RATE 10000)\n e :: Discard\n u :: FastUDPSource({udp})\n f :: Discard\n s -> d\n r -> e\n u -> f"
    );
    let (mut graph, _) = graph(&application(&text, &[]), Settings::default()).unwrap();
    graph.start();
    while graph.turn() {}
    let counts = ["r.count", "u.count"].map(|handler| graph.read(handler, "", None).unwrap().parse::<u64>().unwrap());
    std::fs::remove_dir_all(folder).unwrap();
    // A tenth of a second, and what may be made up for.
    assert!(counts[0] == counts[1] && (1000..=1201).contains(&counts[1]), "{counts:?}");
}
