//! `netvm run --map NAME=dev:IF`: applications between interfaces, with the system's own sockets at
//! both ends.
//!
//! Three network namespaces in a row: `client` (in) – (in) `netvm` (out) – (out) `server`. The
//! interfaces of the one in the middle have no addresses, so that its kernel answers nothing.

use super::live::{Capturing, Space, ip};
use super::tools::{netvm, run};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

pub struct Row {
    pub client: Space,
    pub middle: Space,
    pub server: Space,
}

impl Row {
    /// Makes the namespaces; tells why not, where that cannot be.
    pub fn new(name: &str) -> Option<Self> {
        let space = |part: &str| Space(format!("netvm-{}-{name}-{part}", std::process::id()));
        let row = Self { client: space("c"), middle: space("m"), server: space("s") };
        if !ip(&["-V"]) {
            super::needs::missing("iproute2");
            return None;
        }
        if !rustix::process::geteuid().is_root() || !row.all().iter().all(|space| ip(&["netns", "add", &space.0])) {
            eprintln!("skipped: network namespaces need root");
            return None;
        }
        let veth =
            |side: &Space, link| ip(&["-n", &row.middle.0, "link", "add", link, "type", "veth", "peer", "name", link, "netns", &side.0]);
        assert!(veth(&row.client, "in") && veth(&row.server, "out"), "virtual Ethernet pairs");
        for (space, link) in [(&row.client, "in"), (&row.middle, "in"), (&row.middle, "out"), (&row.server, "out")] {
            assert!(space.ip(&["link", "set", link, "up"]));
        }
        Some(row)
    }

    fn all(&self) -> [&Space; 3] {
        [&self.client, &self.middle, &self.server]
    }

    /// Starts an application in the middle.
    pub fn run(&self, application: &str, args: &[&str]) -> Capturing {
        let file = format!("{}/../../apps/{application}", env!("CARGO_MANIFEST_DIR"));
        let command = netvm([&["run", "--stats", &file][..], args].concat());
        self.middle.inside(|| Capturing::when(command, "running on"))
    }
}

/// A server that sends datagrams back, and what is sent over connections; it answers until the
/// namespace is gone.
pub fn serve(server: &Space, address: &str) -> (SocketAddr, SocketAddr) {
    let (udp, tcp) =
        server.inside(|| (UdpSocket::bind((address, 0)).expect("a socket"), TcpListener::bind((address, 0)).expect("a listening socket")));
    let addresses = (udp.local_addr().expect("its address"), tcp.local_addr().expect("its address"));
    std::thread::spawn(move || {
        let mut room = [0; 2048];
        while let Ok((len, from)) = udp.recv_from(&mut room) {
            let said = format!("{from} {}", String::from_utf8_lossy(&room[..len]));
            let _ = udp.send_to(said.as_bytes(), from);
        }
    });
    std::thread::spawn(move || {
        for stream in tcp.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let (mut from, mut to) = (stream.try_clone().expect("a stream"), stream);
                let _ = std::io::copy(&mut from, &mut to);
            });
        }
    });
    addresses
}

/// Asks until an answer comes: the first packets may wait for ARP, or for links that come up.
pub fn ask(server: SocketAddr, text: &str) -> String {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a limit");
    let end = Instant::now() + PATIENCE;
    let mut room = [0; 2048];
    loop {
        // The kernel may have no route yet, or tell of an answer to an earlier packet.
        let _ = socket.send_to(text.as_bytes(), server);
        match socket.recv(&mut room) {
            Ok(len) => return String::from_utf8_lossy(&room[..len]).into_owned(),
            Err(error) => assert!(Instant::now() < end, "an answer comes: {error}"),
        }
    }
}

