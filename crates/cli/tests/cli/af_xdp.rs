//! `--map NAME=xdp:IF`: applications between virtual interfaces by AF_XDP, in a row of three
//! network namespaces as in `devices`.

use super::devices::{Row, address, ask, serve, transfer};
use super::live::Capturing;
use super::tools::{Dir, netvm, run};
use super::xdp::{allowed, has_program};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

pub const PATIENCE: Duration = Duration::from_secs(20);

/// The namespaces, where programs may be loaded into the kernel. No name has `xdp` in it, which
/// iproute2 says where there is a program.
pub fn row(name: &str) -> Option<Row> {
    allowed().then(|| Row::new(name)).flatten()
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Sends an ICMP echo request until its reply comes.
pub fn ping(to: Ipv4Addr) {
    let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).expect("a raw socket");
    let mut request = [&[8, 0, 0, 0, 0x12, 0x34, 0, 1][..], &[0x5a; 56]].concat();
    let sum = checksum(&request);
    request[2..4].copy_from_slice(&sum.to_be_bytes());
    let (end, mut room) = (Instant::now() + PATIENCE, [0; 2048]);
    loop {
        let _ = sendto(&raw, &request, SendFlags::empty(), &SocketAddrV4::new(to, 0));
        std::thread::sleep(Duration::from_millis(20));
        while let Ok((len, _)) = recv(&raw, &mut room[..], RecvFlags::DONTWAIT) {
            // The IP header of 20 bytes, then a reply with the same identifier and data.
            let reply = room.get(20..len).unwrap_or_default();
            if reply.first() == Some(&0) && reply.get(4..) == Some(&request[4..]) {
                return;
            }
        }
        assert!(Instant::now() < end, "a reply from {to} comes");
    }
}

#[test]
fn hosts_reach_a_server_through_the_translator_by_af_xdp() {
    let Some(row) = row("ax-nat") else { return };
    address(&row.client, "in", "10.0.0.2/8", Some("10.0.0.1"));
    address(&row.server, "out", "192.0.2.2/27", None);
    let more = [&["--engine", "interp"][..], &["--engine", "jit"], &["--engine", "aot"], &["--engine", "jit", "--place", "rtc:2"]];
    for (maps, more) in
        more.iter().map(|more| (["xdp:in", "xdp:out:0"], *more)).chain([(["xdp:in", "dev:out"], more[1]), (["dev:in", "xdp:out"], more[1])])
    {
        let (udp, tcp) = serve(&row.server, "192.0.2.2");
        let [inside, outside] = [format!("inside={}", maps[0]), format!("outside={}", maps[1])];
        let running = row.run("nat/nat.click", &[more, &["--map", &inside, "--map", &outside]].concat());
        row.client.inside(|| {
            let said = ask(udp, "hello");
            assert!(said.starts_with("192.0.2.1") && said.ends_with(" hello"), "{said}");
            ping(Ipv4Addr::new(192, 0, 2, 2));
            transfer(tcp, 2_000_000);
        });
        let on_in = maps[0].starts_with("xdp");
        assert_eq!(has_program(&row.middle, "in"), on_in);
        running.signal("-TERM");
        let ended = running.end();
        assert_eq!(ended.status, 0, "{}", ended.err);
        let told = format!("device   inside ({}): ", maps[0]);
        assert!(ended.err.lines().any(|line| line.starts_with(&told)), "{}", ended.err);
        assert_eq!(ended.err.contains("in: AF_XDP, frames are copied by the kernel"), on_in, "{}", ended.err);
        without_programs(&row);
    }
}

