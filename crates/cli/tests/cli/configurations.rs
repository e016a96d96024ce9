//! `netvm run` and `netvm check` on Click configurations, and the program called `click`.

use super::tools::{Dir, ended, run, run_args};
use std::process::Command;

/// Packets that an element made are counted, and the rate is theirs.
#[test]
fn packets_that_were_made_are_told() {
    let ended = run_args(&["run", "--stats", "-e", "InfiniteSource(LIMIT 5000, STOP true) -> c :: Counter -> Discard"]);
    let told = format!("{}{}", ended.out, ended.err);
    assert!(ended.status == 0 && told.contains("arrived  0\nmade     5,000\ntook "), "{told}");
}

#[test]
fn captures_go_through_a_configuration() {
    let dir = Dir::new("configuration");
    let (input, output) = (dir.trace("in.pcap", 1, 300), dir.file("out.pcap"));
    let file = dir.write(
        "tee.click",
        format!("// two ways\nf :: FromDump({input}, STOP true) -> t :: Tee -> c :: Counter -> ToDump({output});\nt [1] -> Paint($color) -> q :: Queue(9999) -> d :: Discard;"),
    );
    let printed = run(&format!("run {file} color=7 --handler c.count --handler d.count -h f.filename")).good();
    assert_eq!(printed, format!("c.count:\n300\n\nd.count:\n300\n\nf.filename:\n{input}\n\n"));
    let same = |file: &str| run(&format!("filter -tt -r {file}")).good();
    assert_eq!(same(&output), same(&input));
    let json: serde_json::Value = serde_json::from_str(&run(&format!("run {file} color=7 --json --engine interp")).good()).expect("JSON");
    assert_eq!((json["arrived"].as_u64(), json["elements"][0]["name"].as_str()), (Some(300), Some("f")));
    let told = run(&format!("run {file} color=7 --stats")).err;
    let row = |name: &str| {
        told.lines().find(|line| line.starts_with(name)).map(|line| line.split_whitespace().collect::<Vec<_>>()).expect("a row")
    };
    assert_eq!(row("c :: ")[..6], ["c", "::", "Counter", "300", "300", "-"], "{told}");
    assert_eq!(row("t :: ")[3..8], ["300", "[0]", "300", "[1]", "300"], "{told}");
    assert!(told.contains("arrived  300\n"), "{told}");
    assert_eq!(json["elements"][1]["out"], serde_json::json!([300, 300]));
}

#[test]
fn captures_stand_for_devices() {
    let dir = Dir::new("devices");
    let (input, output) = (dir.trace("in.pcap", 2, 100), dir.file("out.pcap"));
    let file = dir.write("bump.click", "FromDevice(eth0) -> Queue -> ToDevice(eth1);");
    run(&format!("run {file} --map eth0={input} --map eth1={output}")).good();
    assert_eq!(run(&format!("filter -r {output} --count")).good(), "100 packets\n");
    let told = run(&format!("run {file}")).bad(1);
    assert!(told.contains("--map eth0=FILE") && told.contains("bump.click:1:1"), "{told}");
}

#[test]
fn no_output_is_an_input_or_another_output() {
    let dir = Dir::new("one-file");
    let (input, output) = (dir.trace("in.pcap", 2, 50), dir.file("out.pcap"));
    let before = std::fs::read(&input).expect("a capture");
    let file = dir.write("both.click", "FromDevice(a) -> ToDevice(a); FromDevice(b) -> ToDevice(b);");
    let same = run(&format!("run {file} --map a={input},{output} --map b={input},{output}")).bad(1);
    assert!(same.contains("ToDevice(b)") && same.contains("it is written already"), "{same}");
    for line in [
        format!("run {file} --map a={input},{input} --map b={input},{output}"),
        format!("filter -r {input} -w {input} udp"),
        format!("filter -r {input} -w {} udp", dir.file("./in.pcap")),
    ] {
        assert!(run(&line).bad(1).contains("it is an input"), "{line}");
    }
    let dump = format!("FromDump({input}, STOP true) -> IPPrint(OUTFILE {input}) -> Discard");
    assert!(run_args(&["run", "-e", &dump]).bad(1).contains("it is an input"));
    assert!(std::fs::read(&input).expect("it is still there") == before && !std::path::Path::new(&output).exists());
    run(&format!("filter -r {input} -w {output} udp")).good();
    run(&format!("filter -r {input} -w {output} tcp")).good();
}

