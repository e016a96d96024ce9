//! Long and deep filters: verdicts against libpcap's unoptimised code, size of the code, and no
//! source that overflows anything.

mod oracle;

use netvm_frontends::pcap_filter::{Filter, LinkType, Options, parse};
use oracle::packets::{cut_everywhere, made};
use oracle::random::Random;
use oracle::{Oracle, Packet, Verdict};

fn compile(text: &str) -> Filter {
    Filter::compile(text, LinkType::ETHERNET, &Options::default()).unwrap_or_else(|e| panic!("{}", e.render(text, false)))
}

/// `count` terms, each one of `kinds` in turn, over addresses that include those of the made-up
/// packets.
fn list(kinds: &[&str], count: usize, join: &str) -> String {
    let term = |i: usize| {
        let n = i / kinds.len();
        match kinds[i % kinds.len()] {
            "host" => format!("host 10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255),
            "host6" => format!("host 2001:db8:0:1::{:x}", n * 3 + 1),
            "net" => format!("net 10.{}.{}.0/24", n >> 8 & 255, n & 255),
            "net6" => format!("net 2001:db8:0:{:x}::/64", n & 0xffff),
            "mac" => format!("ether host 0:1:2:3:{:x}:{:x}", n >> 8 & 255, n & 255),
            "tcp" => format!("tcp port {}", n + 1),
            "host and tcp" => format!("(host 10.{}.{}.{} and tcp)", n >> 16 & 255, n >> 8 & 255, n & 255),
            "host6 and len" => format!("(host 2001:db8:0:1::{:x} and greater 60)", n * 3 + 1),
            "port and host" => format!("(port 80 and host 10.0.{}.{})", n >> 8 & 255, n & 255),
            "port, host, tcp" => format!("(port 80 and host 10.0.{}.{} and tcp)", n >> 8 & 255, n & 255),
            "src and dst" => format!("src and dst host 10.0.{}.{}", n >> 8 & 255, n & 255),
            _ => format!("port {}", n + 1),
        }
    };
    (0..count).map(term).collect::<Vec<_>>().join(join)
}

fn packets() -> Vec<Packet> {
    let made = made(1, 500, 77);
    let mut packets = cut_everywhere(&made[..12]);
    packets.extend(made);
    packets
}

/// Verdicts of evaluation and of the graph against libpcap's.
fn compare(oracle: &mut Oracle, text: &str, packets: &[Packet]) {
    let name = &text[..text.len().min(60)];
    let theirs = oracle.plain(text).unwrap_or_else(|e| panic!("{name}: {e}"));
    let ours = compile(text);
    for (packet, verdict) in packets.iter().zip(theirs) {
        let wanted = verdict == Verdict::Accept;
        let graph = ours.matches_as_graph(&packet.bytes, packet.wire_len);
        assert_eq!(graph, wanted, "{name}…, {} bytes: {:02x?}", packet.bytes.len(), packet.bytes);
    }
}

#[test]
fn long_lists_agree_with_libpcap() {
    let Some(mut oracle) = Oracle::start() else { return };
    let packets = packets();
    oracle.packets(&packets);
    oracle.link(1, false);
    let kinds: [&[&str]; 17] = [
        &["host"],
        &["host6"],
        &["net"],
        &["net6"],
        &["mac"],
        &["port"],
        &["tcp"],
        &["src and dst"],
        &["host and tcp"],
        &["host6 and len"],
        &["port and host"],
        &["port, host, tcp"],
        &["host", "host and tcp"],
        &["host", "port"],
        &["host", "host6"],
        &["host6", "port"],
        &["net", "host", "net6", "mac", "tcp"],
    ];
    for kind in kinds {
        for count in [2, 7, 40] {
            compare(&mut oracle, &list(kind, count, " or "), &packets);
            compare(&mut oracle, &format!("not {}", list(kind, count, " and not ")), &packets);
            compare(&mut oracle, &format!("tcp and ({}) or udp", list(kind, count, " or ")), &packets);
            compare(&mut oracle, &format!("({}) and less 100", list(kind, count, " or ")), &packets);
        }
    }
}

/// libpcap takes minutes for such lists; plain evaluation, term by term in its order, stands in.
#[test]
fn very_long_lists_keep_their_meaning() {
    let packets = packets();
    for (kinds, count, step) in
        [(&["host"][..], 10_000, 31), (&["port"], 3000, 17), (&["host6", "host", "mac"], 3000, 17), (&["net", "tcp"], 2000, 7)]
    {
        let filter = compile(&list(kinds, count, " or "));
        for packet in packets.iter().step_by(step) {
            let (bytes, wire) = (&packet.bytes, packet.wire_len);
            assert_eq!(filter.matches_as_graph(bytes, wire), filter.matches(bytes, wire), "{kinds:?}, {bytes:02x?}");
        }
    }
}

/// IPv6 addresses that begin alike, on packets that end inside an address: the order of the list
/// decides.
#[test]
fn lists_of_ipv6_addresses_on_packets_cut_inside_one() {
    let Some(mut oracle) = Oracle::start() else { return };
    let mut random = Random::new(5);
    let words = ["2001:db8", "2001:db9"];
    let address = |random: &mut Random| {
        let groups: Vec<String> = (0..3).map(|_| format!("{:x}:0", random.below(2))).collect();
        format!("{}:{}", words[random.below(2)], groups.join(":"))
    };
    let packet = |random: &mut Random| {
        let mut bytes = vec![0; 12];
        bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 40, 6, 64]);
        for _ in 0..2 {
            let text: std::net::Ipv6Addr = address(random).parse().expect("an address");
            bytes.extend(text.octets());
        }
        bytes.extend([0; 20]);
        Packet::whole(bytes)
    };
    let whole: Vec<Packet> = (0..40).map(|_| packet(&mut random)).collect();
    let packets: Vec<Packet> = whole.iter().flat_map(|p| (20..=60).map(|len| p.cut(len))).collect();
    oracle.packets(&packets);
    oracle.link(1, false);
    for _ in 0..60 {
        let head = *random.pick(&["host", "src host", "dst host", "src and dst host", "ip6 host"]);
        let terms: Vec<String> = (0..2 + random.below(6)).map(|_| format!("{head} {}", address(&mut random))).collect();
        let tail = *random.pick(&["", " or tcp", " and tcp", " or host 10.0.0.1 or host 10.0.0.2"]);
        compare(&mut oracle, &(terms.join(" or ") + tail), &packets);
    }
}