/// Waits until the programs are gone, which the kernel sees to after the process is.
fn without_programs(row: &Row) {
    let end = Instant::now() + PATIENCE;
    while has_program(&row.middle, "in") || has_program(&row.middle, "out") {
        assert!(Instant::now() < end, "the programs go with the process");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The router's devices: two interfaces, and two that nothing comes from.
fn router(row: &Row) -> Capturing {
    row.run("router/router.click", &["--map", "eth0=xdp:in", "--map", "eth1=xdp:out", "--map", "eth2=tap:t2", "--map", "eth3=tap:t3"])
}

#[test]
fn the_router_by_af_xdp_outlives_interfaces_that_go_down_and_away() {
    let Some(row) = row("ax-router") else { return };
    address(&row.client, "in", "10.0.0.2/24", Some("10.0.0.1"));
    address(&row.server, "out", "10.0.1.2/24", Some("10.0.1.1"));
    let (udp, tcp) = serve(&row.server, "10.0.1.2");
    let running = router(&row);
    row.client.inside(|| {
        assert!(ask(udp, "one").ends_with(" one"));
        transfer(tcp, 2_000_000);
    });
    assert!(row.middle.ip(&["link", "set", "out", "down"]));
    std::thread::sleep(Duration::from_millis(600));
    assert!(row.middle.ip(&["link", "set", "out", "up"]));
    row.client.inside(|| assert!(ask(udp, "two").ends_with(" two")));
    // The interface is another one then; the host's address is the same, which the router knows.
    let shown = std::process::Command::new("ip").args(["-br", "-n", &row.server.0, "link", "show", "out"]).output().expect("iproute2");
    let ether = String::from_utf8_lossy(&shown.stdout).split_whitespace().nth(2).expect("an address").to_owned();
    assert!(row.middle.ip(&["link", "del", "out"]));
    std::thread::sleep(Duration::from_millis(600));
    assert!(row.middle.ip(&["link", "add", "out", "type", "veth", "peer", "name", "out", "netns", &row.server.0]));
    assert!(row.server.ip(&["link", "set", "out", "address", &ether]));
    assert!(row.middle.ip(&["link", "set", "out", "up"]) && row.server.ip(&["link", "set", "out", "up"]));
    address(&row.server, "out", "10.0.1.2/24", Some("10.0.1.1"));
    row.client.inside(|| assert!(ask(udp, "three").ends_with(" three")));
    // The process ends without a chance to tidy up: its programs are gone all the same, and the
    // next one starts.
    running.signal("-KILL");
    let ended = running.end();
    assert_eq!(ended.status, -1);
    for news in ["the interface is down", "the interface is up again", "the interface is gone"] {
        assert!(ended.err.lines().any(|line| line.contains("out: ") && line.contains(news)), "{news}: {}", ended.err);
    }
    without_programs(&row);
    let again = router(&row);
    row.client.inside(|| assert!(ask(udp, "four").ends_with(" four")));
    again.signal("-INT");
    assert_eq!(again.end().status, 0);
}

#[test]
fn the_switch_joins_interfaces_by_af_xdp() {
    let Some(row) = row("ax-switch") else { return };
    address(&row.client, "in", "10.0.0.2/24", None);
    address(&row.server, "out", "10.0.0.3/24", None);
    let (udp, tcp) = serve(&row.server, "10.0.0.3");
    let running =
        row.run("switch/switch.click", &["--map", "eth0=xdp:in", "--map", "eth1=xdp:out", "--map", "eth2=tap:t2", "--map", "eth3=tap:t3"]);
    row.client.inside(|| {
        assert!(ask(udp, "one").starts_with("10.0.0.2:"));
        ping(Ipv4Addr::new(10, 0, 0, 3));
        transfer(tcp, 2_000_000);
    });
    running.signal("-TERM");
    assert_eq!(running.end().status, 0);
}

/// Packets of one queue come here, and those of the other go on to the kernel.
#[test]
fn other_queues_are_left_to_the_kernel() {
    let Some(row) = row("ax-queues") else { return };
    let link = ["link", "add", "two", "numrxqueues", "2", "numtxqueues", "2", "type", "veth", "peer", "name", "two"];
    let peer = ["numrxqueues", "2", "numtxqueues", "2", "netns", &row.client.0];
    assert!(row.middle.ip(&[&link[..], &peer].concat()));
    assert!(row.middle.ip(&["link", "set", "two", "up"]) && row.client.ip(&["link", "set", "two", "up"]));
    address(&row.middle, "two", "10.9.0.1/24", None);
    address(&row.client, "two", "10.9.0.2/24", None);
    let dir = Dir::new("xdp-queues");
    let file = dir.write(
        "one.click",
        "FromDevice(port) -> class :: Classifier(12/0800 23/11 36/1389, -); class[0] -> c :: Counter -> Discard; class[1] -> Discard;\n",
    );
    let told = row.middle.inside(|| netvm(["run", &file, "--map", "port=xdp:two:7"]).output().expect("it runs"));
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("xdp:two:7: the interface has no such queue; it has 2, from 0"), "{told}");
    let command = netvm(["run", &file, "--map", "port=xdp:two:1", "-h", "c.count"]);
    let running = row.middle.inside(|| Capturing::when(command, "running on"));
    // Both ends know each other's address: ARP may come by the queue that is ours.
    let ether = |space: &super::live::Space| {
        space
            .inside(|| std::process::Command::new("ip").args(["-br", "-n", &space.0, "link", "show", "two"]).output().expect("iproute2"))
            .stdout
    };
    let known = String::from_utf8_lossy(&ether(&row.middle)).split_whitespace().nth(2).expect("an address").to_owned();
    assert!(row.client.ip(&["neigh", "replace", "10.9.0.1", "lladdr", &known, "dev", "two"]));
    let kernel = row.middle.inside(|| UdpSocket::bind("10.9.0.1:5001").expect("a socket"));
    kernel.set_read_timeout(Some(Duration::from_millis(500))).expect("a limit");
    row.client.inside(|| {
        for _ in 0..100 {
            // Each flow has its queue.
            UdpSocket::bind("0.0.0.0:0").expect("a socket").send_to(b"x", "10.9.0.1:5001").expect("it is sent");
        }
    });
    let mut by_kernel = 0;
    while kernel.recv(&mut [0; 8]).is_ok() {
        by_kernel += 1;
    }
    running.signal("-TERM");
    let ended = running.end();
    let here: u64 = ended.out.trim().parse().expect("a number");
    assert!(here > 10 && by_kernel > 10 && here + by_kernel == 100, "{here} came here, {by_kernel} to the kernel");
}

#[test]
fn what_af_xdp_cannot_do_is_told() {
    let Some(row) = row("ax-told") else { return };
    let file = format!("{}/../../apps/nat/nat.click", env!("CARGO_MANIFEST_DIR"));
    assert!(run(&format!("run {file} --map inside=xdp:nosuch0 --map outside=xdp:lo")).bad(1).contains("there is no such interface"));
    let maps = ["run", &file, "--map", "inside=xdp:in", "--map", "outside=xdp:out"];
    let told = |more: &[&str], user: bool| {
        let mut command = netvm([&maps[..], more].concat());
        if user {
            command.uid(65_534).gid(65_534);
        }
        let ended = row.middle.inside(|| command.output().expect("it runs"));
        assert_eq!(ended.status.code(), Some(1));
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    let said = told(&[], true);
    assert!(said.contains("AF_XDP needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF"), "{said}");
    let said = told(&["--place", "rtc:2", "--order", "flow"], false);
    assert!(said.contains("AF_XDP cannot divide flows among replicas that receive (--order flow); dev:IF can"), "{said}");
    let running = row.run("nat/nat.click", &maps[2..]);
    let said = told(&[], false);
    assert!(said.contains("the interface has an XDP program already: `ip link set dev IF xdp off`"), "{said}");
    running.signal("-TERM");
    assert_eq!(running.end().status, 0);
    assert!(row.middle.ip(&["link", "set", "in", "down"]));
    let said = told(&[], false);
    assert!(said.contains("the interface is down; `ip link set NAME up` changes that"), "{said}");
}
