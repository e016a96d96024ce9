//! Octeon in groups of elements: packets that go from work queue to work queue end as they do in
//! one program.

use super::apps;
use super::support::{self, make, trace, tried};
use netvm::scripts::scenarios::Config;
use netvm::targets::{self, Division, File, Options};
use std::collections::BTreeMap;
use std::path::PathBuf;

const SPLIT: &str = "FromDevice(in) -> c :: Classifier(12/0800, 12/86dd, -) -> n :: Counter -> Strip(14) -> CheckIPHeader
    -> r :: RadixIPLookup(10.0.0.0/8 0, 192.168.0.0/16 1, 0.0.0.0/0 2) -> DecIPTTL -> Unstrip(14) -> q :: Queue -> ToDevice(out);
    r[1] -> Unstrip(14) -> q; r[2] -> Discard; c[1] -> Queue -> ToDevice(six); c[2] -> ToHost;";

const TEE: &str = "FromDevice(in) -> t :: Tee -> Queue -> ToDevice(a); t[1] -> Queue -> ToDevice(b);";

fn built(config: &Config, division: Division) -> Result<Vec<File>, String> {
    std::env::set_current_dir(apps::apps().join("..")).expect("the folder");
    let octeon = targets::find("octeon").expect("a target");
    let options = Options { name: "groups".to_owned(), division, ..Options::default() };
    apps::read(config, &BTreeMap::new()).build(octeon, &options).map_err(|why| why.to_string())
}

fn file<'f>(files: &'f [File], name: &str) -> Option<&'f str> {
    files.iter().find(|file| file.name == name).map(|file| std::str::from_utf8(&file.bytes).expect("text"))
}

#[test]
fn groups_with_work_queues_do_what_one_program_does() {
    let app = |name: &str| Config::File(apps::apps().join(name));
    let all = [
        ("split", Config::Text(SPLIT.to_owned()), "INPUTS=in=in.pcap"),
        ("firewall", app("firewall/firewall.click"), "INPUTS=inside=in.pcap outside=in.pcap"),
        ("nat", app("nat/forward.click"), "INPUTS=inside=in.pcap outside=in.pcap"),
    ];
    let there = tried().iter().any(|target| target.name == "octeon");
    for (name, config, inputs) in all {
        let run = |division: Division, of: &str| {
            let files = built(&config, division).expect("files");
            let groups = file(&files, "groups.txt").map_or(1, |text| text.lines().filter(|line| line.starts_with("group ")).count());
            if !there {
                return (groups, String::new());
            }
            let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("groups-{name}-{of}-{}", std::process::id()));
            support::write(&folder, files);
            std::fs::write(folder.join("in.pcap"), support::pcap(&trace())).expect("a capture");
            let told = make(&folder, &["run", inputs]);
            std::fs::remove_dir_all(folder).expect("the folder");
            (groups, told)
        };
        let (one, wanted) = run(Division::Single, "single");
        let (groups, got) = run(Division::Each, "each");
        assert_eq!(one, 1);
        assert!(groups > 2 || name != "split", "{name}: {groups} groups");
        assert_eq!(got, wanted, "{name}");
    }
}

#[test]
fn copies_between_groups_are_refused() {
    let config = Config::Text(TEE.to_owned());
    assert!(built(&config, Division::Single).is_ok());
    let why = built(&config, Division::Each).unwrap_err();
    assert!(why.contains("copies of packets between groups"), "{why}");
}