/// Terms that end alike on packets that end inside an address: where something may still accept the
/// packet, a term that is cut off differs from one that is false.
#[test]
fn common_parts_on_packets_cut_inside_an_address() {
    let Some(mut oracle) = Oracle::start() else { return };
    let packet = |protocol: u8, source: u8, target: u8| {
        let mut bytes = vec![0; 12];
        bytes.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, source, 10, 0, 0, target]);
        bytes.extend([0, 80, 0, 53].iter().chain(&[0; 16]));
        Packet::whole(bytes)
    };
    let whole: Vec<Packet> = [6, 17].iter().flat_map(|p| (1..4).flat_map(move |s| (1..4).map(move |t| packet(*p, s, t)))).collect();
    let packets: Vec<Packet> = whole.iter().flat_map(|p| (20..=54).map(|len| p.cut(len))).collect();
    oracle.packets(&packets);
    oracle.link(1, false);
    let alike = [
        "(host 10.0.0.1 and tcp) or (host 10.0.0.2 and tcp)",
        "(tcp and host 10.0.0.1) or (tcp and host 10.0.0.2)",
        "(host 10.0.0.1 and port 80) or (host 10.0.0.2 and port 80)",
        "(port 80 and host 10.0.0.1) or (port 80 and host 10.0.0.2)",
        "(ip and host 10.0.0.1 and port 53) or (ip and host 10.0.0.2 and port 53)",
        "(host 10.0.0.1 and less 40) or (src host 10.0.0.2 and less 40) or (dst host 10.0.0.3 and less 40)",
        "(host 10.0.0.1 and not udp) or host 10.0.0.2 or (host 10.0.0.2 and not udp) or (host 10.0.0.3 and not udp)",
    ];
    for list in alike {
        let around = ["LIST", "not (LIST)", "(LIST) or less 100", "(LIST) and less 100", "udp or (LIST)", "not ((LIST) and less 50)"];
        around.iter().for_each(|around| compare(&mut oracle, &around.replace("LIST", list), &packets));
    }
}

