//! Names of numbers, spelt as tcpdump spells them.

/// The name of `number` in a table, if it has one.
pub(super) fn find<N: Copy + PartialEq>(table: &[(N, &'static str)], number: N) -> Option<&'static str> {
    table.iter().find(|(n, _)| *n == number).map(|(_, name)| *name)
}

/// The name of `number` in a table, or what is said of one that has none.
pub(super) fn find_or<N: Copy + PartialEq>(table: &[(N, &'static str)], number: N, otherwise: impl FnOnce() -> String) -> String {
    find(table, number).map_or_else(otherwise, str::to_owned)
}

/// What stands for `number` in a table, if anything does.
pub(super) fn find_any<N: Copy + PartialEq, T: Copy>(table: &[(N, T)], number: N) -> Option<T> {
    table.iter().find(|(n, _)| *n == number).map(|(_, found)| *found)
}

/// The names of the flags that are set, or `none`.
pub(super) fn flags(table: &[(u16, &'static str)], value: u16, separator: &str) -> String {
    let set: Vec<&str> = table.iter().filter(|(bit, _)| value & bit != 0).map(|(_, name)| *name).collect();
    if set.is_empty() { "none".to_owned() } else { set.join(separator) }
}

/// The name of an EtherType.
pub(super) fn ethertype(number: u16) -> &'static str {
    find(ETHERTYPES, number).unwrap_or("Unknown")
}

/// The name of an IP protocol in `-v`.
pub(super) fn ip_protocol(number: u8) -> &'static str {
    find(IP_PROTOCOLS, number).unwrap_or("unknown")
}

/// Who has these first three bytes of hardware addresses, of those whose protocols are printed.
pub(super) fn organization(number: u32) -> &'static str {
    find(ORGANIZATIONS, number).unwrap_or("Unknown")
}

#[rustfmt::skip]
const ORGANIZATIONS: &[(u32, &str)] = &[
    (0x00_0000, "Ethernet"), (0x00_000c, "Cisco"), (0x00_005e, "IANA"), (0x00_0081, "Nortel Networks SONMP"), (0x00_00f8, "Cisco bridged"),
    (0x00_049f, "Freescale"), (0x00_04ea, "HP-Labs"), (0x00_1018, "Broadcom"), (0x00_120f, "IEEE 802.3 Private"), (0x00_12bb, "ANSI/TIA"),
    (0x00_15ad, "Netronome"), (0x00_1b21, "DCBX"), (0x00_2320, "Nicira Networks"), (0x00_2481, "HP"), (0x00_80c2, "Ethernet bridged"),
    (0x00_9069, "Juniper"), (0x00_e004, "PMC-Sierra"), (0x08_0007, "Appletalk"), (0x08_0009, "Hewlett-Packard"),
    (0x5c_16c7, "Big Switch Networks"), (0x74_8771, "Infoblox Inc"), (0xa4_2305, "Open Networking Lab"), (0xb0_d2f5, "Vello Systems"),
    (0xd0_f0db, "Ericsson"),
];

/// Who has this number for attributes of its own (IANA's enterprise numbers), of those whose
/// attributes are seen.
pub(super) fn maker(number: u32) -> &'static str {
    find(MAKERS, number).unwrap_or("Unknown")
}

#[rustfmt::skip]
const MAKERS: &[(u32, &str)] = &[
    (0, "IETF (reserved)"), (5, "ACC"), (9, "Cisco"), (11, "Hewlett Packard"), (42, "Sun Microsystems"), (61, "Merit"), (166, "Shiva"),
    (193, "Ericsson AB"), (255, "Cisco VPN 5000"), (307, "Livingston"), (311, "Microsoft"), (429, "3Com"), (529, "Ascend"),
    (1584, "Bay Networks"), (1991, "Foundry"), (2352, "Redback"), (2636, "Juniper Networks"), (3076, "Cisco VPN 3000"),
    (3085, "CoSine Communications"), (3224, "Netscreen"), (3309, "Nomadix"), (3561, "The Broadband Forum"), (3902, "ZTE"), (4329, "Siemens"),
    (4491, "CableLabs"), (4874, "Unisphere Networks"), (5535, "3rd Generation Partnership Project 2 (3GPP2)"), (8744, "Colubris"),
    (10_415, "3GPP"), (12_356, "Fortinet"), (14_122, "Wi-Fi Alliance"), (35_632, "ntop"),
];

#[rustfmt::skip]
const ETHERTYPES: &[(u16, &str)] = &[
    (0x0200, "PUP"), (0x0500, "Sprite"), (0x0600, "NS"), (0x00fe, "GRE-OSI"), (0x0800, "IPv4"), (0x0806, "ARP"), (0x1000, "Trail"),
    (0x6001, "MOP DL"), (0x6002, "MOP RC"), (0x6003, "DN"), (0x6004, "LAT"), (0x6007, "SCA"), (0x6558, "TEB"),
    (0x8035, "Reverse ARP"), (0x8038, "Lanbridge"), (0x803c, "DEC DNS"), (0x803e, "DEC DTS"), (0x805b, "VEXP"),
    (0x805c, "VPROD"), (0x809b, "Appletalk"), (0x80f3, "Appletalk ARP"), (0x8100, "802.1Q"), (0x8137, "IPX"),
    (0x86dd, "IPv6"), (0x8808, "MPCP"), (0x8809, "Slow Protocols"), (0x880b, "PPP"), (0x8847, "MPLS unicast"),
    (0x8848, "MPLS multicast"), (0x8863, "PPPoE D"), (0x8864, "PPPoE S"), (0x886f, "MS NLB heartbeat"),
    (0x8870, "Jumbo"), (0x888e, "EAPOL"), (0x8899, "Realtek protocols"), (0x88a2, "AoE"), (0x88a8, "802.1Q-QinQ"),
    (0x88ca, "TIPC"), (0x88cc, "LLDP"), (0x88e5, "802.1AE MACsec"), (0x88f7, "PTP"), (0x8902, "CFM"),
    (0x894f, "NSH"), (0x8947, "GeoNet"), (0x9000, "Loopback"), (0x9100, "802.1Q-9100"), (0x9200, "802.1Q-9200"),
    (0xfefe, "OSI"),
];

#[rustfmt::skip]
const IP_PROTOCOLS: &[(u8, &str)] = &[
    (0, "Options"), (1, "ICMP"), (2, "IGMP"), (4, "IPIP"), (6, "TCP"), (8, "EGP"), (9, "IGRP"), (17, "UDP"), (33, "DCCP"),
    (41, "IPv6"), (43, "Routing"), (44, "Fragment"), (46, "RSVP"), (47, "GRE"), (50, "ESP"), (51, "AH"), (55, "Mobile IP"),
    (58, "ICMPv6"), (62, "Mobile IP (old)"), (88, "EIGRP"), (89, "OSPF"),
    (103, "PIM"), (108, "Compressed IP"), (112, "VRRP"), (113, "PGM"), (132, "SCTP"), (135, "Mobility"), (143, "Ethernet"),
];
