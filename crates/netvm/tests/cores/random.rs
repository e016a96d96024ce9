//! Random numbers are functions of packets' numbers, which are given where packets arrive and go
//! with them: whatever runs an application, each packet draws the same.

use super::*;
use std::collections::BTreeSet;

/// Configurations whose elements draw random numbers, and elements that replicas have.
const DRAWING: [(&str, &str, &[&str], &[&str]); 4] = [
    (
        "outputs at random, one behind the other",
        "FromDump(IN, STOP true) -> r :: RandomSwitch; r[0] -> s :: RandomSwitch; r[1] -> a :: Counter -> [0]m :: RandomSwitch; r[2] -> m;
         s[0] -> Queue(100000) -> ToDump(OUT0); s[1] -> b :: Counter -> m; m[0] -> k :: Counter -> Queue(100000) -> ToDump(OUT1); m[1] -> d :: Discard;",
        &["a.count", "b.count", "k.count", "d.count"],
        &["r", "s"],
    ),
    (
        "copies, and copies of these, that come to one element",
        "FromDump(IN, STOP true) -> t :: Tee(3); t[0] -> Paint(1) -> [0]r :: RandomSwitch; t[1] -> Strip(2) -> Unstrip(2) -> u :: Tee(2); u[0] -> Paint(2) -> r; u[1] -> Paint(3) -> r; t[2] -> r;
         r[0] -> q :: Queue(100000) -> ToDump(OUT0); r[1] -> k :: Counter -> Queue(100000) -> ToDump(OUT1); r[2] -> p :: PaintSwitch; p[0] -> q; p[1] -> k; p[2] -> d :: Discard; p[3] -> v :: Tee(2); v[0] -> z :: RandomSwitch; v[1] -> z; z[0] -> q; z[1] -> k;",
        &["k.count", "d.count"],
        &["t", "u", "r", "v", "z"],
    ),
    (
        "two sources, one of which is drawn from, and identifiers of fragments",
        "FromDump(IN, STOP true) -> Strip(14) -> c :: CheckIPHeader -> f :: IPFragmenter(100, HONOR_DF false) -> r :: RandomSwitch; FromDump(IN, STOP false, SAMPLE 0.3) -> s :: RandomSwitch;
         r[0] -> Unstrip(14) -> q :: Queue(100000) -> ToDump(OUT0); r[1] -> Unstrip(14) -> s; s[0] -> q; s[1] -> k :: Counter -> Queue(100000) -> ToDump(OUT1);",
        &["k.count"],
        &[],
    ),
    (
        "packets that waited, were pulled, and are copied there",
        "FromDump(IN, STOP true) -> Queue(100000) -> t :: PullTee(2); t[0] -> Unqueue -> r :: RandomSwitch; t[1] -> r; Idle -> Queue -> ToDump(OUT2);
         r[0] -> q :: Queue(100000) -> ToDump(OUT0); r[1] -> k :: Counter -> Queue(100000) -> ToDump(OUT1);",
        &["k.count"],
        &[],
    ),
];