/// Sends so many bytes over a connection and compares what comes back.
pub fn transfer(server: SocketAddr, bytes: usize) {
    let stream = TcpStream::connect_timeout(&server, PATIENCE).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let sent: Vec<u8> = (0..bytes).map(|i| ((i * 31) >> 3) as u8).collect();
    let mut reader = stream.try_clone().expect("a stream");
    let back = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut stream = &stream;
            stream.write_all(&sent).and_then(|()| stream.shutdown(std::net::Shutdown::Write))
        });
        let mut back = Vec::new();
        reader.read_to_end(&mut back).expect("what was sent comes back");
        writer.join().expect("the writer ends").expect("all is sent");
        back
    });
    assert!(back == sent, "{} bytes of {} came back", back.len(), sent.len());
}

pub fn address(space: &Space, link: &str, net: &str, gateway: Option<&str>) {
    assert!(space.ip(&["address", "add", net, "dev", link]));
    if let Some(gateway) = gateway {
        assert!(space.ip(&["route", "add", "default", "via", gateway]));
    }
}

#[test]
fn hosts_reach_a_server_through_the_translator() {
    let Some(row) = Row::new("nat") else { return };
    address(&row.client, "in", "10.0.0.2/8", Some("10.0.0.1"));
    address(&row.server, "out", "192.0.2.2/27", None);
    let by_flow = ["--engine", "jit", "--place", "rtc:2", "--order", "flow"];
    let in_order = ["--engine", "jit", "--place", "rtc:2"];
    let replicated = ["--engine", "jit", "--place", "rtc:2", "--state", "replicate"];
    for more in [&["--engine", "interp"][..], &["--engine", "jit"], &["--engine", "aot"], &in_order, &by_flow, &replicated] {
        let (udp, tcp) = serve(&row.server, "192.0.2.2");
        let running = row.run("nat/nat.click", &[more, &["--map", "inside=dev:in", "--map", "outside=dev:out"]].concat());
        row.client.inside(|| {
            let said = ask(udp, "hello");
            let (from, text) = said.split_once(' ').expect("an address and what was said");
            let from: SocketAddr = from.parse().expect("an address");
            let IpAddr::V4(seen) = from.ip() else { panic!("{from}") };
            assert!(seen.octets()[..3] == [192, 0, 2] && seen.octets()[3] >> 4 == 1, "the server sees {seen}");
            assert_eq!(text, "hello");
            // The kernel leaves segmentation and checksums to the device.
            transfer(tcp, 2_000_000);
        });
        running.signal("-TERM");
        let ended = running.end();
        assert_eq!(ended.status, 0, "a signal is a good end: {}", ended.err);
        let told = |line: &str| ended.err.lines().any(|it| it.starts_with(line));
        assert!(told("device   inside (dev:in): ") && told("busy     "), "{}", ended.err);
    }
}

/// A packet for many segments: fewer packets than segments come in, and none is lost.
#[test]
fn merged_segments_pass_the_translator_whole() {
    let Some(row) = Row::new("gso") else { return };
    address(&row.client, "in", "10.0.0.2/8", Some("10.0.0.1"));
    address(&row.server, "out", "192.0.2.2/27", None);
    let received = |maps: [&str; 2], more: &[&str]| {
        let (_, tcp) = serve(&row.server, "192.0.2.2");
        let maps = [&["--engine", "jit", "--map", maps[0], "--map", maps[1]], more].concat();
        let running = row.run("nat/nat.click", &maps);
        row.client.inside(|| transfer(tcp, 8_000_000));
        running.signal("-TERM");
        let ended = running.end();
        assert_eq!(ended.status, 0, "{}", ended.err);
        let line = ended.err.lines().find(|line| line.starts_with("device   inside")).expect("it is counted").to_owned();
        let count = line.split_once(": ").and_then(|(_, rest)| rest.split_once(" received")).expect("a number").0.replace(',', "");
        count.parse::<usize>().expect("a number")
    };
    let cut = received(["inside=dev:in", "outside=dev:out"], &[]);
    let whole = received(["inside=gso:in", "outside=gso:out"], &["MTU=65535"]);
    assert!(cut > 8_000_000 / 1448 && whole < cut / 2, "{whole} of {cut}");
}

