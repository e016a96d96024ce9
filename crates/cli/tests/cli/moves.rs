//! `netvm ctl threads`, `move` and `replicas`, `--pin`: between virtual interfaces, while a
//! connection goes through.

use super::devices::{Row, address, ask, serve, transfer};
use super::live::Capturing;
use super::tools::{Dir, Ended, ended, netvm, run};
use std::sync::atomic::{AtomicBool, Ordering};

/// A bridge whose elements are for replicas.
const BRIDGE: &str = "elementclass Way { c :: Classifier(12/0800, -); q :: Queue(10000);
  input -> c; c[0] -> Strip(14) -> CheckIPHeader -> Unstrip(14) -> q; c[1] -> q; q -> output; }
FromDevice(in) -> Way -> ToDevice(out); FromDevice(out) -> Way -> ToDevice(in);\n";

fn ctl(socket: &str, args: &[&str]) -> Ended {
    ended(netvm([&["ctl", "--socket", socket], args].concat()).output().expect("it runs"))
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn threads_move_and_replicas_change_while_a_connection_goes_through() {
    let Some(row) = Row::new("moves") else { return };
    address(&row.client, "in", "10.0.0.2/24", None);
    address(&row.server, "out", "10.0.0.3/24", None);
    let (udp, tcp) = serve(&row.server, "10.0.0.3");
    let dir = Dir::new("moves");
    let (file, socket) = (dir.write("bridge.click", BRIDGE), dir.file("socket"));
    let control = format!("--control={socket}");
    let maps = ["--map", "in=dev:in", "--map", "out=dev:out"];
    let command = netvm([&["run", "--stats", &file, "--place", "rtc:2", "--pin", "0", &control], &maps[..]].concat());
    let running = row.middle.inside(|| Capturing::when(command, "running on"));
    let pinned = json(&ctl(&socket, &["threads", "--json"]).good());
    let named =
        |name: &str| pinned["threads"].as_array().expect("threads").iter().find(|it| it["name"] == name).cloned().expect("the thread");
    for name in ["sources", "replica 0", "replica 1", "in order"] {
        assert_eq!(named(name)["pinned"], 0, "{pinned}");
        assert!(ctl(&socket, &["move", name, "any"]).good().starts_with(&format!("{name}: any core, pause ")));
    }
    // Which stage an element is in: what `netvm top` draws.
    let stats = json(&ctl(&socket, &["stats", "--json"]).good());
    let stage =
        |class: &str| stats["elements"].as_array().expect("elements").iter().find(|it| it["class"] == class).expect("it")["stage"].clone();
    assert_eq!(["FromDevice", "CheckIPHeader", "ToDevice"].map(stage), ["sources", "replicas", "in order"], "{stats}");
    let done = AtomicBool::new(false);
    let (mut moves, mut changes) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            row.client.inside(|| {
                assert!(ask(udp, "one").ends_with(" one"));
                (0..5).for_each(|_| transfer(tcp, 2_000_000));
            });
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) || changes < 4 {
            for (thread, core) in [("sources", "0"), ("replica0", "any"), ("replica 1", "0"), ("in order", "any")] {
                assert!(ctl(&socket, &["move", thread, core]).good().contains(", pause "));
                moves += 1;
            }
            if done.load(Ordering::Acquire) {
                row.client.inside(|| assert!(ask(udp, "more").ends_with(" more")));
            }
            let wanted = [3, 1, 4, 2][changes % 4].to_string();
            ctl(&socket, &["replicas", &wanted]).good();
            let function = ["tuple", "addresses", "source", "any"][changes % 4];
            assert!(ctl(&socket, &["flow", function]).good().contains(&format!("by {function}")));
            changes += 1;
        }
    });
    assert!(moves > 10);
    row.client.inside(|| assert!(ask(udp, "two").ends_with(" two")));
    let table = ctl(&socket, &["threads"]).good();
    assert!(table.lines().any(|line| line.starts_with("replica 3")) && table.contains(" of 4"), "{table}");
    for (args, told) in [
        (&["move", "replica 9", "0"][..], "no thread is called 'replica 9'; there are sources, replica 0"),
        (&["move", "sources", "9999"], "core 9999 is not there, or not for this process"),
        (&["replicas", "0"], "there are from 1 to 256 replicas"),
        (&["flow", "all"], "no flow function 'all'; there are any, addresses, header, source, destination, tuple"),
    ] {
        assert!(ctl(&socket, args).bad(1).contains(told));
    }
    assert!(ctl(&socket, &["replicas", "auto"]).good().contains("\nauto: not measured yet"));
    assert!(json(&ctl(&socket, &["replicas", "--json"]).good())["auto"].is_string());
    // Who asks for a number has it.
    ctl(&socket, &["replicas", "2"]).good();
    assert!(json(&ctl(&socket, &["replicas", "--json"]).good())["auto"].is_null());
    assert!(ctl(&socket, &["replicas", "x"]).bad(2).contains("'x' is no number of replicas: a number, or auto"));
    assert!(ctl(&socket, &["move", "sources", "x"]).bad(2).contains("'x' is no core: a number, or any"));
    running.signal("-TERM");
    let told = running.end();
    let devices: Vec<&str> = told.err.lines().filter(|line| line.starts_with("device   ")).collect();
    assert!(told.status == 0 && devices.len() == 2 && !devices.iter().any(|line| line.contains("dropped")), "{}", told.err);
}

