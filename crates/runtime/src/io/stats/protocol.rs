//! Protocols that the hierarchy names, by tshark's names, and what ports and first bytes announce.
//!
//! To add one: a row of the table below, and its port or first bytes in one of the functions.

/// One enumeration with names; the number 0 ends a path.
macro_rules! protocols {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// A protocol of the hierarchy.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum Protocol { End, $($variant),* }

        const NAMES: &[&str] = &["", $($name),*];
    };
}

protocols! {
    Eth "eth", Vlan "vlan", Llc "llc", Stp "stp", Cdp "cdp", Isis "isis", Null "null", Raw "raw", Sll "sll", Ppp "ppp", Mpls "mpls",
    Pppoed "pppoed", Pppoes "pppoes", Arp "arp", Lldp "lldp", Slow "slow", Eapol "eapol", Loop "loop", MacSec "macsec", Wol "wol",
    Ip "ip", Ip6 "ipv6",
    Icmp "icmp", Icmp6 "icmpv6", Igmp "igmp", Tcp "tcp", Udp "udp", UdpLite "udplite", Sctp "sctp", Dccp "dccp", Gre "gre", Esp "esp", Ah "ah",
    Ospf "ospf", Pim "pim", Vrrp "vrrp", Eigrp "eigrp", Rsvp "rsvp", L2tp "l2tp", Data "data", Short "short",
    Dns "dns", Mdns "mdns", Llmnr "llmnr", Http "http", Tls "tls", Ssh "ssh", Ftp "ftp", FtpData "ftp-data", Telnet "telnet", Smtp "smtp",
    Pop "pop", Imap "imap", Nbss "nbss", Nbns "nbns", Nbdgm "nbdgm", Bgp "bgp", Ldap "ldap", Rtsp "rtsp", Sip "sip",
    Mqtt "mqtt", Mysql "mysql", Pgsql "pgsql", Redis "resp", Dhcp "dhcp", Dhcp6 "dhcpv6", Ntp "ntp", Snmp "snmp", Tftp "tftp",
    Syslog "syslog", Rip "rip", Radius "radius", Isakmp "isakmp", UdpEncap "udpencap", Stun "stun", Quic "quic", Ssdp "ssdp", Bfd "bfd",
    Hsrp "hsrp", Vxlan "vxlan", Geneve "geneve", Gtp "gtp", Ptp "ptp", Kerberos "kerberos", Modbus "mbtcp", Rdp "tpkt", Wlan "wlan",
    Radiotap "radiotap", Sflow "sflow", WireGuard "wg", Other "other",
}

impl Protocol {
    /// The name of a protocol of a path.
    pub(super) fn name(number: u8) -> &'static str {
        NAMES.get(usize::from(number)).copied().unwrap_or("")
    }
}

/// What a TCP segment with data carries.
pub(super) fn of_tcp(ports: (u16, u16), data: &[u8]) -> Protocol {
    if let [20..=24, 3, 0..=4, ..] = data {
        return Protocol::Tls;
    }
    if is_http(data) {
        return Protocol::Http;
    }
    if data.starts_with(b"SSH-") {
        return Protocol::Ssh;
    }
    either(ports, |port| {
        Some(match port {
            20 => Protocol::FtpData,
            21 => Protocol::Ftp,
            22 => Protocol::Ssh,
            23 => Protocol::Telnet,
            25 | 587 => Protocol::Smtp,
            53 => Protocol::Dns,
            88 => Protocol::Kerberos,
            110 => Protocol::Pop,
            143 => Protocol::Imap,
            139 | 445 => Protocol::Nbss,
            179 => Protocol::Bgp,
            389 => Protocol::Ldap,
            502 => Protocol::Modbus,
            554 => Protocol::Rtsp,
            1883 => Protocol::Mqtt,
            3306 => Protocol::Mysql,
            3389 => Protocol::Rdp,
            5060 => Protocol::Sip,
            5432 => Protocol::Pgsql,
            6379 => Protocol::Redis,
            _ => return None,
        })
    })
}

/// What a UDP datagram with data carries.
pub(super) fn of_udp(ports: (u16, u16), data: &[u8]) -> Protocol {
    if data.get(4..8) == Some(&[0x21, 0x12, 0xa4, 0x42]) {
        return Protocol::Stun;
    }
    either(ports, |port| {
        Some(match port {
            53 => Protocol::Dns,
            67 | 68 => Protocol::Dhcp,
            69 => Protocol::Tftp,
            88 => Protocol::Kerberos,
            123 => Protocol::Ntp,
            137 => Protocol::Nbns,
            138 => Protocol::Nbdgm,
            161 | 162 => Protocol::Snmp,
            319 | 320 => Protocol::Ptp,
            443 => Protocol::Quic,
            500 => Protocol::Isakmp,
            514 => Protocol::Syslog,
            520 => Protocol::Rip,
            546 | 547 => Protocol::Dhcp6,
            1812 | 1813 | 1645 | 1646 => Protocol::Radius,
            1900 => Protocol::Ssdp,
            1985 => Protocol::Hsrp,
            2123 | 2152 => Protocol::Gtp,
            3784 | 4784 => Protocol::Bfd,
            4500 => Protocol::UdpEncap,
            4789 => Protocol::Vxlan,
            5060 => Protocol::Sip,
            5353 => Protocol::Mdns,
            5355 => Protocol::Llmnr,
            6081 => Protocol::Geneve,
            6343 => Protocol::Sflow,
            51820 => Protocol::WireGuard,
            _ => return None,
        })
    })
}

/// What the lower port announces, or else the other.
fn either((from, to): (u16, u16), of: impl Fn(u16) -> Option<Protocol>) -> Protocol {
    of(from.min(to)).or_else(|| of(from.max(to))).unwrap_or(Protocol::Data)
}

fn is_http(data: &[u8]) -> bool {
    [&b"GET "[..], b"POST ", b"HEAD ", b"PUT ", b"HTTP/1.", b"CONNECT ", b"OPTIONS ", b"DELETE "].iter().any(|word| data.starts_with(word))
}