#[test]
fn a_device_that_is_not_there_is_refused() {
    let dir = Dir::new("no-device");
    let (input, output) = (dir.trace("in.pcap", 2, 10), dir.file("out.pcap"));
    let file = dir.write("bump.click", "FromDevice(eth0) -> Queue -> ToDevice(DEVNAME \"eth1\");");
    run(&format!("run {file} --map eth0={input} --map eth1={output}")).good();
    for (map, why) in [
        (format!("eth2={input}"), "has no device 'eth2'"),
        (format!("eth0={input},{output}"), "nothing writes to device 'eth0'"),
        (format!("eth1={input},{output}"), "nothing reads device 'eth1'"),
    ] {
        for command in ["run", "trace", "graph -o -"] {
            assert!(run(&format!("{command} {file} --map {map}")).bad(2).contains(why), "{command} {map}");
        }
    }
    let missing = dir.file("missing.pcap");
    assert!(run(&format!("run {file} --map eth0={missing}")).bad(1).contains(&missing));
}

#[test]
fn what_would_have_no_effect_is_refused() {
    let dir = Dir::new("no-effect");
    let file = dir.write("paint.click", "define($COLOR 1); Idle -> Paint(${COLOR}) -> Discard;");
    let plain = dir.write("plain.click", "Idle -> Discard;");
    for command in ["run", "check", "trace", "graph -o -", "compile --emit standalone"] {
        let told = run(&format!("{command} {file} COLOUR=2")).bad(2);
        assert!(told.contains("paint.click has no parameter 'COLOUR'; those in it are COLOR"), "{told}");
        assert!(run(&format!("{command} {plain} COLOR=2")).bad(2).contains("it has none"));
        assert!(run(&format!("{command} {file} --elements {}", dir.file("nowhere"))).bad(1).contains("no such folder"), "{command}");
    }
    run(&format!("run {file} COLOR=2")).good();
    assert!(run(&format!("run {file} --in {}", dir.trace("in.pcap", 1, 1))).bad(2).contains("--map"));
    assert!(run(&format!("run {file} --out out.pcap")).bad(2).contains("--out is for programs"));
    let program = dir.write("all.netil", "segment .push\n pop\n ret 1\nends");
    assert!(run(&format!("run {program} --elements {}", dir.file(""))).bad(2).contains("--elements is for configurations"));
    let long = dir.write("long.click", " ".repeat((16 << 20) + 1));
    assert!(run(&format!("check {long}")).bad(1).contains("at most"));
}

#[test]
fn handlers_are_asked_about_something() {
    let routes = "Idle -> r :: RadixIPLookup(10.0.0.0/8 1.1.1.1 0, 0.0.0.0/0 1) -> Discard; r[1] -> Discard";
    let said = |handlers: &[&str]| run_args(&[&["run", "-e", routes][..], handlers].concat());
    assert_eq!(said(&["-h", "r.lookup 10.0.0.1"]).good(), "0 1.1.1.1\n");
    let both = said(&["-h", "r.lookup  10.0.0.1", "-h", "*Lookup*.lookup 9.0.0.1"]).bad(1);
    assert!(both.contains("no element matches"), "{both}");
    assert_eq!(
        said(&["-h", "r.lookup 10.0.0.1", "-h", "r.lookup 9.0.0.1"]).good(),
        "r.lookup 10.0.0.1:\n0 1.1.1.1\n\nr.lookup 9.0.0.1:\n1\n\n"
    );
    assert!(said(&["-h", "r.lookup"]).bad(1).contains("expected an IP address"));
    assert!(said(&["-h", "r.remove 10.0.0.0/8"]).bad(1).contains("r.remove"));
}

