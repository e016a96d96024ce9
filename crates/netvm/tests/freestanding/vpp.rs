//! Plugins for VPP, run without it by the program that `netvm build` puts beside them: vectors of
//! any size do the same, what is dropped is counted, packets in several buffers, traces. That they
//! do what the interpreter does is in `freestanding.rs` and `portability.rs`. With `NETVM_VPP=DIR`,
//! VPP's sources, plugins are compiled against its headers (`make vpp-headers VPP=DIR`).

use super::apps;
use super::support::{make, pcap, ran_as, trace, wanted, write};
use netvm::netil::{Verified, arbitrary, verify};
use netvm::scripts::scenarios::Config;
use netvm::targets::{self, Division, File, Options, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

fn vpp() -> &'static Target {
    targets::find("vpp").expect("a target")
}

fn filter(text: &str) -> Arc<Verified> {
    let mut filter = netvm::Filter::new(text, &netvm::engines::ALL[0]).expect("a filter");
    Arc::clone(&filter.prepare(netvm::io::LinkType::EN10MB).expect("a program").program)
}

fn named(name: &str) -> Options {
    Options { name: name.to_owned(), ..Options::default() }
}

fn of_text(text: &str, name: &str) -> Vec<File> {
    built(&Config::Text(text.to_owned()), &named(name))
}

fn of_file(file: &str) -> Vec<File> {
    built(&Config::File(apps::apps().join(file)), &named("application"))
}

fn built(config: &Config, options: &Options) -> Vec<File> {
    std::env::set_current_dir(apps::apps().join("..")).expect("the folder");
    apps::read(config, &BTreeMap::new()).build(vpp(), options).unwrap_or_else(|why| panic!("{why}"))
}

fn text(files: &[File], name: &str) -> String {
    String::from_utf8(files.iter().find(|file| file.name == name).expect(name).bytes.clone()).expect("text")
}

/// A folder with what was built and a capture of a mixed trace.
fn folder(files: Vec<File>, name: &str, packets: &[Vec<u8>]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("vpp-{name}-{}", std::process::id()));
    write(&folder, files);
    std::fs::write(folder.join("in.pcap"), pcap(packets)).expect("a capture");
    folder
}

/// What it prints with these arguments of make.
fn run(folder: &Path, arguments: &[&str]) -> String {
    make(folder, &[&["run"], arguments].concat())
}

const SPLIT: &str = "FromDevice(in) -> c :: Classifier(12/0800, 12/86dd, -) -> Strip(14) -> CheckIPHeader
    -> r :: RadixIPLookup(10.0.0.0/8 0, 192.168.0.0/16 1, 0.0.0.0/0 2) -> DecIPTTL -> Unstrip(14) -> q :: Queue -> ToDevice(out);
    r[1] -> Unstrip(14) -> q; r[2] -> Discard; c[1] -> Queue -> ToDevice(six); c[2] -> ToHost;";

#[test]
fn vectors_of_any_size_do_the_same() {
    for (name, files, input) in [
        ("filter", (vpp().build)(&filter("tcp or ip6"), &named("f")).expect("files"), "PCAP=in.pcap"),
        ("split", of_text(SPLIT, "split"), "INPUTS=in=in.pcap"),
    ] {
        let folder = folder(files, &format!("sizes-{name}"), &trace());
        let one = run(&folder, &[input, "VECTOR=1"]);
        assert!(one.lines().count() > 150 && one.contains("sent") && one.contains("dropped"), "{one}");
        for vector in ["VECTOR=2", "VECTOR=7", "VECTOR=256"] {
            assert_eq!(run(&folder, &[input, vector]), one, "{name} {vector}");
        }
        std::fs::remove_dir_all(folder).expect("the folder");
    }
}

const TEES: &str = "FromDevice(in) -> t :: Tee -> Strip(14) -> u :: Tee -> Unstrip(14) -> q :: Queue -> ToDevice(out);
    t[1] -> Paint(1) -> q; u[1] -> Unstrip(14) -> v :: Tee -> q; v[1] -> VLANEncap(VLAN_ID 7) -> Queue -> ToDevice(tagged);";

/// A P4 program with two tables.
const P4: &str =
    "FromDevice(0) -> [0] p :: P4(tests/p4/sets.p4); p[0] -> Queue -> ToDevice(0); FromDevice(1) -> [1] p; p[1] -> Queue -> ToDevice(1);
    p[2] -> Queue -> ToDevice(2); p[3] -> Queue -> ToDevice(3);";