#[test]
fn the_firewall_runs_in_replicas_between_interfaces_and_is_asked_meanwhile() {
    let Some(row) = Row::new("firewall") else { return };
    address(&row.client, "in", "10.0.0.2/24", None);
    address(&row.server, "out", "10.0.0.3/24", None);
    let (udp, tcp) = serve(&row.server, "10.0.0.3");
    let socket = std::env::temp_dir().join(format!("netvm-firewall-{}.sock", std::process::id()));
    let control = format!("--control={}", socket.display());
    for more in [&["total", "--record=65536"][..], &["flow", "--record=65536"]] {
        firewall(&row, (udp, tcp), &socket, &[&["--place", "rtc:3", &control, "--order"][..], more].concat());
    }
}

/// The firewall in replicas: what it lets through, and what a handler says meanwhile.
fn firewall(row: &Row, (udp, tcp): (SocketAddr, SocketAddr), socket: &std::path::Path, more: &[&str]) {
    let maps = ["--map", "inside=dev:in", "--map", "outside=dev:out"];
    let running = row.run("firewall/firewall.click", &[&maps, more].concat());
    row.client.inside(|| {
        assert!(ask(udp, "in").ends_with(" in"));
        transfer(tcp, 1_000_000);
    });
    // What the server begins is not let in.
    let (inside, _) = serve(&row.client, "10.0.0.2");
    row.server.inside(|| {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a limit");
        socket.send_to(b"out", inside).expect("it is sent");
        assert!(socket.recv(&mut [0; 10]).is_err());
    });
    let path = socket.display().to_string();
    let says = |handler: &str| netvm(["ctl", "--socket", &path, "read", handler]).output().expect("it runs").stdout;
    let admitted: u64 = String::from_utf8_lossy(&says("known.admitted")).trim().parse().expect("a number");
    assert!(admitted >= 2, "{admitted}");
    let why = netvm(["ctl", "--socket", &path, "why", "--json", "udp"]).output().expect("it runs");
    let told: serde_json::Value = serde_json::from_slice(&why.stdout).expect("JSON");
    let packet = &told["packets"][0];
    assert!(told["matched"].as_u64() >= Some(2) && packet["thread"].as_str().is_some_and(|it| it.starts_with("replica ")), "{told}");
    assert!(packet["way"][0].as_str().is_some_and(|name| name.contains("FromDevice")) && packet["element"].is_string(), "{packet}");
    let top = netvm(["top", "--socket", &path, "--batch", "-n", "2", "--interval", "0.2"]).output().expect("it runs").stdout;
    let top = String::from_utf8_lossy(&top).into_owned();
    for thread in ["replica 1 ", "replica 2 "] {
        assert!(top.lines().any(|line| line.starts_with("threads: ") && line.contains(thread) && line.contains(" % on core ")), "{top}");
    }
    running.signal("-TERM");
    let ended = running.end();
    assert_eq!(ended.status, 0, "{}", ended.err);
    let frames: u64 = ended
        .err
        .lines()
        .find(|line| line.starts_with("device   inside"))
        .and_then(|line| line.split(' ').find_map(|word| word.replace([',', '\''], "").parse().ok()))
        .unwrap_or(0);
    assert!(frames > 100, "{}", ended.err);
    assert!(!socket.exists());
}

/// Whether both TAP interfaces of the router are there, or neither is.
fn taps_are(space: &Space, there: bool) -> bool {
    ["t2", "t3"].iter().all(|link| space.ip(&["link", "show", link]) == there)
}