#[test]
fn timing_begins_anew_and_ends_are_moved_by_a_clock_of_its_own() {
    let dir = Dir::new("timing");
    let text = dir.write("in.txt", "!data timestamp ip_src\n1 1.0.0.1\n4 1.0.0.2\n9 1.0.0.3\n");
    let capture = dir.file("in.pcap");
    run_args(&["run", "-e", &format!("FromIPSummaryDump({text}, STOP true, CHECKSUM true) -> ToDump({capture}, ENCAP IP)")]).good();
    let said = |more: &str, script: &str| {
        let source = format!("f :: FromDump({capture}, TIMING true{more}) -> Script(TYPE PACKET, print \"$(now)\") -> Discard");
        run_args(&["run", "--sim-time", "-e", &format!("{source}; Script({script}, stop)")]).good()
    };
    assert_eq!(said("", "wait 9"), "1000000000.000000\n1000000003.000000\n1000000008.000000\n");
    assert_eq!(said("", "wait 2, write f.reset_timing, wait 2"), "1000000000.000000\n1000000003.000000\n1000000003.000000\n");
    assert_eq!(said(", END 2", "wait 9"), "1000000000.000000\n");
    assert_eq!(said(", END 2", "wait 5, write f.extend_interval 3, wait 1"), "1000000000.000000\n1000000005.000000\n");
}

#[test]
fn what_is_wrong_is_drawn() {
    let told = run_args(&["run", "-e", "Foo -> Discard"]).bad(1);
    assert!(told.contains("Foo") && told.contains("config:1:1"), "{told}");
    assert!(run_args(&["run", "-e", "Idle -> q :: Queue(many) -> Idle"]).bad(1).contains("CAPACITY"));
    assert!(run_args(&["run", "-e", "Idle -> Discard", "-h", "nobody.count"]).bad(1).contains("nobody"));
    assert!(run("run").bad(2).contains("FILE"));
    assert!(run_args(&["run", "-e", "Idle -> Discard", "color"]).bad(2).contains("NAME=VALUE"));
    let dir = Dir::new("wrong");
    let program = dir.write("all.netil", "segment .push\n pop\n ret 1\nends");
    assert!(run(&format!("run {program} --sim-time")).bad(2).contains("--sim-time is for configurations"));
}

#[test]
fn configurations_are_checked() {
    let dir = Dir::new("check");
    let file = dir.write("loop.click", "i :: Idle -> p :: Paint(1) -> s :: Switch -> q :: Queue -> d :: Discard; s [1] -> p;");
    assert_eq!(run(&format!("check {file}")).good(), "5 elements, 5 connections\nleads back: s [1] -> [0] p\n");
    assert!(run(&format!("check {file} --paths")).good().contains("q [0] => [0] d\n"));
    assert!(run(&format!("check {file} --flat")).good().contains("i -> p -> s -> q -> d;\n"));
    let wrong = dir.write("wrong.click", "Idle -> Unqueue -> Queue;");
    assert!(run(&format!("check {wrong}")).bad(1).contains("wrong.click:1"));
    let text = "FromDump(not-there.pcap, STOP maybe) -> Queue(many) -> Discard(1, 2); RatedSource(RATE x) -> Discard;";
    let wrong = dir.write("arguments.click", text);
    let told = run(&format!("check {wrong}")).bad(1);
    assert!(["STOP", "CAPACITY", "RATE"].iter().all(|argument| told.contains(argument)), "{told}");
    let unknown = dir.write("unknown.click", "Idle -> Gargle -> Discard;");
    assert!(
        run(&format!("check {unknown}"))
            .bad(1)
            .contains("`netvm elements` lists the classes; one of your own is a file Gargle.c in a folder that --elements DIR names")
    );
    let output = dir.file("out.pcap");
    let text = format!("FromDump(a.pcap) -> ToDump({output}); FromDevice(c) -> ToDevice(d); FromIPSummaryDump(e) -> Discard;");
    let absent = dir.write("absent.click", text);
    assert_eq!(run(&format!("check {absent}")).good(), "6 elements, 3 connections\n");
    assert!(!std::path::Path::new(&output).exists());
}

