//! `netvm bench`: its form; figures are for people.

use super::tools::{Dir, run};

#[test]
fn engines_stand_side_by_side() {
    let dir = Dir::new("bench");
    let trace = dir.trace("t.pcap", 1, 500);
    let json: serde_json::Value =
        serde_json::from_str(&run(&format!("bench filter tcp -r {trace} --rounds 1 --json")).good()).expect("JSON");
    let names: Vec<_> = json["engines"].as_array().expect("a list").iter().map(|e| e["engine"].clone()).collect();
    assert_eq!(names[..2], ["interp", "jit"]);
    assert!(names[2..].iter().all(|name| name.as_str().is_some_and(|name| name.starts_with("aot-"))), "{names:?}");
    assert!(json["engines"][1]["median_ns"].as_f64().is_some_and(|ns| ns > 0.0));
    let count = run(&format!("filter -r {trace} --count tcp")).good();
    assert_eq!(format!("{} packets\n", json["matched"]), count);
    let text = run(&format!("bench filter -r {trace} --rounds 1 --packets 100 udp")).good();
    assert!(text.starts_with("100 packets (EN10MB)"), "{text}");
    let rows = text.lines().skip_while(|line| !line.starts_with("engine")).skip(1).filter(|line| line.ends_with(" µs"));
    let ends: Vec<_> = rows.map(|line| line.chars().position(|c| c == '×')).collect();
    assert!(ends.len() > 1 && ends.iter().all(|end| *end == ends[0]), "{text}");
}

#[test]
fn captures_of_different_link_types_are_all_measured() {
    let dir = Dir::new("bench-links");
    let (ethernet, raw) = (dir.trace("e.pcap", 1, 300), dir.file("raw.pcap"));
    // Classic pcap, raw IP: a TCP and a UDP packet over IPv4, of which the headers' first 20 bytes
    // matter.
    let packet = |protocol: u8| [&[0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol][..], &[0; 30]].concat();
    let header = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
    let record = |protocol| [[1u32, 0, 40, 40].map(u32::to_le_bytes).concat(), packet(protocol)].concat();
    std::fs::write(&raw, [header, record(6), record(17), record(6)].concat()).expect("a file");
    let json: serde_json::Value =
        serde_json::from_str(&run(&format!("bench filter tcp -r {ethernet} -r {raw} -r {ethernet} --rounds 1 --json")).good())
            .expect("JSON");
    assert_eq!(json["link_types"], serde_json::json!(["EN10MB", "RAW"]));
    assert_eq!(json["packets"], 603);
    let count = run(&format!("filter -r {ethernet} -r {raw} -r {ethernet} --count tcp")).good();
    assert_eq!(format!("{} packets\n", json["matched"]), count);
    let text = run(&format!("bench filter -r {raw} -r {ethernet} --rounds 1 --packets 10 tcp")).good();
    assert!(text.starts_with("10 packets (RAW, EN10MB)"), "{text}");
    let refused = run(&format!("bench filter -r {raw} -r {ethernet} --rounds 1 ether host 0:1:2:3:4:5")).bad(2);
    assert!(refused.contains("ether host"), "{refused}");
}

#[test]
fn nothing_to_measure_is_told() {
    let dir = Dir::new("bench-none");
    let empty = dir.trace("empty.pcap", 1, 0);
    assert!(run(&format!("bench filter tcp -r {empty}")).bad(1).contains("no packets"));
    assert!(run("bench filter tcp").bad(2).contains("--read"));
}
