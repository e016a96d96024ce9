//! The filters measured, and for each a packet that it selects. f1 to f5 are those of the NetVM
//! paper (section 6.3.1).

/// Number of filters.
pub const COUNT: usize = 9;

const PLAIN: [&str; COUNT - 1] = [
    "ip",
    "ip src 10.1.1.1",
    "ip and tcp",
    "ip src 10.1.1.1 and ip dst 10.2.2.2 and tcp src port 20 and tcp dst port 30",
    "ip src 10.4.4.4 or ip src 10.3.3.3 or ip src 10.2.2.2 or ip src 10.1.1.1",
    "tcp port 80 or tcp port 443",
    "ip6 and udp port 53",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and not src and dst net 10.0.0.0/8",
];

/// f1 to f9.
pub fn all() -> Vec<String> {
    PLAIN.iter().map(|f| (*f).to_owned()).chain([hosts(50)]).collect()
}

/// That many hosts of 172.16.0.0/16 ORed.
pub fn hosts(n: u32) -> String {
    (0..n).map(|i| format!("host 172.16.{}.{}", i / 7 % 256, 10 + i % 240)).collect::<Vec<_>>().join(" or ")
}

/// Filters with large sets, by name: hosts, nets of mixed length, ports, and all of them.
pub fn large() -> Vec<(&'static str, String)> {
    let scattered = |n: u32| (0..n).map(|i| i.wrapping_mul(2_654_435_761));
    let or = |terms: Vec<String>| terms.join(" or ");
    let host = |a: u32| format!("host {}", std::net::Ipv4Addr::from(a));
    let net = |a: u32| {
        let bits = 12 + a % 13;
        format!("net {}/{bits}", std::net::Ipv4Addr::from(a & (u32::MAX << (32 - bits))))
    };
    let hosts = or(scattered(10_000).map(host).collect());
    let nets = or(scattered(1_000).map(net).collect());
    let ports = or(scattered(500).map(|p| format!("port {}", p >> 16)).collect());
    let all = format!("({hosts} or {nets}) and ({ports})");
    vec![
        ("10k hosts", hosts),
        ("1k nets", nets),
        ("500 ports", ports),
        ("all", all),
        ("1k pairs", pairs(1_000)),
        ("10k pairs", pairs(10_000)),
    ]
}

/// That many pairs of a net and a port, ORed.
pub fn pairs(n: u32) -> String {
    let pair = |i: u32| {
        let address = i.wrapping_mul(2_654_435_761);
        format!("(net {}/24 and port {})", std::net::Ipv4Addr::from(address & !0xff), 1 + i % 60_000)
    };
    (0..n).map(pair).collect::<Vec<_>>().join(" or ")
}

/// Filters of several terms, written as people write them: from the general to the particular.
pub fn of_terms() -> Vec<(String, String)> {
    const TERMS: [&str; 6] = [
        "ip and tcp and host 10.4.4.4",
        "tcp port 443 and net 10.0.0.0/8 and tcp[tcpflags] & tcp-syn != 0",
        "ip and not tcp port 443 and not tcp port 80 and ip src 10.3.3.3",
        "(tcp port 80 or tcp port 443) and host 172.16.0.10",
        "not broadcast and not arp and udp port 53",
        "tcp and (port 22 or port 25 or port 8080) and less 100",
    ];
    let plain = all().into_iter().enumerate().map(|(i, filter)| (format!("f{}", i + 1), filter));
    plain.chain(TERMS.iter().enumerate().map(|(i, filter)| (format!("t{}", i + 1), (*filter).to_owned()))).collect()
}

/// A packet that filter number `which` (from 0) selects.
pub fn packet(which: usize) -> Vec<u8> {
    const A: [u8; 4] = [10, 1, 1, 1];
    const B: [u8; 4] = [10, 2, 2, 2];
    match which {
        5 => ipv4(A, B, [20, 443], 0x10),
        6 => ipv6_udp(4000, 53),
        7 => ipv4(A, [192, 0, 2, 1], [20, 30], 0x02),
        8 => ipv4(A, [172, 16, 7, 59], [20, 30], 0x10),
        _ => ipv4(A, B, [20, 30], 0x10),
    }
}

fn ethernet(ethertype: u16, packet: &[&[u8]]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(ethertype.to_be_bytes());
    frame.extend(packet.concat());
    frame.resize(frame.len().max(60), 0);
    frame
}

fn ipv4(from: [u8; 4], to: [u8; 4], ports: [u16; 2], flags: u8) -> Vec<u8> {
    let ip = [0x45, 0, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0];
    let tcp = [0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 4, 0, 0, 0, 0, 0];
    ethernet(0x0800, &[&ip, &from, &to, &ports.map(u16::to_be_bytes).concat(), &tcp])
}

fn ipv6_udp(from: u16, to: u16) -> Vec<u8> {
    let ip = [&[0x60, 0, 0, 0, 0, 28, 17, 64][..], &[0x20; 16], &[0x21; 16]].concat();
    ethernet(0x86dd, &[&ip, &[from, to].map(u16::to_be_bytes).concat(), &[0, 28, 0, 0], &[0; 20]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fifty_hosts_are_those_of_the_hand_written_filter() {
        let all = all();
        assert_eq!(all.len(), COUNT);
        assert!(all[8].starts_with("host 172.16.0.10 or ") && all[8].ends_with(" or host 172.16.7.59"));
    }
}