#[test]
fn a_run_on_one_thread_moves_and_has_no_replicas() {
    let dir = Dir::new("one-thread");
    let (file, socket) = (dir.write("timed.click", "TimedSource(10ms, x) -> c :: Counter -> Discard;\n"), dir.file("socket"));
    let command = netvm(["run", &file, &format!("--control={socket}")]);
    let running = Capturing::when(command, "control socket");
    assert!(ctl(&socket, &["move", "main", "0"]).good().starts_with("main: core 0, pause "));
    let threads = json(&ctl(&socket, &["threads", "--json"]).good());
    assert!(threads["threads"].as_array().expect("threads").iter().any(|it| it["name"] == "main" && it["pinned"] == 0), "{threads}");
    assert_eq!(ctl(&socket, &["replicas"]).good(), "no replicas of a stage\n");
    assert_eq!(ctl(&socket, &["flow"]).good(), "no replicas of a stage\n");
    assert!(ctl(&socket, &["flow", "tuple"]).bad(1).contains("the configuration runs on one thread"));
    assert!(ctl(&socket, &["replicas", "2"]).bad(1).contains("the configuration runs on one thread: netvm run --place rtc:N has replicas"));
    assert!(ctl(&socket, &["move", "sources", "0"]).bad(1).contains("no thread is called 'sources'; there is main"));
    running.signal("-TERM");
    running.end();
    let file = format!("{}/../../apps/firewall/firewall.click", env!("CARGO_MANIFEST_DIR"));
    let told = run(&format!("run {file} --map inside=dev:lo --map outside=dev:lo --place rtc:2 --pin 4711"));
    assert!(told.bad(2).contains("--pin: core 4711 is not there, or not for this process"));
}

#[test]
fn what_auto_chooses_is_told() {
    let dir = Dir::new("auto");
    let capture = dir.file("in.pcap");
    run(&format!("synth {capture} -c 200000")).good();
    let file = dir.write(
        "auto.click",
        format!("FromDump({capture}, STOP true) -> Strip(14) -> CheckIPHeader -> DecIPTTL -> Unstrip(14) -> Queue -> Discard;\n"),
    );
    let told = run(&format!("run {file} --place auto --explain-place")).bad(0);
    assert!(told.contains("replicas: 1\n") && told.contains("auto: one replica until it is known what packets cost"), "{told}");
    assert!(told.contains("auto: at the end "), "{told}");
    // Replicas that keep state by flow are as many as cores from the start, and stay.
    let file = format!("{}/../../apps/firewall/firewall.click", env!("CARGO_MANIFEST_DIR"));
    let maps = format!("--map inside={capture} --map outside={capture}");
    let told = run(&format!("run {file} {maps} --place auto --explain-place")).bad(0);
    assert!(!told.contains("auto:"), "{told}");
}

