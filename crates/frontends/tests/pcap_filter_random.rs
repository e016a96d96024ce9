//! Random filters against libpcap: plain evaluation, the graph and the generated NetIL, the last
//! two also with terms ordered by some of the packets; with packets cut at every length.
//!
//! `NETVM_RANDOM_FILTERS` sets how many, `NETVM_RANDOM_SEED` where to start; a failure prints the
//! seed of its filter.

mod oracle;

use netvm_frontends::pcap_filter::{Filter, LinkType, Options, Profile};
use oracle::code::judged;
use oracle::packets::{LINKS, cut_everywhere, made};
use oracle::random::Random;
use oracle::writer::Writer;
use oracle::{Oracle, Packet, amount};

/// `geneve` under `or` or `not` lets other packets reach tests of registers that libpcap never set.
fn reads_unset_registers(filter: &str) -> bool {
    let joined_otherwise = ["or", "||", "not"].iter().any(|word| filter.contains(word));
    filter.contains("geneve") && joined_otherwise
}

/// What a filter is compared for: on how many packets libpcap's optimiser changes the verdict, and
/// whether a profile changes the program.
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
