//! `netvm run` and `netvm check` on Click configurations, and the program called `click`.

use super::tools::{Dir, ended, run, run_args};
use std::process::Command;

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
    assert!(run(&format!("run {file} color=7 --stats")).err.contains("c :: Counter: 300 packets"));
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
