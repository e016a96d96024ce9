//! Filtering in groups, mapped or copied, on one thread or several, gives what reading packet after
//! packet gives: the same packets, in order, and the same end.

use netvm::io::synth::Mix;
use netvm::io::{Capture, LinkType, Reading, WriteOptions, Writer};
use netvm::netil::exec::Selection;
use netvm::{Filter, ParallelFilter, engines};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A file that goes away.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("netvm-ahead-{}-{name}.pcap", std::process::id()));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Every packet's number, record, bytes and verdict, and how it ended.
#[derive(PartialEq)]
struct Seen {
    packets: Vec<(u64, Vec<u8>, Vec<u8>, bool)>,
    end: String,
    ahead: usize,
}

fn read(path: &Path, expression: &str, ahead: Option<ParallelFilter>) -> Seen {
    let mut filter = Filter::new(expression, &engines::AUTO).unwrap();
    let mut capture = Capture::open(path).unwrap();
    let mut packets = Vec::new();
    let mut note = |burst: &netvm::io::Burst<'_>, selection: &Selection| {
        let one = |i: usize| (burst.first_number() + i as u64, burst.record(i).raw.to_vec(), burst.packets()[i].to_vec(), selection.get(i));
        packets.extend((0..burst.len()).map(one));
    };
    if let Some(ahead) = ahead {
        let flow = ahead.run(&filter, &mut capture, |burst, selection, _| {
            note(&burst, selection);
            ControlFlow::<()>::Continue(())
        });
        assert!(flow.unwrap().is_continue());
    }
    let ahead = capture.packets() as usize;
    let mut selection = Selection::default();
    let end = loop {
        match capture.next_burst(256) {
            Ok(Some(burst)) => {
                filter.select(&burst, &mut selection).unwrap();
                note(&burst, &selection);
            }
            Ok(None) => break "end".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    Seen { packets, end, ahead }
}

/// All ways to read ahead.
fn ways() -> impl Iterator<Item = (usize, Reading)> {
    [(1, Reading::Mapped), (2, Reading::Mapped), (3, Reading::Mapped), (2, Reading::Copied), (3, Reading::Copied), (2, Reading::Quicker)]
        .into_iter()
}

/// Compares, and gives how many packets were read ahead, at least.
fn same(name: &str, bytes: &[u8]) -> usize {
    let file = Temporary::new(name, bytes);
    let expected = read(&file.0, "tcp or len > 900", None);
    let compared = ways().map(|(threads, reading)| {
        let seen = read(&file.0, "tcp or len > 900", Some(ParallelFilter { threads, reading }));
        assert_eq!(seen.packets.len(), expected.packets.len(), "{name}: {}", seen.end);
        assert!(seen.packets == expected.packets, "{name}, {threads} threads, {reading:?}");
        assert_eq!(seen.end, expected.end, "{name}, {threads} threads, {reading:?}");
        seen.ahead
    });
    compared.min().unwrap()
}

fn capture_of(frames: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let path = std::env::temp_dir().join(format!("netvm-ahead-{}-{:?}-made.pcap", std::process::id(), std::thread::current().id()));
    let mut writer = Writer::create(&path, &WriteOptions::for_output(&path, &[])).unwrap();
    for ((time, _), frame) in Mix::new(3).zip(frames) {
        writer.write_packet(LinkType::EN10MB, time, frame.len() as u32, &frame).unwrap();
    }
    writer.finish().unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
    bytes
}

fn mix(packets: usize) -> Vec<u8> {
    capture_of(Mix::new(5).map(|(_, frame)| frame.to_vec()).take(packets))
}

/// Where record `n` begins.
fn record(bytes: &[u8], n: usize) -> usize {
    (0..n).fold(24, |at, _| at + 16 + u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize)
}

#[test]
fn traffic_is_read_in_groups_to_its_end() {
    let bytes = mix(30_000);
    assert!(bytes.len() > 16 << 20, "{}", bytes.len());
    assert_eq!(same("plain", &bytes), 30_000);
    assert_eq!(same("cut", &bytes[..bytes.len() - 7]), 29_999);
    assert_eq!(same("short", &bytes[..1 << 20]), 0);
    let mut bytes = bytes;
    bytes[16..20].copy_from_slice(&100u32.to_le_bytes());
    assert_eq!(same("cut-by-snaplen", &bytes), 30_000);
}

#[test]
fn captures_of_the_other_byte_order_and_with_nanoseconds() {
    let (mut swapped, mut nano) = (mix(24_000), mix(24_000));
    let (mut at, count) = (24, 24_000);
    for _ in 0..count {
        let next = at + 16 + u32::from_le_bytes(swapped[at + 8..at + 12].try_into().unwrap()) as usize;
        swapped[at..at + 16].chunks_mut(4).for_each(<[u8]>::reverse);
        at = next;
    }
    for field in [0..4, 4..6, 6..8, 8..12, 12..16, 16..20, 20..24] {
        swapped[field].reverse();
    }
    nano[0] = 0x4d;
    nano[1] = 0x3c;
    assert!(same("swapped", &swapped) == 24_000);
    assert!(same("nano", &nano) == 24_000);
}

/// Packets that are captures themselves: wherever a stretch begins, records seem to begin that do
/// not.
#[test]
fn captures_within_packets_mislead_nobody() {
    let inner = mix(2_000);
    let frames = (0..300).map(|i| inner[record(&inner, i)..][..60_000].to_vec());
    assert!(same("nested", &capture_of(frames)) == 300);
}

#[test]
fn records_longer_than_a_stretch_and_empty_ones() {
    let frames = (0..3_000).map(|i| match i % 100 {
        0 => vec![i as u8; 262_144],
        1..50 => Vec::new(),
        _ => vec![i as u8; 700],
    });
    same("long", &capture_of(frames));
    // A link type whose packets may be longer than a stretch.
    let mut usb = capture_of((0..8).map(|i| vec![i as u8; 250_000]));
    let at = record(&usb, 3);
    usb.truncate(at);
    usb[20..24].copy_from_slice(&231u32.to_le_bytes());
    usb.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0, 0, 0, 0xf0, 0]);
    usb.resize(usb.len() + (15 << 20), 7);
    usb.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3]);
    usb[16..20].copy_from_slice(&0x0800_0000u32.to_le_bytes());
    let file = Temporary::new("usb", &usb);
    let one = read(&file.0, "", None);
    assert_eq!(one.packets.len(), 5, "{}", one.end);
    for (threads, reading) in ways() {
        let seen = read(&file.0, "", Some(ParallelFilter { threads, reading }));
        assert!(seen.packets == one.packets && seen.ahead == 5, "{threads} threads, {reading:?}");
    }
}

