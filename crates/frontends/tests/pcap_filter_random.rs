//! Random filters against libpcap: plain evaluation, the graph and the generated NetIL, the last two also with terms ordered by some
//! of the packets; with packets cut at every length.
//!
//! `NETVM_RANDOM_FILTERS` sets how many, `NETVM_RANDOM_SEED` where to start; a failure prints the seed of its filter.

mod oracle;

use netvm_frontends::pcap_filter::{Filter, LinkType, Options, Profile};
use oracle::code::judged;
use oracle::packets::{LINKS, cut_everywhere, made};
use oracle::random::Random;
use oracle::{Oracle, Packet, amount};

/// Writes filters from the vocabulary of the made-up packets.
struct Writer {
    random: Random,
}

const HOSTS: [&str; 7] = ["10.0.0.1", "10.0.0.2", "192.168.1.1", "224.0.0.1", "255.255.255.255", "10.1.2.3", "10.0.0"];
const HOSTS6: [&str; 5] = ["2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1:0:1:0:1", "2001:db8:0:2::1", "ff02::1"];
const NETS: [&str; 6] = ["10.0.0.0/8", "10.0.0.0/31", "192.168", "0.0.0.0/0", "224.0.0.0/4", "10.0.0.1 mask 255.0.0.255"];
const NETS6: [&str; 5] = ["2001:db8:0:1::/64", "2001:db8::/32", "::/0", "ff00::/8", "2001:db8:0:1::/127"];
const PORTS: [&str; 9] = ["80", "443", "53", "6081", "22", "8080", "http", "domain", "65535"];
const RANGES: [&str; 5] = ["80-443", "22-53", "0-65535", "53-53", "6000-7000"];
const MACS: [&str; 4] = ["0:1:2:3:4:5", "ff:ff:ff:ff:ff:ff", "1:0:5e:0:0:1", "0:1b:21:aa:bb:cc"];
const DIRS: [&str; 7] = ["", "", "", "src ", "dst ", "src and dst ", "src or dst "];
const TRANSPORTS: [&str; 5] = ["", "", "tcp ", "udp ", "sctp "];
const PROTOS: [&str; 24] = [
    "ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6", "igmp", "ah", "esp", "pim", "vrrp", "atalk", "aarp", "decnet",
    "iso", "stp", "ipx", "netbeui", "isis", "clnp", "l1",
];
const INDEXED: [&str; 13] = ["ether", "ip", "ip6", "arp", "tcp", "udp", "icmp", "icmp6", "sctp", "igmp", "rarp", "decnet", "link"];
const NUMBERS: [&str; 16] =
    ["0", "1", "2", "5", "6", "14", "17", "31", "60", "80", "0xff", "0x800", "65535", "0x80000000", "0xffffffff", "4294967280"];

impl Writer {
    fn pick(&mut self, from: &[&str]) -> String {
        (*self.random.pick(from)).to_owned()
    }

    fn filter(&mut self, depth: u32) -> String {
        let mut text = self.operand(depth);
        for _ in 0..self.random.below(if depth == 0 { 5 } else { 3 }) {
            let join = *self.random.pick(&[" and ", " or ", " or ", " && ", " || "]);
            text = text + join + &self.operand(depth);
        }
        text
    }

    fn operand(&mut self, depth: u32) -> String {
        match self.random.below(13) {
            0 => format!("not {}", self.operand(depth)),
            1 | 2 if depth < 3 => format!("({})", self.filter(depth + 1)),
            3 | 4 => self.list(),
            5 => self.encapsulation(),
            6 | 7 => self.relation(),
            8 => self.alike(),
            _ => self.term(),
        }
    }

    /// Terms of one kind, joined alike: what merging looks for.
    fn list(&mut self) -> String {
        let (before, ids) = self.kind();
        let (dir, transport) = (self.pick(&DIRS), self.pick(&TRANSPORTS));
        let head = match before {
            "port" | "portrange" => format!("{transport}{dir}{before}"),
            "ether host" => format!("ether {dir}host"),
            _ => format!("{dir}{before}"),
        };
        let (join, not) = if self.random.one_in(4) { (" and ", "not ") } else { (" or ", "") };
        let sticky = self.random.one_in(2);
        let terms: Vec<String> = (0..2 + self.random.below(5))
            .map(|i| {
                let id = self.pick(ids);
                if sticky && i > 0 { format!("{not}{id}") } else { format!("{not}{head} {id}") }
            })
            .collect();
        terms.join(join)
    }

