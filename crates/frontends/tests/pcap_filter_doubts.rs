//! Filters that reject or accept everything, and terms that can never hold, beside what libpcap says of them.

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

#[test]
fn what_is_no_mistake_is_not_doubted() {
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
