//! What people read: error messages, filters in words, accounts of packets, and the generated code.

mod blessed;

use netvm_frontends::pcap_filter::explain::{Explainer, Explanation, Outcome, Sentence};
use netvm_frontends::pcap_filter::{Filter, LinkType, Options};

/// `@link text` or `text` for Ethernet.
fn link_of(input: &str) -> (LinkType, &str) {
    let named = input.strip_prefix('@').and_then(|rest| rest.split_once(' '));
    named.map_or((LinkType::ETHERNET, input), |(link, text)| (LinkType(link.parse().expect("a number")), text))
}

#[test]
fn errors_point_and_help() {
    blessed::check("errors.txt", |input| {
        let (link, text) = link_of(input);
        match Filter::compile(text, link, &Options::default()) {
            Ok(_) => "accepted".to_owned(),
            Err(errors) => errors.render(text, false),
        }
    });
}

#[test]
fn colours_change_nothing_but_colour() {
    let text = "tcp and prot 80";
    let errors = Filter::compile(text, LinkType::ETHERNET, &Options::default()).err().expect("refused");
    let (plain, coloured) = (errors.render(text, false), errors.render(text, true));
    assert!(coloured.contains("\x1b[1;31m"));
    let mut stripped = coloured;
    while let Some(start) = stripped.find('\x1b') {
        let end = stripped[start..].find('m').expect("an end") + start;
        stripped.replace_range(start..=end, "");
    }
    assert_eq!(stripped, plain);
}

#[test]
fn the_wrong_source_is_drawn_without_panic() {
    let errors = Filter::compile("tcp and prot 80", LinkType::ETHERNET, &Options::default()).err().expect("refused");
    for source in ["", "é", "\n\n", "tcp and é prot"] {
        assert!(errors.render(source, false).starts_with("error"));
    }
}

#[test]
fn filters_in_words() {
    let line = |s: &Sentence| {
        let join = s.join.map(|j| format!("{j} ")).unwrap_or_default();
        format!("{}{join}{}{}\n", "  ".repeat(s.depth as usize), if s.negated { "not: " } else { "" }, s.words)
    };
    blessed::check("explained.txt", |input| {
        let explainer = Explainer::new(input, LinkType::ETHERNET, &Options::default()).expect("a filter");
        explainer.words().iter().map(line).collect()
    });
}

#[test]
fn code_of_filters() {
    blessed::check("code.txt", |input| {
        let filter = Filter::compile(input, LinkType::ETHERNET, &Options::default()).expect("a filter");
        netil::disasm::disassemble(&filter.module())
    });
}

/// IPv4 TCP from 10.0.0.1:80 to 10.0.0.2:50000, SYN and ACK.
const PACKET: [u8; 54] = [
    0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 6, 8, 0, 0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 0xc3, 0x50, 0, 0,
    0, 0, 0, 0, 0, 0, 0x50, 0x12, 0, 0, 0, 0, 0, 0,
];

fn account(filter: &str, packet: &[u8]) -> Explanation {
    let explainer = Explainer::new(filter, LinkType::ETHERNET, &Options::default()).expect("a filter");
    explainer.packet(packet, packet.len() as u32)
}

#[test]
fn accounts_say_what_held_and_what_was_not_reached() {
    let account = account("tcp port 80 or 443 and not host 10.0.0.9 and len > 60 and udp", &PACKET);
    let outcomes: Vec<Outcome> = account.terms.iter().map(|t| t.outcome).collect();
    use Outcome::{Failed, Held, NotReached};
    assert_eq!(outcomes, [Held, NotReached, Failed, Failed, NotReached]);
    assert!(!account.accepted);
    let port = account.terms[0].findings.last().expect("a finding");
    assert_eq!((port.what.as_str(), port.bytes, port.found.as_str(), port.wanted.as_str()), ("source port", Some((34, 36)), "80", "= 80"));
    assert!(port.holds);
    let host = &account.terms[2].findings;
    assert!(host.iter().any(|f| f.what == "IPv4 destination" && f.found == "10.0.0.2" && f.wanted == "= 10.0.0.9"), "{host:?}");
}

#[test]
fn accounts_of_short_packets_say_what_is_missing() {
    let account = account("host 10.0.0.9 or tcp", &PACKET[..32]);
    assert_eq!(account.terms[0].outcome, Outcome::TooShort { start: 30, end: 34, have: 32 });
    assert_eq!(account.terms[1].outcome, Outcome::NotReached);
    assert!(!account.accepted);
}

#[test]
fn accounts_agree_with_verdicts() {
    for line in include_str!("data/expressions.txt").lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let Ok(filter) = Filter::compile(line, LinkType::ETHERNET, &Options::default()) else { continue };
        for len in 0..=PACKET.len() {
            assert_eq!(account(line, &PACKET[..len]).accepted, filter.matches(&PACKET[..len], len as u32), "`{line}`, {len} bytes");
        }
    }
}
