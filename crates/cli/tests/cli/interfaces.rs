//! What holds of any configuration between interfaces, in network namespaces (root, iproute2):
//! tags, interfaces that disappear, addresses, rights, idle cores, programs without a
//! configuration.

use super::devices::{Row, address, ask, serve, transfer};
use super::live::{Capturing, Space, frames, grown};
use super::tools::{Dir, ended, netvm, run};
use netvm::io::Capture;
use netvm::io::live::Injector;
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

/// The packets of a capture.
fn packets(path: &str) -> Vec<Vec<u8>> {
    let mut capture = Capture::open(path).expect("a capture");
    let mut all = Vec::new();
    while let Some(burst) = capture.next_burst(4096).expect("whole records") {
        all.extend(burst.records().map(|record| record.data.to_vec()));
    }
    all
}

/// Between hosts on both sides.
fn bridged(row: &Row, more: &[&str]) -> Capturing {
    row.run(
        "switch/switch.click",
        &[&["--map", "eth0=dev:in", "--map", "eth1=dev:out", "--map", "eth2=tap:t2", "--map", "eth3=tap:t3"], more].concat(),
    )
}

#[test]
fn the_switch_joins_interfaces_and_outlives_one_that_disappears() {
    let Some(row) = Row::new("switch") else { return };
    address(&row.client, "in", "10.0.0.2/24", None);
    address(&row.server, "out", "10.0.0.3/24", None);
    let (udp, tcp) = serve(&row.server, "10.0.0.3");
    let running = bridged(&row, &[]);
    row.client.inside(|| {
        assert!(ask(udp, "one").starts_with("10.0.0.2:"));
        transfer(tcp, 2_000_000);
    });
    // Another interface of that name comes, and the host has its address again.
    assert!(row.middle.ip(&["link", "del", "out"]));
    std::thread::sleep(Duration::from_millis(600));
    assert!(row.middle.ip(&["link", "add", "out", "type", "veth", "peer", "name", "out", "netns", &row.server.0]));
    assert!(row.middle.ip(&["link", "set", "out", "up"]) && row.server.ip(&["link", "set", "out", "up"]));
    address(&row.server, "out", "10.0.0.3/24", None);
    row.client.inside(|| {
        // The server's interface has another Ethernet address now.
        assert!(row.client.ip(&["neigh", "flush", "dev", "in"]));
        assert!(ask(udp, "two").ends_with(" two"));
        transfer(tcp, 200_000);
    });
    running.signal("-TERM");
    let ended = running.end();
    assert!(
        ended.status == 0 && ended.err.lines().any(|line| line.contains("out: ") && line.contains("the interface is gone")),
        "{}",
        ended.err
    );
}

/// Tags that the kernel takes off frames are in them again, as in a capture; and frames with tags
/// are sent as they are.
#[test]
fn tags_are_in_frames_that_come_and_go() {
    let Some(space) = Space::new("tags") else { return };
    let dir = Dir::new("tags");
    let sent = frames();
    let tags = sent.iter().filter(|frame| matches!(frame[12..14], [0x81, 0] | [0x88, 0xa8])).count();
    assert!(tags > 200);
    let (came, back) = (dir.file("came.pcap"), dir.file("back.pcap"));
    // Ours are told by their source.
    let ours = "Classifier(6/020000000007, -)";
    let config = dir.write("in.click", format!("FromDevice(in) -> c :: {ours}; c[0] -> ToDump({came}, SNAPLEN 0); c[1] -> Discard;"));
    let sends = dir.write("out.click", format!("FromDump({came}) -> Queue(10000) -> ToDevice(out); FromDevice(in) -> c :: {ours}; c[0] -> ToDump({back}, SNAPLEN 0); c[1] -> Discard;"));
    space.inside(|| {
        let running = Capturing::when(netvm(["run", &config, "--map", "in=dev:right"]), "running on");
        let injector = Injector::open("left").expect("an interface to send on");
        sent.iter().for_each(|frame| injector.send(frame).expect("a frame is sent"));
        grown(&came, sent.len());
        running.signal("-TERM");
        assert_eq!(running.end().status, 0);
        let running = Capturing::when(netvm(["run", &sends, "--map", "in=dev:left", "--map", "out=dev:right"]), "running on");
        grown(&back, sent.len());
        running.signal("-TERM");
        assert_eq!(running.end().status, 0);
    });
    assert!(packets(&came) == sent, "{} packets of {}", packets(&came).len(), sent.len());
    assert!(packets(&back) == sent, "{} packets of {}", packets(&back).len(), sent.len());
}