#[test]
fn damage_is_told_at_its_place_with_all_that_came_before() {
    let mut bytes = mix(30_000);
    let at = record(&bytes, 15_432);
    bytes[at + 10] = 0xff;
    bytes[at + 11] = 0x7f;
    assert_eq!(same("damaged", &bytes), 15_432);
    // Too long for a packet, not for the file.
    bytes[at + 8..at + 12].copy_from_slice(&300_000u32.to_le_bytes());
    assert_eq!(same("too-long", &bytes), 15_432);
    let zeros = [&mix(4_000)[..], &vec![0; 16 << 20]].concat();
    same("zeros", &zeros);
    let noise: Vec<u8> = (0..16_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    same("noise", &[&mix(4_000)[..], &noise].concat());
}

/// Numbers without pattern.
fn random(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % below
}

/// Headers with other lengths and times, many of which look right: guesses go wrong, and walks from
/// them meet the true ones or do not.
#[test]
fn corrupted_headers_change_nothing_but_what_they_say() {
    let good = mix(30_000);
    let starts: Vec<usize> = std::iter::successors(Some(24), |&at| {
        Some(at + 16 + u32::from_le_bytes(good[at + 8..at + 12].try_into().unwrap()) as usize).filter(|&next| next < good.len())
    })
    .collect();
    let mut state = 42;
    for round in 0..8 {
        let mut bytes = good.clone();
        for _ in 0..1 + random(&mut state, 40) {
            let at = starts[starts.len() / 4 + random(&mut state, starts.len() * 3 / 4)];
            match random(&mut state, 5) {
                0 => bytes[at + random(&mut state, 16)] ^= 1 << random(&mut state, 8),
                1 => bytes[at + 12..at + 16].copy_from_slice(&[0; 4]), // no bytes on the wire: not plausible, and yet right
                2 => bytes[at..at + 4].copy_from_slice(&[0xff; 4]),
                // Within a packet, something like a record that leads astray.
                _ => {
                    let (inside, header) = (at + 16 + random(&mut state, 30), bytes[at..at + 8].to_vec());
                    bytes[inside..inside + 8].copy_from_slice(&header);
                    let length = (random(&mut state, 70_000) as u32).to_le_bytes();
                    bytes[inside + 8..inside + 16].copy_from_slice(&[length, length].concat());
                }
            }
        }
        same(&format!("corrupt-{round}"), &bytes);
    }
}

#[test]
fn whoever_takes_may_end_it() {
    let file = Temporary::new("early", &mix(30_000));
    let filter = Filter::new("", &engines::AUTO).unwrap();
    let mut capture = Capture::open(&file.0).unwrap();
    let mut bursts = 0;
    let flow = ParallelFilter { threads: 2, reading: Reading::Mapped }.run(&filter, &mut capture, |_, _, _| {
        bursts += 1;
        if bursts == 3 { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
    });
    assert_eq!(flow.unwrap().break_value(), Some("enough"));
    assert_eq!(bursts, 3);
}

/// Another program makes the file shorter while its first packets are taken.
fn shrunk(name: &str, len: u64) -> (Result<ControlFlow<()>, netvm::Error>, u64, String) {
    let file = Temporary::new(name, &mix(30_000));
    let filter = Filter::new("tcp", &engines::AUTO).unwrap();
    let mut capture = Capture::open(&file.0).unwrap();
    let mut sum = 0;
    let flow = ParallelFilter { threads: 1, reading: Reading::Mapped }.run(&filter, &mut capture, |burst, _, _| {
        fs::OpenOptions::new().write(true).open(&file.0).unwrap().set_len(len).unwrap();
        sum += burst.packets().iter().flat_map(|packet| packet.iter()).map(|&byte| u64::from(byte)).sum::<u64>();
        ControlFlow::Continue(())
    });
    assert!(sum > 0);
    let end = loop {
        match capture.next_burst(256) {
            Ok(Some(_)) => {}
            Ok(None) => break "end".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    (flow, capture.packets(), end)
}

#[test]
fn a_file_that_shrinks_is_an_error_or_ends_where_it_is_cut() {
    let (flow, ..) = shrunk("gone", 1 << 20);
    assert!(matches!(flow, Err(netvm::Error::Shrunk)));
    let (flow, packets, end) = shrunk("cut-later", 9 << 20);
    assert!(flow.unwrap().is_continue() && end.contains("cut off"), "{end}");
    assert!((10_000..20_000).contains(&packets), "{packets}");
}