#[test]
fn lists_do_not_lengthen_the_code() {
    let length = |text: &str| compile(text).module().push.expect("a handler").code.len();
    for kinds in [
        &["host"][..],
        &["port"],
        &["tcp"],
        &["mac"],
        &["host6"],
        &["host", "host6"],
        &["host", "port"],
        &["net", "host"],
        &["host and tcp"],
        &["host6 and len"],
        &["port and host"],
        &["port, host, tcp"],
    ] {
        let list = |count| list(kinds, count, " or ");
        assert_eq!(length(&list(40)), length(&list(2000)), "{kinds:?}");
        assert_eq!(length(&format!("ip and ({})", list(40))), length(&format!("ip and ({})", list(2000))), "{kinds:?}");
    }
    // In front, a common part can be taken out anywhere.
    for (before, after) in [("not (", ")"), ("(", ") or less 60")] {
        let list = |count| format!("{before}{}{after}", list(&["port and host"], count, " or "));
        assert_eq!(length(&list(40)), length(&list(2000)), "{before}{after}");
    }
}

#[test]
fn nesting_is_bounded() {
    let deep = |n: usize| format!("{}tcp{}", "(".repeat(n), ")".repeat(n));
    compile(&deep(200));
    for text in [
        deep(100_000),
        "not ".repeat(100_000) + "tcp",
        "(".repeat(100_000),
        format!("{}1 = 1", "-".repeat(100_000)),
        format!("{}0{} = 1", "ip[".repeat(100_000), "]".repeat(100_000)),
        format!("{}1 = 1", "1 % ".repeat(100_000)),
        format!("{}1 = 1", "1 + ".repeat(100_000)),
        format!("port {}80", "not ".repeat(100_000)),
        format!("vlan {}1", "(".repeat(100_000)),
        format!("port 80 or {}443{}", "(".repeat(100_000), ")".repeat(100_000)),
    ] {
        let errors = parse(&text).expect_err("too deep");
        assert!(errors.0[0].message.contains("more than"), "{}", errors.0[0].message);
    }
}

#[test]
fn alternating_chains_have_no_depth() {
    let text: Vec<String> = (0..4000).map(|i| format!("{} port {}", if i % 2 == 0 { "or" } else { "and" }, i + 1)).collect();
    let text = format!("tcp {}", text.join(" "));
    assert!(!compile(&text).matches(&[0; 60], 60));
}

/// Random bytes, random words and broken filters: errors, never a panic, and spans inside the
/// source.
#[test]
fn no_source_text_panics() {
    let words: Vec<&str> = include_str!("data/expressions.txt").split_whitespace().collect();
    let mut random = Random::new(9);
    for round in 0..20_000 {
        let text = match round % 3 {
            0 => (0..random.below(12)).map(|_| *random.pick(&words)).collect::<Vec<_>>().join(" "),
            1 => {
                let len = random.below(30);
                String::from_utf8_lossy(&random.bytes(len)).into_owned()
            }
            _ => {
                let mut text = (0..random.below(8)).map(|_| *random.pick(&words)).collect::<Vec<_>>().join(" ");
                let at = random.below(text.len() + 1);
                if text.is_char_boundary(at) {
                    text.insert(at, *random.pick(&['(', ')', '[', ':', '\\', '$', '.', '0', '-', 'é', '/', '!']));
                }
                text
            }
        };
        let link = LinkType(*random.pick(&oracle::packets::LINKS));
        match Filter::compile(&text, link, &Options::default()) {
            Ok(filter) => drop(filter.module()),
            Err(errors) => {
                assert!(!errors.0.is_empty());
                for error in &errors.0 {
                    assert!(error.span.start <= error.span.end && error.span.end as usize <= text.len(), "{text}: {error:?}");
                }
                drop(errors.render(&text, round % 2 == 0));
            }
        }
    }
}
