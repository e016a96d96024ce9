//! The walk over hand-made blocks, good ones and hostile ones.

use super::block::{Direction, Form, Malformed, Rules, Walk};

const RULES: Rules = Rules { form: Form::Ethernet, direction: Direction::Both, snaplen: 1000 };
const VLAN: u32 = 1 << 4;
const TPID: u32 = 1 << 6;
const INCOMING: u8 = 0;
const OUTGOING: u8 = 4;

/// A frame that comes in, as the kernel would put it into a block.
#[derive(Clone)]
struct Frame {
    data: Vec<u8>,
    wire_len: u32,
    status: u32,
    control: u32,
    protocol: u16,
    kind: u8,
    hardware: u16,
}

fn frame(data: &[u8]) -> Frame {
    Frame { data: data.to_vec(), wire_len: data.len() as u32, status: 1, control: 0, protocol: 0, kind: INCOMING, hardware: 1 }
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_ne_bytes());
}

/// The packet's header, the address, a gap of 14 bytes and the frame; the first is 48 bytes into
/// the block.
fn block(frames: &[Frame]) -> Vec<u8> {
    let mut block = vec![0; 48];
    put(&mut block, 12, frames.len() as u32);
    put(&mut block, 16, 48);
    for (i, frame) in frames.iter().enumerate() {
        let mut packet = vec![0; 82];
        packet.extend(&frame.data);
        packet.resize(packet.len().next_multiple_of(16), 0xee);
        let next = if i + 1 == frames.len() { 0 } else { packet.len() as u32 };
        let fields = [(0, next), (4, 7), (8, i as u32), (12, frame.data.len() as u32), (16, frame.wire_len), (20, frame.status)];
        fields.into_iter().for_each(|(at, value)| put(&mut packet, at, value));
        put16(&mut packet, 24, 82);
        put(&mut packet, 32, frame.control);
        put16(&mut packet, 36, frame.protocol);
        put16(&mut packet, 56, frame.hardware);
        packet[50..52].copy_from_slice(&[8, 0]);
        put(&mut packet, 52, 3);
        packet[58..62].copy_from_slice(&[frame.kind, 6, 0xa, 0xb]);
        block.extend(packet);
    }
    block.resize(block.len() + 64, 0xee);
    block
}

fn record(nanos: u32, wire_len: u32, data: &[u8]) -> Vec<u8> {
    let header = [7, nanos, data.len() as u32, wire_len].map(u32::to_ne_bytes);
    [header.as_flattened(), data].concat()
}

/// Reads a block by so many bytes at a time.
fn read(block: &[u8], rules: &Rules, step: usize) -> Result<Vec<u8>, Malformed> {
    let (mut walk, mut all) = (Walk::default(), Vec::new());
    while !walk.is_done() {
        let mut room = vec![0; step];
        let count = walk.read(block, rules, &mut room)?;
        all.extend(&room[..count]);
    }
    Ok(all)
}

#[test]
fn packets_become_records_whatever_room_there_is() {
    let block = block(&[frame(&[1; 60]), frame(b""), frame(&[2; 14])]);
    let expected = [record(0, 60, &[1; 60]), record(1, 0, b""), record(2, 14, &[2; 14])].concat();
    for step in [1, 5, 16, 17, 100, 4096] {
        assert_eq!(read(&block, &RULES, step).as_ref(), Ok(&expected), "{step}");
    }
}

#[test]
fn a_block_without_packets_is_done_at_once() {
    let mut walk = Walk::default();
    assert_eq!(walk.read(&block(&[]), &RULES, &mut [0; 100]), Ok(0));
    assert!(walk.is_done());
}

#[test]
fn tags_go_back_to_their_place() {
    let bytes: Vec<u8> = (0..60).collect();
    let tagged = |tag: [u8; 4]| [&bytes[..12], &tag, &bytes[12..]].concat();
    let with = |status, control, protocol| Frame { status, control, protocol, ..frame(&bytes) };
    let cases = [
        (with(1 | VLAN | TPID, 0x2005, 0x88a8), Some([0x88, 0xa8, 0x20, 5])),
        (with(1 | VLAN, 0x2005, 0x88a8), Some([0x81, 0, 0x20, 5])),
        (with(1 | VLAN | TPID, 0, 0x8100), Some([0x81, 0, 0, 0])),
        (with(1, 5, 0), Some([0x81, 0, 0, 5])),
        (with(1, 0, 0x8100), None),
    ];
    for (frame, tag) in cases {
        let expected = tag.map_or_else(|| record(0, 60, &bytes), |tag| record(0, 64, &tagged(tag)));
        for step in [1, 13, 4096] {
            assert_eq!(read(&block(std::slice::from_ref(&frame)), &RULES, step).as_ref(), Ok(&expected), "{tag:?}");
        }
    }
    let rules = Rules { form: Form::Plain, ..RULES };
    assert_eq!(read(&block(&[with(1 | VLAN, 5, 0)]), &rules, 99), Ok(record(0, 60, &bytes)), "not an Ethernet frame");
    let short = Frame { status: 1 | VLAN, ..frame(&bytes[..11]) };
    assert_eq!(read(&block(&[short]), &RULES, 99), Ok(record(0, 11, &bytes[..11])), "no place for a tag");
}