/// Per table and variable: what it is, who has it on several cores, where that is decided, and what
/// would be cheaper.
#[test]
fn what_elements_keep_is_told() {
    let dir = Dir::new("kept");
    let text = "FromDevice(in) -> Strip(14) -> CheckIPHeader -> d :: DecIPTTL -> s :: EtherSwitch -> c :: Counter -> Discard; Idle -> [1] s; s[1] -> Discard;";
    let file = dir.write("kept.click", text);
    let told = run(&format!("check {file}")).good();
    let line = |told: &str, what: &str| {
        told.lines().find(|line| line.starts_with(&format!("kept: {what}"))).unwrap_or_else(|| panic!("{told}")).to_owned()
    };
    let table = line(&told, "s :: EtherSwitch, table stations: keyed by the Ethernet ");
    assert!(table.contains(" (line ") && table.contains("on one thread, in order, because ") && table.contains("; cheaper: "), "{table}");
    assert!(!told.contains("variable"), "{told}");
    let placed = run(&format!("check {file} --placement")).good();
    let drops = line(&placed, "d :: DecIPTTL, variable drops: a sum that packets do not read");
    assert!(drops.contains("each replica has its own, and they are added"), "{drops}");
    let json: serde_json::Value = serde_json::from_str(&run(&format!("check {file} --json")).good()).expect("JSON");
    let stations = json["state"].as_array().unwrap().iter().find(|item| item["name"] == "stations").unwrap();
    assert!(stations["line"].is_u64() && stations["kind"] == "table" && stations["cheaper"].is_string(), "{json}");
    let flow: serde_json::Value =
        serde_json::from_str(&run(&format!("check {file} --placement --order flow --state lock --json")).good()).expect("JSON");
    let shared =
        |json: &serde_json::Value| json["state"].as_array().unwrap().iter().any(|item| item["shared"] == "one for all replicas: a lock");
    assert!(shared(&flow) && !shared(&json), "{flow}");
}

/// Where an element keeps more than tables, other keys are no advice.
#[test]
fn what_would_be_cheaper_is_no_promise_of_what_keys_cannot_give() {
    let router = format!("{}/../../apps/router/router.click", env!("CARGO_MANIFEST_DIR"));
    let told = run(&format!("check {router}")).good();
    let tables: Vec<&str> = told.lines().filter(|line| line.contains(":: ARPQuerier, table ")).collect();
    assert!(!tables.is_empty(), "{told}");
    for line in tables {
        let (_, cheaper) = line.split_once("; cheaper: ").unwrap_or_else(|| panic!("{line}"));
        assert!(cheaper.starts_with("--order flow, ") && cheaper.contains("keys by flow would not be enough, because it "), "{line}");
    }
    let flow = run(&format!("check {router} --placement --order flow")).good();
    assert!(flow.lines().filter(|line| line.contains(":: ARPQuerier, table ")).all(|line| !line.contains("cheaper")), "{flow}");
}

/// What packets only read is told, too, and what would be cheaper is what the element's promise
/// leaves.
#[test]
fn what_packets_only_read_is_told() {
    let dir = Dir::new("read");
    let text = "FromDevice(in) -> Strip(14) -> CheckIPHeader -> GetIPAddress(16) -> RadixIPLookup(0.0.0.0/0 0) -> Discard; FromDevice(arp) -> r :: ARPResponder(10.0.0.1 2:0:0:0:0:1) -> Discard;";
    let told = run(&format!("check {}", dir.write("read.click", text))).good();
    let line = told.lines().find(|line| line.starts_with("kept: r :: ARPResponder, table entries: ")).unwrap_or_else(|| panic!("{told}"));
    assert!(line.contains("packets only read it (line ") && line.ends_with("; each replica has its own"), "{line}");
    assert!(told.contains(":: RadixIPLookup, table routes: packets only read it; each replica has its own\n"), "{told}");
    let nat = format!("{}/../../apps/nat/nat.click", env!("CARGO_MANIFEST_DIR"));
    let cheaper = |more: &str| {
        let json: serde_json::Value = serde_json::from_str(&run(&format!("check {nat} --placement {more} --json")).good()).expect("JSON");
        let all = json["state"].as_array().unwrap();
        all.iter().find(|item| item["element"] == "nat" && item["name"] == "brief").unwrap()["cheaper"].clone()
    };
    assert!(cheaper("").as_str().is_some_and(|told| told.starts_with("--order flow, where each replica has a part of the ports")));
    assert!(cheaper("--order flow").is_null());
}