/// Copies of a packet that leave by different ways leave in any order.
fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// In nodes for each element and table, vectors of any size do what one node does with them:
/// packets, memory and tables.
#[test]
fn divided_programs_do_the_same() {
    let file = |name: &str| Config::File(apps::apps().join(name));
    let all = [
        ("split", Config::Text(SPLIT.to_owned()), "INPUTS=in=in.pcap"),
        ("p4", Config::Text(P4.to_owned()), "INPUTS=0=in.pcap 1=in.pcap"),
        ("firewall", file("firewall/firewall.click"), "INPUTS=inside=in.pcap outside=in.pcap"),
        ("nat", file("nat/forward.click"), "INPUTS=inside=in.pcap outside=in.pcap"),
        ("switch", file("switch/switch.click"), "INPUTS=eth0=in.pcap eth2=in.pcap"),
        ("tees", Config::Text(TEES.to_owned()), "INPUTS=in=in.pcap"),
    ];
    for (name, config, inputs) in all {
        let build = |division: Division| built(&config, &Options { division, ..named(name) });
        let run = |files: Vec<File>, of: &str| {
            let folder = folder(files, &format!("{name}-{of}"), &trace());
            let all = ["VECTOR=1", "VECTOR=5", "VECTOR=256"].map(|vector| sorted(&run(&folder, &[inputs, vector])));
            std::fs::remove_dir_all(folder).expect("the folder");
            all
        };
        let single = build(Division::Single);
        let (code, wanted) = (text(&single, "program.c"), run(single, "single"));
        for division in [Division::Each, Division::Auto] {
            let files = build(division);
            let nodes = text(&files, "nodes.txt");
            let divided = division == Division::Each && ["split", "p4"].contains(&name);
            let told = nodes.contains("one node") || nodes.contains("nodes are one");
            assert!(nodes.contains("node 1 ") || !divided && told, "{name}: {nodes}");
            // What is one node after all is not compiled again.
            if text(&files, "program.c") != code {
                assert_eq!(run(files, &format!("{division:?}")), wanted, "{name} {division:?}\n{nodes}");
            }
        }
    }
}

/// Handlers that are cut at lookups do what the interpreter does.
#[test]
fn made_up_programs_in_pieces() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (first, count, mut ran) = (number("NETVM_SEED", 0), number("NETVM_CASES", 12), 0);
    for seed in first..first + count {
        let options = arbitrary::Options { coprocessors: false, pull: false, statements: [5, 12, 20][(seed % 3) as usize], widest: 128 };
        let program = Arc::new(verify(arbitrary::seeded_module(seed, &options)).expect("a program"));
        let packets: Vec<_> = (0..40).map(|n| arbitrary::seeded_packet(seed ^ n)).collect();
        let Ok(lines) = wanted(&netvm::engines::ALL[0], &program, &packets) else { continue };
        let each = Options { division: Division::Each, ..named("each") };
        if let Ok(got) = ran_as(vpp(), &program, &packets, &format!("each{seed}"), &each) {
            assert_eq!(got, lines, "seed {seed}");
            ran += 1;
        }
    }
    assert!(ran > 0, "none of {count} was admitted");
}

#[test]
fn traces_tell_where_packets_went() {
    let folder = folder(of_text(SPLIT, "split"), "traces", &trace());
    let text = run(&folder, &["INPUTS=in=in.pcap", "TRY=-t"]);
    for part in ["split: sent by output out, ", "split: sent by output host, ", "split: dropped, "] {
        assert!(text.contains(part), "{text}");
    }
    std::fs::remove_dir_all(folder).expect("the folder");
}

