//! `netvm stats`: figures computed by hand, filters and time slices, several and compressed
//! captures, JSON, names, damage.

use super::tools::{Dir, run, run_args};
use netvm::io::{LinkType, Timestamp};
use serde_json::Value;

/// An Ethernet frame with a UDP datagram of so many bytes, from the first to the second host and
/// port.
fn datagram(from: (u8, u16), to: (u8, u16), len: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to.0, 2, 0, 0, 0, 0, from.0, 8, 0, 0x45, 0];
    frame.extend((28 + len).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, from.0, 10, 0, 0, to.0]);
    [from.1, to.1, 8 + len, 0].iter().for_each(|word| frame.extend(word.to_be_bytes()));
    frame.extend(vec![0; len.into()]);
    frame
}

/// Two questions and one answer of DNS, and a datagram of 1,000 bytes, at 0, 1, 2 and 60 seconds.
fn packets() -> Vec<(Timestamp, Vec<u8>)> {
    let at = |secs: i64, frame| (Timestamp::from_micros(1_700_000_000 + secs, 0), frame);
    vec![
        at(0, datagram((1, 40_000), (2, 53), 20)),
        at(1, datagram((2, 53), (1, 40_000), 58)),
        at(2, datagram((1, 40_001), (2, 53), 20)),
        at(60, datagram((3, 5000), (1, 6000), 1000)),
    ]
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&run_args(&[&["stats", "--json"], args].concat()).good()).expect("JSON")
}

