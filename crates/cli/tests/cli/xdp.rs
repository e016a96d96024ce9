//! `netvm build`, `netvm targets` and `netvm xdp`: objects that loaders take, and programs at an interface in a network namespace.

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

fn has_program(space: &Space, link: &str) -> bool {
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
fn allowed() -> bool {
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
