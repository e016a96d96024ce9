//! Of the pool: what is put in comes out as it was, wherever it was moved to.

use super::*;
use std::sync::Arc;

/// A packet whose head was moved both ways.
fn moved(len: usize) -> ExchangeBuffer<'static> {
    let bytes: Vec<u8> = (0..len).map(|n| n as u8).collect();
    let mut packet = ExchangeBuffer::borrowed(&bytes).into_owned();
    packet.pull(9).unwrap();
    packet.push(2).unwrap();
    packet.info = vec![1, 2, 3, 4, 5];
    (packet.time_ns, packet.missing) = (77, 99);
    packet
}

#[test]
fn packets_of_any_length_come_back_as_they_were() {
    let mut pool = Pool::new(3, 5);
    for len in [10, 2048, 2049, 60_000] {
        let before = moved(len);
        let id = pool.place(before.clone(), 4).unwrap();
        assert!(pool.check(&[id]) && pool.bytes(id) == before.bytes() && pool.tag(id) == 4);
        let mut after = pool.lift(id);
        assert_eq!((after.bytes(), after.moved(), &after.info), (before.bytes(), before.moved(), &before.info));
        assert_eq!((after.time_ns, after.missing), (77, 99));
        after.unpull(7).unwrap();
        assert_eq!(after.bytes()[..9], [0, 1, 2, 3, 4, 5, 6, 0, 0]);
        pool.give_back(&[id]);
    }
    assert_eq!(pool.room(), 3);
}

#[test]
fn copies_are_what_their_packets_are_until_one_is_changed() {
    let mut pool = Pool::new(4, 5);
    for (len, fits) in [(10, true), (2048, true), (2049, false)] {
        let before = moved(len);
        let id = pool.place(before.clone(), 4).unwrap();
        let copy = pool.duplicate(id);
        assert_eq!(copy.is_some(), fits, "{len}");
        let Some(copy) = copy else { continue };
        pool.note(copy, 3);
        assert!(pool.check(&[copy]) && pool.tag(copy) == 4 && pool.slot(copy).is_copy() && !pool.slot(id).is_copy());
        let mut after = pool.lift(copy);
        assert_eq!((after.bytes(), after.moved(), &after.info), (before.bytes(), before.moved(), &before.info));
        assert_eq!((after.time_ns, after.missing), (77, 99));
        after.unpull(7).unwrap();
        assert_eq!(after.bytes()[..9], [0, 1, 2, 3, 4, 5, 6, 0, 0]);
        after.bytes_mut()[7] = 200;
        pool.lower(copy, after);
        assert_eq!((pool.bytes(copy)[7], pool.bytes(id), pool.detail(copy).value), (200, before.bytes(), 3));
        // What comes next into that slot is no copy, and what it comes in again as is none.
        assert!(pool.slot(copy).is_copy());
        pool.enter_again(&[copy], 2);
        assert_eq!((pool.slot(copy).is_copy(), pool.slot(copy).entry()), (false, 2));
        pool.give_back(&[copy, id]);
    }
    let fresh = pool.put(&[1, 2, 3], 5, 6, 7).unwrap();
    let copy = pool.duplicate(fresh).unwrap();
    assert_eq!((pool.bytes(copy), pool.info(copy), pool.wire_len(copy), pool.slot(copy).time_ns), (&[1, 2, 3][..], &[0; 5][..], 6, 5));
    while pool.duplicate(fresh).is_some() {}
    assert_eq!(pool.room(), 0);
}

#[test]
fn a_slot_is_new_for_each_packet_and_there_are_no_more_than_there_are() {
    let mut pool = Pool::new(2, 5);
    let id = pool.place(moved(70), 1).unwrap();
    pool.give_back(&[id]);
    assert_eq!(pool.put(&[1, 2, 3], 5, 6, 7), Some(id));
    let packet = pool.lift(id);
    assert_eq!((packet.bytes(), &packet.info[..], packet.moved(), packet.wire_len()), (&[1, 2, 3][..], &[0; 5][..], 0, 6));
    assert!(pool.put(&[0; 5000], 0, 0, 0).is_some() && pool.put(&[1], 0, 0, 0).is_none() && pool.place(moved(9), 0).is_none());
}

#[test]
fn bytes_behind_a_packet_are_not_of_it() {
    let mut pool = Pool::new(8, 0);
    let bytes: Vec<u8> = (0..=200).collect();
    for (len, all) in [(0, 64), (60, 64), (60, 63), (64, 64), (65, 130), (150, 200)] {
        let mut ids = Vec::new();
        pool.put_many([Arrival { bytes: &bytes[..all], len, time_ns: 0, wire_len: 0 }].into_iter(), 0, &mut ids);
        let id = ids[0];
        assert_eq!(pool.bytes(id), &bytes[..len]);
        assert_eq!(pool.lift(id).bytes(), &bytes[..len]);
    }
}

