//! `netvm build`, `netvm targets` and `netvm xdp`: objects that loaders take, plugins, and programs
//! at an interface in a network namespace.

use super::live::{Capturing, Space};
use super::tools::{Dir, Ended, ended, netvm, run};
use netvm::io::live::Injector;
use netvm::io::synth;
use std::process::Command;

/// What the frames of these tests come from, whatever else the kernel sends.
const SOURCE: [u8; 6] = [2, 0, 0, 0, 0, 8];
const OURS: &str = "ether src 02:00:00:00:00:08";

fn done(mut command: Command) -> Ended {
    ended(command.output().expect("the program starts"))
}

#[test]
fn targets_tell_what_they_admit_and_refuse() {
    let text = run("targets").good();
    for part in ["xdp:", "builds", "admits", "refuses"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(run("targets xdp --json").good().starts_with("{\"name\":\"xdp\""));
    assert!(run("targets abacus").bad(2).contains("there are: xdp"));
}

#[test]
fn build_writes_an_object() {
    let dir = Dir::new("build");
    let out = dir.file("new/folder");
    let told = done(netvm(["build", "--filter", "tcp port 80", "--target", "xdp", "-o", &out])).good();
    assert!(told.contains("filter.o: ") && told.contains(" instructions"), "{told}");
    let object = std::fs::read(format!("{out}/filter.o")).expect("the object");
    assert_eq!(object[..5], *b"\x7fELF\x02");
    let module = dir.write("random.netil", "segment .push\n rnd\n ret\nends\n");
    let refused = done(netvm(["build", &module, "-o", &out])).bad(1);
    assert!(refused.contains("a random number") && refused.contains(".push instruction"), "{refused}");
    assert!(run("build --filter tcp --accept teleport").bad(2).contains("pass, drop, tx, abort"));
    assert!(run("build").bad(2).contains("--filter"));
}

#[test]
fn build_writes_a_plugin_for_vpp() {
    let dir = Dir::new("vpp");
    let out = dir.file("plugin");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/p4/sets.p4");
    let args = ["build", program, "--ports", "2", "--target", "vpp", "--nodes", "each", "--explain-opt", "-o", &out];
    let told = done(netvm(args)).good();
    assert!(told.contains("node.c: 3 nodes") && told.contains("node 2 netvm-sets-2-"), "{told}");
    for file in ["CMakeLists.txt", "README.md", "try/main.c"] {
        assert!(std::fs::exists(format!("{out}/{file}")).is_ok_and(|there| there), "{file}");
    }
    assert!(run("build --filter tcp --target xdp --nodes each").bad(2).contains("are for the targets octeon and vpp"));
    assert!(run("build --filter tcp --target vpp --ports 2").bad(2).contains("are for P4 programs"));
    assert!(run("build --filter tcp --target vpp --without tables").bad(2).contains("are for P4 programs"));
    assert!(done(netvm(["build", program, "--target", "vpp", "--without", "slices"])).bad(2).contains("tables, metadata, actions"));
    // Without an optimisation it is another program.
    let forward = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/vpp/forward.p4");
    let text = |name: &str, without: &[&str]| {
        let out = dir.file(name);
        done(netvm([&["build", forward, "--target", "vpp", "-o", &out][..], without].concat())).good();
        std::fs::read_to_string(format!("{out}/program.c")).expect("C")
    };
    let plain = text("plain", &[]);
    for name in ["tables", "metadata", "actions"] {
        assert_ne!(text(name, &["--without", name]), plain, "{name}");
    }
}

pub fn has_program(space: &Space, link: &str) -> bool {
    let shown = Command::new("ip").args(["-n", &space.0, "link", "show", link]).output().expect("iproute2");
    String::from_utf8_lossy(&shown.stdout).contains("xdp")
}

/// Frames that are UDP and others, all from one sender.
fn frames() -> Vec<Vec<u8>> {
    let mut frames: Vec<Vec<u8>> = synth::mixed_trace(3, 200).into_iter().map(|(_, frame)| frame).collect();
    frames.retain(|frame| frame.len() <= 1500);
    frames.iter_mut().for_each(|frame| frame[6..12].copy_from_slice(&SOURCE));
    frames
}

/// Whether this process may load programs of eBPF: the smallest there is, which gives 0.
pub fn allowed() -> bool {
    let exit = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];
    let loaded = netvm::io::bpf::Program::load(&exit, &[], &[]);
    loaded.inspect_err(|error| eprintln!("skipped: the system call bpf is not permitted: {error}")).is_ok()
}