#[test]
fn the_snapshot_length_counts_the_tag() {
    let bytes: Vec<u8> = (0..60).collect();
    let tagged = [&bytes[..12], &[0x81, 0, 0, 5], &bytes[12..]].concat();
    let block = block(&[Frame { status: 1 | VLAN, control: 5, wire_len: 1500, ..frame(&bytes) }]);
    for snaplen in [0, 5, 12, 14, 16, 17, 63, 64, 65] {
        let rules = Rules { snaplen, ..RULES };
        let expected = record(0, 1504, &tagged[..tagged.len().min(snaplen as usize)]);
        assert_eq!(read(&block, &rules, 4096), Ok(expected), "{snaplen}");
    }
}

#[test]
fn directions_choose_and_loopback_counts_once() {
    let (to, from) = (Frame { kind: OUTGOING, ..frame(&[1; 20]) }, frame(&[2; 20]));
    let both = block(&[to.clone(), from.clone()]);
    let with = |direction| read(&both, &Rules { direction, ..RULES }, 99);
    assert_eq!(with(Direction::Both), Ok([record(0, 20, &[1; 20]), record(1, 20, &[2; 20])].concat()));
    assert_eq!(with(Direction::In), Ok(record(1, 20, &[2; 20])));
    assert_eq!(with(Direction::Out), Ok(record(0, 20, &[1; 20])));
    let loopback = [to, from].map(|frame| Frame { hardware: 772, ..frame });
    assert_eq!(read(&block(&loopback), &RULES, 99), Ok(record(1, 20, &[2; 20])));
}

#[test]
fn cooked_headers_tell_what_the_kernel_tells() {
    let plain = Frame { kind: OUTGOING, ..frame(&[7; 20]) };
    let tagged = Frame { status: 1 | VLAN, control: 5, ..plain.clone() };
    let first = [0, 4, 0, 1, 0, 6, 0xa, 0xb, 0, 0, 0, 0, 0, 0];
    let second = [8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 0xa, 0xb, 0, 0, 0, 0, 0, 0];
    let of = |frame: &Frame, form| read(&block(std::slice::from_ref(frame)), &Rules { form, ..RULES }, 7);
    let expected = |parts: &[&[u8]]| Ok(record(0, parts.concat().len() as u32, &parts.concat()));
    assert_eq!(of(&plain, Form::Cooked), expected(&[&first, &[8, 0], &[7; 20]]));
    assert_eq!(of(&tagged, Form::Cooked), expected(&[&first, &[0x81, 0, 0, 5], &[8, 0], &[7; 20]]));
    assert_eq!(of(&plain, Form::Cooked2), expected(&[&second, &[7; 20]]));
    assert_eq!(of(&tagged, Form::Cooked2), expected(&[&second, &[7; 20]]), "as in libpcap, it has no place for a tag");
    let cut = read(&block(&[plain]), &Rules { form: Form::Cooked2, snaplen: 22, ..RULES }, 99);
    assert_eq!(cut, Ok(record(0, 40, &[&second[..], &[7; 2]].concat())));
}

#[test]
fn claims_beyond_the_block_are_refused() {
    let good = block(&[frame(&[1; 60])]);
    let with = |at: usize, value: u32| {
        let mut block = good.clone();
        put(&mut block, at, value);
        read(&block, &RULES, 4096)
    };
    assert!(with(8, 0).is_ok(), "the status is not looked at here");
    for first in [good.len() as u32, u32::MAX, good.len() as u32 - 67] {
        assert_eq!(with(16, first), Err(Malformed), "first packet at {first}");
    }
    for captured in [60 + 64 + 15, u32::MAX, u32::MAX - 81] {
        assert_eq!(with(48 + 12, captured), Err(Malformed), "{captured} bytes");
    }
    assert_eq!(with(48 + 24, u32::from(u16::MAX)), Err(Malformed), "the frame begins far away");
    assert_eq!(with(48 + 16, u32::MAX).map(|bytes| bytes.len()), Ok(76), "the wire length is a claim and no more");
}

#[test]
fn what_comes_before_a_wrong_packet_is_read() {
    let good = block(&[frame(&[1; 60])]);
    for (at, value) in [(12, 2), (12, u32::MAX)] {
        let mut block = good.clone();
        put(&mut block, at, value);
        let (mut walk, mut room) = (Walk::default(), [0; 4096]);
        assert_eq!(walk.read(&block, &RULES, &mut room), Ok(76));
        assert_eq!(walk.read(&block, &RULES, &mut room), Err(Malformed));
        assert_eq!(walk.read(&block, &RULES, &mut room), Err(Malformed));
        assert!(!walk.is_done());
    }
}

/// No block makes the walk panic, read outside, or go on for ever: it goes forward, so the packets
/// that there may be are bounded.
#[test]
fn no_block_is_too_hostile() {
    let good = block(&[frame(&[1; 60]), Frame { status: 1 | VLAN, control: 9, ..frame(&[2; 90]) }, frame(&[3; 14])]);
    let values = [0, 1, 2, 15, 16, 47, 48, 68, 82, 0x7fff, 0xffff, 1 << 16, i32::MAX as u32, 1 << 31, u32::MAX - 1, u32::MAX];
    for at in 0..good.len() - 4 {
        for value in values {
            let mut block = good.clone();
            put(&mut block, at, value);
            let _ = read(&block, &RULES, 4096).map(|bytes| assert!(bytes.len() <= 200 * block.len()));
        }
    }
    for len in 0..good.len() {
        let _ = read(&good[..len], &RULES, 4096);
    }
}
