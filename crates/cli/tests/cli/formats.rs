//! Captures in and out: formats, precision, mixed link types, damage.

use super::tools::{Dir, in_nanoseconds, raw_ip, run, run_args};
use netvm::io::{LinkType, synth};
use std::fs;

fn magic(path: &str) -> Vec<u8> {
    fs::read(path).expect("the capture is there")[..4].to_vec()
}

const PCAP_MICRO: u32 = 0xa1b2_c3d4;
const PCAP_NANO: u32 = 0xa1b2_3c4d;
const PCAPNG: u32 = 0x0a0d_0d0a;

#[test]
fn the_output_has_the_inputs_precision() {
    let dir = Dir::new("precision");
    let micro = dir.trace("micro.pcap", 1, 50);
    let nano = dir.capture("nano.pcap", LinkType::EN10MB, &in_nanoseconds(synth::mixed_trace(1, 50)));
    let out = dir.file("out.pcap");
    run(&format!("filter -r {micro} -w {out} ip")).good();
    assert_eq!(magic(&out), PCAP_MICRO.to_ne_bytes());
    run(&format!("filter -r {nano} -w {out} ip")).good();
    assert_eq!(magic(&out), PCAP_NANO.to_ne_bytes());
    run(&format!("filter -r {micro} -r {nano} -w {out} ip")).good();
    assert_eq!(magic(&out), PCAP_NANO.to_ne_bytes());
    let line = run(&format!("filter --nano -tt -r {nano} -c 1")).good();
    assert_eq!(&line[17..21], "007 ", "{line}");
    assert_eq!(&run(&format!("filter -tt -r {nano} -c 1")).good()[17..18], " ");
}

#[test]
fn names_ask_for_formats_and_compression() {
    let dir = Dir::new("names");
    let trace = dir.trace("t.pcap", 1, 50);
    let all = run(&format!("filter -r {trace}")).good();
    for (name, first) in [
        ("o.pcap", PCAP_MICRO.to_ne_bytes()),
        ("o.pcapng", PCAPNG.to_ne_bytes()),
        ("o.pcap.gz", [0x1f, 0x8b, 8, 0]),
        ("o.pcapng.zst", [0x28, 0xb5, 0x2f, 0xfd]),
    ] {
        let out = dir.file(name);
        run(&format!("filter -r {trace} -w {out}")).good();
        assert_eq!(magic(&out), first, "{name}");
        assert!(run(&format!("filter -r {out}")).good() == all, "{name}");
    }
}

#[test]
fn mixed_link_types_make_a_pcapng() {
    let dir = Dir::new("mixed");
    let (ether, raw) = (dir.trace("e.pcap", 1, 200), dir.capture("r.pcap", LinkType::RAW, &raw_ip(1, 200)));
    let out = dir.file("out.pcap");
    run(&format!("filter -r {ether} -r {raw} -w {out} tcp")).good();
    assert_eq!(magic(&out), PCAPNG.to_ne_bytes());
    let both = run(&format!("filter -r {ether} -r {raw} tcp")).good();
    assert!(run(&format!("filter -r {out}")).good() == both);
    assert!(run(&format!("filter -r {out} --engine interp tcp")).good() == both);
}

#[test]
fn a_pipe_that_turns_out_to_be_mixed_leaves_no_output() {
    let dir = Dir::new("mixed-pipe");
    let (ether, raw) = (dir.trace("e.pcap", 1, 600), dir.capture("r.pcap", LinkType::RAW, &raw_ip(1, 100)));
    let mixed = dir.file("mixed.pcapng");
    run(&format!("filter -r {ether} -r {raw} -w {mixed}")).good();
    let script = format!("cat {mixed} | '{}' filter -r - -w {}", env!("CARGO_BIN_EXE_netvm"), dir.file("out.pcap"));
    let output = std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("name the output .pcapng"), "{told}");
    assert_eq!(dir.names(), ["e.pcap", "mixed.pcapng", "r.pcap"]);
}

