//! The filter expressions of the front end's tests, on packets, with every engine.
//!
//! The front end is held against libpcap with the interpreter in its own tests; here the other
//! engines are held against the interpreter on every expression and capture, and all of them
//! against tcpdump's count on a few captures. tcpdump runs the unoptimised filter (`-O`); where the
//! count differs, the optimised one may agree instead, since libpcap's optimiser changes what reads
//! past the end do.

#[path = "../../../tests/needs.rs"]
mod needs;

use netvm::engines;
use netvm::io::{Capture, LinkType, synth};
use netvm::netil::exec::{Packets, Selection};
use netvm::{Compiled, Filter, Profile};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most packets of a capture that every expression looks at.
const PACKETS: usize = 200;

fn expressions() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../frontends/tests/data/expressions.txt");
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).map(str::to_owned).collect()
}

/// All captures at hand: `NETVM_PCAPS`, or beside the project.
fn captures() -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/pcaps");
    let root = std::env::var_os("NETVM_PCAPS").map_or(beside, PathBuf::from);
    let mut found = Vec::new();
    for folder in std::fs::read_dir(root).into_iter().flatten().flatten() {
        found.extend(std::fs::read_dir(folder.path()).into_iter().flatten().flatten().map(|f| f.path()));
    }
    found.sort();
    if found.is_empty() {
        println!("no captures at hand (NETVM_PCAPS); only made-up packets are used");
    }
    found
}

/// Packets of one link type with their lengths on the wire.
struct Sample {
    name: String,
    link: LinkType,
    frames: Vec<Vec<u8>>,
    wire: Vec<u32>,
}

fn of_capture(path: &Path) -> Option<Sample> {
    let mut capture = Capture::open(path).ok()?;
    let burst = capture.next_burst(PACKETS).ok()??;
    let frames: Vec<Vec<u8>> = burst.packets().iter().map(|p| p.to_vec()).collect();
    let wire = (0..frames.len()).map(|i| burst.wire_len(i)).collect();
    Some(Sample { name: path.display().to_string(), link: burst.link_type(), frames, wire })
}

/// A mixed trace, whole and cut at every length that a header may end at.
fn made_up() -> Sample {
    let whole = synth::mixed_trace(11, 150);
    let mut frames: Vec<Vec<u8>> = whole.iter().map(|(_, bytes)| bytes.clone()).collect();
    for (i, (_, bytes)) in whole.iter().enumerate() {
        frames.push(bytes[..(i * 7 % 90).min(bytes.len())].to_vec());
    }
    let wire = frames.iter().map(|f| f.len() as u32).collect();
    Sample { name: "mixed trace".to_owned(), link: LinkType::EN10MB, frames, wire }
}

/// Engines that are not quick take every so manieth expression and one link type.
const SAMPLED: usize = 23;

/// The engines that are tried on expression number `n`, the reference first.
fn chosen(n: usize, link: u32) -> Vec<&'static engines::EngineInfo> {
    let slow = n.is_multiple_of(SAMPLED) && link == LinkType::EN10MB.number();
    engines::ALL.iter().filter(|engine| engine.quick).chain(engines::forms().filter(|_| slow)).collect()
}

/// An expression compiled for every link type it has a meaning on, by the engines chosen for its
/// number.
fn compile(n: usize, expression: &str, links: &BTreeSet<u32>) -> Vec<(u32, Vec<Compiled>)> {
    let of_link = |link: &u32| {
        let engines = chosen(n, *link);
        let one = |engine: &&'static engines::EngineInfo| {
            let settings = engines::Settings { no_cache: true, ..engines::Settings::default() };
            Filter::compile_with(expression, LinkType::from_file(*link), engine, settings).ok()
        };
        let compiled: Vec<Compiled> = engines.iter().filter_map(one).collect();
        assert!(compiled.is_empty() || compiled.len() == engines.len(), "`{expression}`: an engine refuses it");
        (*link, compiled)
    };
    links.iter().map(of_link).collect()
}

fn select(compiled: &mut Compiled, sample: &Sample) -> Selection {
    let frames: Vec<&[u8]> = sample.frames.iter().map(Vec::as_slice).collect();
    let time_ns = vec![0; frames.len()];
    let mut selection = Selection::default();
    compiled.select(&Packets { frames: &frames, wire_len: &sample.wire, time_ns: &time_ns }, &mut selection);
    selection
}

