//! Lists of terms in which several things must hold together, `(host a and port p) or …`: against
//! libpcap on packets cut at every length, and how the code and the time to make it grow.

mod oracle;

use std::time::{Duration, Instant};

use netvm_frontends::pcap_filter::{Filter, LinkType, Options};
use oracle::code::judged;
use oracle::packets::{cut_everywhere, made};
use oracle::random::Random;
use oracle::{Oracle, Packet, amount};

const HOSTS: [&str; 6] = ["10.0.0.1", "10.0.0.2", "192.168.1.1", "224.0.0.1", "10.1.2.3", "10.9.9.9"];
const HOSTS6: [&str; 5] = ["2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1:0:1:0:1", "2001:db8:0:2::1", "ff02::1"];
const NETS: [&str; 7] = ["10.0.0.0/8", "10.0.0.0/31", "192.168", "0.0.0.0/0", "224.0.0.0/4", "10.1.2.0/24", "192.168.1.1/32"];
const NETS6: [&str; 5] = ["2001:db8:0:1::/64", "2001:db8::/32", "::/0", "ff00::/8", "2001:db8:0:1::/127"];
const MACS: [&str; 4] = ["0:1:2:3:4:5", "ff:ff:ff:ff:ff:ff", "1:0:5e:0:0:1", "0:1b:21:aa:bb:cc"];
const PORTS: [&str; 7] = ["80", "443", "53", "6081", "22", "8080", "9"];
const RANGES: [&str; 5] = ["80-443", "22-53", "0-65535", "64-127", "6000-7000"];
const DIRS: [&str; 5] = ["", "src ", "dst ", "src and dst ", "src or dst "];

/// A conjunct of a kind, with other constants each time.
fn conjunct(random: &mut Random, kind: usize, dir: &str, transport: &str) -> String {
    let pick = |random: &mut Random, from: &[&str]| (*random.pick(from)).to_owned();
    match kind {
        0 | 1 => format!("{dir}host {}", pick(random, &HOSTS)),
        2 => format!("{dir}host {}", pick(random, &HOSTS6)),
        3 => format!("{dir}net {}", pick(random, &NETS)),
        4 => format!("{dir}net {}", pick(random, &NETS6)),
        5 => format!("ether {dir}host {}", pick(random, &MACS)),
        6..=8 => format!("{transport}{dir}port {}", pick(random, &PORTS)),
        9 => format!("{transport}{dir}portrange {}", pick(random, &RANGES)),
        10 => "tcp".to_owned(),
        _ => format!("({dir}port {} or {dir}port {})", pick(random, &PORTS), pick(random, &PORTS)),
    }
}

/// Some kinds of terms, and a list of them in any order.
fn list(random: &mut Random) -> String {
    let kinds: Vec<Vec<(usize, &str, &str)>> = (0..1 + random.below(3))
        .map(|_| {
            let part = |random: &mut Random| (random.below(12), *random.pick(&DIRS), *random.pick(&["", "tcp ", "udp "]));
            (0..2 + random.below(2)).map(|_| part(random)).collect()
        })
        .collect();
    let not = if random.one_in(5) { "not " } else { "" };
    let terms: Vec<String> = (0..8 + random.below(8))
        .map(|_| {
            let kind = random.pick(&kinds).clone();
            let parts: Vec<String> = kind.into_iter().map(|(kind, dir, transport)| conjunct(random, kind, dir, transport)).collect();
            format!("{not}({})", parts.join(" and "))
        })
        .collect();
    // Negated terms make a list with `and`, others with `or`; the other way about there is none.
    let unlike = random.one_in(8);
    terms.join(if not.is_empty() != unlike { " or " } else { " and " })
}

#[test]
fn lists_of_tuples_agree_with_libpcap() {
    let Some(mut oracle) = Oracle::start() else { return };
    let made = made(1, 400, 11);
    let mut packets = cut_everywhere(&made[..25]);
    packets.extend(made);
    oracle.packets(&packets);
    oracle.link(1, false);
    for seed in 0..amount("NETVM_RANDOM_LISTS", 150) {
        let mut random = Random::new(seed as u64);
        let list = list(&mut random);
        let around = *random.pick(&[
            "LIST",
            "LIST",
            "not (LIST)",
            "(LIST) or less 100",
            "udp and (LIST)",
            "vlan and (LIST)",
            "host 10.0.0.2 or LIST",
        ]);
        let text = around.replace("LIST", &list);
        let Ok(plain) = oracle.plain(&text) else { continue };
        let ours = Filter::compile(&text, LinkType::ETHERNET, &Options::default()).unwrap_or_else(|e| panic!("{}", e.render(&text, false)));
        let judge = || judged(&ours, &text, &packets, &plain);
        if let Err(why) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(judge)) {
            eprintln!("seed {seed}: `{text}`");
            std::panic::resume_unwind(why);
        }
    }
}