#[test]
fn everything_before_damage_is_done() {
    let dir = Dir::new("damage");
    let whole = dir.trace("whole.pcap", 1, 300);
    let bytes = fs::read(&whole).expect("the capture");
    let cut = dir.write("cut.pcap", &bytes[..bytes.len() - 5]);
    let lines = run(&format!("filter -S -r {whole}")).good();
    let before: String = lines.split_inclusive('\n').take(299).collect();

    let ended = run(&format!("filter -S -r {cut}"));
    assert!(ended.status == 1 && ended.out == before);
    assert!(ended.err.contains("damaged at byte") && ended.err.contains("after 299 packets"), "{}", ended.err);

    let ended = run(&format!("filter -S -r {cut} -r {whole}"));
    assert!(ended.status == 1 && ended.out == before.clone() + &lines, "the next capture follows");

    let out = dir.file("out.pcap");
    run(&format!("filter -r {cut} -w {out}")).bad(1);
    assert!(run(&format!("filter -S -r {out}")).good() == before, "the output is complete");
}

#[test]
fn what_is_no_capture_is_told_before_anything_is_done() {
    let dir = Dir::new("none");
    let (good, bad) = (dir.trace("good.pcap", 1, 10), dir.write("bad.pcap", "hello, world"));
    let out = dir.file("out.pcap");
    assert!(run(&format!("filter -r {good} -r {bad} -w {out}")).bad(1).contains("bad.pcap: not a capture"));
    assert!(run(&format!("filter -r {}", dir.file("absent.pcap"))).bad(1).contains("absent.pcap: No such file"));
    assert!(run(&format!("filter -r {}", dir.write("empty.pcap", ""))).bad(1).contains("empty"));
    assert_eq!(dir.names(), ["bad.pcap", "empty.pcap", "good.pcap"]);
    assert!(run(&format!("filter -r {good} -w {}", dir.file("no/such/dir.pcap"))).bad(1).contains("cannot write"));
}

#[test]
fn link_types_that_cannot_be_filtered_can_be_counted() {
    let dir = Dir::new("link");
    let trace = dir.capture("usb.pcap", LinkType::from_file(220), &raw_ip(1, 10));
    assert!(run(&format!("filter -r {trace} --count")).good().ends_with("packets\n"));
    assert!(run(&format!("filter -r {trace} tcp")).bad(2).starts_with("error"));
}

#[test]
fn link_types_without_filters_are_refused_by_name() {
    let dir = Dir::new("link-names");
    let file = dir.capture("juniper.pcap", LinkType::from_name("JUNIPER_ES").expect("a link type"), &netvm::io::synth::mixed_trace(1, 3));
    let told = run(&format!("filter -r {file} tcp")).err;
    assert!(told.contains("filtering on link type JUNIPER_ES (132) is not supported"), "{told}");
}

#[test]
fn synthetic_captures_are_between_the_networks_that_are_named() {
    let dir = Dir::new("synth");
    let file = dir.file("eth0.pcap");
    run(&format!("synth {file} -c 1000 --ether 02:00:00:00:00:07 --src 10.0.3.0/24 --dst 192.0.2.80 --arp")).good();
    let count = |expression: &str| run_args(&["filter", "-r", &file, "--count", expression]).good();
    assert_eq!(count("ether dst 02:00:00:00:00:07"), "1000 packets\n");
    assert_eq!(count("arp and src net 10.0.3.0/24"), "250 packets\n");
    assert_eq!(count("ip and src net 10.0.3.0/24 and dst host 192.0.2.80"), "750 packets\n");
    assert!(run(&format!("synth {file} --src 10.0.0.0/33")).bad(2).contains("not an IPv4 address or network"));
    assert!(run(&format!("synth {file} --arp")).bad(2).contains("--src"));
    let plain = dir.file("plain.pcap");
    run(&format!("synth {plain} -c 300")).good();
    assert_eq!(std::fs::read(&plain).ok(), std::fs::read(dir.trace("same.pcap", 1, 300)).ok());
}