/// Captures may be in memory, and kinds of devices that there are not are told.
#[test]
fn captures_are_repeated_from_memory() {
    let dir = Dir::new("memory");
    let input = dir.trace("in.pcap", 1, 50);
    let file = dir.write("count.click", "FromDevice(in) -> c :: Counter -> Queue(100000) -> ToDevice(out);");
    let output = dir.file("out.pcap");
    assert_eq!(run(&format!("run {file} --map in=mem:{input}:7 --map out=pcap:{output} -h c.count")).good(), "350\n");
    assert_eq!(run(&format!("filter -r {output} --count")).good(), "350 packets\n");
    assert_eq!(run(&format!("run {file} --map in=pcap:{input} --map out=/dev/null -h c.count")).good(), "50\n");
    let told = run(&format!("run {file} --map in=foo:lo --map out=/dev/null")).bad(2);
    assert!(
        told.contains("there is no kind of device `foo`, and no file of that name; there are dev, gso, xdp, tap, pcap and mem"),
        "{told}"
    );
    assert!(run(&format!("run {file} --map in=tap: --map out=/dev/null")).bad(2).contains("tap: needs the name of an interface"));
    let program = dir.write("pass.netil", PASS);
    assert!(run(&format!("run {program} --in dev:")).bad(2).contains("dev: needs the name of an interface"));
    let told = run(&format!("run {program} --in mem:{input}:2 --out pcap:{output} --stats"));
    assert!(told.err.contains("arrived  100\n"), "{}", told.err);
    assert_eq!(run(&format!("filter -r {output} --count")).good(), "100 packets\n");
}

const PASS: &str = "segment .ports\n push_input in\n push_output out\nends\nsegment .push\n pop\n pkt.send out\nends\n";

/// Figure 1 of the NetVM paper: an application of two NetPEs in a pipeline, each a NetIL program
/// with memory of its own, here files in a folder of elements. The first keeps frames with IP, the
/// second every other one of what comes to it, which it counts.
#[test]
fn two_netpes_are_in_a_pipeline() {
    let dir = Dir::new("figure1");
    let input = dir.trace("in.pcap", 3, 200);
    let ports = "segment .ports\n push_input in\n push_output out\nends\n";
    std::fs::create_dir_all(dir.file("elements")).unwrap();
    dir.write(
        "elements/OnlyIp.netil",
        format!("{ports}segment .push\n pop push 12 upload.16 push 2048 jcmp.neq no pkt.send out\nno:\n pkt.drop 0\nends\n"),
    );
    let counts = "pop push 0 umload.32 push 1 add dup push 0 mstore.32 push 1 and j.eq no pkt.send out\nno:\n pkt.drop 0";
    dir.write("elements/EveryOther.netil", format!("{ports}segment .push\n .datamem_size 4\n {counts}\nends\n"));
    let output = dir.file("out.pcap");
    let file =
        dir.write("figure1.click", format!("FromDump({input}, STOP true) -> OnlyIp -> EveryOther -> Queue(9999) -> ToDump({output});"));
    let number = |text: String| text.split(' ').next().unwrap().parse::<u32>().unwrap();
    let all = number(run(&format!("filter -r {input} --count ip")).good());
    assert!(all > 10);
    for engine in ["interp", "jit"] {
        run(&format!("run {file} --engine {engine}")).good();
        assert_eq!(number(run(&format!("filter -r {output} --count")).good()), all.div_ceil(2), "{engine}");
    }
    assert!(run(&format!("elements --elements {}", dir.file("elements"))).good().contains("OnlyIp"));
}

