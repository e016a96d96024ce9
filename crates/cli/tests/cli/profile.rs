//! `--profile`: an example of what a filter will see changes its program and never its packets.

use super::tools::{Dir, raw_ip, run, run_args};
use netvm::io::LinkType;

/// Its last term decides most.
const FILTER: &str = "ip and not tcp port 443 and not tcp port 80 and ip src 10.3.3.3";

#[test]
fn a_profile_changes_the_program_and_not_what_is_selected() {
    let dir = Dir::new("profile");
    let (trace, example) = (dir.trace("t.pcap", 3, 3000), dir.trace("example.pcap", 4, 500));
    let program = |more: &[&str]| run_args(&[&["compile", "--filter", FILTER], more].concat()).good();
    assert_ne!(program(&[]), program(&["--profile", &example]));
    let selected = |more: &[&str]| run_args(&[&["filter", "-r", &trace, FILTER], more].concat()).good();
    assert_eq!(selected(&["--profile", &example]), selected(&[]));
    assert!(!selected(&[]).is_empty());
}

/// Many at once fetch ports of IPv4 and IPv6 together, unless other terms come in between.
#[test]
fn code_for_many_packets_at_once_has_its_own_order() {
    let dir = Dir::new("profile-many");
    let example = dir.trace("example.pcap", 4, 2000);
    let changed = |filter: &str, stage: &str| {
        let program = |more: &[&str]| run_args(&[&["compile", "--emit", stage, "--filter", filter], more].concat()).good();
        program(&[]) != program(&["--profile", &example])
    };
    let stages = |filter| ["netil", "mir-opt", "mir-lanes", "c"].map(|stage| changed(filter, stage));
    assert_eq!(stages("not broadcast and not arp and udp port 53"), [true, true, false, false]);
    assert_eq!(stages(FILTER), [true; 4]);
}

#[test]
fn a_profile_of_another_link_type_has_no_effect() {
    let dir = Dir::new("profile-link");
    let (trace, example) = (dir.trace("t.pcap", 3, 300), dir.capture("raw.pcap", LinkType::RAW, &raw_ip(4, 500)));
    let program =
        |line: &str| run_args(&[&["compile", "--filter", FILTER], &line.split_whitespace().collect::<Vec<_>>()[..]].concat()).good();
    assert_eq!(program(&format!("--profile {example}")), program(""));
    assert_ne!(program(&format!("--profile {example} -y RAW")), program("-y RAW"));
    let count = |more: &[&str]| run_args(&[&["filter", "-r", &trace, "--count", FILTER], more].concat()).good();
    assert_eq!(count(&["--profile", &example]), count(&[]));
}

#[test]
fn a_profile_that_cannot_be_read_is_told() {
    let dir = Dir::new("profile-bad");
    let trace = dir.trace("t.pcap", 3, 3000);
    let told = |profile: &str, status: i32| run(&format!("filter -r {trace} --count --profile {profile} tcp")).bad(status);
    assert!(told(&dir.file("absent.pcap"), 1).contains("absent.pcap"));
    assert!(told(&dir.write("text.pcap", "not a capture"), 1).contains("text.pcap"));
    let whole = std::fs::read(&trace).expect("written");
    assert!(told(&dir.write("empty.pcap", &whole[..24]), 1).contains("no packets"));
    assert!(told(&dir.write("cut.pcap", &whole[..1000]), 1).contains("cut.pcap"));
    assert!(told("-", 2).contains("standard input"));
    assert!(run(&format!("compile --profile {trace} some.netil")).bad(2).contains("--filter"));
    // Damage behind what is looked at is not met.
    run(&format!("filter -r {trace} --count --profile {} tcp", dir.write("end.pcap", &whole[..whole.len() - 1]))).good();
}