/// TCP from a to b, ports included, over IPv4 with that many bytes of options.
fn segment(ends: [(u32, u16); 2], options: usize) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    bytes.extend([8, 0, 0x45 + u8::try_from(options / 4).unwrap(), 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0]);
    ends.iter().for_each(|end| bytes.extend(end.0.to_be_bytes()));
    bytes.resize(bytes.len() + options, 1);
    ends.iter().for_each(|end| bytes.extend(end.1.to_be_bytes()));
    bytes.resize(bytes.len() + 16, 0);
    bytes
}

/// Packets that end between the fields of a term: which term comes first decides.
#[test]
fn the_order_decides_on_packets_cut_between_the_fields() {
    let Some(mut oracle) = Oracle::start() else { return };
    let ends = [(0x0a00_0001, 80), (0x0a00_0002, 53), (0x0a00_0003, 9)];
    let pairs = ends.iter().flat_map(|a| ends.iter().map(move |b| [*a, *b]));
    let whole = pairs.flat_map(|pair| [segment(pair, 0), segment(pair, 8)]);
    let packets: Vec<Packet> = whole.flat_map(|bytes| (20..=54).map(move |len| Packet::whole(bytes.clone()).cut(len))).collect();
    oracle.packets(&packets);
    oracle.link(1, false);
    let mut random = Random::new(3);
    for _ in 0..40 {
        let mut term = || format!("(host 10.0.0.{} and port {})", 1 + random.below(4), random.pick(&["80", "53", "9", "7"]));
        let list: Vec<String> = (0..8).map(|_| term()).collect();
        for text in [list.join(" or "), format!("not ({})", list.join(" or ")), format!("({}) or less 60", list.join(" or "))] {
            let plain = oracle.plain(&text).expect("libpcap takes it");
            let ours = Filter::compile(&text, LinkType::ETHERNET, &Options::default()).expect("so do we");
            judged(&ours, &text, &packets, &plain);
        }
    }
}

fn pairs(shape: &str, count: usize) -> String {
    let term = |n: usize| {
        let (a, b, p) = (n * 2_654_435_761 % (1 << 24), n * 40_503 % (1 << 16), n * 7919 % 65536);
        let host = format!("10.{}.{}.{}", a >> 16, a >> 8 & 255, a & 255);
        shape
            .replace("HOST6", &format!("2001:db8::{b:x}"))
            .replace("HOST", &host)
            .replace("NET", &format!("10.{}.{}.0/24", b >> 8, b & 255))
            .replace("PORT", &p.to_string())
    };
    (0..count).map(term).collect::<Vec<_>>().join(" or ")
}

const SHAPES: [&str; 6] = [
    "(src host HOST and dst port PORT)",
    "(host HOST and port PORT)",
    "(net NET and tcp dst port PORT)",
    "(host HOST6 and udp port PORT)",
    "(src host HOST and dst net NET)",
    "(tcp and src host HOST and src port PORT and dst net NET and dst port PORT)",
];

#[test]
fn longer_lists_take_no_more_code() {
    for shape in SHAPES {
        let length = |count| {
            let filter = Filter::compile(&pairs(shape, count), LinkType::ETHERNET, &Options::default()).expect(shape);
            filter.module().push.expect("a handler").code.len()
        };
        assert_eq!(length(40), length(1000), "{shape}");
    }
}

/// Twenty times as much as it takes in a build for tests on an idle machine.
#[test]
fn ten_thousand_pairs_compile_soon() {
    for shape in SHAPES {
        let text = pairs(shape, 10_000);
        let start = Instant::now();
        let filter = Filter::compile(&text, LinkType::ETHERNET, &Options::default()).expect(shape);
        let code = filter.module().push.expect("a handler").code.len();
        println!("{shape}: {:?}, {code} instructions", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(20), "{shape}: {:?}", start.elapsed());
    }
}

/// Verdicts on packets that some pair asks for, and on such as mix two pairs.
#[test]
fn each_pair_is_found_and_no_other() {
    let end = |n: usize| {
        let a = n * 2_654_435_761 % (1 << 24);
        (0x0a00_0000 + u32::try_from(a).unwrap(), u16::try_from(n * 7919 % 65536).unwrap())
    };
    let text = pairs("(src host HOST and dst port PORT)", 10_000);
    let filter = Filter::compile(&text, LinkType::ETHERNET, &Options::default()).unwrap();
    for n in (0..10_000).step_by(97) {
        let (host, port) = end(n);
        let other = end(n + 1);
        assert!(filter.matches_as_graph(&segment([(host, 1), (7, port)], 0), 60), "{n}");
        assert!(!filter.matches_as_graph(&segment([(host, 1), (7, other.1)], 4), 60), "{n}");
        assert!(!filter.matches_as_graph(&segment([(7, port), (host, 1)], 0), 60), "{n}");
    }
}
