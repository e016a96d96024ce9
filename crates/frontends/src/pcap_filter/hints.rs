//! What is meant by words of other languages and by common slips, said in this one: remedies for
//! faults that the grammar can only call unexpected.
//!
//! A hint looks at the text around a fault and never changes what is a fault. One that does not fit
//! leaves the remedy there was.

use super::error::{Error, ErrorKind, Errors};
use super::{lists, names};

/// Qualifiers that stand before an identifier.
const QUALIFIERS: [&str; 15] =
    ["src", "dst", "host", "net", "port", "portrange", "proto", "tcp", "udp", "sctp", "ip", "ip6", "ether", "arp", "or"];
const PROTOCOLS: [&str; 7] = ["ip", "ip6", "tcp", "udp", "sctp", "arp", "ether"];
/// Protocols of which a packet has one.
const TRANSPORTS: [&str; 8] = ["tcp", "udp", "sctp", "icmp", "icmp6", "igmp", "arp", "rarp"];

/// Words that stand for a protocol or a flag elsewhere, and what selects it here.
#[rustfmt::skip]
const WORDS: &[(&str, &str)] = &[
    ("ipv4", "ip"), ("inet", "ip"), ("inet6", "ip6"), ("icmpv6", "icmp6"), ("dns", "port 53"), ("mdns", "udp port 5353"),
    ("dhcp", "udp port 67 or udp port 68"), ("dhcpv6", "udp port 546 or udp port 547"), ("tls", "tcp port 443"), ("ssl", "tcp port 443"),
    ("quic", "udp port 443"), ("gre", "ip proto 47"), ("esp", "ip proto 50"), ("ospf", "ip proto 89"), ("eigrp", "ip proto 88"),
    ("lldp", "ether proto 0x88cc"), ("eapol", "ether proto 0x888e"), ("ptp", "ether proto 0x88f7 or udp port 319 or udp port 320"),
    ("macsec", "ether proto 0x88e5"), ("lacp", "ether proto 0x8809"), ("cdp", "ether dst 01:00:0c:cc:cc:cc"),
    ("http.request", "tcp port 80 and tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420"),
];
const FLAGS: [&str; 8] = ["fin", "syn", "rst", "push", "ack", "urg", "ece", "cwr"];

/// What packets of a protocol are called, and how they are told.
#[rustfmt::skip]
const MESSAGES: &[(&str, &str, &str)] = &[
    ("icmp", "echo", "icmp[icmptype] = icmp-echo"), ("icmp", "ping", "icmp[icmptype] = icmp-echo"),
    ("icmp", "request", "icmp[icmptype] = icmp-echo"), ("icmp", "reply", "icmp[icmptype] = icmp-echoreply"),
    ("icmp", "unreachable", "icmp[icmptype] = icmp-unreach"), ("icmp", "redirect", "icmp[icmptype] = icmp-redirect"),
    ("arp", "request", "arp[6:2] = 1"), ("arp", "reply", "arp[6:2] = 2"),
];

/// Fields as Wireshark names them: the term that takes a value, or what may be compared.
#[rustfmt::skip]
const TERMS: &[(&str, &str)] = &[
    ("ip.addr", "host"), ("ipv6.addr", "host"), ("ip.src", "src host"), ("ipv6.src", "src host"), ("ip.dst", "dst host"),
    ("ipv6.dst", "dst host"), ("eth.addr", "ether host"), ("eth.src", "ether src"), ("eth.dst", "ether dst"), ("eth.type", "ether proto"),
    ("ip.proto", "ip proto"), ("tcp.port", "tcp port"), ("udp.port", "udp port"), ("tcp.srcport", "tcp src port"),
    ("udp.srcport", "udp src port"), ("tcp.dstport", "tcp dst port"), ("udp.dstport", "udp dst port"), ("vlan.id", "vlan"),
];
#[rustfmt::skip]
const PLACES: &[(&str, &str)] = &[
    ("frame.len", "len"), ("ip.ttl", "ip[8]"), ("ip.len", "ip[2:2]"), ("ip.id", "ip[4:2]"), ("ip.tos", "ip[1]"), ("ipv6.hlim", "ip6[7]"),
    ("icmp.type", "icmp[icmptype]"), ("icmp.code", "icmp[icmpcode]"), ("icmpv6.type", "icmp6[icmp6type]"), ("arp.opcode", "arp[6:2]"),
    ("tcp.flags", "tcp[tcpflags]"), ("tcp.window_size", "tcp[14:2]"), ("tcp.seq", "tcp[4:4]"), ("udp.length", "udp[4:2]"),
];
#[rustfmt::skip]
const BITS: &[(&str, &str)] = &[
    ("tcp.flags.syn", "syn"), ("tcp.flags.ack", "ack"), ("tcp.flags.fin", "fin"), ("tcp.flags.reset", "rst"), ("tcp.flags.push", "push"),
    ("tcp.flags.urg", "urg"),
];