#[test]
fn packets_that_are_alike_lie_as_others_do() {
    let lines: [Line; 5] = std::array::from_fn(|n| [n as u8 + 1; LINE]);
    let lens = [60, 64, 0, 1, 60];
    let times = [u64::MAX - 5, u64::MAX - 2, u64::MAX, u64::MAX, u64::MAX];
    for (sources, in_a_row) in [(1, true), (2, true), (1, false), (2, false)] {
        let (mut even, mut others) = (Pool::new(4, 70), Pool::new(4, 70));
        let (mut ids, mut other_ids) = (vec![9], vec![9]);
        even.enter(2);
        others.enter(2);
        let first = even.take(5, &mut ids).filter(|_| in_a_row);
        // They take turns.
        for turn in 0..sources {
            let lines: Vec<Line> = lines.iter().skip(turn).step_by(sources).copied().collect();
            let lens: Vec<u32> = lens.iter().skip(turn).step_by(sources).copied().collect();
            let all = Even { lines: &lines, kept: None, lens: &lens, time_ns: times[turn], interval_ns: 3 * sources as u64, tag: 7 };
            even.put_even(&all, first.map(|first| first + turn as u32), &ids[1 + turn..], sources);
        }
        let packets = lines.iter().zip(lens).zip(times);
        let packets = packets.map(|((line, len), time_ns)| Arrival { bytes: line, len: len as usize, time_ns, wire_len: len });
        others.put_many(packets, 7, &mut other_ids);
        // No more than there is room for.
        assert!(ids == other_ids && ids.len() == 5 && even.room() == 0);
        for id in &ids[1..] {
            assert_eq!((even.slot(*id), even.tag(*id), even.bytes(*id)), (others.slot(*id), others.tag(*id), others.bytes(*id)));
            assert_eq!(even.lift(*id).info, [0; 70]);
        }
    }
}

#[test]
fn no_more_of_an_even_packet_than_its_line() {
    let mut pool = Pool::new(3, 0);
    let mut ids = Vec::new();
    let first = pool.take(3, &mut ids);
    pool.put_even(
        &Even { lines: &[[5; LINE]; 3], kept: None, lens: &[60, 65, u32::MAX], time_ns: 1, interval_ns: 0, tag: 0 },
        first,
        &ids,
        1,
    );
    assert_eq!(ids.iter().map(|id| pool.bytes(*id).len()).collect::<Vec<_>>(), [60, 64, 64]);
}

#[derive(Debug)]
struct Kept(Vec<Line>);

impl Lines for Kept {
    fn lines(&self) -> &[Line] {
        &self.0
    }
}