/// The program sees the first buffer and the length of all; what would move the end of a packet in
/// several buffers drops it.
#[test]
fn packets_in_several_buffers() {
    let packets: Vec<Vec<u8>> = [60, 100, 600, 1400].iter().map(|n| [&[2; 12][..], &[8, 0], &vec![0; n - 14]].concat()).collect();
    let built = (vpp().build)(&filter("len > 500"), &named("long")).expect("files");
    let long = folder(built, "long", &packets);
    let text = run(&long, &["PCAP=in.pcap", "TRY=-d 512"]);
    let ends: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).take(4).collect();
    assert_eq!(ends, ["dropped", "dropped", "sent", "sent"], "{text}");
    std::fs::remove_dir_all(long).expect("the folder");
    let cut = folder(of_text("FromDevice(in) -> Truncate(80) -> Queue -> ToDevice(out);", "cut"), "cut", &packets);
    let text = run(&cut, &["INPUTS=in=in.pcap", "TRY=-d 512"]);
    let lines: Vec<&str> = text.lines().take(4).collect();
    assert!(lines[1].starts_with("sent out 80 "), "{text}");
    assert_eq!(lines[2..4], ["dropped - in several buffers"; 2], "{text}");
    std::fs::remove_dir_all(cut).expect("the folder");
}

#[test]
fn names_are_such_that_c_and_commands_take_them() {
    let files = (vpp().build)(&filter("ip"), &named("7 a-B\"c")).expect("files");
    let text = |name: &str| text(&files, name);
    assert!(text("config.h").contains("#define NETVM_NODE \"netvm-program_7_a_b_c\"\n"), "{}", text("config.h"));
    assert!(text("CMakeLists.txt").contains("add_vpp_plugin(program_7_a_b_c\n"));
    assert!(text("README.md").contains("netvm program_7_a_b_c map input INTERFACE"), "{}", text("README.md"));
}

/// Two headers that VPP's own build writes, with their usual values.
const CONFIGURED: [(&str, &str); 2] = [
    (
        "vppinfra/config.h",
        "#define CLIB_LOG2_CACHE_LINE_BYTES 6\n#define CLIB_N_PREFETCHES 16\n#define CLIB_LIB_DIR \"lib\"\n#define CLIB_VECTOR_GROW_BY_ONE 0\n",
    ),
    (
        "vlib/config.h",
        "#define VLIB_BUFFER_PRE_DATA_SIZE 128\n#define VLIB_BUFFER_ALIGN 64\n#define VLIB_BUFFER_NATURAL_ALIGN_DEFAULT 0\n\
         #define VLIB_BUFFER_ALLOC_FAULT_INJECTOR 0\n#define VLIB_PROCESS_LOG2_STACK_SIZE 15\n",
    ),
];

/// Compiles a plugin's files as VPP's build would.
fn compiled(vpp: &Path, configured: &Path, folder: &Path) {
    for file in ["node.c", "map.c", "entries.c", "setup.c"] {
        let mut command = Command::new("cc");
        command.args(["-c", "-O2", "-mavx2", "-Wall", "-Werror", "-Wno-address-of-packed-member", "-fno-strict-aliasing"]);
        command.args(["-Wno-unused-variable", "-Wno-unused-label", "-Wno-unused-but-set-variable", "-fPIC", "-o", "/dev/null"]);
        let done = command.arg(file).arg("-I").arg(configured).arg("-I").arg(vpp.join("src")).current_dir(folder).output().expect("cc");
        assert!(done.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn plugins_compile_with_the_headers_of_vpp() {
    let Some(vpp_sources) = std::env::var_os("NETVM_VPP").map(PathBuf::from) else {
        println!("skipped: NETVM_VPP names no folder with VPP's sources");
        return;
    };
    let configured = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("vpp-configured-{}", std::process::id()));
    write(&configured, CONFIGURED.map(|(name, text)| File { name: name.to_owned(), bytes: text.into(), about: String::new() }).into());
    let filters = ["tcp port 80", "ip6 host fe80::1"].map(|text| (text.to_owned(), (vpp().build)(&filter(text), &named("f")).expect(text)));
    let files = ["firewall/firewall.click", "balancer/balancer.click", "switch/switch.click", "nat/forward.click", "router/forward.click"];
    let all = filters
        .into_iter()
        .chain(files.map(|file| (file.to_owned(), of_file(file))))
        .chain([("forward.p4".to_owned(), of_text(P4, "forward"))]);
    for (n, (name, files)) in all.enumerate() {
        let folder = folder(files, &format!("headers-{n}"), &[]);
        compiled(&vpp_sources, &configured, &folder);
        println!("{name}: compiles with the headers of {}", vpp_sources.display());
        std::fs::remove_dir_all(folder).expect("the folder");
    }
    std::fs::remove_dir_all(configured).expect("the folder");
}