#[test]
fn figures_are_those_computed_by_hand() {
    let dir = Dir::new("stats");
    let capture = dir.capture("a.pcap", LinkType::EN10MB, &packets());
    let all = json(&["-r", &capture]);
    // 62 + 100 + 62 + 1042 bytes.
    let summary = &all["summary"];
    assert_eq!((summary["packets"].as_u64(), summary["bytes"].as_u64()), (Some(4), Some(1266)));
    assert_eq!((summary["time"]["first"].as_str(), summary["time"]["seconds"].as_f64()), (Some("1700000000.000000000"), Some(60.0)));
    let tree: Vec<_> =
        all["protocols"].as_array().unwrap().iter().map(|n| (n["protocol"].as_str().unwrap(), n["bytes"].as_u64().unwrap())).collect();
    assert_eq!(tree, [("eth", 1266), ("ip", 1266), ("udp", 1266), ("dns", 224), ("data", 1042)]);
    let ip = &all["layers"][1];
    assert_eq!((ip["layer"].as_str(), ip["conversations_total"].as_u64()), (Some("IPv4"), Some(2)));
    let talk = &ip["conversations"][1];
    assert_eq!((talk["a"]["address"].as_str(), talk["b"]["address"].as_str()), (Some("10.0.0.1"), Some("10.0.0.2")));
    assert_eq!(
        (talk["a_to_b"]["bytes"].as_u64(), talk["b_to_a"]["bytes"].as_u64(), talk["seconds"].as_f64()),
        (Some(124), Some(100), Some(2.0))
    );
    let first = &ip["endpoints"][0];
    assert_eq!(
        (first["address"].as_str(), first["sent"]["bytes"].as_u64(), first["received"]["bytes"].as_u64()),
        (Some("10.0.0.1"), Some(124), Some(1142))
    );
    assert_eq!(
        (all["layers"][2]["conversations_total"].as_u64(), all["ports"][1]["port"].as_u64(), all["ports"][1]["packets"].as_u64()),
        (Some(3), Some(53), Some(3))
    );
    let sizes: Vec<u64> = all["sizes"].as_array().unwrap().iter().map(|size| size["packets"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [0, 0, 2, 1, 0, 0, 1, 0, 0, 0]);
}

#[test]
fn tables_for_people() {
    let dir = Dir::new("stats-text");
    let capture = dir.capture("a.pcap", LinkType::EN10MB, &packets());
    let text = run(&format!("stats -r {capture} --show summary,protocols,rates --interval 30")).good();
    let expected = "\
packets   4
bytes     1,266 (1.3 kB)
first     2023-11-14 22:13:20.000000
last      2023-11-14 22:14:20.000000
duration  60.000000 s
rate      0.1 packets/s, 168.8 bit/s
mean      316.5 bytes

Protocols   packets      %  bytes      %
eth               4  100.0  1,266  100.0
  ip              4  100.0  1,266  100.0
    udp           4  100.0  1,266  100.0
      dns         3   75.0    224   17.7
      data        1   25.0  1,042   82.3

Intervals of 30 s           packets  bytes  packets/s         bits
2023-11-14 22:13:00.000000        3    224        0.1   59.7 bit/s
2023-11-14 22:14:00.000000        1  1,042        0.0  277.9 bit/s
";
    assert_eq!(text.split_once('\n').map(|(_, rest)| rest), Some(expected));
    let text = run(&format!("stats -r {capture} --show conversations,endpoints,ports,sizes --top 1")).good();
    assert!(text.contains("IPv4 conversations: 2  -> packets"), "{text}");
    assert!(
        text.contains("\n10.0.0.3 <-> 10.0.0.1           1  1,042           0      0        1  1,042  60.000000  0.000000\n… and 1 more\n"),
        "{text}"
    );
    assert!(text.contains("\nUDP 5000        1  25.0  1,042  82.3\n… and 1 more\n"), "{text}");
}

#[test]
fn filters_slices_and_several_captures() {
    let dir = Dir::new("stats-parts");
    let plain = dir.capture("a.pcap", LinkType::EN10MB, &packets());
    let packed = dir.capture("b.pcapng.gz", LinkType::EN10MB, &packets());
    let count = |args: &[&str]| json(&[args, &["--show", "summary"]].concat())["summary"]["packets"].as_u64();
    assert_eq!(count(&["-r", &plain, "-r", &packed]), Some(8));
    assert_eq!(count(&["-r", &plain, "-r", &packed, "udp port 53"]), Some(6));
    assert_eq!(count(&["-r", &packed, "--from", "1700000001", "--to", "1700000060", "udp"]), Some(2));
    assert_eq!(count(&["-r", &plain, "tcp"]), Some(0));
    assert_eq!(count(&[&plain, "tcp"]), Some(0));
    let text = run(&format!("stats -r {plain} tcp")).good();
    assert!(text.contains("packets   0\n") && !text.contains("rate"), "{text}");
}

#[test]
fn names_are_those_of_the_file_alone() {
    let dir = Dir::new("stats-hosts");
    let capture = dir.capture("a.pcap", LinkType::EN10MB, &packets());
    let hosts = dir.write("hosts", "10.0.0.1 desk # mine\n");
    let text = run(&format!("stats -r {capture} --show conversations --hosts {hosts}")).good();
    assert!(text.contains("10.0.0.3 <-> desk ") && text.contains("desk:40000 <-> 10.0.0.2:53 "), "{text}");
    let all = json(&["-r", &capture, "--hosts", &hosts]);
    assert_eq!(all["layers"][1]["endpoints"][0]["name"].as_str(), Some("desk"));
    let wrong = dir.write("wrong", "10.0.0.1 desk\nx y\n");
    assert!(run(&format!("stats -r {capture} --hosts {wrong}")).bad(1).contains("line 2: 'x' is not an address"));
}

#[test]
fn damage_is_told_and_what_came_before_is_counted() {
    let dir = Dir::new("stats-damage");
    let capture = dir.capture("a.pcap", LinkType::EN10MB, &packets());
    let mut bytes = std::fs::read(&capture).unwrap();
    bytes.truncate(bytes.len() - 10);
    let cut = dir.write("cut.pcap", bytes);
    let ended = run(&format!("stats -r {cut} --show summary"));
    assert!(ended.out.contains("packets   3\n"), "{}", ended.out);
    assert!(ended.bad(1).contains("cut.pcap"));
    assert!(run("stats").bad(2).contains("--read <IN>"));
    assert!(run(&format!("stats -r {capture} prot 80")).bad(2).contains("prot"));
    assert!(run(&format!("stats -r {capture} --interval 0")).bad(2).contains("interval"));
}
