//! `netvm machines`, `simulate` and `profile-conflicts`: what they tell, that it is the same each time, and what they refuse.

use super::tools::{Dir, run, run_args};

#[test]
fn machines_are_listed_and_shown() {
    let list = run("machines").good();
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["ixp1200", "netthreads", "octeon"]);
    assert!(run("machines netthreads").good().contains("name = \"netthreads\""));
}

#[test]
fn a_filter_is_simulated_and_each_run_gives_the_same() {
    let dir = Dir::new("simulate");
    let trace = dir.trace("t.pcap", 5, 300);
    let args = ["simulate", "--filter", "tcp port 80", "--machine", "ixp1200", "-r", &trace];
    let first = run_args(&args).good();
    assert!(first.contains("packets      300, 0 dropped") && first.contains("threads "), "{first}");
    assert_eq!(run_args(&args).good(), first);
    let json: serde_json::Value = serde_json::from_str(&run_args(&[&args[..], &["--json"]].concat()).good()).expect("JSON");
    assert!(json.is_object(), "{json}");
    let wrong = run_args(&["simulate", "--filter", "tcp", "--machine", "ixp1201", "-r", &trace]);
    assert_ne!(wrong.status, 0);
    assert!(wrong.err.contains("ixp1201"), "{}", wrong.err);
}

#[test]
fn conflicts_of_an_application_are_told_by_window() {
    let dir = Dir::new("conflicts");
    let trace = dir.trace("t.pcap", 6, 300);
    let file = format!("{}/../../apps/firewall/firewall.click", env!("CARGO_MANIFEST_DIR"));
    let told = run(&format!("profile-conflicts {file} --map inside={trace} --map outside={trace}")).good();
    assert!(told.starts_with("600 packets"), "{told}");
    for window in ["     2  ", "     4  ", "     8  ", "    16  ", "sections in a packet"] {
        assert!(told.contains(window), "{told}");
    }
}
