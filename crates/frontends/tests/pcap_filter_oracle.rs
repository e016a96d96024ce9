//! Filters of tests/data against the installed libpcap, on real captures and made-up packets, on
//! every link type.
//!
//! A verdict must be that of libpcap's code without or with its optimiser; where those differ it is
//! counted. More: `NETVM_ORACLE_PACKETS` (packets of each capture), `NETVM_ORACLE_MADE` (made-up
//! ones per link type).

mod oracle;

use netvm_frontends::pcap_filter::{Filter, LinkType, Options};
use oracle::packets::{LINKS, cut_everywhere, made};
use oracle::{Answer, Oracle, Packet, Verdict, amount, captures};

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

const EXPRESSIONS: &str = include_str!("data/expressions.txt");
const REFUSED: &str = include_str!("data/refused.txt");

/// libpcap's machine reads registers before they are set where a packet that is not Geneve gets
/// past `geneve`.
fn reads_unset_registers(filter: &str) -> bool {
    filter.contains("geneve") && (filter.contains("or geneve") || filter.contains("geneve or") || filter.contains("not geneve"))
}

#[derive(Default)]
struct Tally {
    verdicts: usize,
    optimiser_differs: Vec<String>,
    wrong: Vec<String>,
}

impl Tally {
    fn compare(&mut self, filter: &str, link: u32, swapped: bool, packets: &[Packet], answers: (Answer, Answer)) {
        let options = Options { big_endian_file: swapped, ..Options::default() };
        let ours = Filter::compile(filter, LinkType(link), &options);
        let (plain, optimised) = answers;
        let (ours, plain) = match (ours, plain) {
            (Ok(ours), Ok(plain)) => (ours, plain),
            (Err(_), Err(_)) => return,
            (Ok(_), Err(theirs)) => return self.wrong.push(format!("link {link}: `{filter}`: only libpcap refuses it: {theirs}")),
            (Err(ours), Ok(_)) => {
                return self.wrong.push(format!("link {link}: `{filter}`: only netvm refuses it: {ours}"));
            }
        };
        let optimised = optimised.unwrap_or_else(|_| vec![Verdict::Reject; plain.len()]);
        if plain != optimised {
            let count = plain.iter().zip(&optimised).filter(|(a, b)| a != b).count();
            self.optimiser_differs.push(format!("link {link}: `{filter}`: {count} packets"));
        }
        self.verdicts += packets.len();
        for (packet, (plain, optimised)) in packets.iter().zip(plain.iter().zip(&optimised)) {
            let verdict = if ours.matches(&packet.bytes, packet.wire_len) { Verdict::Accept } else { Verdict::Reject };
            assert_eq!(
                ours.matches_as_graph(&packet.bytes, packet.wire_len),
                verdict == Verdict::Accept,
                "link {link}: `{filter}` as a graph, packet {:02x?}",
                packet.bytes
            );
            let endless = *plain == Verdict::Endless && verdict == Verdict::Reject;
            if verdict != *plain && !endless {
                let excused = verdict == *optimised;
                self.wrong.push(format!(
                    "link {link}: `{filter}`: we {verdict:?}, libpcap {plain:?}/{optimised:?}{}, packet {:02x?} wire {}",
                    if excused { " (optimised)" } else { "" },
                    packet.bytes,
                    packet.wire_len
                ));
                return;
            }
        }
    }

    fn finish(self) {
        println!("{} verdicts, the optimiser changes {} filters:", self.verdicts, self.optimiser_differs.len());
        self.optimiser_differs.iter().take(20).for_each(|line| println!("  {line}"));
        let wrong: Vec<&String> = self.wrong.iter().take(30).collect();
        assert!(wrong.is_empty(), "{} disagreements:\n{wrong:#?}", self.wrong.len());
    }
}

#[test]
fn verdicts_are_libpcaps() {
    let Some(mut oracle) = Oracle::start() else { return };
    let mut tally = Tally::default();
    let mut real = captures::load(amount("NETVM_ORACLE_PACKETS", 12));
    for link in LINKS {
        let made = made(link, amount("NETVM_ORACLE_MADE", 400), 1);
        let mut packets = cut_everywhere(&made[..12]);
        packets.extend(made);
        packets.extend(real.remove(&link).unwrap_or_default());
        oracle.packets(&packets);
        oracle.link(link, false);
        for filter in lines(EXPRESSIONS).filter(|f| !reads_unset_registers(f)) {
            let answers = oracle.both(filter);
            tally.compare(filter, link, false, &packets, answers);
        }
    }
    tally.finish();
}

#[test]
fn loopback_headers_of_big_endian_files() {
    let Some(mut oracle) = Oracle::start() else { return };
    let mut tally = Tally::default();
    for link in [0, 108] {
        let packets = made(link, 400, 2);
        oracle.packets(&packets);
        oracle.link(link, true);
        for filter in ["ip", "ip6", "arp", "host 10.0.0.1", "tcp port 80", "net 2001:db8::/32"] {
            let answers = oracle.both(filter);
            tally.compare(filter, link, true, &packets, answers);
        }
    }
    tally.finish();
}

#[test]
fn what_libpcap_refuses_is_refused() {
    let Some(mut oracle) = Oracle::start() else { return };
    let mut wrong = Vec::new();
    oracle.packets(&[]);
    for link in LINKS {
        oracle.link(link, false);
        for filter in lines(REFUSED) {
            if oracle.plain(filter).is_ok() {
                wrong.push(format!("link {link}: libpcap takes `{filter}`"));
            }
            if Filter::compile(filter, LinkType(link), &Options::default()).is_ok() {
                wrong.push(format!("link {link}: netvm takes `{filter}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