/// Networks of a range that are written out.
const FEW: usize = 8;
/// Longer filters are not written out.
const LONGEST: usize = 80;

/// The faults with better remedies where one is known.
pub(super) fn improved(mut errors: Errors, source: &str) -> Errors {
    for error in &mut errors.0 {
        let found = FaultContext::of(error, source).and_then(|place| place.hint(error.kind));
        error.help = found.or(error.help.take());
    }
    errors
}

/// A fault's text and what stands around it.
struct FaultContext<'s> {
    before: &'s str,
    text: &'s str,
    after: &'s str,
}

impl<'s> FaultContext<'s> {
    fn of(error: &Error, source: &'s str) -> Option<FaultContext<'s>> {
        let (start, end) = (error.span.start as usize, error.span.end as usize);
        Some(FaultContext { before: source.get(..start)?, text: source.get(start..end)?, after: source.get(end..)? })
    }

    fn hint(&self, kind: ErrorKind) -> Option<String> {
        self.range_of_addresses()
            .or_else(|| self.network())
            .or_else(|| self.comma())
            .or_else(|| self.comparison())
            .or_else(|| self.protocol_first())
            .or_else(|| self.icmp_field())
            .or_else(|| self.message())
            .or_else(|| self.flag())
            .or_else(|| self.display_filter())
            .or_else(|| self.encapsulation())
            .or_else(|| self.tag())
            .or_else(|| self.ports())
            .or_else(|| self.other_word())
            .or_else(|| self.text())
            .or_else(|| self.service(kind))
            .or_else(|| self.joined(kind))
    }

    /// The last word before the fault.
    fn last(&self) -> Option<&'s str> {
        self.before.split_whitespace().last()
    }

