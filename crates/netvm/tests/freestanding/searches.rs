//! Strings and regular expressions in packets: the image of automata finds what the coprocessors
//! `stringmatching` and `regexp` find, at the same price; other targets, too many strings and too
//! large automata are refused.

use super::support::wanted;
use super::{agree, apps, arrivals, cores};
use netvm::engines;
use netvm::netil::copro::CoproError;
use netvm::netil::exec::TrapKind;
use netvm::netil::{Verified, asm, verify};
use netvm::scripts::scenarios::Config;
use netvm::targets::{self, Division, Options};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A string, whether its case is ignored, the program's number of it.
type Text<'t> = (&'t [u8], u16, u32);

/// The initialised data of a unit.
fn data(groups: &[&[Text<'_>]]) -> Vec<u8> {
    let mut data = (groups.len() as u16).to_le_bytes().to_vec();
    for group in groups {
        data.extend((group.len() as u16).to_le_bytes());
        for (text, any_case, number) in *group {
            data.extend([(text.len() as u16).to_le_bytes(), any_case.to_le_bytes()].concat());
            data.extend(number.to_le_bytes());
            data.extend(*text);
        }
    }
    data
}

fn program(data: Vec<u8>) -> Arc<Verified> {
    program_of("stringmatching", data)
}

fn program_of(unit: &str, data: Vec<u8>) -> Arc<Verified> {
    let text = include_str!("searches.netil").replace("stringmatching", unit);
    let mut module = asm::assemble(&text, "searches.netil").expect("NetIL");
    module.data = data;
    Arc::new(verify(module).expect("a program"))
}

const GROUPS: &[&[Text<'static>]] = &[
    // One in the other, one the end of the other, one twice with two numbers.
    &[
        (b"he", 0, 1),
        (b"she", 0, 2),
        (b"hers", 0, 3),
        (b"his", 0, 4),
        (b"", 0, 5),
        (b"he", 0, 6),
        (b"\0\xff", 0, 7),
        (b"a", 0, 8),
        (b"aaa", 0, 9),
    ],
    // With and without case, mixed.
    &[(b"AbA", 1, 10), (b"aba", 0, 11), (b"ABA", 0, 12), (b"ba", 0, 13), (b"@[`{", 1, 14), (b"b", 1, u32::MAX)],
    &[],
    &[(b"Evil", 1, 15), (b"evil one", 1, 16)],
];

/// Packets that say what is searched, and have texts of few letters.
fn packets() -> Vec<Vec<u8>> {
    let words: [&[u8]; 12] = [b"ushers", b"his", b"aaaa", b"ABA", b"aBaba", b"\0\xff", b"@[`{", b"EVIL one", b"evil", b"he", b"x", b"SHE"];
    let mut random = 1u32;
    let mut next = |below: u32| {
        random = random.wrapping_mul(0x19660d).wrapping_add(0x3c6ef35f);
        (random >> 8) % below
    };
    let packet = |n: u32, next: &mut dyn FnMut(u32) -> u32| {
        let (group, length) = (next(5) as u8, if next(3) == 0 { next(90) as u8 } else { 255 });
        let how = if n < 6 { (n % 3) as u8 } else { next(6) as u8 };
        let mut packet = vec![group, next(120) as u8, length, how, 0, 0, 0, 0, next(9) as u8, 0, 0, 0];
        (0..next(24)).for_each(|_| packet.extend(words[next(12) as usize]));
        packet
    };
    let mut all: Vec<Vec<u8>> = (0..300).map(|n| packet(n, &mut next)).collect();
    // More matches than are kept, and more searches than are paid for.
    let head = |how: [u8; 2]| [&[0, 0, 255, 0, 0, 0, 0, 0, 3, 0][..], &how].concat();
    all.push([head([1, 0]), vec![b'a'; 3000]].concat());
    all.push([head([0, 0]), vec![b'a'; 3000]].concat());
    all.push([head([1, 1]), b"she".repeat(1000)].concat());
    all
}

#[test]
fn strings_are_found_as_by_the_coprocessor() {
    let lines = wanted(&engines::ALL[0], &program(data(GROUPS)), &packets()).expect("an init handler that ends");
    let traps: BTreeSet<&str> = lines.lines().filter_map(|line| line.strip_prefix("trapped ")?.split(' ').next()).collect();
    let of = |kind: TrapKind| kind.code().to_string();
    let kinds = [TrapKind::Budget, TrapKind::Coprocessor(0, CoproError::NoPacket), TrapKind::Coprocessor(0, CoproError::BadRegister)];
    assert_eq!(traps.iter().map(|kind| (*kind).to_owned()).collect::<BTreeSet<_>>(), kinds.map(of).into(), "each kind of trap");
    let refused = agree("searches", &program(data(GROUPS)), &packets()).expect("an init handler that ends");
    let others = |(target, why): &(&str, String)| {
        *target == "opencl" && why.contains("the coprocessor 'stringmatching', which this target does not have")
    };
    assert!(refused.iter().all(others), "{refused:?}");
    // Data that end too early: every search is refused.
    assert!(agree("cut", &program(vec![1, 0, 1]), &packets()).expect("an init handler that ends").iter().all(others));
}

/// Expressions with what looks around at either end, empty ones, greedy and not, with flags.
const EXPRESSIONS: &[(&str, &[u8])] = &[
    ("", b"he|she|hers"),
    ("", b"sh?e.*?s"),
    ("i", b"evil( one)?"),
    ("", b"a+$"),
    ("m", b"^his|e$"),
    ("s", b"\\x00."),
    ("", b"[\x80-\xff]"),
    ("A", b"u|ushers?"),
    ("", b"\\bhe\\b"),
    ("G", b"a{2,}"),
    ("x", b"a b a # no"),
    ("", b""),
    ("", b"x*"),
    ("", b"(he|hi)[^a]{3}(s|a)"),
];

fn expressions(all: &[(&str, &[u8])]) -> Vec<u8> {
    let mut data = (all.len() as u16).to_le_bytes().to_vec();
    for (flags, text) in all {
        data.extend((flags.len() as u16).to_le_bytes());
        data.extend(flags.as_bytes());
        data.extend((text.len() as u16).to_le_bytes());
        data.extend(*text);
    }
    data
}

#[test]
fn expressions_are_found_as_by_the_coprocessor() {
    let mut packets = packets();
    for (n, packet) in packets.iter_mut().enumerate() {
        packet[0] = (n % 15) as u8;
    }
    let program = program_of("regexp", expressions(EXPRESSIONS));
    let lines = wanted(&engines::ALL[0], &program, &packets).expect("an init handler that ends");
    for kind in [TrapKind::Budget, TrapKind::Coprocessor(0, CoproError::NoPacket), TrapKind::Coprocessor(0, CoproError::BadRegister)] {
        assert!(lines.contains(&format!("trapped {} ", kind.code())), "{kind:?}");
    }
    let refused = agree("expressions", &program, &packets).expect("an init handler that ends");
    assert!(refused.iter().all(|(target, _)| *target == "opencl"), "{refused:?}");
    // A fault in the second one: every search is refused.
    let wrong = program_of("regexp", expressions(&[("", b"a"), ("", b"(")]));
    assert!(agree("wrong", &wrong, &packets).expect("an init handler that ends").iter().all(|(target, _)| *target == "opencl"));
}

#[test]
fn too_large_automata_are_refused_with_the_figure() {
    let octeon = targets::find("octeon").expect("a target");
    let program = program_of("regexp", expressions(&[("", b"(a|b)*a(a|b){40}c")]));
    let why = (octeon.build)(&program, &Options::default()).expect_err("too large").to_string();
    let parts = ["'copro.invoke' (1 after 'start', searches.netil:", "(a|b)*a(a|b){40}c", "more than 131072 nodes", "repeat less"];
    assert!(parts.iter().all(|part| why.contains(part)), "{why}");
}

/// Texts of few letters, so that they begin, end and contain each other.
#[test]
fn made_up_strings_are_found() {
    for seed in 0..3u32 {
        let mut random = seed;
        let mut next = |below: u32| {
            random = random.wrapping_mul(0x19660d).wrapping_add(0x3c6ef35f);
            (random >> 8) % below
        };
        let texts: Vec<(Vec<u8>, u16)> =
            (0..40).map(|_| ((0..=next(5)).map(|_| b"abAB"[next(4) as usize]).collect(), u16::from(next(4) < seed))).collect();
        let group: Vec<Text<'_>> = texts.iter().zip(1..).map(|((text, any_case), number)| (text.as_slice(), *any_case, number)).collect();
        let packets: Vec<Vec<u8>> = (0..60)
            .map(|_| {
                let head = [0, next(60) as u8, 255, next(2) as u8, 0, 0, 0, 0, 250, 0, 0, 0];
                head.into_iter().chain((0..next(80)).map(|_| b"abABc"[next(5) as usize])).collect()
            })
            .collect();
        agree(&format!("strings{seed}"), &program(data(&[&group])), &packets).expect("an init handler that ends");
    }
}

#[test]
fn elements_with_strings() {
    let text = "FromDevice(in) -> s :: StringSwitch(\"\\<45>\", \"\\<11>\", \"\\<0a>\") -> Queue -> ToDevice(out); s[2] -> q :: Queue -> ToDevice(rest); s[3] -> q;
        s[1] -> t :: Search(\"\\<06>\", SET_ANNO false) -> r :: RegexFilter(\"\\\\x06.[^a]+$\") -> Queue -> ToDevice(cut); t[1] -> Discard; r[1] -> Discard;";
    let (config, inputs) = (Config::Text(text.to_owned()), arrivals(9, &["in"]));
    let (application, wanted) =
        (apps::read(&config, &BTreeMap::new()), apps::played_by(&engines::ALL[0], &config, &BTreeMap::new(), &inputs, "strings"));
    assert_eq!(wanted.outputs.len(), 3, "packets leave by each device");
    for target in cores() {
        let got = apps::played(target, &application, &inputs, "strings").unwrap_or_else(|why| panic!("{why}"));
        got.must_be(&wanted, &format!("elements with strings on {}", target.name));
    }
}

/// A unit keeps what it found, so a handler with one is not cut at its lookups.
#[test]
fn strings_in_groups() {
    let octeon = targets::find("octeon").expect("a target");
    let text = "FromDevice(in) -> s :: StringSwitch(abc) -> Queue -> ToDevice(out); s[1] -> Discard;";
    let application = apps::read(&Config::Text(text.to_owned()), &BTreeMap::new());
    let options = Options { division: Division::Each, ..Options::default() };
    let files = application.build(octeon, &options).expect("files");
    let image = files.iter().find(|file| file.name == "dfa.bin").expect("an image");
    // Four nodes: nothing, a, ab, abc; the last one is where a string ends.
    assert_eq!(image.bytes.len(), 4 * 1024);
    assert_eq!(image.bytes[4 * usize::from(b'a')..][..4], [0, 0, 0, 1]);
    assert_eq!(image.bytes[2048 + 4 * usize::from(b'c')..][..4], [0, 0, 0, 3]);
}

#[test]
fn too_many_strings_are_refused_with_the_figure() {
    let long = |first: u8| -> Vec<u8> { std::iter::once(first).chain((0..65_000u32).map(|n| ((n * n) >> 5) as u8)).collect() };
    let texts = [long(1), long(2), long(3)];
    let group: Vec<Text<'_>> = texts.iter().map(|text| (text.as_slice(), 0, 1)).collect();
    for (target, strings, refused) in [("octeon", &group[..], true), ("octeon", &group[..1], false), ("riscv64", &group[..], true)] {
        let target = targets::find(target).expect("a target");
        let built = (target.build)(&program(data(&[strings])), &Options::default());
        match built {
            Ok(files) => {
                assert!(!refused);
                assert_eq!(files.iter().find(|file| file.name == "dfa.bin").expect("an image").bytes.len(), 65_002 << 10);
            }
            Err(why) => {
                let why = why.to_string();
                assert!(refused && why.contains("'copro.invoke' (1 after 'start', searches.netil:"), "{why}");
                assert!(
                    why.contains("195004 nodes, 99842048 bytes of low-latency memory; 131072 nodes, 67108864 bytes, are the most"),
                    "{why}"
                );
            }
        }
    }
}

#[test]
fn other_coprocessors_are_refused() {
    let octeon = targets::find("octeon").expect("a target");
    for unit in ["lookup", "associative"] {
        let text = format!("segment .metadata .use_coprocessor {unit} ends segment .push pop copro.in {unit}, 0 ret ends");
        let program = verify(asm::assemble(&text, "test.netil").expect("NetIL")).expect("a program");
        let why = (octeon.build)(&program, &Options::default()).expect_err(unit).to_string();
        assert!(why.contains(&format!("the coprocessor '{unit}', which this target does not have")), "{why}");
    }
}