#[test]
fn engines_agree_on_every_expression_and_capture() {
    let samples: Vec<Sample> = [made_up()].into_iter().chain(captures().iter().filter_map(|p| of_capture(p))).collect();
    let links: BTreeSet<u32> = samples.iter().map(|s| s.link.number()).collect();
    let mut compared = 0;
    for (n, expression) in expressions().into_iter().enumerate() {
        for (link, mut compiled) in compile(n, &expression, &links) {
            let Some((reference, others)) = compiled.split_first_mut() else { continue };
            for sample in samples.iter().filter(|s| s.link.number() == link) {
                let wanted = select(reference, sample);
                for other in others.iter_mut() {
                    assert_eq!(select(other, sample), wanted, "`{expression}` on {} with {}", sample.name, other.engine());
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn a_profile_changes_nothing_that_is_selected() {
    let sample = made_up();
    let mut profile = Profile::default();
    let lengths = sample.frames.iter().zip(&sample.wire);
    lengths.for_each(|(frame, wire)| profile.add(LinkType::EN10MB, frame, *wire));
    let mut changed = 0;
    for expression in expressions() {
        let compiled = |filter: Filter| { filter }.prepare(LinkType::EN10MB)?.another();
        let plain = Filter::new(&expression, engines::find("jit").unwrap());
        let Ok(mut plain) = plain.and_then(compiled) else { continue };
        let profiled = Filter::new(&expression, engines::find("jit").unwrap()).unwrap().with_profile(profile.clone());
        let mut profiled = compiled(profiled).unwrap();
        assert_eq!(select(&mut profiled, &sample), select(&mut plain, &sample), "`{expression}`");
        changed += usize::from(profiled.program.module() != plain.program.module());
    }
    assert!(changed > 50, "{changed}");
}

/// tcpdump's count; none if it refuses the expression or is not there.
fn tcpdump(path: &Path, expression: &str, flags: &[&str]) -> Option<u64> {
    let out = Command::new("tcpdump").args(flags).arg("-r").arg(path).args(["--count", "--", expression]).output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    out.status.success().then(|| text.split_whitespace().next()?.parse().ok()).flatten()
}

fn count(path: &Path, expression: &str, engine: &'static engines::EngineInfo) -> Option<u64> {
    let mut filter = Filter::new(expression, engine).ok()?;
    let mut capture = Capture::open(path).ok()?;
    let (mut selection, mut total) = (Selection::default(), 0);
    while let Some(burst) = capture.next_burst(256).ok()? {
        filter.select(&burst, &mut selection).ok()?;
        total += selection.count();
    }
    Some(total)
}

#[test]
fn counts_are_tcpdumps() {
    const NAMES: [&str; 4] = ["mixed-vlan-mpls.pcap", "fuzz-2006-06-26-2594.pcap", "KakaoTalk_chat.pcap", "6in4tunnel.pcap"];
    let chosen: Vec<PathBuf> = captures().into_iter().filter(|p| NAMES.iter().any(|n| p.ends_with(n))).collect();
    let Some(first) = chosen.first() else { return println!("skipped: no captures (set NETVM_PCAPS)") };
    if tcpdump(first, "ip", &[]).is_none() {
        return needs::missing("tcpdump");
    }
    let mut compared = 0;
    for expression in expressions() {
        for path in &chosen {
            let Some(wanted) = tcpdump(path, &expression, &["-O"]) else { continue };
            for engine in engines::ALL.iter().filter(|engine| engine.quick) {
                let got = count(path, &expression, engine);
                let agrees = got == Some(wanted) || got.is_some() && got == tcpdump(path, &expression, &[]);
                assert!(agrees, "`{expression}` on {} with {}: {got:?}, tcpdump {wanted}", path.display(), engine.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

/// A loopback capture of a big-endian machine: its headers are in that machine's order.
#[test]
fn loopback_headers_are_in_the_captures_byte_order() {
    for big in [false, true] {
        let word = |v: u32| if big { v.to_be_bytes() } else { v.to_le_bytes() };
        let half = |v: u16| if big { v.to_be_bytes() } else { v.to_le_bytes() };
        let packet = [&word(2)[..], &[0x45, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]].concat();
        let len = word(packet.len() as u32);
        let header = [&word(0xa1b2_c3d4)[..], &half(2), &half(4), &word(0), &word(0), &word(65535), &word(0)].concat();
        let file = [&header[..], &word(1), &word(0), &len, &len, &packet].concat();
        for engine in engines::ALL {
            let mut filter = Filter::new("ip and tcp", engine).unwrap();
            let mut capture = Capture::from_bytes(file.clone()).unwrap();
            let (burst, mut selection) = (capture.next_burst(8).unwrap().unwrap(), Selection::default());
            filter.select(&burst, &mut selection).unwrap();
            assert_eq!(selection.count(), 1, "big-endian: {big}, {}", engine.name);
        }
    }
}
