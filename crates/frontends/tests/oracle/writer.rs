//! Random filters from the vocabulary of the made-up packets.

use super::random::Random;

/// Writes filters from the vocabulary of the made-up packets.
pub struct Writer {
    pub random: Random,
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

    pub fn filter(&mut self, depth: u32) -> String {
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
