//! Elements whose state replicas read in copies, and change under its lock.

use super::graphs::run;
use super::ports::{assert_same_flows, flows};
use super::{PlacementMode, assert_same, engines_there, folder, run_on};
use netvm::application::Policy;
use netvm::engines;

const COPIES: &str = ": read in copies without a lock, changed under a lock";

#[test]
fn large_packets_are_cut_under_the_lock_and_others_pass_it() {
    let folder = folder("fragments");
    let input = folder.join("in.pcap");
    let text = "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> f :: IPFragmenter(300) -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2)
             -> Queue(100000) -> ToDump(OUT0, SNAPLEN 0); f[1] -> Discard; Idle -> Queue -> ToDump(OUT1, SNAPLEN 0);";
    let reads = ["f.fragments", "f.drops", "h.drops"];
    let wanted = run(text, &reads, engines::find("interp").unwrap(), &folder, &input);
    assert!(wanted.counts[0].trim().parse::<u32>().unwrap() > 100, "{:?}", wanted.counts);
    for engine in engines_there() {
        for replicas in if *engine == "aot" { &[1, 2][..] } else { &[1, 2, 3, 8] } {
            let (found, _, shown) = run_on(text, &reads, (PlacementMode::Flow(Policy::Copies), *replicas), engine, &[], &folder, &input);
            assert!(shown.contains(&format!("f :: IPFragmenter{COPIES}")), "{shown}");
            let name = format!("{replicas} replicas, {engine}");
            assert_same_flows(&found, &wanted, &name);
            if *replicas == 1 {
                assert_same(&found, &wanted, &name);
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Every neighbour is asked for, answers at once, is asked again while packets go to it, and is
/// forgotten where none do: this with one replica only, as times of others are not the same.
#[test]
fn neighbours_are_learnt_under_the_lock_and_found_without_it() {
    let folder = folder("neighbours");
    let input = folder.join("in.pcap");
    let reads = ["arp.queries", "arp.responses", "arp.drops", "arp.length"];
    let number = |counts: &[String], n: usize| counts[n].trim().parse::<u64>().unwrap();
    for (timeout, several) in [("40ms", false), ("300s", true)] {
        let text = format!(
            "FromDump(IN, STOP true) -> Strip(14) -> CheckIPHeader -> arp :: ARPQuerier(10.0.0.1, 2:0:0:0:0:1, TIMEOUT {timeout}, POLL_TIMEOUT 10ms)
             -> Queue(100000) -> ToDump(OUT0, SNAPLEN 0); arp[1] -> ARPResponder(0.0.0.0/0 2:0:0:0:0:9) -> [1] arp; Idle -> Queue -> ToDump(OUT1, SNAPLEN 0);"
        );
        let wanted = run(&text, &reads, engines::find("interp").unwrap(), &folder, &input);
        assert!(number(&wanted.counts, 0) > 100 && number(&wanted.counts, 2) == 0, "{:?}", wanted.counts);
        for (engine, replicas) in engines_there().iter().flat_map(|engine| [1, 2, 3, 8].map(|replicas| (engine, replicas))) {
            if (*engine == "aot" && replicas > 2) || (replicas > 1 && !several) {
                continue;
            }
            let (found, _, shown) = run_on(&text, &reads, (PlacementMode::Flow(Policy::Copies), replicas), engine, &[], &folder, &input);
            assert!(shown.contains(&format!("arp :: ARPQuerier{COPIES}")), "{shown}");
            let name = format!("{timeout}, {replicas} replicas, {engine}");
            if replicas == 1 {
                assert_same(&found, &wanted, &name);
            }
            // How often a neighbour is asked again depends on when packets of other flows go there,
            // and one that waited leaves by the replica whose packet let it go.
            let sorted = |capture| flows(capture).into_values().map(|mut packets| (packets.sort(), packets).1).collect::<Vec<_>>();
            assert!(sorted(&found.captures[0]) == sorted(&wanted.captures[0]), "{name}: packets of a flow differ: {:?}", found.counts);
            assert_eq!(number(&found.counts, 0), number(&found.counts, 1), "{name}");
            assert_eq!(found.counts[2..], wanted.counts[2..], "{name}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}