/// Placements that are written down.
#[test]
fn placements_are_files() {
    let dir = Dir::new("placed");
    let input = dir.trace("in.pcap", 1, 300);
    let text = format!(
        "FromDump({input}, STOP true) -> s :: Strip(14) -> t :: Truncate(30) -> c :: Counter -> Queue(9999) -> ToDump({});",
        dir.file("out.pcap")
    );
    let file = dir.write("placed.click", text);
    let place = |text: &str| dir.write("place.txt", text);
    let placed = place("replicas 2\nreplica Strip\nin-order t\npin sources 0\n");
    let told = run(&format!("run {file} --place {placed} --explain-place -h c.count"));
    assert!(told.out == "300\n" && told.err.contains("t :: Truncate: the placement says so"), "{}{}", told.out, told.err);
    let told = run(&format!("run {file} --place {} --explain-place -h c.count", place("replicas 2\ncut c\n")));
    assert!(told.out == "300\n" && told.err.contains("in order 1"), "{}{}", told.out, told.err);
    assert!(run(&format!("run {file} --place {}", place("replicas 2\ncut nobody\n"))).bad(1).contains("cut nobody: no element"));
    assert!(
        run(&format!("run {file} --place {}", place("replicas 2\ncut s\n")))
            .bad(1)
            .contains("cut s: nothing before `s` can be in another stage")
    );
    let told = run(&format!("run {file} --place {}", place("replicas 2\nreplica c\n"))).bad(1);
    assert!(told.contains("--place: replica c: `c` cannot be in replicas: it ") && told.contains("variable"), "{told}");
    assert!(run(&format!("run {file} --place {}", place("replicas 2\nin-order nobody\n"))).bad(1).contains("in-order nobody: no element"));
    assert!(run(&format!("run {file} --place {}", place("replicas x\n"))).bad(2).contains("line 1: there are from 1 to 256 replicas"));
    let scheduled = std::fs::read_to_string(&file).unwrap() + " StaticThreadSched(s 0, nobody 1);";
    let file = dir.write("scheduled.click", scheduled);
    let told = run(&format!("run {file} --place rtc:2 -h s.home_thread -h c.home_thread"));
    assert!(told.err.contains("StaticThreadSched: there is no element `nobody`"), "{}", told.err);
    assert_eq!(told.out, "s.home_thread:\n2 3\n\nc.home_thread:\n1\n\n");
}

