//! Link types besides those of the other tests, against the installed libpcap: 802.11 with the
//! headers that radios put before it, SLIP, Cisco HDLC, Frame Relay, FDDI, token ring, ARCnet,
//! PFLOG, SS7, and those of which only bytes and lengths can be asked for. All forms of each filter
//! are compared, on made-up packets, whole and cut short at every length.

mod oracle;

use netvm_frontends::pcap_filter::{Filter, LinkType, Options};
use oracle::code::judged;
use oracle::packets::{cut_everywhere, made};
use oracle::{Oracle, amount};

const WLAN: [u32; 5] = [105, 119, 127, 163, 192];
const WIRED: [u32; 7] = [8, 104, 107, 10, 6, 7, 129];

const TERMS: [&str; 34] = [
    "",
    "ip",
    "ip6",
    "arp",
    "tcp",
    "udp port 53",
    "host 10.0.0.1",
    "src net 10.0.0.0/8 and not tcp",
    "ip6 host 2001:db8:0:1::1",
    "tcp port 80 or 443",
    "ip or arp or len > 200",
    "not ip",
    "iso",
    "clnp or esis",
    "isis",
    "l1",
    "iso proto 0x82",
    "stp",
    "ipx",
    "netbeui",
    "atalk",
    "aarp",
    "decnet",
    "link[0] = 8",
    "link[1:2] & 0x8000 != 0",
    "ip[8] > 10",
    "tcp[13] & 2 != 0",
    "ether proto 0x88cc",
    "ether proto 0x42",
    "less 100",
    "icmp6",
    "ip proto 17 and greater 40",
    "ip6 multicast or ip multicast",
    "host 10.0.0.1 or host 10.0.0.2 or host 192.168.1.1",
];

const WLAN_TERMS: [&str; 15] = [
    "type mgt",
    "wlan type data",
    "link type ctl subtype ack",
    "type 8",
    "type 8 subtype 0x80",
    "subtype beacon",
    "subtype qos-data",
    "wlan subtype probe-req",
    "dir tods",
    "wlan dir 3",
    "direction fromds and tcp",
    "type data and host 10.0.0.1",
    "not type mgt and not subtype rts",
    "type mgt or ip",
    "type ctl or (type data subtype null) or dir nods",
];

const ADDRESS_TERMS: [&str; 17] = [
    "wlan host 00:01:02:03:04:05",
    "wlan src host 00:01:02:03:04:05",
    "wlan dst 00:01:02:03:04:05",
    "wlan src and dst host ff:ff:ff:ff:ff:ff",
    "wlan src or dst host 00:1b:21:aa:bb:cc",
    "wlan addr1 00:01:02:03:04:05",
    "wlan addr2 00:01:02:03:04:05",
    "wlan address3 host 00:01:02:03:04:05",
    "wlan addr4 00:01:02:03:04:05",
    "wlan ra 00:01:02:03:04:05",
    "wlan ta host 00:01:02:03:04:05 and not tcp",
    "broadcast",
    "multicast or len > 400",
    "llc",
    "llc s or llc ua",
    "vlan and ip",
    "not wlan host 00:01:02:03:04:05",
];

const MAC_TERMS: [&str; 7] =
    ["ether host 0:1:2:3:4:5", "ether src ff:ff:ff:ff:ff:ff", "link dst 0:1b:21:aa:bb:cc", "broadcast", "multicast", "llc", "llc ui or ip"];

const PF_TERMS: [&str; 16] = [
    "inbound",
    "outbound and ip",
    "ifname em0",
    "on vlan100 and not ip6",
    "on bridge0",
    "ruleset a",
    "rset anchor",
    "rnr 7",
    "rulenum 0 or srnr 1",
    "reason short",
    "reason 14",
    "action pass",
    "action block and tcp",
    "action rdr or reason match",
    "subrulenum 1",
    "not on em0",
];

const SS7_TERMS: [&str; 20] = [
    "fisu",
    "lssu",
    "msu",
    "lsu or msu",
    "hfisu",
    "hlssu",
    "hmsu",
    "sio 131",
    "dpc 1",
    "dpc = 2",
    "dpc > 1",
    "dpc <= 8",
    "dpc < 2 and opc >= 2",
    "opc (2 or 514 or 513)",
    "opc 2",
    "sls 9",
    "sls < 9 and msu",
    "hsio > 3",
    "hdpc 1 or hopc 2 or hsls 1",
    "not dpc (1)",
];

