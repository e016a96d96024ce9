//! `netvm trace`: what happens to packets in a configuration.

use super::tools::{Dir, run, run_args};
use netvm::io::{LinkType, Timestamp};

const ROUTER: &str = "\
FromDevice(eth0) -> c :: Classifier(12/0806, 12/0800);
c[0] -> [1] arp :: ARPQuerier(10.0.0.254, 00:00:00:00:00:fe);
c[1] -> strip :: Strip(14) -> check :: CheckIPHeader -> rt :: StaticIPLookup(10.0.0.0/8 0, 192.0.2.0/24 1);
rt[0] -> ttl :: DecIPTTL -> [0] arp -> out :: Queue -> to :: ToDevice(eth1);
rt[1] -> tee :: Tee -> paint :: Paint(5) -> dump :: ToDump(never.pcap, ENCAP IP); tee[1] -> gone :: Discard;
ttl[1] -> error :: ICMPError(10.0.0.254, timeexceeded) -> rt;
";

fn ip(ttl: u8, dst: [u8; 4]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 28, 0, 7, 0, 0, ttl, 17, 0, 0, 10, 0, 0, 1];
    packet.extend(dst);
    packet.extend([3, 232, 0, 53, 0, 8, 0, 0]);
    let sum: u32 = packet[..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn frame(kind: [u8; 2], payload: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, 0, 1][..], &kind, payload].concat()
}

/// A packet that waits for its neighbour's address, the neighbour's answer, one whose time is over,
/// one for the file, one that is cut.
fn router(dir: &Dir) -> (String, String) {
    let reply = [&[0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 9, 10, 0, 0, 9, 0, 0, 0, 0, 0, 0xfe][..], &[10, 0, 0, 254]].concat();
    let packets = [
        frame([8, 0], &ip(64, [10, 0, 0, 9])),
        frame([8, 6], &reply),
        frame([8, 0], &ip(1, [10, 0, 0, 9])),
        frame([8, 0], &ip(64, [192, 0, 2, 9])),
        frame([8, 0], &[0x45, 0]),
    ];
    let packets: Vec<_> = packets.into_iter().enumerate().map(|(n, packet)| (Timestamp::from_nanos(1 + n as i64, 0), packet)).collect();
    (dir.write("router.click", ROUTER), dir.capture("in.pcap", LinkType::EN10MB, &packets))
}

/// The steps as `packet input element end to`.
fn steps(journey: &serde_json::Value) -> Vec<String> {
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let step = |step: &serde_json::Value| ["packet", "input", "element", "end", "to"].map(|key| text(&step[key])).join(" ");
    journey["steps"].as_array().expect("steps").iter().map(step).collect()
}