#[test]
fn late_packets_are_there_when_they_are_no_longer_to_be() {
    let kept: Arc<dyn Lines> = Arc::new(Kept((0..6).map(|n| [n; LINE]).collect()));
    let even =
        |from: usize| Even { lines: &kept.lines()[from..], kept: Some((&kept, from)), lens: &[2; 3], time_ns: 1, interval_ns: 1, tag: 0 };
    let mut pool = Pool::new(6, 0);
    let (mut ids, mut late) = (Vec::new(), Vec::new());
    pool.defer(true);
    let first = pool.take(6, &mut ids);
    pool.put_even(&even(1), first, &ids, 2);
    pool.put_even(&even(3), first.map(|first| first + 1), &ids[1..], 2);
    assert_eq!(pool.bytes(2), [0, 0]);
    pool.take_late(&mut late);
    assert_eq!(late.iter().map(|late| (late.slot, late.step, late.lines()[0][0])).collect::<Vec<_>>(), [(0, 2, 1), (1, 2, 3)]);
    late.iter().for_each(|late| pool.put_late(late));
    assert_eq!(ids.iter().map(|id| pool.bytes(*id)[1]).collect::<Vec<_>>(), [1, 3, 2, 4, 3, 5]);
    // Nobody copies them any more.
    pool.put_even(&even(0), first, &ids, 2);
    pool.defer(false);
    assert_eq!(ids.iter().map(|id| pool.bytes(*id)[1]).collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
}

#[test]
fn slots_are_in_order_again_when_all_are_given_back() {
    let mut pool = Pool::new(6, 0);
    let put = |pool: &mut Pool, packets: usize| -> Vec<u32> {
        (0..packets).map(|n| if n % 2 == 0 { pool.put(&[1], 0, 1, 0) } else { pool.place(moved(9), 0) }.unwrap()).collect()
    };
    assert_eq!(put(&mut pool, 5), [0, 1, 2, 3, 4]);
    pool.give_back(&[0, 4, 2]);
    // The one given back last comes first as long as some are not.
    assert_eq!(put(&mut pool, 2), [2, 4]);
    pool.give_back(&[4, 3]);
    pool.give_back(&[2, 1]);
    assert_eq!(pool.room(), 6);
    assert_eq!(put(&mut pool, 6), [0, 1, 2, 3, 4, 5]);
    pool.give_back(&[5, 0, 2, 1, 3, 4]);
    let lines = [[7; LINE]; 3];
    let mut ids = Vec::new();
    assert_eq!(pool.take(3, &mut ids), Some(0));
    pool.put_even(&Even { lines: &lines, kept: None, lens: &[9; 3], time_ns: 1, interval_ns: 1, tag: 0 }, Some(0), &ids, 1);
    pool.give_back(&ids.iter().rev().copied().collect::<Vec<_>>());
    assert_eq!((ids, put(&mut pool, 2)), (vec![0, 1, 2], vec![0, 1]));
}

#[test]
fn a_deleted_packet_is_none() {
    let mut pool = Pool::new(1, 0);
    let id = pool.place(moved(70), 1).unwrap();
    let mut packet = pool.lift(id);
    packet.delete();
    pool.lower(id, packet);
    assert!(!pool.lift(id).is_present() && pool.bytes(id).is_empty());
}

#[test]
fn places_outside_are_found() {
    let mut pool = Pool::new(1, 8);
    let id = pool.put(&[1, 2, 3], 0, 3, 0).unwrap();
    for (head, len, front) in [(100, 4000, 0), (4000, 1, 0), (10, 1, 11), (u32::MAX, u32::MAX, 0)] {
        let (_, slots, details) = pool.parts();
        (slots[0].len, slots[0].kind) = (len, PRESENT);
        (details[0].head, details[0].front) = (head, front);
        assert!(!pool.check(&[id]), "{head} {len} {front}");
    }
}

#[test]
fn packets_keep_their_tags_and_lengths_on_the_wire() {
    let mut pool = Pool::new(6, 0);
    let ids = [(5, 5, 7), (5, 8, 7), (3, 3, 9), (3, 4, 7), (1, 1, 9)]
        .map(|(len, wire_len, tag)| (pool.put(&vec![1; len], 0, wire_len, tag).unwrap(), wire_len, tag));
    let packet = moved(30);
    let wire_len = packet.bytes().len() as u32 + 99;
    let place = (pool.place(packet, 9).unwrap(), wire_len, 9);
    for (id, wire_len, tag) in ids.into_iter().chain([place]) {
        assert_eq!((pool.wire_len(id), pool.tag(id)), (wire_len, tag));
    }
    // Slots that were used for others.
    pool.give_back(&ids.map(|(id, ..)| id));
    for wire_len in [2, 6] {
        let id = pool.put(&[1, 2], 0, wire_len, 8).unwrap();
        assert_eq!((pool.wire_len(id), pool.tag(id), pool.lift(id).wire_len()), (wire_len, 8, wire_len));
    }
}

/// From one pool to another: what was pulled can come back, annotations and times are there.
#[test]
fn packets_change_pools_as_they_are() {
    let (mut from, mut to) = (Pool::new(4, 8), Pool::new(4, 8));
    let mut packet = ExchangeBuffer::borrowed(b"0123456789").into_owned();
    (packet.time_ns, packet.missing) = (77, 3);
    packet.info.extend_from_slice(b"abcdefgh");
    packet.pull(4).unwrap();
    let id = from.place(packet.clone(), 5).unwrap();
    let kept = from.keep(id).unwrap();
    assert_eq!((kept.bytes, kept.front, kept.info, kept.time_ns, kept.missing), (&b"0123456789"[..], 4, &b"abcdefgh"[..], 77, 3));
    to.enter(9);
    let there = to.put_kept(&kept, 6).unwrap();
    assert_eq!((to.bytes(there), to.slot(there).entry(), to.tag(there), to.wire_len(there)), (&b"456789"[..], 9, 6, 9));
    assert!(to.check(&[there]));
    for mut packet in [to.lift(there), kept.buffer()] {
        assert_eq!((packet.bytes(), &packet.info[..], packet.time_ns, packet.missing), (&b"456789"[..], &b"abcdefgh"[..], 77, 3));
        packet.unpull(4).unwrap();
        assert_eq!(packet.bytes(), b"0123456789");
    }
    let large = vec![1; 3000];
    let long = super::Kept { bytes: &large, front: 2000, ..kept };
    let id = to.put_kept(&long, 0).unwrap();
    assert!(to.keep(id).is_none() && to.bytes(id).len() == 1000);
    assert!(from.keep(from.size() as u32 - 1).is_none());
}
