//! `netvm explain`: in words, on captures, on packets.

use super::tools::{Dir, run, run_args};
use netvm::io::LinkType;

#[test]
fn a_filter_in_words_and_stages() {
    let text = run_args(&["explain", "tcp port 80 or (udp and not port 53)"]).good();
    for part in ["(on EN10MB)", "In words:", "and not: ", "NetIL", "machine code", "netvm compile --filter 'tcp port 80 or"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(run("explain -y RAW ip").good().contains("(on RAW)"));
    assert!(run("explain prot 80").bad(2).contains("did you mean `port 80`?"));
}

#[test]
fn terms_are_counted_on_a_capture() {
    let dir = Dir::new("explain-counts");
    let trace = dir.trace("t.pcap", 1, 400);
    let json = run(&format!("explain --json -r {trace} tcp and port 443")).good();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let count = |e: &str| run(&format!("filter -r {trace} --count {e}")).good();
    let packets = |value: &serde_json::Value| format!("{value} packets\n");
    assert_eq!(packets(&json["capture"]["accepted"]), count("tcp and port 443"));
    let terms = &json["capture"]["terms"];
    assert_eq!(packets(&terms[0]["held"]), count("tcp"));
    assert_eq!(terms[0]["failed"], terms[1]["not_reached"]);
    assert!(run(&format!("explain -r {trace} tcp")).good().contains(" of 400 packets match"));
}

#[test]
fn a_packet_is_explained_term_by_term() {
    let dir = Dir::new("explain-packet");
    let trace = dir.trace("t.pcap", 1, 100);
    let selected = run(&format!("filter --json -r {trace} ip and not udp")).good();
    for number in 1..=20 {
        let text = run(&format!("explain -r {trace} --packet {number} ip and not udp")).good();
        let matches = selected.contains(&format!("\"packet\":{number},"));
        let verdict = if matches { "matches" } else { "does not match" };
        assert!(text.contains(&format!("Packet {number} {verdict}:\n")), "{text}");
    }
    assert!(run(&format!("explain -r {trace} --packet 101 ip")).bad(1).contains("has only 100 packets"));
    assert!(run("explain --packet 1 ip").bad(2).contains("--read"));
}

#[test]
fn short_packets_say_what_was_missing() {
    let dir = Dir::new("explain-short");
    let packets: Vec<_> = netvm::io::synth::mixed_trace(1, 1).into_iter().map(|(t, p)| (t, p[..20].to_vec())).collect();
    let trace = dir.capture("t.pcap", LinkType::EN10MB, &packets);
    let text = run(&format!("explain -r {trace} --packet 1 ip[30] = 1")).good();
    assert!(text.contains("rejects the packet: reads bytes 44 to 44, 20 were captured"), "{text}");
}

#[test]
fn a_filter_is_drawn_with_what_every_viewer_shows() {
    let dir = Dir::new("explain-svg");
    let trace = dir.trace("t.pcap", 1, 200);
    let expression = "tcp port 80 or (udp and not port 53) and len > 100 or icmp";
    let plain = run_args(&["explain", expression, "--svg"]).good();
    assert!(plain.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=") && plain.ends_with("</svg>\n"), "{plain}");
    for absent in ["<style", "var(", "class=", "<marker", "<script", "href", " > 100<"] {
        assert!(!plain.contains(absent), "{absent}: {plain}");
    }
    assert!(plain.contains(">len &gt; 100</text>") && plain.contains(">tcp port 80</text>"), "{plain}");
    // A box for each of five terms and for the two verdicts, the background, and two ways from each
    // term.
    assert_eq!((plain.matches("<rect").count(), plain.matches("<polyline").count(), plain.matches("<polygon").count()), (8, 10, 10));
    let counted = run_args(&["explain", expression, "--svg", "-r", &trace]).good();
    let json: serde_json::Value = serde_json::from_str(&run_args(&["explain", expression, "--json", "-r", &trace]).good()).unwrap();
    let first = &json["capture"]["terms"][0];
    for label in [format!(">yes {}</text>", first["held"]), format!(">no {}</text>", first["failed"]), ">200 packets</text>".to_owned()] {
        assert!(counted.contains(&label), "{label}: {counted}");
    }
    let long = vec!["port 80"; 201].join(" or ");
    assert!(run_args(&["explain", &long, "--svg"]).bad(1).contains("201 terms are too many for a picture; the most are 200"));
    assert!(run_args(&["explain", "", "--svg"]).good().contains(">accept</text>"));
}