/// A name of an interface stands for what the system gives it when the run begins, also where the
/// configuration has another name for it.
#[test]
fn addresses_of_interfaces_are_the_systems() {
    let Some(space) = Space::new("addresses") else { return };
    assert!(space.ip(&["address", "add", "192.0.2.7/28", "dev", "left"]));
    assert!(space.ip(&["link", "set", "left", "address", "02:00:00:00:00:77"]));
    let text = "Idle -> e :: EtherEncap(0x0800, left, 2:2:2:2:2:2) -> r :: StaticIPLookup(left:ip/32 0, left:ipnet 0) -> Discard; Script(print e.src, print r.table, stop)";
    let dir = Dir::new("addresses");
    let told = space.inside(|| ended(netvm(["run", "-e", text]).output().expect("it runs"))).good();
    assert!(told.contains("02-00-00-00-00-77") && told.contains("192.0.2.7") && told.contains("192.0.2.0/28"), "{told}");
    let mapped = dir.write(
        "mapped.click",
        "FromDevice(port) -> Discard; Idle -> r :: StaticIPLookup(port:ipnet 0) -> Discard; Script(print r.table, stop)",
    );
    let told = space.inside(|| ended(netvm(["run", &mapped, "--map", "port=dev:left"]).output().expect("it runs")));
    assert!(told.status == 0 && told.out.contains("192.0.2.0/28"), "{}{}", told.out, told.err);
}

/// Rights are looked at before anything runs.
#[test]
fn rights_that_are_missing_are_told_with_the_remedy() {
    let dir = Dir::new("rights");
    let file = dir.write("pass.click", "FromDevice(port) -> Queue -> ToDevice(port);");
    for (map, needs) in [("port=dev:lo", "CAP_NET_RAW"), ("port=tap:netvmtap", "CAP_NET_ADMIN")] {
        let mut command = netvm(["run", &file, "--map", map]);
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        match command.output() {
            Ok(output) => {
                let told = ended(output).bad(1);
                assert!(told.contains(needs) && told.contains("setcap"), "{map}: {told}");
            }
            Err(error) => eprintln!("skipped: nobody else may run the program: {error}"),
        }
    }
}

/// For how long the process has been on a core, in hundredths of a second.
fn processor_time(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("the process");
    let fields: Vec<u64> = stat.rsplit_once(')').expect("a name").1.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    fields[11] + fields[12]
}

/// Where no packets come, threads sleep, on one core and on several, and say so.
#[test]
fn cores_without_packets_sleep_and_say_so() {
    let Some(space) = Space::new("idle") else { return };
    let dir = Dir::new("idle");
    let file = dir.write("pass.click", "FromDevice(in) -> Strip(14) -> CheckIPHeader -> Unstrip(14) -> Queue -> ToDevice(out);");
    // Neighbours that the kernel looks for are no packets of anybody.
    let quiet = |link: &str| std::fs::write(format!("/proc/sys/net/ipv6/conf/{link}/disable_ipv6"), "1");
    space.inside(|| ["left", "right"].iter().for_each(|link| _ = quiet(link)));
    for more in [&[][..], &["--place", "rtc:2"], &["--place", "rtc:2", "--order", "flow"]] {
        let socket = dir.file("socket");
        let control = format!("--control={socket}");
        let args = [&["run", &file, "--map", "in=dev:left", "--map", "out=dev:right", &control], more].concat();
        let running = space.inside(|| Capturing::when(netvm(args), "running on"));
        // Compiled code comes from a thread beside, which works a little longer.
        let end = Instant::now() + Duration::from_secs(20);
        let rests = || {
            let (before, begun) = (processor_time(running.child.id()), Instant::now());
            std::thread::sleep(Duration::from_secs(1));
            (processor_time(running.child.id()) - before) as f64 / begun.elapsed().as_secs_f64() < 20.0
        };
        while !rests() {
            assert!(Instant::now() < end, "{more:?}: it works although nothing comes");
        }
        let stats = run(&format!("ctl --socket {socket} stats --json")).good();
        let stats: serde_json::Value = serde_json::from_str(&stats).expect("JSON");
        assert!(stats["busy"].as_f64().is_some_and(|busy| busy < 0.5), "{more:?}: {stats}");
        running.signal("-TERM");
        assert_eq!(running.end().status, 0);
    }
}

/// A program alone, between two interfaces.
#[test]
fn a_program_runs_between_interfaces() {
    let Some(row) = Row::new("program") else { return };
    address(&row.client, "in", "10.0.0.2/24", None);
    address(&row.server, "out", "10.0.0.3/24", None);
    let (udp, tcp) = serve(&row.server, "10.0.0.3");
    let dir = Dir::new("program");
    let program = dir.write(
        "cross.netil",
        "segment .ports\n push_input a, b\n push_output c, d\nends\nsegment .push\n push 0 jcmp.eq first pkt.send c\nfirst:\n pkt.send d\nends\n",
    );
    let args = ["run", &program, "--in", "a=dev:in", "--in", "b=dev:out", "--out", "c=dev:in", "--out", "d=dev:out"];
    let running = row.middle.inside(|| Capturing::when(netvm(args), "running on"));
    row.client.inside(|| {
        assert!(ask(udp, "across").ends_with(" across"));
        transfer(tcp, 500_000);
    });
    running.signal("-TERM");
    assert_eq!(running.end().status, 0);
}