/// Every term of both must mean here what it means to libpcap, or be refused as there.
fn compare(oracle: &mut Oracle, link: u32, texts: impl Iterator<Item = &'static str>) {
    let packets = made(link, amount("NETVM_ORACLE_MADE", 400), 9);
    let packets = [cut_everywhere(&packets[..10]), packets].concat();
    oracle.packets(&packets);
    oracle.link(link, false);
    let mut accepted = 0;
    for text in texts {
        println!("link {link}: `{text}`");
        let ours = Filter::compile(text, LinkType(link), &Options::default());
        match (oracle.plain(text), ours) {
            (Ok(plain), Ok(ours)) => {
                judged(&ours, text, &packets, &plain);
                accepted += plain.iter().filter(|&&verdict| verdict == oracle::Verdict::Accept).count();
            }
            (Err(_), Err(_)) => {}
            (Err(why), Ok(_)) => panic!("link {link}: libpcap refuses `{text}`: {why}"),
            (Ok(_), Err(why)) => panic!("link {link}: `{text}`: {}", why.render(text, false)),
        }
    }
    assert!(accepted > packets.len(), "link {link}: the packets are not what the terms ask for: {accepted}");
}

#[test]
fn frames_of_802_11() {
    let Some(mut oracle) = Oracle::start() else { return };
    for link in WLAN {
        compare(&mut oracle, link, TERMS.into_iter().chain(WLAN_TERMS).chain(ADDRESS_TERMS));
    }
    for link in [119, 127, 163] {
        compare(&mut oracle, link, ["radio[0] = 0", "type data and radio[2:2] != 0", "tcp or radio[3] = 0", ""].into_iter());
    }
}

#[test]
fn wired_links() {
    let Some(mut oracle) = Oracle::start() else { return };
    for link in WIRED {
        compare(&mut oracle, link, TERMS.into_iter().chain(MAC_TERMS));
    }
    compare(&mut oracle, 8, ["inbound", "outbound", "outbound and ip", ""].into_iter());
    for link in [1, 6, 10] {
        compare(&mut oracle, link, MAC_TERMS.into_iter().chain(["wlan addr1 0:1:2:3:4:5", "mpls", ""]));
    }
    compare(&mut oracle, 104, ["mpls", "mpls 1024 and ip", "vlan", "", ""].into_iter());
}

#[test]
fn packets_logged_by_pf() {
    let Some(mut oracle) = Oracle::start() else { return };
    compare(&mut oracle, 117, TERMS.into_iter().chain(PF_TERMS).chain(["ip protochain 6"]));
}

#[test]
fn messages_of_ss7() {
    let Some(mut oracle) = Oracle::start() else { return };
    for link in [139, 140, 197] {
        compare(&mut oracle, link, TERMS.into_iter().chain(SS7_TERMS));
    }
}

/// NFLOG, USB, Bluetooth, CAN, 802.15.4: bytes and lengths can be asked for, as in libpcap, and
/// protocols cannot.
#[test]
fn links_without_protocols() {
    let Some(mut oracle) = Oracle::start() else { return };
    for link in [239, 189, 220, 201, 227, 195] {
        compare(&mut oracle, link, TERMS.into_iter().chain(["greater 10", "byte 3 < 200", "link[0:4] & 1 = 0"]));
    }
}

#[test]
fn unequal_fields_of_ss7_and_arcnet_addresses() {
    let accepted = |text: &str, link, packet: &[u8]| {
        let filter = Filter::compile(text, LinkType(link), &Options::default()).unwrap_or_else(|why| panic!("{}", why.render(text, false)));
        filter.matches(packet, packet.len() as u32)
    };
    let message = [0, 0, 3, 0x83, 1, 0x80, 0, 0x90];
    assert!(accepted("dpc = 1 and opc = 2 and sls = 9", 140, &message));
    assert!(accepted("dpc != 2 and opc != 1 and sls != 0", 140, &message));
    assert!(!accepted("dpc != 1", 140, &message));
    let frame = [0xc0, 7, 0xd4, 0, 0, 1];
    assert!(accepted("link host $c0", 7, &frame) && accepted("link src $c0 and link dst host $7", 7, &frame));
    assert!(!accepted("link host $c1 or link src host $7", 7, &frame));
}

#[test]
fn names_of_802_11_are_checked() {
    let told = |text: &str, link| Filter::compile(text, LinkType(link), &Options::default()).err().expect("refused").render(text, false);
    assert!(told("type mgt", 1).contains("Ethernet has no 802.11 frame types"), "{}", told("type mgt", 1));
    assert!(told("type beacon", 105).contains("expected a frame type: mgt, ctl or data"), "{}", told("type beacon", 105));
    assert!(told("type mgt subtype ack", 105).contains("a subtype of that type"));
    assert!(told("subtype nonsense", 105).contains("`nonsense` is no subtype of 802.11 frames"));
    assert!(told("type 3", 105).contains("0x3 has other bits than 0xc"));
}