/// A namespace whose interfaces the driver runs programs at: not with packets of several pages.
fn space(name: &str) -> Option<Space> {
    let space = allowed().then(|| Space::new(name)).flatten()?;
    assert!(["left", "right"].iter().all(|link| space.ip(&["link", "set", link, "mtu", "1500"])));
    Some(space)
}

fn xdp(args: &[&str]) -> Command {
    netvm([&["xdp", "--on", "right"], args].concat())
}

#[test]
fn what_the_filter_rejects_does_not_arrive() {
    let Some(space) = space("xdp") else { return };
    let (frames, mut udp) = (frames(), netvm::Filter::ethernet("udp").expect("a filter"));
    let burst: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    let wanted = udp.matches(&burst).count();
    for mode in ["any", "driver", "generic"] {
        let seen = space.inside(|| {
            let program = Capturing::when(xdp(&["--mode", mode, "--filter", "udp"]), "running on");
            let capture = Capturing::begin(netvm(["filter", "-i", "right", "-c", &wanted.to_string(), "-w", "/dev/null", OURS]));
            let others = Capturing::begin(netvm(["filter", "-i", "right", "--count", &format!("{OURS} and not udp")]));
            let injector = Injector::open("left").expect("an interface to send on");
            frames.iter().for_each(|frame| injector.send(frame).expect("a frame is sent"));
            assert_eq!(capture.end().status, 0);
            others.signal("-INT");
            program.signal("-TERM");
            assert_eq!(program.end().status, 128 + 15);
            others.end()
        });
        assert!(seen.out.starts_with("0 packets"), "{mode}: {}{}", seen.out, seen.err);
        assert!(!has_program(&space, "right"), "{mode}: it is taken off");
    }
}

/// What it sends back comes out where it came in, with its addresses exchanged; others are the
/// host's.
const BACK: &str = "FromDevice(d) -> ours :: Classifier(6/020000000008, -) -> c :: Counter -> udp :: Classifier(12/0800 23/11, -)
    -> EtherMirror -> Queue -> ToDevice(d); ours[1] -> ToHost; udp[1] -> Discard;";

#[test]
fn a_configuration_runs_in_the_kernel() {
    let Some(space) = space("xdprun") else { return };
    let (frames, mut udp) = (frames(), netvm::Filter::ethernet("ip proto 17").expect("a filter"));
    let burst: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    let wanted = udp.matches(&burst).count();
    for interface in [["--map", "d=dev:right"], ["--on", "right"]] {
        let args = [&["run", "-e", BACK, "--target", "xdp", "--xdp-mode", "generic", "-h", "c.count", "--stats"], &interface[..]].concat();
        let ended = space.inside(|| {
            let program = Capturing::when(netvm(args), "running on");
            assert!(has_program(&space, "right"));
            let capture = Capturing::begin(netvm([
                "filter",
                "-i",
                "left",
                "-c",
                &wanted.to_string(),
                "-w",
                "/dev/null",
                "ether dst 02:00:00:00:00:08",
            ]));
            let injector = Injector::open("left").expect("an interface to send on");
            frames.iter().for_each(|frame| injector.send(frame).expect("a frame is sent"));
            assert_eq!(capture.end().status, 0, "{wanted} frames come back");
            program.signal("-INT");
            program.end()
        });
        assert_eq!(ended.out.trim(), frames.len().to_string(), "{}", ended.err);
        let row = ended.err.lines().find(|line| line.starts_with("udp :: Classifier")).unwrap_or_default().to_owned();
        assert!(row.contains(&format!("[0] {wanted} [1] {}", frames.len() as u64 - wanted)), "{}", ended.err);
        assert!(!has_program(&space, "right"), "it is taken off");
    }
}