/// Stages in order are threads like others, in `netvm top` as well.
#[test]
fn the_threads_of_a_pipeline_are_seen_and_moved() {
    let dir = Dir::new("pipeline");
    let text = "FromDevice(in) -> Strip(14) -> a :: Counter -> b :: Counter -> c :: Counter -> Queue(100000) -> Discard;\n";
    let (file, capture, socket) = (dir.write("pipeline.click", text), dir.file("in.pcap"), dir.file("socket"));
    run(&format!("synth {capture} -c 2000")).good();
    let placement = dir.write("place.txt", "replicas 1\ncut b\ncut c\n");
    let (map, control) = (format!("in=mem:{capture}"), format!("--control={socket}"));
    let running = Capturing::when(netvm(["run", &file, "--map", &map, "--place", &placement, &control]), "control socket");
    let threads = json(&ctl(&socket, &["threads", "--json"]).good());
    let names: Vec<&str> = threads["threads"].as_array().expect("threads").iter().filter_map(|it| it["name"].as_str()).collect();
    for name in ["sources", "replica 0", "in order 1", "in order 2", "in order 3", "in order"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(ctl(&socket, &["move", "in order 2", "0"]).good().starts_with("in order 2: core 0, pause "));
    let count = |name: &str| ctl(&socket, &["read", &format!("{name}.count")]).good().trim().parse::<u64>().expect("a number");
    let before = count("c");
    while count("c") < before + 1000 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let top = ended(netvm(["top", "--socket", &socket, "--batch", "-n", "2", "--interval", "0.2"]).output().expect("it runs")).good();
    for shown in ["in order 1 ", "in order 2 ", "in order 3 ", " on core 0 (pinned)"] {
        assert!(top.lines().any(|line| line.starts_with("threads: ") && line.contains(shown)), "{top}");
    }
    running.signal("-TERM");
    assert_eq!(running.end().status, 143);
}

/// Replicas that keep state of flows end with the last of these.
#[test]
fn a_replica_with_flows_is_left_when_these_have_ended() {
    let dir = Dir::new("with-flows");
    let (capture, socket) = (dir.file("in.pcap"), dir.file("socket"));
    run(&format!("synth {capture} -c 2000")).good();
    let file = format!("{}/../../apps/firewall/firewall.click", env!("CARGO_MANIFEST_DIR"));
    let [inside, outside] = ["inside", "outside"].map(|name| format!("{name}=mem:{capture}"));
    let control = format!("--control={socket}");
    let maps = ["--map", &inside, "--map", &outside];
    let command = netvm([&["run", &file, "--place", "rtc:3", &control], &maps[..]].concat());
    let running = Capturing::when(command, "control socket");
    assert_eq!(ctl(&socket, &["replicas"]).good(), "3 replicas\n");
    let fewer = "3 replicas, 1 when the last flows of the others have ended; new ones go to 1\n";
    assert_eq!(ctl(&socket, &["replicas", "1"]).good(), fewer);
    let state = json(&ctl(&socket, &["replicas", "--json"]).good());
    assert_eq!((&state["keeps_flows"], &state["active"], &state["wanted"]), (&true.into(), &3.into(), &1.into()), "{state}");
    assert!(ctl(&socket, &["flow", "source"]).bad(1).contains("packets cannot go to replicas by another function: "));
    assert_eq!(ctl(&socket, &["replicas", "3"]).good(), "3 replicas\n");
    running.signal("-TERM");
    assert_eq!(running.end().status, 143);
}