    /// The last words before the fault that qualify what follows.
    fn qualifiers(&self) -> Vec<&'s str> {
        let words: Vec<&str> = self.before.split_whitespace().collect();
        let count = words.iter().rev().take_while(|word| QUALIFIERS.contains(word)).count();
        words[words.len() - count..].to_vec()
    }

    /// The first word behind the fault.
    fn next(&self) -> Option<&'s str> {
        self.after.split_whitespace().next()
    }

    /// `host 192.0.2.1-192.0.2.9`
    fn range_of_addresses(&self) -> Option<String> {
        let (first, last) = self.text.split_once('-')?;
        let networks = lists::networks(first, last)?;
        let dir = self.qualifiers().into_iter().find(|word| ["src", "dst"].contains(word)).map_or(String::new(), |dir| format!("{dir} "));
        let written: Vec<String> = networks.iter().take(FEW).map(|network| format!("{dir}{network}")).collect();
        let more = if networks.len() > FEW { " or …" } else { "" };
        Some(format!("a range of addresses is written as networks: `{}{more}`", written.join(" or ")))
    }

    /// An address with a mask and nothing before it.
    fn network(&self) -> Option<String> {
        let mask = self.after.strip_prefix('/')?;
        let digits = mask.find(|c: char| !c.is_ascii_digit()).unwrap_or(mask.len());
        let address = self.text.parse::<std::net::IpAddr>().is_ok() && digits > 0;
        address.then(|| format!("a network is written `net {}/{}`", self.text, &mask[..digits]))
    }

    /// `port 80,443`
    fn comma(&self) -> Option<String> {
        let word = |c: char| !c.is_whitespace() && !"(),".contains(c);
        let next = self.after.trim_start();
        let next = &next[..next.find(|c| !word(c)).unwrap_or(next.len())];
        let before = self.before.trim_end();
        let last = &before[before.rfind(|c| !word(c)).map_or(0, |at| at + 1)..];
        let usable = self.text == "," && !last.is_empty() && !next.is_empty();
        usable.then(|| format!("alternatives are joined by `or`, as in `{last} or {next}`"))
    }

    /// `dst port != 80`, `port > 1024`
    fn comparison(&self) -> Option<String> {
        let quals = self.qualifiers();
        let operator = self.text;
        let value = self.next().filter(|_| !quals.is_empty())?;
        let all = quals.join(" ");
        match operator {
            "!=" => return Some(format!("no operator stands here: write `not {all} {value}`")),
            "=" | "==" => return Some(format!("no operator stands here: write `{all} {value}`")),
            _ => {}
        }
        (quals.last() == Some(&"port")).then(|| in_a_row(&all, operator, value))?
    }

    /// `src ip 192.0.2.1`
    fn protocol_first(&self) -> Option<String> {
        let quals = self.qualifiers();
        let dir = quals.last().filter(|word| ["src", "dst", "host", "net", "port"].contains(word))?;
        let next = self.next().filter(|_| PROTOCOLS.contains(&self.text))?;
        let value =
            if QUALIFIERS.contains(&next) { self.after.split_whitespace().take(2).collect::<Vec<_>>().join(" ") } else { next.to_owned() };
        Some(format!("the protocol comes first: write `{} {dir} {value}`", self.text))
    }

    /// `icmp type 8`
    fn icmp_field(&self) -> Option<String> {
        // The whole term is at fault where `type` is one of 802.11 frames.
        let words: Vec<&str> = self.text.split_whitespace().collect();
        let before: Vec<&str> = self.before.split_whitespace().rev().take(2).collect();
        let (proto, field, value) = match words[..] {
            [proto, field, value] => (proto, field, Some(value)),
            // Only the value is at fault where it is no type of a frame.
            [value] if matches!(before[..], ["type" | "code", "icmp" | "icmp6"]) => (before[1], before[0], Some(value)),
            [field] => (self.before.split_whitespace().last()?, field, self.next()),
            _ => return None,
        };
        let known = ["icmp", "icmp6"].contains(&proto) && ["type", "code"].contains(&field);
        let value = value.filter(|_| known).or(known.then_some("…"))?.trim_end_matches(')');
        Some(format!("a field is read by its place: write `{proto}[{proto}{field}] = {value}`"))
    }

    /// `arp request`
    fn message(&self) -> Option<String> {
        let last = self.last()?;
        let (_, _, term) = MESSAGES.iter().find(|(proto, name, _)| (*proto, *name) == (last, self.text))?;
        Some(format!("packets of {last} are told apart by their fields: write `{term}`"))
    }

    /// A flag of TCP alone.
    fn flag(&self) -> Option<String> {
        let text = if self.text.is_empty() { self.last()? } else { self.text };
        let named = text.strip_prefix("tcp-");
        // `host syn` is one of that name.
        if named.is_none() && self.last().is_some_and(|last| !PROTOCOLS.contains(&last) && QUALIFIERS.contains(&last)) {
            return None;
        }
        let flag = match named.unwrap_or(text) {
            "psh" => "push",
            flag => FLAGS.into_iter().find(|known| *known == flag)?,
        };
        Some(format!("a flag is tested with `tcp[tcpflags] & tcp-{flag} != 0`"))
    }

    /// Fields as Wireshark names them.
    fn display_filter(&self) -> Option<String> {
        let find = |table: &[(&str, &'static str)]| table.iter().find(|(name, _)| *name == self.text).map(|(_, here)| *here);
        let mut words = self.after.split_whitespace();
        let operator = words.next().filter(|word| !["and", "or", "&&", "||"].contains(word));
        let value = words.next().filter(|_| operator.is_some());
        let not = if operator.is_some_and(|operator| ["!=", "ne"].contains(&operator)) { "not " } else { "" };
        let here = if let Some(term) = find(TERMS) {
            let row = operator.zip(value).filter(|_| term.ends_with("port")).and_then(|(operator, value)| in_a_row(term, operator, value));
            match row {
                Some(row) => return Some(row),
                None => format!("{not}{term} {}", value.unwrap_or("…")),
            }
        } else if let Some(place) = find(PLACES) {
            let operator = match operator {
                Some("==" | "eq") | None => "=",
                Some("ne") => "!=",
                Some(other) => other,
            };
            format!("{place} {operator} {}", value.unwrap_or("…"))
        } else {
            format!("{not}tcp[tcpflags] & tcp-{} != 0", find(BITS)?)
        };
        Some(format!("`{}` is a name of Wireshark's display filters; here it is `{here}`", self.text))
    }

    fn encapsulation(&self) -> Option<String> {
        (self.text == "vxlan").then(|| {
            "VXLAN is known by its port, `udp dst port 4789`; what is inside is read by its place: `udp[28:2] = 0x0800 and udp[39] = 6` is TCP \
             over IPv4"
                .to_owned()
        })
    }

    /// `vlan == 5`, `vlan id 5`
    fn tag(&self) -> Option<String> {
        let value = self.next().filter(|value| value.parse::<u16>().is_ok())?;
        let known = ["vlan", "mpls"].contains(&self.last()?) && ["=", "==", "id"].contains(&self.text);
        known.then(|| format!("the number stands behind the word: write `{} {value}`", self.last().unwrap_or_default()))
    }

    /// `port 80:90`
    fn ports(&self) -> Option<String> {
        let words: Vec<&str> = self.before.split_whitespace().rev().take(2).collect();
        let [first, "port"] = words[..] else { return None };
        let last = self.next().filter(|last| self.text == ":" && last.parse::<u16>().is_ok() && first.parse::<u16>().is_ok())?;
        Some(format!("ports in a row are written `portrange {first}-{last}`"))
    }

    /// `dns`, `mac 00:11:22:33:44:55`
    fn other_word(&self) -> Option<String> {
        if self.text == "mac" {
            return Some(format!("a hardware address is written `ether host {}`", self.next().unwrap_or("…")));
        }
        let known = WORDS.iter().find(|(word, _)| *word == self.text);
        known.map(|(word, term)| format!("there is no word `{word}`; its packets are mostly `{term}`"))
    }

    /// `tcp contains "GET"`
    fn text(&self) -> Option<String> {
        ["contains", "matches"].contains(&self.text).then(|| {
            "bytes are compared where they stand, they are not searched for: `tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420` are those that \
             begin with `GET `; `-A` shows them"
                .to_owned()
        })
    }

    /// Two terms with nothing between them: `src 192.0.2.1 dst 192.0.2.2`, `tcp udp`.
    fn joined(&self, kind: ErrorKind) -> Option<String> {
        let follows = kind == ErrorKind::NotJoined && super::suggest::is_word(self.text);
        let last = self.last().filter(|_| follows)?;
        let either = TRANSPORTS.contains(&last) && TRANSPORTS.contains(&self.text);
        let (join, before) = (if either { "or" } else { "and" }, self.before.trim_end());
        let whole = format!("{before} {join} {}{}", self.text, self.after.trim_end());
        let shown = if whole.len() <= LONGEST { whole } else { format!("… {join} {} …", self.text) };
        Some(format!("terms are joined by `and` or `or`: write `{shown}`"))
    }

    /// A service's name where a word of the language is wanted.
    fn service(&self, kind: ErrorKind) -> Option<String> {
        let known = kind == ErrorKind::UnknownWord && self.text.parse::<u32>().is_err();
        let service = names::service(self.text).filter(|_| known)?;
        Some(format!("`{0}` is a service: write `port {0}` (port {1})", self.text, service.port))
    }
}

/// `port > 1024` as a range.
fn in_a_row(term: &str, operator: &str, value: &str) -> Option<String> {
    let number: u16 = value.parse().ok()?;
    let (low, high) = match operator {
        ">" | "gt" => (number.checked_add(1)?, u16::MAX),
        ">=" | "ge" => (number, u16::MAX),
        "<" | "lt" => (0, number.checked_sub(1)?),
        "<=" | "le" => (0, number),
        _ => return None,
    };
    Some(format!("ports in a row are written `{term}range {low}-{high}`"))
}

#[cfg(test)]
mod tests {
    use super::super::{Filter, LinkType, Options};

    /// The remedy, and that what it proposes is a filter.
    fn help(source: &str) -> String {
        let errors = Filter::compile(source, LinkType::ETHERNET, &Options::default()).err().expect(source);
        let help = errors.0[0].help.clone().unwrap_or_default();
        let proposed = help.rsplit('`').nth(1).unwrap_or_default();
        if !source.contains(',') && !help.contains('…') && !["vxlan and tcp", "tcp contains GET"].contains(&source) {
            assert!(Filter::compile(proposed, LinkType::ETHERNET, &Options::default()).is_ok(), "{source}: {help}");
        }
        help
    }

    #[test]
    fn slips_are_said_in_this_language() {
        for (source, wanted) in [
            ("tcp-psh", "`tcp[tcpflags] & tcp-push != 0`"),
            ("tcp-syn", "`tcp[tcpflags] & tcp-syn != 0`"),
            ("src ip 192.0.2.1", "`ip src 192.0.2.1`"),
            ("dst tcp port 80", "`tcp dst port 80`"),
            ("ip.addr == 192.0.2.1", "`host 192.0.2.1`"),
            ("tcp.dstport != 80", "`not tcp dst port 80`"),
            ("host 192.0.2.1-192.0.2.9", "`host 192.0.2.1 or net 192.0.2.2/31 or net 192.0.2.4/30 or net 192.0.2.8/31`"),
            ("icmp type 8", "`icmp[icmptype] = 8`"),
            ("vxlan and tcp", "`udp dst port 4789`"),
            ("port 80,443", "`80 or 443`"),
            ("dst port != 80", "`not dst port 80`"),
            ("port > 1024", "`portrange 1025-65535`"),
            ("tcp dst port <= 1023", "`tcp dst portrange 0-1023`"),
            ("229.254.166.192/29", "`net 229.254.166.192/29`"),
            ("proto http", "`port http`"),
            ("sip", "`port sip`"),
            ("icmp6 type 128", "`icmp6[icmp6type] = 128`"),
            ("frame.len > 100", "`len > 100`"),
            ("ip.ttl", "`ip[8] = …`"),
            ("ip.ttl == 5", "`ip[8] = 5`"),
            ("tcp.port > 1023", "`tcp portrange 1024-65535`"),
            ("http.request", "0x47455420`"),
            ("ipv4", "`ip`"),
            ("dns", "`port 53`"),
            ("dhcp", "`udp port 67 or udp port 68`"),
            ("tls", "`tcp port 443`"),
            ("gre", "`ip proto 47`"),
            ("lldp", "`ether proto 0x88cc`"),
            ("syn", "`tcp[tcpflags] & tcp-syn != 0`"),
            ("tcp syn", "`tcp[tcpflags] & tcp-syn != 0`"),
            ("tcp port 80 and ack", "`tcp[tcpflags] & tcp-ack != 0`"),
            ("icmp echo", "`icmp[icmptype] = icmp-echo`"),
            ("mac 00:11:22:33:44:55", "`ether host 00:11:22:33:44:55`"),
            ("port 80:90", "`portrange 80-90`"),
            ("vlan == 5", "`vlan 5`"),
            ("vlan id 5", "`vlan 5`"),
            ("src 10.0.0.1 dst 10.0.0.2", "`src 10.0.0.1 and dst 10.0.0.2`"),
            ("ip host 10.0.0.1 port 80", "`ip host 10.0.0.1 and port 80`"),
            ("tcp udp", "`tcp or udp`"),
            ("arp request", "`arp[6:2] = 1`"),
            ("arp reply", "`arp[6:2] = 2`"),
            ("tcp contains GET", "are not searched for"),
        ] {
            let help = help(source).replace(" (port 80)", "").replace(" (port 5060)", "");
            assert!(help.contains(wanted), "{source}: {help}");
        }
    }
}