#[test]
fn what_has_no_counterpart_in_the_kernel_is_refused_in_objects_with_its_place() {
    let dir = Dir::new("xdprefused");
    let refused = |config: &str| {
        let file = dir.write("refused.click", config);
        done(netvm(["build", &file, "--target", "xdp", "--map", "d=1", "-o", &dir.file("out")])).bad(1)
    };
    for (config, element, reason) in [
        ("FromDevice(d) -> t :: Tee -> Discard; t[1] -> Discard", "t :: Tee", "more packets than the one that came"),
        ("FromDevice(d) -> Queue -> s :: Shaper(10) -> Unqueue -> Discard", "s :: Shaper", "lets packets wait"),
        ("FromDevice(d) -> Discard; i :: InfiniteSource -> Discard", "i :: InfiniteSource", "XDP runs when packets come"),
        ("FromDevice(e) -> Discard; FromDevice(d) -> Discard", "FromDevice", "device e has no interface"),
    ] {
        let told = refused(config);
        assert!(told.contains(element) && told.contains(reason), "{told}");
    }
    let without =
        done(netvm(["run", "-e", "FromDevice(e) -> Discard; FromDevice(d) -> Discard", "--target", "xdp", "--map", "d=dev:lo"])).bad(1);
    assert!(without.contains("device e has no interface"), "{without}");
    assert!(done(netvm(["run", "-e", "FromDevice(d) -> Discard", "--target", "abacus"])).bad(2).contains("xdp"));
    assert!(done(netvm(["run", "-e", "FromDevice(d) -> Discard", "--target", "xdp", "--map", "d=tap:t"])).bad(2).contains("dev:IF"));
    assert!(done(netvm(["run", "-e", "FromDevice(d) -> Discard", "--target", "xdp", "--map", "d=x.pcap"])).bad(2).contains("dev:IF"));
}

#[test]
fn nothing_is_left_by_a_command_that_is_killed() {
    let Some(space) = space("xdpkill") else { return };
    space.inside(|| {
        let program = Capturing::when(xdp(&["--filter", "udp"]), "running on");
        assert!(has_program(&space, "right"));
        assert!(done(xdp(&["--filter", "tcp"])).bad(1).contains("a program already"));
        program.signal("-KILL");
        program.end();
    });
    assert!(!has_program(&space, "right"));
    assert!(space.inside(|| done(netvm(["xdp", "--on", "nowhere", "--filter", "udp"])).bad(1)).contains("nowhere"));
}

/// Functions, maps with keys and their BTF, as libbpf takes them.
#[test]
fn ip_link_loads_the_object_of_a_configuration() {
    let Some(space) = allowed().then(|| Space::new("xdpapp")).flatten() else { return };
    let (dir, apps) = (Dir::new("xdpapp"), concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps"));
    let routes = format!("ROUTES={apps}/router/routes.txt");
    let firewall = [&format!("{apps}/firewall/firewall.click"), "--map", "inside=1", "--map", "outside=2"].map(String::from).to_vec();
    let devices = ["in", "eth0", "eth1", "eth2", "eth3"].iter().zip(1..).flat_map(|(name, n)| ["--map".to_owned(), format!("{name}={n}")]);
    let forward = [format!("{apps}/router/forward.click"), routes].into_iter().chain(devices).collect();
    for (name, args, has_entries) in [("firewall", firewall, false), ("forward", forward, true)] {
        let told = done(netvm([vec!["build".to_owned(), "-o".to_owned(), dir.file("")], args].concat())).good();
        assert!(told.contains(" maps with keys"), "{told}");
        assert_eq!(std::fs::read_to_string(dir.file(&format!("{name}.batch"))).is_ok(), has_entries, "{told}");
        let object = dir.file(&format!("{name}.o"));
        assert!(space.ip(&["link", "set", "dev", "right", "xdpgeneric", "obj", &object, "sec", "xdp"]), "{name}");
        assert!(has_program(&space, "right"));
        assert!(space.ip(&["link", "set", "dev", "right", "xdpgeneric", "off"]));
    }
}

#[test]
fn ip_link_loads_the_object() {
    let Some(space) = allowed().then(|| Space::new("xdpobj")).flatten() else { return };
    let dir = Dir::new("xdpobj");
    let hosts: Vec<String> = (1..40).map(|i| format!("host 10.{i}.3.{}", i * 7 % 251)).collect();
    for filter in ["tcp port 80", &hosts.join(" or ")] {
        done(netvm(["build", "--filter", filter, "-o", &dir.file("")])).good();
        let object = dir.file("filter.o");
        assert!(space.ip(&["link", "set", "dev", "right", "xdpgeneric", "obj", &object, "sec", "xdp"]), "{filter}");
        assert!(has_program(&space, "right"));
        assert!(space.ip(&["link", "set", "dev", "right", "xdpgeneric", "off"]));
    }
}