#[test]
fn packets_draw_the_same_on_every_engine_and_in_replicas() {
    let folder = folder("random");
    let input = folder.join("in.pcap");
    for (name, text, reads, replicated) in DRAWING {
        let wanted = run(text, reads, engines::find("interp").unwrap(), &folder, &input);
        assert!(wanted.captures[..2].iter().flatten().all(|file| file.len() > 1000), "{name}: nothing was written");
        for engine in engines_there() {
            let alone = run(text, reads, engines::find(engine).unwrap(), &folder, &input);
            assert_same(&alone, &wanted, &format!("{name}, {engine}"));
            for replicas in if *engine == "aot" { &[2][..] } else { &[1, 2, 3, 4] } {
                let (found, _, shown) = run_on(text, reads, (PlacementMode::Total, *replicas), engine, &[], &folder, &input);
                let (before, _) = shown.split_once("in order").unwrap_or((&shown, ""));
                for element in replicated {
                    assert!(before.contains(&format!("  {element} ::")), "{name}: {element}\n{shown}");
                }
                assert_same(&found, &wanted, &format!("{name}, {replicas} replicas, {engine}"));
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Replicas that read captures themselves count the packets of others.
#[test]
fn packets_of_a_flow_draw_the_same_in_replicas_of_their_own() {
    let folder = folder("random-flows");
    let input = folder.join("in.pcap");
    for (name, text, reads, _) in &DRAWING[..3] {
        let text = text.replace("ToDump(OUT0)", "ToDump(OUT0, SNAPLEN 0)").replace("ToDump(OUT1)", "ToDump(OUT1, SNAPLEN 0)");
        let wanted = run(&text, reads, engines::find("interp").unwrap(), &folder, &input);
        for engine in ["interp", "jit"] {
            for replicas in [1, 2, 3] {
                let called = format!("{name}, {replicas} replicas, {engine}");
                let (found, _, _) = run_on(&text, reads, (PlacementMode::Flow(Policy::Lock), replicas), engine, &[], &folder, &input);
                assert_eq!(found.counts, wanted.counts, "{called}");
                assert_eq!(found.nodes, wanted.nodes, "{called}");
                for (found, wanted) in found.captures.iter().zip(&wanted.captures) {
                    let packets = |file: &Option<Vec<u8>>| file.as_deref().map(|file| by_replica(file, replicas));
                    assert!(packets(found) == packets(wanted), "{called}: packets of a flow differ");
                }
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// When the packets of a capture came.
fn times(capture: Option<&Vec<u8>>) -> BTreeSet<u64> {
    let mut capture = runtime::io::Capture::from_bytes(capture.unwrap().clone()).unwrap();
    let mut times = BTreeSet::new();
    while let Some(burst) = capture.next_burst(64).unwrap() {
        times.extend(burst.records().map(|record| record.time_ns()));
    }
    times
}

/// A packet and its copies, or a packet at two elements of one class, come to the same end as often
/// as chance has it.
#[test]
fn copies_and_elements_decide_apart() {
    let cases = [
        "FromDump(IN, STOP true) -> t :: Tee(2); t[0] -> Paint(0) -> r :: RandomSwitch; t[1] -> Paint(1) -> r; r[1] -> Discard;
         r[0] -> p :: PaintSwitch; p[0] -> Queue(100000) -> ToDump(OUT0); p[1] -> Queue(100000) -> ToDump(OUT1);",
        "FromDump(IN, STOP true) -> t :: Tee(3); t[0] -> Paint(0) -> r :: RandomSwitch; t[1] -> Paint(1) -> r; t[2] -> Discard; r[1] -> Discard;
         r[0] -> p :: PaintSwitch; p[0] -> Queue(100000) -> ToDump(OUT0); p[1] -> Queue(100000) -> ToDump(OUT1);",
        "FromDump(IN, STOP true) -> Paint(0) -> t :: Tee(2); t[0] -> Tee(1) -> a :: RandomSwitch; t[1] -> b :: RandomSwitch; a[1] -> Discard; b[1] -> Discard;
         a[0] -> Queue(100000) -> ToDump(OUT0); b[0] -> Queue(100000) -> ToDump(OUT1);",
    ];
    let folder = folder("random-apart");
    let input = folder.join("in.pcap");
    for text in cases {
        let found = run(text, &[], engines::find("jit").unwrap(), &folder, &input);
        let [a, b] = [0, 1].map(|n| times(found.captures[n].as_ref()));
        let share = |of: usize| of as f64 / times(Some(&capture())).len() as f64;
        assert!([a.len(), b.len()].iter().all(|n| (0.45..0.55).contains(&share(*n))), "{} and {}", a.len(), b.len());
        assert!((0.2..0.3).contains(&share(a.intersection(&b).count())), "{}: {}", a.intersection(&b).count(), text);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
