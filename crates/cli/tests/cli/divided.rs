//! `netvm run --target xdp` of applications of which the kernel runs a part and the process the
//! rest, between virtual interfaces, in a row of three network namespaces as in `devices`.

use super::af_xdp::{PATIENCE, ping, row};
use super::devices::{Row, address, ask, serve, transfer};
use super::live::{Space, ip};
use super::tools::Ended;
use super::xdp::has_program;
use rustix::net::{AddressFamily, RecvFlags, SocketType, ipproto, recv, socket};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

/// Hosts complete checksums themselves, as those at other ends of wires do, and take frames from
/// drivers. False if that cannot be had.
fn as_on_wires(row: &Row) -> bool {
    let set = |space: &Space, link: &str| {
        space.inside(|| Command::new("ethtool").args(["-K", link, "tx", "off", "gro", "on"]).status().is_ok_and(|s| s.success()))
    };
    let done = set(&row.client, "in") && set(&row.server, "out");
    if !done {
        super::needs::missing("ethtool");
    }
    done
}

/// Packets that arrived, and those of them that were handed over.
fn counts(ended: &Ended) -> [u64; 2] {
    assert_eq!(ended.status, 0, "{}", ended.err);
    ["arrived", "handed over"].map(|what| {
        let line = ended.err.lines().find_map(|line| line.strip_prefix(what)).unwrap_or_else(|| panic!("{what}: {}", ended.err));
        let digits: String = line.trim().chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(|c| *c != ',').collect();
        digits.parse().unwrap_or_else(|_| panic!("{what}: {line}"))
    })
}

#[test]
fn a_translator_makes_flows_in_the_process_and_the_kernel_goes_on() {
    let Some(row) = row("dv-nat").filter(as_on_wires) else { return };
    address(&row.client, "in", "10.0.0.2/8", Some("10.0.0.1"));
    address(&row.server, "out", "192.0.2.2/27", None);
    for (mode, engine) in [("driver", "jit"), ("generic", "interp")] {
        let (udp, tcp) = serve(&row.server, "192.0.2.2");
        let args = ["--target", "xdp", "--xdp-mode", mode, "--engine", engine, "--map", "inside=dev:in", "--map", "outside=dev:out"];
        let running = row.run("nat/nat.click", &args);
        row.client.inside(|| {
            let said = ask(udp, "hello");
            assert!(said.starts_with("192.0.2.1") && said.ends_with(" hello"), "{said}");
            ping(Ipv4Addr::new(192, 0, 2, 2));
            transfer(tcp, 2_000_000);
        });
        assert!(has_program(&row.middle, "in") && has_program(&row.middle, "out"));
        running.signal("-INT");
        let [arrived, handed] = counts(&running.end());
        assert!(arrived > 1000 && handed > 0 && handed < arrived / 10, "{mode}: {handed} of {arrived} packets");
    }
}

/// Sends datagrams that end on their way until a router says so; whose address that has.
fn expires(to: Ipv4Addr) -> Ipv4Addr {
    let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).expect("a raw socket");
    let sender = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    sender.set_ttl(1).expect("a time to live");
    let (end, mut room) = (Instant::now() + PATIENCE, [0; 2048]);
    loop {
        let _ = sender.send_to(b"probe", (to, 33434));
        std::thread::sleep(Duration::from_millis(20));
        while let Ok((len, _)) = recv(&raw, &mut room[..], RecvFlags::DONTWAIT) {
            // Time exceeded, behind an IP header of 20 bytes.
            if room.get(20..len).and_then(|icmp| icmp.first()) == Some(&11) {
                return Ipv4Addr::new(room[12], room[13], room[14], room[15]);
            }
        }
        assert!(Instant::now() < end, "a router says that the time is over");
    }
}

#[test]
fn a_router_forwards_in_the_kernel_and_does_the_rest_in_the_process() {
    let Some(row) = row("dv-rt").filter(as_on_wires) else { return };
    assert!(ip(&["-n", &row.middle.0, "link", "add", "two", "type", "veth", "peer", "name", "three"]));
    assert!(["two", "three"].iter().all(|link| row.middle.ip(&["link", "set", link, "up"])));
    address(&row.client, "in", "10.0.0.2/24", Some("10.0.0.1"));
    address(&row.server, "out", "10.0.1.2/24", Some("10.0.1.1"));
    let maps = ["--map", "eth0=dev:in", "--map", "eth1=dev:out", "--map", "eth2=dev:two", "--map", "eth3=dev:three"];
    for mode in ["driver", "generic"] {
        let (udp, tcp) = serve(&row.server, "10.0.1.2");
        let running = row.run("router/router.click", &[&["--target", "xdp", "--xdp-mode", mode, "--explain-opt"][..], &maps].concat());
        row.client.inside(|| {
            assert!(ask(udp, "hello").ends_with(" hello"));
            ping(Ipv4Addr::new(10, 0, 1, 2));
            ping(Ipv4Addr::new(10, 0, 0, 1));
            assert_eq!(expires(Ipv4Addr::new(10, 0, 1, 2)), Ipv4Addr::new(10, 0, 0, 1));
            transfer(tcp, 2_000_000);
        });
        running.signal("-INT");
        let [arrived, handed] = counts(&running.end());
        assert!(arrived > 1000 && handed > 0 && handed < arrived / 10, "{mode}: {handed} of {arrived} packets");
    }
}