fn changes(journey: &serde_json::Value, element: &str) -> Vec<String> {
    let steps = journey["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["element"] == element).expect("the element");
    step["changes"].as_array().expect("changes").iter().map(|change| change["field"].as_str().unwrap_or("").to_owned()).collect()
}

#[test]
fn a_packet_is_followed_to_its_end() {
    let dir = Dir::new("trace");
    let (file, input) = router(&dir);
    let json = |number: u32| -> serde_json::Value {
        serde_json::from_str(&run(&format!("trace {file} -r {input} --packet {number} --json")).good()).expect("JSON")
    };
    let first = json(1);
    let way = ["1 null FromDevice@1 left 0", "1 0 c left 1", "1 0 strip left 0", "1 0 check left 0", "1 0 rt left 0", "1 0 ttl left 0"];
    assert_eq!(steps(&first)[..6], way);
    // It is held until the answer is there; the question is a packet made of it.
    assert_eq!(
        steps(&first)[6..],
        ["1 0 arp left 0", "1.1 0 out left 0", "1.1 0 to written eth1", "1 0 out left 0", "1 0 to written eth1"]
    );
    assert_eq!(changes(&first, "ttl"), ["ip.ttl", "ip.checksum"]);
    assert_eq!(changes(&first, "arp"), ["", "eth.dst", "eth.src", "eth.type", "has_mac_header"]);
    assert_eq!(steps(&json(2)).last().expect("a step"), "2 1 arp taken null");
    assert!(steps(&json(3)).contains(&"3 0 error taken null".to_owned()) && steps(&json(3)).contains(&"3.1 0 rt left 0".to_owned()));
    let copied = steps(&json(4));
    let ways = ["4 0 tee left 1", "4.1 0 paint left 0", "4.1 0 dump written never.pcap", "4 0 gone ended null"];
    assert_eq!(copied[5..], ways);
    assert_eq!(changes(&json(4), "paint"), ["paint"]);
    assert_eq!(steps(&json(5)).last().expect("a step"), "5 0 check dropped TOO_SHORT");
    assert_eq!(dir.names(), ["in.pcap", "router.click"]);
}

/// The capture of the command line is read, not that of the configuration, and no file is written.
#[test]
fn files_of_a_configuration_are_left_alone() {
    let dir = Dir::new("trace-files");
    let (_, input) = router(&dir);
    let [nowhere, dump, lines, printed] = ["nowhere.pcap", "never.pcap", "never.txt", "printed.txt"].map(|name| dir.file(name));
    let text = format!(
        "FromDump({nowhere}, STOP true) -> MarkIPHeader(14) -> IPPrint(OUTFILE {printed}) -> ToIPSummaryDump({lines}) -> ToDump({dump});"
    );
    let file = dir.write("files.click", &text);
    let traced = run(&format!("trace {file} -r {input} --packet 4")).good();
    assert!(traced.contains(&format!("written to {dump}")), "{traced}");
    let svg = run(&format!("graph {file} -r {input} -o -")).good();
    assert!(svg.contains("5 packets arrived in "), "{svg}");
    assert_eq!(dir.names(), ["files.click", "in.pcap", "router.click"]);
}

#[test]
fn packets_are_chosen_by_a_filter() {
    let dir = Dir::new("trace-filter");
    let (file, input) = router(&dir);
    let printed =
        run_args(&["trace", &file, "--map", &format!("eth0={input}"), "--map", "eth1=x.pcap", "--filter", "ip[8] = 1 or arp"]).good();
    assert!(printed.contains("Packet 2: 00:00:02.000000 ARP, Reply") && printed.contains("Packet 3: "), "{printed}");
    assert!(printed.contains("  3      [0] ttl :: DecIPTTL") && printed.contains("written to x.pcap"), "{printed}");
    assert_eq!(printed.matches("Packet ").count(), 2);
    assert_eq!(run_args(&["trace", &file, "-r", &input, "-c", "3"]).good().matches("Packet ").count(), 3);
}

#[test]
fn queues_and_traps_are_told() {
    let dir = Dir::new("trace-ends");
    let (_, input) = router(&dir);
    let told = |text: &str| {
        let file = dir.write("some.click", text);
        run(&format!("trace {file} -r {input} --packet 1")).good()
    };
    assert!(told("FromDevice(a) -> q :: Queue(1) -> Idle;").contains("q :: Queue                  stays here"));
    assert!(told("FromDevice(a) -> q :: Queue(0) -> Idle;").contains("dropped: queue full"));
    assert!(told("FromDevice(a) -> DecIPTTL -> Discard;").contains("dropped: DecIPTTL@2: access outside the packet"));
    assert!(told("FromDevice(a) -> p :: Paint(1) -> s :: Switch -> Discard; s[1] -> p;").contains("paint 0 → 1"));
    let round = told("FromDevice(a) -> p :: Paint(1) -> s :: Switch(1) -> Discard; s[1] -> p;");
    assert!(round.contains("dropped: led back too often") && round.matches("p :: Paint").count() == 17, "{round}");
    let pulled = told("FromDevice(a) -> Queue -> Strip(2) -> u :: Unqueue -> Discard;");
    assert!(pulled.contains("2 bytes taken off the head") && pulled.contains("[0] u :: Unqueue "), "{pulled}");
    assert!(
        told("FromDevice(a) -> Queue -> Unstrip(2) -> Unqueue -> Discard;")
            .contains("dropped: Unstrip@3: access outside the packet: .pull")
    );
}

#[test]
fn captures_that_stand_for_any_device_are_left_alone() {
    let dir = Dir::new("trace-devices");
    let (_, input) = router(&dir);
    let kept = dir.write("kept.pcap", "another run's");
    let file = dir.write("devices.click", "FromDPDKDevice(0) -> ToDPDKDevice(1);");
    let traced = run(&format!("trace {file} -r {input} --map 1={kept} --packet 4")).good();
    assert!(traced.contains(&format!("written to {kept}")), "{traced}");
    assert!(run(&format!("graph {file} -r {input} --map 1={kept} -o -")).good().contains("5 packets arrived in "));
    assert_eq!(std::fs::read_to_string(kept).expect("a file"), "another run's");
}

#[test]
fn what_cannot_be_traced_is_told() {
    let dir = Dir::new("trace-wrong");
    let (file, input) = router(&dir);
    assert!(run(&format!("trace {file} -r {input} --packet 99")).bad(1).contains("there is no packet 99: 5 arrived"));
    assert!(run(&format!("trace {file} --packet 1")).bad(1).contains("--map eth0=FILE"));
    let two = dir.write("two.click", "FromDevice(a) -> Discard; FromDevice(b) -> Discard;");
    assert!(run(&format!("trace {two} -r {input}")).bad(1).contains("reads 2 captures or devices"));
    let none = dir.write("none.click", "Idle -> Discard;");
    assert!(run(&format!("trace {none} -r {input}")).bad(1).contains("-r has no place"));
    assert!(run(&format!("trace {file} -r {input} --filter prot")).bad(2).contains("prot"));
    let missed = run_args(&["trace", &file, "-r", &input, "--filter", "tcp"]);
    assert_eq!((missed.status, missed.out.as_str()), (0, ""));
    assert!(missed.err.contains("none of 5 packets was chosen"));
}

#[test]
fn packets_of_programs_are_followed() {
    let dir = Dir::new("trace-program");
    let input = dir.trace("in.pcap", 1, 40);
    // Sends IPv4 on with another first byte, and traps on nothing.
    let text = "segment .ports\n  push_input in\n  push_output out\nends\nsegment .push\n.maxstacksize 3\n  pop\n  push 12\n  upload.16\n  push 0x800\n  jcmp.neq no\n  push 0xaa\n  push 0\n  pstore.8\n  pkt.send out\nno:\n  ret 0\nends\n";
    let file = dir.write("mark.netil", text);
    let told = run(&format!("trace {file} -r {input} --filter ip -c 1")).good();
    assert!(told.starts_with("Packet ") && told.contains("sent to out") && told.contains("byte 0: ") && told.contains(" → aa"), "{told}");
    let told = run(&format!("trace {file} -r {input} --filter arp -c 1 --json")).out;
    assert!(told.is_empty() || told.contains("dropped"), "{told}");
    assert!(run(&format!("trace {file} -r {input} --packet 41")).bad(1).contains("there is no packet 41: 40 arrived"));
    assert!(run(&format!("trace {file} --packet 1")).bad(2).contains("-r IN"));
    assert!(run(&format!("trace {file} -r {input} A=1")).bad(2).contains("NAME=VALUE is for configurations"));
}
