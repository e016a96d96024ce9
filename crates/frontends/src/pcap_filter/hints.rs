//! What is meant by words of other languages and by common slips, said in this one: remedies for faults that the grammar can only call
//! unexpected.
//!
//! A hint looks at the text around a fault and never changes what is a fault. One that does not fit leaves the remedy there was.

use super::error::{Error, Errors};
use super::{lists, names};

/// Qualifiers that stand before an identifier.
const QUALIFIERS: [&str; 15] =
    ["src", "dst", "host", "net", "port", "portrange", "proto", "tcp", "udp", "sctp", "ip", "ip6", "ether", "arp", "or"];
const PROTOCOLS: [&str; 7] = ["ip", "ip6", "tcp", "udp", "sctp", "arp", "ether"];
/// Networks of a range that are written out.
const FEW: usize = 8;

/// The faults with better remedies where one is known.
pub(super) fn improved(mut errors: Errors, source: &str) -> Errors {
    for error in &mut errors.0 {
        let found = Place::of(error, source).and_then(|place| place.hint(&error.message));
        error.help = found.or(error.help.take());
    }
    errors
}

/// A fault's text and what stands around it.
struct Place<'s> {
    before: &'s str,
    text: &'s str,
    after: &'s str,
}

impl<'s> Place<'s> {
    fn of(error: &Error, source: &'s str) -> Option<Place<'s>> {
        let (start, end) = (error.span.start as usize, error.span.end as usize);
        Some(Place { before: source.get(..start)?, text: source.get(start..end)?, after: source.get(end..)? })
    }

    fn hint(&self, message: &str) -> Option<String> {
        self.range_of_addresses()
            .or_else(|| self.network())
            .or_else(|| self.comma())
            .or_else(|| self.comparison())
            .or_else(|| self.protocol_first())
            .or_else(|| self.icmp_field())
            .or_else(|| self.flag())
            .or_else(|| self.display_filter())
            .or_else(|| self.encapsulation())
            .or_else(|| self.service(message))
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
        let number: u16 = value.parse().ok().filter(|_| quals.last() == Some(&"port"))?;
        let (low, high) = match operator {
            ">" => (number.checked_add(1)?, u16::MAX),
            ">=" => (number, u16::MAX),
            "<" => (0, number.checked_sub(1)?),
            "<=" => (0, number),
            _ => return None,
        };
        Some(format!("ports in a row are written `{}range {low}-{high}`", all))
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
        let (proto, field, value) = match words[..] {
            [proto, field, value] => (proto, field, Some(value)),
            [field] => (self.before.split_whitespace().last()?, field, self.next()),
            _ => return None,
        };
        let known = ["icmp", "icmp6"].contains(&proto) && ["type", "code"].contains(&field);
        let value = value.filter(|_| known).or(known.then_some("…"))?.trim_end_matches(')');
        Some(format!("a field is read by its place: write `{proto}[{proto}{field}] = {value}`"))
    }

    /// A flag of TCP alone.
    fn flag(&self) -> Option<String> {
        let text = if self.text.is_empty() { self.before.split_whitespace().last()? } else { self.text };
        let flag = match text.strip_prefix("tcp-")? {
            "psh" | "push" => "push",
            flag @ ("fin" | "syn" | "rst" | "ack" | "urg" | "ece" | "cwr") => flag,
            _ => return None,
        };
        Some(format!("a flag is tested with `tcp[tcpflags] & tcp-{flag} != 0`"))
    }

    /// Fields as Wireshark names them.
    fn display_filter(&self) -> Option<String> {
        let (term, takes_value) = match self.text {
            "ip.addr" | "ipv6.addr" => ("host", true),
            "ip.src" | "ipv6.src" => ("src host", true),
            "ip.dst" | "ipv6.dst" => ("dst host", true),
            "eth.addr" => ("ether host", true),
            "eth.src" => ("ether src", true),
            "eth.dst" => ("ether dst", true),
            "eth.type" => ("ether proto", true),
            "ip.proto" => ("ip proto", true),
            "tcp.port" => ("tcp port", true),
            "udp.port" => ("udp port", true),
            "tcp.srcport" => ("tcp src port", true),
            "udp.srcport" => ("udp src port", true),
            "tcp.dstport" => ("tcp dst port", true),
            "udp.dstport" => ("udp dst port", true),
            "vlan.id" => ("vlan", true),
            "frame.len" => ("len =", true),
            "tcp.flags.syn" => ("tcp[tcpflags] & tcp-syn != 0", false),
            "tcp.flags.ack" => ("tcp[tcpflags] & tcp-ack != 0", false),
            "tcp.flags.fin" => ("tcp[tcpflags] & tcp-fin != 0", false),
            "tcp.flags.reset" => ("tcp[tcpflags] & tcp-rst != 0", false),
            "icmp.type" => ("icmp[icmptype] =", true),
            _ => return None,
        };
        let mut words = self.after.split_whitespace();
        let (operator, value) = (words.next().unwrap_or("=="), words.next().unwrap_or("…"));
        let not = if ["!=", "ne"].contains(&operator) { "not " } else { "" };
        let value = if takes_value { format!(" {value}") } else { String::new() };
        Some(format!("`{}` is a name of Wireshark's display filters; here it is `{not}{term}{value}`", self.text))
    }

    fn encapsulation(&self) -> Option<String> {
        (self.text == "vxlan").then(|| {
            "VXLAN is known by its port, `udp dst port 4789`; what is inside is read by its place: `udp[28:2] = 0x0800 and udp[39] = 6` is TCP \
             over IPv4"
                .to_owned()
        })
    }

    /// A service's name where a word of the language is wanted.
    fn service(&self, message: &str) -> Option<String> {
        let wanted = ["unknown word", "unknown IP protocol"].iter().any(|start| message.starts_with(start))
            || message.ends_with("is no word of the filter language");
        let known = wanted && self.text.parse::<u32>().is_err();
        let service = names::service(self.text).filter(|_| known)?;
        Some(format!("`{0}` is a service: write `port {0}` (port {1})", self.text, service.port))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Filter, LinkType, Options};

    /// The remedy, and that what it proposes is a filter.
    fn help(source: &str) -> String {
        let errors = Filter::compile(source, LinkType::ETHERNET, &Options::default()).err().expect(source);
        let help = errors.0[0].help.clone().unwrap_or_default();
        let proposed = help.rsplit('`').nth(1).unwrap_or_default();
        if !source.contains(',') && !source.starts_with("vxlan") {
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
        ] {
            let help = help(source).replace(" (port 80)", "").replace(" (port 5060)", "");
            assert!(help.contains(wanted), "{source}: {help}");
        }
    }
}
