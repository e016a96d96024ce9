//! Captures that are cut off, corrupt or made to harm.

use netvm_runtime::io::{Capture, ReadError, capture::Damage};

use crate::build::{Order, Packet, read_bytes, read_stream, sample, varied_pcapng};

fn damage(result: (Vec<Packet>, Option<ReadError>)) -> (usize, u64, Damage) {
    match result.1 {
        Some(ReadError::Damaged { offset, packets, damage }) => {
            assert_eq!(packets, result.0.len() as u64);
            (result.0.len(), offset, damage)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_capture_cut_anywhere_gives_what_was_before() {
    for whole in [sample(5), varied_pcapng()] {
        let all = read_bytes(&whole).0;
        for end in 0..whole.len() {
            let cut = &whole[..end];
            let (packets, error) = read_bytes(cut);
            assert_eq!(packets, all[..packets.len()]);
            if let Some(ReadError::Damaged { offset, damage, .. }) = &error {
                assert!(*offset <= end as u64, "{damage}");
            }
            let (streamed, other) = read_stream(cut, 3);
            assert_eq!((streamed, format!("{other:?}")), (packets, format!("{error:?}")));
        }
    }
}

#[test]
fn the_place_of_a_cut_is_told() {
    let whole = sample(3);
    let second = 24 + 16 + u32::from_le_bytes(whole[32..36].try_into().unwrap()) as usize;
    let (packets, offset, what) = damage(read_bytes(&whole[..second + 20]));
    assert_eq!((packets, offset), (1, second as u64));
    assert!(matches!(what, Damage::Cut { got: 20, need } if need > 20));
    let said = read_bytes(&whole[..second + 20]).1.unwrap().to_string();
    assert!(said.starts_with(&format!("damaged at byte {second}, after 1 packets: cut off: 20 bytes are left of")), "{said}");
}

#[test]
fn lengths_beyond_reason_are_damage_and_take_no_memory() {
    let order = Order::Little;
    let head = order.pcap(0xa1b2_c3d4, (2, 4), u32::MAX, 1);
    for length in [262_145, 0x7fff_ffff, u32::MAX] {
        let bytes = [head.clone(), order.record((1, 1), (1, 1), b"x"), order.record((1, 1), (length, 1), b"")].concat();
        let expected = (1, 41, Damage::PacketTooLong { length, limit: 262_144 });
        assert_eq!(damage(read_bytes(&bytes)), expected);
        assert_eq!(damage(read_stream(&bytes, 1000)), expected);
    }
}

#[test]
fn each_kind_of_broken_block_is_named() {
    let order = Order::Big;
    let start = [order.section(&[]), order.interface(1, 100, &[])].concat();
    let ends = |head: u32, tail: u32| [order.u32(5), order.u32(head), order.u32(tail)].concat();
    let cases = [
        (ends(12, 16), Damage::BlockEnds { head: 12, tail: 16 }),
        (ends(8, 8), Damage::BlockLength { length: 8, limit: 16 << 20 }),
        (ends(13, 13), Damage::BlockLength { length: 13, limit: 16 << 20 }),
        (ends(u32::MAX - 3, 0), Damage::BlockLength { length: u32::MAX - 3, limit: 16 << 20 }),
        (order.enhanced(1, 0, 1, b"x", &[]), Damage::NoInterface { id: 1, known: 1 }),
        (order.enhanced(0, 0, 1, &[0; 101], &[]), Damage::PacketTooLong { length: 101, limit: 100 }),
        (order.block(6, &[0; 16]), Damage::BlockTooShort { kind: 6 }),
        (order.simple(50, b"less than fifty"), Damage::BlockTooShort { kind: 3 }),
        (order.block(1, &[0; 4]), Damage::BlockTooShort { kind: 1 }),
        (order.interface(1, 0, &order.option(9, &[20])), Damage::Resolution(20)),
        (order.interface(1, 0, &order.option(9, &[6, 6])), Damage::Option { code: 9 }),
        (order.interface(1, 0, &order.option(14, &[6; 7])), Damage::Option { code: 14 }),
        (order.interface(1, 0, &[0, 2, 0, 9, 0, 0, 0, 0]), Damage::BlockTooShort { kind: 1 }),
        (order.block(0x0a0d_0d0a, &[0; 16]), Damage::ByteOrder(0)),
        (order.block(0x0a0d_0d0a, &[order.u32(0x1a2b_3c4d), order.u16(2), vec![0; 10]].concat()), Damage::Version { major: 2, minor: 0 }),
        (order.block(0x0a0d_0d0a, &order.u32(0x1a2b_3c4d)), Damage::BlockTooShort { kind: 0x0a0d_0d0a }),
    ];
    for (block, expected) in cases {
        let before = [start.clone(), order.enhanced(0, 0, 1, b"x", &[])].concat();
        let bytes = [before.clone(), block].concat();
        assert_eq!(damage(read_bytes(&bytes)), (1, before.len() as u64, expected));
    }
}

#[test]
fn interfaces_without_end_are_stopped() {
    let order = Order::Little;
    let comment = order.option(1, &[b'x'; 65_000]);
    let mut bytes = order.section(&[]);
    (0..300).for_each(|_| bytes.extend(order.interface(1, 0, &comment)));
    assert!(matches!(damage(read_bytes(&bytes)).2, Damage::TooManyInterfaces(_)));
}

#[test]
fn nothing_comes_after_damage() {
    let mut capture = Capture::from_bytes([sample(1), vec![1, 2, 3]].concat()).unwrap();
    assert!(capture.next_burst(1).unwrap().is_some());
    assert!(capture.next_burst(1).is_err());
    assert!(capture.next_burst(1).unwrap().is_none());
}

/// Xorshift: a different kind of generator than the one that makes the trace.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn corrupt_bytes_never_panic_and_both_ways_of_reading_agree() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for base in [sample(4), varied_pcapng()] {
        for _ in 0..4000 {
            let mut bytes = base.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len());
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, random.below(256) as u8][random.below(6)];
            }
            let (packets, error) = read_bytes(&bytes);
            let (streamed, other) = read_stream(&bytes, 1 + random.below(100));
            assert_eq!((streamed, format!("{other:?}")), (packets, format!("{error:?}")));
        }
    }
}

#[test]
fn corrupt_compressed_streams_never_panic() {
    let mut random = Random(99);
    for name in ["x.gz", "x.zst"] {
        let base = crate::streams::compressed(name, &sample(200));
        for _ in 0..300 {
            let mut bytes = base.clone();
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
            read_bytes(&bytes);
        }
    }
}
