//! Where packets begin in their files, and captures that go there.

use netvm_runtime::io::Capture;

use crate::build::{read_bytes, sample, varied_pcapng};
use crate::streams::compressed;

/// A file in a folder that goes away.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("netvm-places-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn open(&self) -> Capture {
        Capture::open(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The bytes of packets from here on.
fn rest(mut capture: Capture) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(burst) = capture.next_burst(7).unwrap() {
        all.extend(burst.packets().iter().map(|packet| packet.to_vec()));
    }
    all
}

#[test]
fn packets_are_found_where_they_are_said_to_be() {
    for (kind, whole) in [("pcap", sample(300)), ("pcapng", varied_pcapng())] {
        let packets: Vec<Vec<u8>> = rest(Capture::from_bytes(whole.clone()).unwrap());
        for ending in ["", ".gz", ".zst"] {
            let file = Scratch::new(&format!("{kind}{ending}"), &compressed(&format!("x{ending}"), &whole));
            let mut places = file.open().places().unwrap().unwrap();
            for (number, packet) in packets.iter().enumerate() {
                let place = places.place(number as u64).unwrap();
                let record = &whole[place.start as usize..place.end as usize];
                assert!(
                    packet.is_empty() || record.windows(packet.len()).any(|bytes| bytes == packet.as_slice()),
                    "{kind}{ending} {number}"
                );
                let mut capture = file.open();
                capture.next_burst(number / 2 + 1).unwrap();
                assert!(capture.go_to(place.start).unwrap(), "{kind}{ending} {number}");
                assert_eq!((capture.packets(), rest(capture)), (number as u64, packets[number..].to_vec()), "{kind}{ending} {number}");
            }
            let end = places.place(packets.len() as u64).unwrap();
            assert!(end.is_empty() && end.end <= whole.len() as u64);
            let mut capture = file.open();
            assert!(capture.go_to(end.start).unwrap() && rest(capture).is_empty());
        }
    }
}

#[test]
fn numbers_may_be_asked_for_in_any_order() {
    let file = Scratch::new("order", &sample(100));
    let mut places = file.open().places().unwrap().unwrap();
    let late = places.place(90).unwrap();
    let early = places.place(3).unwrap();
    assert_eq!((places.place(90).unwrap(), places.place(3).unwrap()), (late.clone(), early.clone()));
    assert_eq!(places.place(3).unwrap(), early);
    assert!(early.end < late.start);
}

#[test]
fn other_places_are_refused_and_nothing_happens() {
    let whole = sample(20);
    let file = Scratch::new("refused", &whole);
    let all = read_bytes(&whole).0.len();
    for offset in [25, whole.len() as u64 - 1, whole.len() as u64 + 1, u64::MAX] {
        let mut capture = file.open();
        capture.next_burst(5).unwrap();
        assert!(!capture.go_to(offset).unwrap(), "{offset}");
        assert_eq!(rest(capture).len(), all - 5);
    }
    let mut capture = Capture::from_bytes(whole).unwrap();
    assert!(capture.places().unwrap().is_none() && !capture.go_to(24).unwrap());
}

#[test]
fn damage_before_a_place_is_told() {
    let whole = sample(20);
    let cut = &whole[..whole.len() - 3];
    let file = Scratch::new("damaged", cut);
    let mut places = file.open().places().unwrap().unwrap();
    assert!(places.place(18).is_ok() && places.place(19).is_err());
    let mut capture = file.open();
    assert!(capture.go_to(cut.len() as u64).is_err());
    capture.next_burst(1).unwrap();
    assert_eq!(capture.packets(), 1, "it goes on where it was");
}