#[test]
fn folders_are_checked() {
    let dir = Dir::new("folder");
    std::fs::create_dir_all(dir.file("in/deeper")).unwrap();
    dir.write("in/good.click", "FromDevice(eth0) -> ToDevice(eth1);");
    dir.write("in/deeper/bad.CLICK", "\nIdle -> Gargle -> Discard;");
    dir.write("in/worse.click", "Idle -> a :: Gargle -> Discard;");
    dir.write("in/none.txt", "Idle -> Gargle;");
    let folder = dir.file("in");
    let told = run(&format!("check {folder}"));
    assert!(told.out.starts_with("1 of 3 configurations are accepted (33.3 %)\n    2  there is no element class `Gargle`"), "{}", told.out);
    assert!(told.out.contains("deeper/bad.CLICK:2") && told.out.contains("worse.click:1"), "{}", told.out);
    told.bad(1);
    let json = run(&format!("check {folder} --json"));
    assert!(
        json.out.starts_with(r#"{"configurations":3,"accepted":1,"refused":[{"reason":"there is no element class `Gargle`","count":2,"#)
    );
    assert!(run(&format!("check {folder} --flat")).bad(2).contains("--flat is for one configuration"));
    let good: serde_json::Value = serde_json::from_str(&run(&format!("check {folder}/good.click --json")).good()).expect("JSON");
    assert_eq!((good["elements"].as_u64(), good["connections"].as_u64()), (Some(2), Some(1)), "{good}");
    assert_eq!(run(&format!("check {folder}/deeper/../good.click")).good(), "2 elements, 1 connections\n");
}

#[test]
fn simulated_time_is_exact() {
    let text = "s :: RatedSource(RATE 10) -> c :: Counter -> Discard; Script(wait 1.95, print $(now), print c.count, stop)";
    assert_eq!(run_args(&["run", "--sim-time", "-e", text]).good(), "1000000001.950000\n20\n");
}

#[test]
fn the_program_answers_to_click() {
    let dir = Dir::new("click");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_netvm"), dir.file("click")).expect("a link");
    let click = |args: &[&str]| ended(Command::new(dir.file("click")).args(args).output().expect("the program starts"));
    assert_eq!(click(&["-qh", "q.config", "-e", "Idle -> q :: Queue($n) -> Idle", "n=7"]).good(), "7\n");
    assert_eq!(click(&["--simtime", "-e", "Script(print $(add 1 2), wait 1, stop)"]).good(), "3\n");
    assert_eq!(click(&["-e", "s :: Script(TYPE PASSIVE, return 4); Script(stop)", "-x", "s.run"]).status, 4);
    assert_eq!(click(&["-q", "-e", "Foo -> Discard"]).bad(1).lines().last(), Some("Router could not be initialized!"));
    assert_eq!(
        [click(&["--provides", "Queue"]).status, click(&["--provides", "Paint"]).status, click(&["--provides", "Foo"]).status],
        [0, 0, 1]
    );
}

#[test]
fn drops_and_times_are_told_by_element() {
    let dir = Dir::new("stats");
    let input = dir.trace("in.pcap", 3, 200_000);
    let file = dir.write(
        "some.click",
        format!("FromDump({input}, STOP true) -> ttl :: DecIPTTL -> q :: Queue(3) -> Discard; Idle -> r :: RoundRobinSwitch -> Idle;"),
    );
    let ended = run(&format!("run {file} --stats --json --engine jit"));
    let json: serde_json::Value = serde_json::from_str(&ended.out).expect("JSON");
    let element =
        |name: &str| json["elements"].as_array().and_then(|all| all.iter().find(|e| e["name"] == name)).cloned().expect("the element");
    let ttl = element("ttl");
    assert_eq!((ttl["packets"].as_u64(), ttl["traps"].as_u64()), (Some(200_000), Some(200_000)));
    assert!(ttl["ns_per_packet"].as_f64().is_some_and(|ns| ns > 1.0 && ns < 1e6), "{ttl}");
    assert!(element("r")["ns_per_packet"].is_null());
    assert!(ended.err.contains("   200,000 dropped: ttl: access outside the packet") && ended.err.contains("ns/packet"), "{}", ended.err);
}

#[test]
fn how_elements_are_linked_is_told() {
    let dir = Dir::new("explain-opt");
    let input = dir.trace("in.pcap", 4, 10);
    let text = "FromDevice(a) -> p :: Paint(1) -> rt :: Counter -> q :: Queue -> n :: Null -> Discard; s :: Print -> rt; Idle -> s;";
    let file = dir.write("some.click", text);
    let told = run(&format!("compile {file} --explain-opt"));
    assert_eq!((told.status, told.out.as_str()), (0, ""));
    let lines: Vec<&str> = told.err.lines().collect();
    assert_eq!(lines[0], "engine aot: 2 of 8 elements run as one; packets come in at 2 inputs", "{}", told.err);
    for line in [
        "  linked  p :: Paint",
        "  alone   q :: Queue: the runtime's own",
        "  alone   s :: Print: it prints",
        "  alone   n :: Null: packets are not pushed through it",
    ] {
        assert!(lines.contains(&line), "{line}\n{}", told.err);
    }
    let told = run(&format!("run {file} --map a={input} --explain-opt --engine interp")).err;
    assert!(told.contains("arrivals run in bursts") || told.contains("arrivals run one at a time, because of "), "{told}");
    let timed = dir.write("timed.click", "FromDevice(a) -> Paint(1) -> Queue -> u :: RatedUnqueue(1000000) -> Discard;");
    let told = run(&format!("run {timed} --map a={input} --explain-opt --engine interp")).err;
    assert!(told.contains("arrivals run one at a time, because of u :: RatedUnqueue"), "{told}");
}

#[test]
fn json_is_one_value_whatever_is_asked_and_printed() {
    let dir = Dir::new("run-json");
    let input = dir.trace("in.pcap", 1, 50);
    let text = format!("FromDump({input}, STOP true) -> c :: Counter -> Print(seen) -> Discard; d :: Counter -> Discard; Idle -> d");
    let ended = run_args(&["run", "-e", &text, "--json", "-h", "c.count", "-h", "*.count"]);
    assert_eq!(ended.status, 0);
    let value: serde_json::Value = serde_json::from_str(&ended.out).expect("one value");
    assert_eq!((&value["handlers"]["c.count"], &value["handlers"]["d.count"]), (&"50".into(), &"0".into()), "{value}");
    assert_eq!(ended.err.matches("seen: ").count(), 50);
}

#[test]
fn a_run_of_which_nothing_comes_out_says_why() {
    let dir = Dir::new("run-lost");
    let (input, out) = (dir.trace("in.pcap", 1, 500), dir.file("out.pcap"));
    let warned = |text: &str, words: &[&str]| {
        let ended = run_args(&["run", "-e", text]);
        assert_eq!(ended.status, 0, "{}", ended.err);
        words.iter().for_each(|word| assert!(ended.err.contains(word), "{word}: {}", ended.err));
        assert_eq!(ended.err.is_empty(), words.is_empty(), "{}", ended.err);
    };
    let from = format!("FromDump({input}, STOP true)");
    warned(
        &format!("{from} -> CheckIPHeader -> ToDump({out})"),
        &["warning: 500 of 500 packets dropped\n", "CheckIPHeader@2: bad version"],
    );
    warned(
        &format!("{from} -> c :: Classifier(12/9999, -); c[0] -> ToDump({out}); c[1] -> Discard"),
        &["none of 500 packets came out", "500 ended in Discard@4, behind output 1 of c"],
    );
    warned(
        &format!("{from} -> Strip(14) -> DecIPTTL -> Discard"),
        &["trapped", "help: DecIPTTL needs a marked header, and nothing before it marks one: put CheckIPHeader"],
    );
    warned(&format!("{from} -> Counter -> Discard"), &[]);
    warned(&format!("{from} -> Classifier(12/0800) -> ToDump({out})"), &[]);
}

#[test]
fn programs_are_no_configurations() {
    assert!(run("graph x.nvm").bad(2).contains("is a NetIL program"));
}

#[test]
fn configurations_and_classes_are_found_by_name_from_anywhere() {
    let dir = Dir::new("search");
    std::fs::create_dir_all(dir.file("first/small")).and_then(|()| std::fs::create_dir_all(dir.file("second/elements"))).expect("folders");
    dir.write("first/small/small.click", "Idle -> c :: Counter -> Discard");
    dir.write("first/small/other.click", "Idle -> Odd -> Discard");
    dir.write(
        "second/elements/Odd.c",
        "/* Odd -- passes */\n#include <netvm.h>\nELEMENT(Odd, \"1/1\", \"a/a\");\nvoid packet(int port) { emit(0); }\n",
    );
    let path = format!("{}:{}", dir.file("first"), dir.file("second"));
    let found =
        |line: &str| ended(super::tools::netvm(line.split_whitespace()).env("NETVM_PATH", &path).output().expect("the program starts"));
    assert_eq!(found("run small -h c.count").good(), "0\n");
    assert_eq!(found("run small.click -h c.count").good(), "0\n");
    assert!(found("check other").good().starts_with("3 elements"));
    assert!(found("graph small/other -o -").good().contains(">Odd<"));
    assert!(found("elements").good().contains("\nOdd  "));
    assert!(found("run nothing").bad(1).contains("nothing"));
    assert!(run("run small").bad(1).contains("small"));
}
