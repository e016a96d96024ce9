//! `netvm run`: NetIL programs between captures.

use super::tools::{Dir, run};
use netvm::io::{LinkType, synth};

/// Small packets one way, large ones the other; a copy of what came by `wan` (port 1) to the third
/// port.
const SPLIT: &str = "\
segment .ports
  push_input lan
  push_input wan
  push_output small
  push_output large
  push_output copies
ends
segment .push
.locals 1
  locstore 0
  locload 0
  push 1
  jcmp.neq sizes
  pkt.senddup copies
sizes:
  pbl
  push 200
  jcmp.g big
  pkt.send small
big:
  pkt.send large
ends
";

#[test]
fn ports_are_captures() {
    let dir = Dir::new("ports");
    let (lan, wan) = (dir.trace("lan.pcap", 1, 400), dir.trace("wan.pcap", 2, 300));
    let program = dir.write("split.netil", SPLIT);
    let files: Vec<String> = ["small", "large", "copies"].map(|name| dir.file(&format!("{name}.pcap"))).into();
    let line = |engine: &str| {
        format!(
            "run {program} --in lan={lan} --in 1={wan} --out small={} --out 3={} --out copies={} --engine {engine} --json",
            files[0], files[1], files[2]
        )
    };
    let json: serde_json::Value = serde_json::from_str(&run(&line("interp")).good()).expect("JSON");
    assert_eq!((json["arrived"].as_u64(), json["clones"]["copies"].as_u64()), (Some(700), Some(300)));
    let bytes = |path: &String| std::fs::read(path).expect("written");
    let first: Vec<_> = files.iter().map(bytes).collect();
    run(&line("jit")).good();
    assert_eq!(files.iter().map(bytes).collect::<Vec<_>>(), first, "engines write the same");
    let count = |file: &str, e: &str| run(&format!("filter -r {file} --count {e}")).good();
    assert_eq!(count(&files[2], ""), "300 packets\n");
    assert_eq!(count(&files[0], "greater 201"), "0 packets\n");
    assert_eq!(run(&format!("filter -r {}", files[2])).good(), run(&format!("filter -r {wan}")).good());
    let times = run(&format!("filter -tt -r {}", files[0])).good();
    let times: Vec<&str> = times.lines().filter_map(|l| l.split(' ').next()).collect();
    assert!(times.is_sorted(), "packets of both captures come in the order of their times");
}

#[test]
fn traps_are_counted_with_their_place() {
    let dir = Dir::new("traps");
    let packets: Vec<_> = synth::mixed_trace(1, 50).into_iter().map(|(t, p)| (t, p[..20].to_vec())).collect();
    let short = dir.capture("short.pcap", LinkType::EN10MB, &packets);
    let program = dir.write("reads.netil", "segment .push\n  pop\n  push 30\nread:\n  upload.8\n  ret\nends\n");
    for engine in ["interp", "jit"] {
        let ended = run(&format!("run {program} --in {short} --engine {engine} --json"));
        assert_eq!(ended.status, 0, "traps are the program's result: {}", ended.err);
        assert!(ended.err.contains("access outside the packet") && ended.err.contains("50 times, first by packet 1"), "{}", ended.err);
        assert!(ended.err.contains("reads.netil:5"), "{}", ended.err);
        let json: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
        assert_eq!(json["dropped"]["trap"], 50);
    }
}

#[test]
fn the_budget_ends_loops() {
    let dir = Dir::new("budget");
    let trace = dir.trace("t.pcap", 1, 3);
    let program = dir.write("loop.netil", "segment .push\n  pop\nagain:\n  jump again\nends\n");
    let ended = run(&format!("run {program} --in {trace} --budget 1000"));
    assert_eq!(ended.status, 0);
    assert!(ended.err.contains("budget") && ended.err.contains("3 times"), "{}", ended.err);
}

#[test]
fn a_failed_init_handler_ends_the_run() {
    let dir = Dir::new("init");
    let trace = dir.trace("t.pcap", 1, 3);
    let program = dir.write("p.netil", "segment .init\n  exit 4\nends\nsegment .push\n  pop\n  ret 1\nends\n");
    let told = run(&format!("run {program} --in {trace} --out {}", dir.file("out.pcap"))).bad(1);
    assert!(told.contains("init handler failed") && told.contains('4'), "{told}");
    assert_eq!(dir.names(), ["p.netil", "t.pcap"]);
}

#[test]
fn random_numbers_follow_the_seed() {
    let dir = Dir::new("seed");
    let trace = dir.trace("t.pcap", 1, 200);
    let program = dir.write("half.netil", "segment .push\n  pop\n  rnd\n  push 1\n  and\n  ret\nends\n");
    let kept = |seed: u32| {
        let out = dir.file("out.pcap");
        run(&format!("run {program} --in {trace} --out {out} --seed {seed}")).good();
        run(&format!("filter -r {out}")).good()
    };
    assert_eq!(kept(1), kept(1));
    assert_ne!(kept(1), kept(2));
    assert!((50..150).contains(&kept(1).lines().count()));
}

#[test]
fn pull_programs_are_asked_after_each_arrival() {
    let dir = Dir::new("pull");
    let trace = dir.trace("t.pcap", 1, 40);
    let source = "segment .ports\n  pull_input in\n  pull_output out\nends\n\
                  segment .pull\n  pop\n  pkt.receive in\n  pkt.send out\nends\n";
    let program = dir.write("pass.netil", source);
    let out = dir.file("out.pcap");
    run(&format!("run {program} --in in={trace} --out out={out}")).good();
    assert_eq!(run(&format!("filter -r {out}")).good(), run(&format!("filter -r {trace}")).good());
}

#[test]
fn unknown_ports_are_a_wrong_command_line() {
    let dir = Dir::new("unknown");
    let program = dir.write("split.netil", SPLIT);
    let told = run(&format!("run {program} --in dmz=x.pcap")).bad(2);
    assert!(told.contains("lan (0), wan (1)"), "{told}");
    assert!(run(&format!("run {program} --out lan=x.pcap")).bad(2).contains("small (2)"));
}