    /// Conjunctions with a part in common, in front, behind or both: what merging takes out.
    fn alike(&mut self) -> String {
        let (front, back) = (self.term(), self.term());
        let (in_front, behind) = *self.random.pick(&[(true, false), (false, true), (true, true)]);
        let (join, not) = if self.random.one_in(5) { (" and ", "not ") } else { (" or ", "") };
        let terms: Vec<String> = (0..2 + self.random.below(4))
            .map(|_| {
                let own = if self.random.one_in(4) { format!("({})", self.list()) } else { self.term() };
                match (in_front, behind) {
                    _ if self.random.one_in(9) => self.term(),
                    (true, false) => format!("{not}({front} and {own})"),
                    (false, _) => format!("{not}({own} and {back})"),
                    _ => format!("{not}({front} and {own} and {back})"),
                }
            })
            .collect();
        terms.join(join)
    }

    fn kind(&mut self) -> (&'static str, &'static [&'static str]) {
        *self.random.pick(&[
            ("host", &HOSTS[..]),
            ("host", &HOSTS6[..]),
            ("net", &NETS[..]),
            ("net", &NETS6[..]),
            ("port", &PORTS[..]),
            ("portrange", &RANGES[..]),
            ("ether host", &MACS[..]),
        ])
    }

    fn term(&mut self) -> String {
        let (before, ids) = self.kind();
        let (dir, id, transport) = (self.pick(&DIRS), self.pick(ids), self.pick(&TRANSPORTS));
        match self.random.below(12) {
            0..=2 => self.pick(&PROTOS),
            3 => format!("{} proto {}", self.pick(&["ip", "ip6", "", "ether", "iso"]), self.pick(&NUMBERS)),
            4 => format!("{} protochain {}", self.pick(&["ip", "ip6", ""]), self.pick(&["6", "17", "51", "59", "44", "0", "58"])),
            5 => {
                self.pick(&["broadcast", "multicast", "ip multicast", "ip6 multicast", "ip broadcast", "llc", "llc u", "inbound", "pppoed"])
            }
            6 => format!("{} {}", self.pick(&["less", "greater"]), self.random.below(200)),
            7 => format!("byte {} {} {}", self.random.below(40), self.pick(&["=", "<", ">", "&", "|"]), self.random.below(256)),
            8 => format!("{}{}host {}", self.pick(&["ip ", "arp ", "rarp ", "ip6 ", ""]), dir, self.pick(&HOSTS)),
            _ => match before {
                "port" | "portrange" => format!("{transport}{dir}{before} {id}"),
                "ether host" => format!("ether {dir}host {id}"),
                _ => format!("{dir}{before} {id}"),
            },
        }
    }

    fn encapsulation(&mut self) -> String {
        let inner = self.term();
        let encap = self.pick(&[
            "vlan",
            "vlan 100",
            "vlan 1 and vlan 200",
            "mpls",
            "mpls 1024",
            "mpls 100000 and mpls",
            "pppoes",
            "pppoes 0x27",
            "geneve",
            "geneve 0xb",
            "vlan and mpls",
            "vlan and pppoes",
        ]);
        let join = if encap.contains("geneve") || !self.random.one_in(3) { "and" } else { "or" };
        format!("{encap} {join} {inner}")
    }

    fn relation(&mut self) -> String {
        let relop = self.pick(&["=", "==", "!=", "<", ">", "<=", ">="]);
        format!("{} {relop} {}", self.arithmetic(0), self.arithmetic(1))
    }

    fn arithmetic(&mut self, depth: u32) -> String {
        match self.random.below(if depth > 2 { 5 } else { 10 }) {
            0 | 1 => self.pick(&NUMBERS),
            2 => "len".to_owned(),
            3..=6 => {
                let index = if self.random.one_in(4) { self.arithmetic(depth + 2) } else { self.random.below(50).to_string() };
                format!("{}[{index}{}]", self.pick(&INDEXED), self.pick(&["", ":1", ":2", ":4"]))
            }
            7 => format!("({})", self.binary(depth)),
            8 => format!("-{}", self.arithmetic(depth + 1)),
            _ => self.binary(depth),
        }
    }

    fn binary(&mut self, depth: u32) -> String {
        let op = self.pick(&["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]);
        format!("{} {op} {}", self.arithmetic(depth + 1), self.arithmetic(depth + 1))
    }
}

/// `geneve` under `or` or `not` lets other packets reach tests of registers that libpcap never set.
fn reads_unset_registers(filter: &str) -> bool {
    let joined_otherwise = ["or", "||", "not"].iter().any(|word| filter.contains(word));
    filter.contains("geneve") && joined_otherwise
}

/// What a filter is compared for: on how many packets libpcap's optimiser changes the verdict, and whether a profile changes the program.
#[derive(Default)]
struct Compared {
    differing: usize,
    reordered: bool,
}

/// Compares one filter on all packets, also ordered by a profile.
fn compare(oracle: &mut Oracle, text: &str, link: u32, packets: &[Packet], profile: &Profile) -> Compared {
    let ours = Filter::compile(text, LinkType(link), &Options::default());
    let (plain, optimised) = oracle.both(text);
    let (ours, plain) = match (ours, plain) {
        (Ok(ours), Ok(plain)) => (ours, plain),
        (Err(_), Err(_)) => return Compared::default(),
        (Ok(_), Err(theirs)) => panic!("only libpcap refuses it: {theirs}"),
        (Err(ours), Ok(_)) => panic!("only netvm refuses it: {}", ours.render(text, false)),
    };
    let profiled = Filter::profiled(text, LinkType(link), &Options::default(), profile).expect("it compiled without a profile");
    judged(&ours, text, packets, &plain);
    let reordered = profiled.module() != ours.module();
    if reordered {
        judged(&profiled, text, packets, &plain);
    }
    let differing = optimised.map_or(0, |optimised| plain.iter().zip(&optimised).filter(|(a, b)| a != b).count());
    Compared { differing, reordered }
}

/// Some of the packets, other ones for each seed.
fn profile(packets: &[Packet], seed: u64) -> Profile {
    let mut random = Random::new(seed);
    let mut profile = Profile::default();
    (0..100).map(|_| random.pick(packets)).for_each(|packet| profile.add(&packet.bytes, packet.wire_len));
    profile
}

#[test]
fn random_filters_agree_with_libpcap() {
    let Some(mut oracle) = Oracle::start() else { return };
    let (count, start) = (amount("NETVM_RANDOM_FILTERS", 1500), amount("NETVM_RANDOM_SEED", 1));
    let (mut changed, mut reordered, mut accepted_filters) = (0, 0, 0);
    for (i, &link) in LINKS.iter().enumerate() {
        let weight = if link == 1 { 4 } else { 1 };
        let made = made(link, 300, 100 + start as u64);
        let mut packets = cut_everywhere(&made[..8]);
        packets.extend(made);
        oracle.packets(&packets);
        oracle.link(link, false);
        for n in 0..count * weight / (LINKS.len() + 3) {
            let seed = (start + n) as u64 * 16 + i as u64;
            let text = Writer { random: Random::new(seed) }.filter(0);
            if reads_unset_registers(&text) {
                continue;
            }
            accepted_filters += usize::from(Filter::compile(&text, LinkType(link), &Options::default()).is_ok());
            let profile = profile(&packets, seed);
            let compare = || compare(&mut oracle, &text, link, &packets, &profile);
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(compare)) {
                Ok(compared) => {
                    changed += usize::from(compared.differing > 0);
                    reordered += usize::from(compared.reordered);
                }
                Err(why) => {
                    eprintln!("link type {link}, seed {seed}: `{text}`");
                    std::panic::resume_unwind(why);
                }
            }
        }
    }
    println!("{accepted_filters} filters accepted; libpcap's optimiser changes verdicts of {changed}, a profile the order of {reordered}");
    assert!(reordered * 20 > accepted_filters, "profiles change too few filters for the test to mean something");
    assert!(accepted_filters * 2 > count, "the generator writes too many filters that nobody accepts");
}
