//! Filters that reject or accept everything, and terms that can never hold, beside what libpcap
//! says of them.

mod oracle;

use netvm_frontends::pcap_filter::{Error, Filter, LinkType, Options, doubts, render_warnings};
use oracle::packets::{LINKS, made};
use oracle::random::Random;
use oracle::writer::Writer;
use oracle::{Oracle, amount};

fn of(text: &str, link: u32) -> Vec<Error> {
    doubts(text, LinkType(link), &Options::default()).unwrap_or_default()
}

fn drawn(text: &str) -> String {
    render_warnings(&of(text, 1), text, false)
}

fn rejects_all(doubts: &[Error]) -> bool {
    doubts.iter().any(|doubt| doubt.message.starts_with("expression rejects all packets"))
}

#[test]
fn the_term_is_underlined() {
    assert_eq!(
        drawn("ip6 and tcp[13] & 2 != 0"),
        "warning: expression rejects all packets: this term can never hold\n1 | ip6 and tcp[13] & 2 != 0\n  |         ^^^^^^^^^^^^^^^^\n\
         help: `tcp[…]` looks at IPv4 only; bytes behind the fixed header of IPv6 are `ip6[40 + OFFSET]`\n"
    );
    assert_eq!(
        drawn("arp or (tcp and udp port 53)"),
        "warning: this term can never hold\n1 | arp or (tcp and udp port 53)\n  |                 ^^^^^^^^^^^\nhelp: it contradicts what is joined to it by `and`\n"
    );
    assert_eq!(drawn("ip or not ip"), "warning: expression matches every packet\n1 | ip or not ip\n  | ^^^^^^^^^^^^\n");
}

/// Values that no field has: too large, outside a mask, or against what is known of some of the
/// field's bits.
#[test]
fn values_that_no_field_has_are_told() {
    let whole = ["ip[0] = 300", "ip proto 300", "tcp[13] & 2 = 1", "tcp[0:2] > 70000", "ip[0] & 0xf0 = 5", "(ip[0] & 0xf) << 2 = 62"];
    for text in whole {
        assert!(rejects_all(&of(text, 1)), "`{text}`");
    }
    for (text, at) in [
        ("src net 10.0.0.0/8 and src host 192.168.1.1", "src host 192.168.1.1"),
        ("src host 192.168.1.1 and src net 10.0.0.0/8", "src net 10.0.0.0/8"),
        ("src net 10.0.0.0/8 and src net 10.1.0.0/16 and src net 11.1.0.0/16", "src net 11.1.0.0/16"),
        ("arp or (tcp[13] & 2 = 2 and tcp[13] = 0x11)", "tcp[13] = 0x11"),
    ] {
        let doubts = of(text, 1);
        let [doubt] = &doubts[..] else { panic!("`{text}`: {doubts:?}") };
        assert_eq!(&text[doubt.span.start as usize..doubt.span.end as usize], at);
    }
    assert!(drawn("tcp[13] & 2 = 1").contains("`&` leaves only the bits of its mask"));
    assert!(drawn("ip proto 300").contains("255 at most"));
}

#[test]
fn what_is_no_mistake_is_not_doubted() {
    let near =
        ["ip[0] = 255", "tcp[0:2] > 65534", "tcp[13] & 18 = 2", "(ip[0] & 0xf) << 2 = 60", "src net 10.0.0.0/8 and src host 10.1.1.1"];
    for text in near {
        assert_eq!(drawn(text), "", "`{text}`");
    }
    let fine = ["", "tcp or tcp port 80", "ip and not arp", "host 10.0.0.1 and host 10.0.0.2", "vlan and vlan", "ip or arp"];
    for text in fine {
        assert_eq!(drawn(text), "", "`{text}`");
    }
}

/// What follows a term that cannot hold is not doubted as well.
#[test]
fn a_contradiction_is_told_once() {
    assert_eq!(of("ip and ip6 and tcp and udp", 1).len(), 1);
    assert_eq!(of("arp", 101).len(), 1, "no ARP on raw IP");
}

/// Where libpcap finds that all is rejected, so do we, and where we say so, no packet is accepted.
#[test]
fn libpcap_agrees() {
    let Some(mut oracle) = Oracle::start() else { return };
    let listed = include_str!("data/expressions.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let random = (0..amount("NETVM_RANDOM_FILTERS", 300) as u64).map(|seed| Writer { random: Random::new(seed + 5) }.filter(0));
    let texts: Vec<String> = listed.map(str::to_owned).chain(random).collect();
    let (mut agreed, mut missed) = (0, Vec::new());
    for link in LINKS {
        let packets = made(link, 200, 3);
        oracle.packets(&[]);
        oracle.link(link, false);
        for text in &texts {
            let Ok(filter) = Filter::compile(text, LinkType(link), &Options::default()) else { continue };
            let ours = of(text, link);
            let theirs = oracle.length(text).is_err_and(|why| why.contains("rejects all packets"));
            if theirs && !rejects_all(&ours) {
                missed.push(format!("{link}: `{text}`"));
            }
            agreed += usize::from(theirs && rejects_all(&ours));
            if rejects_all(&ours) {
                assert!(packets.iter().all(|packet| !filter.matches(&packet.bytes, packet.wire_len)), "{link}: `{text}` accepts some");
            }
        }
    }
    println!("{agreed} agreed, missed: {missed:#?}");
    assert!(agreed > 100 && missed.len() * 20 < agreed, "{agreed} agreed, missed: {missed:#?}");
}
