//! `netvm bench`: its form; figures are for people.

use super::tools::{Dir, run};

#[test]
fn engines_stand_side_by_side() {
    let dir = Dir::new("bench");
    let trace = dir.trace("t.pcap", 1, 500);
    let json: serde_json::Value =
        serde_json::from_str(&run(&format!("bench filter tcp -r {trace} --rounds 1 --json")).good()).expect("JSON");
    let names: Vec<_> = json["engines"].as_array().expect("a list").iter().map(|e| e["engine"].clone()).collect();
    assert_eq!(names, ["interp", "jit"]);
    assert!(json["engines"][1]["median_ns"].as_f64().is_some_and(|ns| ns > 0.0));
    let count = run(&format!("filter -r {trace} --count tcp")).good();
    assert_eq!(format!("{} packets\n", json["matched"]), count);
    let text = run(&format!("bench filter -r {trace} --rounds 1 --packets 100 udp")).good();
    assert!(text.starts_with("100 packets (EN10MB)"), "{text}");
}

#[test]
fn nothing_to_measure_is_told() {
    let dir = Dir::new("bench-none");
    let empty = dir.trace("empty.pcap", 1, 0);
    assert!(run(&format!("bench filter tcp -r {empty}")).bad(1).contains("no packets"));
    assert!(run("bench filter tcp").bad(2).contains("--read"));
}