/// Waits until TAP interfaces are gone, which the kernel sees to when the process ends.
fn without_taps(space: &Space) {
    let end = Instant::now() + PATIENCE;
    while !taps_are(space, false) {
        assert!(Instant::now() < end, "the TAP interfaces go with the process");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_router_forwards_between_interfaces_and_outlives_one_that_goes_down() {
    let Some(row) = Row::new("router") else { return };
    address(&row.client, "in", "10.0.0.2/24", Some("10.0.0.1"));
    address(&row.server, "out", "10.0.1.2/24", Some("10.0.1.1"));
    let (udp, tcp) = serve(&row.server, "10.0.1.2");
    let running =
        row.run("router/router.click", &["--map", "eth0=dev:in", "--map", "eth1=dev:out", "--map", "eth2=tap:t2", "--map", "eth3=tap:t3"]);
    row.client.inside(|| {
        assert!(ask(udp, "one").ends_with(" one"));
        transfer(tcp, 500_000);
    });
    assert!(row.middle.ip(&["link", "set", "out", "down"]));
    std::thread::sleep(Duration::from_millis(400));
    assert!(row.middle.ip(&["link", "set", "out", "up"]));
    row.client.inside(|| assert!(ask(udp, "two").ends_with(" two")));
    // The process ends without a chance to tidy up: its TAP interfaces are gone all the same, and
    // the next one starts.
    assert!(taps_are(&row.middle, true), "TAP interfaces are there while it runs");
    running.signal("-KILL");
    assert_eq!(running.end().status, -1);
    without_taps(&row.middle);
    // On several threads, one of which receives from a TAP interface and another sends to it.
    let maps = ["--map", "eth0=dev:in", "--map", "eth1=dev:out", "--map", "eth2=tap:t2", "--map", "eth3=tap:t3"];
    let again = row.run("router/router.click", &[&["--place", "rtc:2"][..], &maps].concat());
    assert!(taps_are(&row.middle, true));
    row.client.inside(|| assert!(ask(udp, "three").ends_with(" three")));
    again.signal("-INT");
    assert_eq!(again.end().status, 0);
    assert!(taps_are(&row.middle, false), "the TAP interfaces are gone");
}

/// Clients at the front, a server at the back whose answers go to clients by another way, as the
/// balancer's page has it.
#[test]
fn the_balancer_leads_clients_to_a_server_that_answers_directly() {
    const SERVICE: &str = "192.0.2.80";
    let Some(row) = Row::new("balancer") else { return };
    let (client, server) = (&row.client, &row.server);
    let direct = ["link", "add", "direct", "type", "veth", "peer", "name", "direct", "netns", &client.0];
    assert!(server.ip(&direct) && [client, server].iter().all(|space| space.ip(&["link", "set", "direct", "up"])));
    address(client, "in", "198.51.100.2/24", None);
    address(server, "lo", "192.0.2.80/32", None);
    assert!(server.ip(&["link", "set", "lo", "up"]) && client.ip(&["route", "add", "192.0.2.80/32", "dev", "in"]));
    assert!(server.ip(&["route", "add", "198.51.100.0/24", "dev", "direct"]));
    // Answers come by an interface that asks do not leave by; the servers do not answer ARP for the
    // service.
    let loose = |link: &str| std::fs::write(format!("/proc/sys/net/ipv4/conf/{link}/rp_filter"), "0").expect("a setting");
    client.inside(|| ["all", "direct"].iter().for_each(|link| loose(link)));
    let mac = |space: &Space, link: &str| {
        let shown = std::process::Command::new("ip").args(["-n", &space.0, "-o", "link", "show", link]).output().expect("iproute2");
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        text.split_whitespace().skip_while(|word| *word != "link/ether").nth(1).expect("an address").to_owned()
    };
    let (front, back, one) = (mac(&row.middle, "in"), mac(&row.middle, "out"), mac(server, "out"));
    let (udp, tcp) = serve(server, SERVICE);
    for more in
        [&["--engine", "jit"][..], &["--engine", "jit", "--place", "rtc:2"], &["--engine", "jit", "--place", "rtc:2", "--order", "flow"]]
    {
        let given = [format!("FRONT_MAC={front}"), format!("BACK_MAC={back}"), format!("SERVERS={one}")];
        let maps = ["--map", "front=dev:in", "--map", "back=dev:out", "--handler", "balancer.known"];
        let running = row.run("balancer/balancer.click", &[more, &maps, &given.each_ref().map(String::as_str)[..]].concat());
        client.inside(|| {
            (0..20).for_each(|n| assert!(ask(udp, &format!("datagram {n}")).ends_with(&format!(" datagram {n}"))));
            (0..3).for_each(|_| transfer(tcp, 500_000));
        });
        running.signal("-TERM");
        let ended = running.end();
        let connections: u64 = ended.out.trim().parse().unwrap_or(0);
        assert!(ended.status == 0 && connections >= 23, "{more:?}: {}{}", ended.out, ended.err);
    }
}

/// A DHCP client whose script gives the address to the interface; with those arguments.
fn udhcpc(script: &str, more: &[&str]) -> std::process::Command {
    let mut udhcpc = std::process::Command::new("udhcpc");
    udhcpc.args(["-i", "in", "-f", "-n", "-t", "20", "-T", "1", "-s", script]).args(more);
    udhcpc
}

#[test]
fn hosts_get_leases_from_the_dhcp_server() {
    let Some(row) = Row::new("dhcp") else { return };
    if std::process::Command::new("udhcpc").arg("--help").output().is_err() {
        return super::needs::missing("udhcpc");
    }
    let dir = super::tools::Dir::new("dhcp");
    let (script, socket) = (dir.file("leased"), dir.file("socket"));
    let text = "#!/bin/sh\ncase $1 in bound) ip address add $ip/$mask dev $interface; echo lease $ip $subnet $router $dns $domain $lease >&2;; esac\n";
    std::fs::write(&script, text).expect("a script");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it can be run");
    let control = format!("--control={socket}");
    let says = |handler: &str| {
        let asked = netvm(["ctl", "--socket", &socket, "read", handler]).output().expect("it runs");
        String::from_utf8_lossy(&asked.stdout).trim().to_owned()
    };
    for engine in ["jit", "aot"] {
        let running = row.run("dhcp/dhcp.click", &["--engine", engine, "--map", "lan=dev:in", "PING=300ms", &control]);
        let told = "255.255.0.0 10.0.0.1 10.0.0.1 example.net";
        let client = |more: &[&str], told: &str| row.client.inside(|| Capturing::when(udhcpc(&script, more), told));
        client(&["-q"], &format!("lease 10.0.1.0 {told} 3600")).end();
        // Another client is not given an address that answers: the kernel of the namespace has it.
        address(&row.client, "in", "10.0.1.1/16", None);
        let other = client(&["-x", "0x3d:00112233", "-x", "0x33:00000258"], &format!("lease 10.0.1.2 {told} 600"));
        assert_eq!((says("server.conflicts"), says("server.active")), ("1".into(), "2".into()));
        // It gives the address back.
        other.signal("-USR2");
        let end = Instant::now() + PATIENCE;
        while says("server.releases") != "1" {
            assert!(Instant::now() < end, "the release comes");
        }
        other.signal("-TERM");
        other.end();
        assert!(says("server.active") == "1" && says("server.list").starts_with("10.0.1.0 "), "{}", says("server.list"));
        running.signal("-TERM");
        assert_eq!(running.end().status, 0);
        assert!(row.client.ip(&["address", "flush", "dev", "in"]));
    }
}

#[test]
fn what_is_wrong_with_a_device_is_told() {
    let file = format!("{}/../../apps/nat/nat.click", env!("CARGO_MANIFEST_DIR"));
    let told = run(&format!("run {file} --map inside=dev:nosuch0 --map outside=tap:t")).bad(1);
    assert!(told.contains("dev:nosuch0: there is no such interface"), "{told}");
    assert!(run(&format!("run {file} --map nowhere=dev:lo")).bad(2).contains("the configuration has no device 'nowhere'"));
    let told = run(&format!("run {file}")).bad(1);
    assert!(told.contains("--map inside=dev:IF for an interface"), "{told}");
}

#[test]
fn hosts_reach_each_other_through_a_p4_program() {
    let Some(row) = Row::new("p4") else { return };
    address(&row.client, "in", "192.0.2.1/27", None);
    address(&row.server, "out", "192.0.2.2/27", None);
    let (udp, tcp) = serve(&row.server, "192.0.2.2");
    for more in [&["--engine", "interp"][..], &["--engine", "jit"], &["--engine", "jit", "--place", "rtc:2"]] {
        let program = format!("{}/../../tests/p4/cross.p4", env!("CARGO_MANIFEST_DIR"));
        let command = netvm([&["run", "--stats", &program][..], more, &["--map", "0=dev:in", "--map", "1=dev:out"]].concat());
        let running = row.middle.inside(|| Capturing::when(command, "running on"));
        row.client.inside(|| {
            assert!(ask(udp, "hello").starts_with("192.0.2.1:"));
            transfer(tcp, 3_000_000);
        });
        running.signal("-TERM");
        let told = running.end();
        assert!(told.status == 0 && told.err.contains("p4 :: P4"), "{}", told.err);
    }
}

/// A P4 program that clones: no element can, so the switch around it runs; its digests are told,
/// and controllers are let in.
#[test]
fn a_p4_program_is_a_switch_between_interfaces() {
    let Some(row) = Row::new("p4-switch") else { return };
    address(&row.client, "in", "10.0.0.2/24", None);
    address(&row.server, "out", "10.0.0.3/24", None);
    assert!(row.middle.ip(&["link", "set", "lo", "up"]));
    let program = std::env::temp_dir().join(format!("netvm-p4-live-{}.p4", std::process::id()));
    let text = "#include <v1model.p4>
header e_t { bit<48> dst; bit<48> src; bit<16> type; } struct H { e_t e; } struct M { } struct seen_t { bit<9> port; bit<16> type; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.e); transition accept; } }
control N(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply { s.egress_spec = s.ingress_port ^ 1; clone(CloneType.I2E, 5); digest<seen_t>(1, { s.ingress_port, h.e.type }); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;";
    std::fs::write(&program, text).expect("a program");
    let (udp, tcp) = serve(&row.server, "10.0.0.3");
    let path = program.display().to_string();
    let base = ["run", &path, "--map", "0=dev:in", "--map", "1=dev:out", "--stats"];
    for more in [&["--digests"][..], &["--p4runtime=127.0.0.1:0", "--engine", "interp"], &[]] {
        let command = netvm([&base[..], more].concat());
        let running = row.middle.inside(|| Capturing::when(command, "running on 0 at dev:in, 1 at dev:out"));
        row.client.inside(|| {
            assert!(ask(udp, "switched").ends_with(" switched"));
            transfer(tcp, 100_000);
        });
        running.signal("-TERM");
        let ended = running.end();
        assert_eq!(ended.status, 0, "{}", ended.err);
        assert!(ended.err.contains(" packets came in, 0 went nowhere, 0 to ports without a device"), "{}", ended.err);
        assert_eq!(ended.out.contains("digest seen_t at "), more.contains(&"--digests"), "{}", ended.out);
    }
    let socket = std::env::temp_dir().join(format!("netvm-p4-live-{}.sock", std::process::id()));
    let control = format!("--control={}", socket.display());
    let command = netvm([&base[..], &[&control]].concat());
    let running = row.middle.inside(|| Capturing::when(command, "running on 0 at dev:in, 1 at dev:out"));
    let ctl = |words: &str| run(&format!("ctl --socket {} {words}", socket.display()));
    row.client.inside(|| assert!(ask(udp, "switched").ends_with(" switched")));
    assert_eq!(ctl("list").out, "p4 :: P4\n");
    assert_eq!((ctl("p4 mirroring_add 5 1").status, ctl("p4 mirroring_get 5").out.as_str()), (0, "session 5: port 1\n"));
    assert!(ctl("table dump t").err.contains("there is no table `t`"));
    assert!(ctl("stats").out.starts_with("p4 :: P4\t"));
    assert_eq!(ctl("stop").status, 0);
    let ended = running.end();
    assert_eq!(ended.status, 0, "{}", ended.err);
    let capture = run(&format!("run {path} --map 0=in.pcap --digests"));
    assert!(capture.err.contains("with --digests all of --map are interfaces"), "{}", capture.err);
    std::fs::remove_file(program).expect("the program");
}
