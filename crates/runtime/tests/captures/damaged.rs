//! Damaged gzip and zstd streams: every packet before the damage is handed on, and then the damage
//! is told.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use netvm_runtime::io::{ReadError, capture::Damage};

use crate::{
    build::{Packet, read_bytes, read_stream, sample},
    streams::compressed,
};

const NAMES: [&str; 2] = ["x.gz", "x.zst"];

/// Two members or frames, each of several blocks, as what is flushed now and then is written.
fn several(name: &str, whole: &[u8]) -> Vec<u8> {
    let (a, b) = whole.split_at(whole.len() / 2);
    [blocks(name, a), blocks(name, b)].concat()
}

fn blocks(name: &str, bytes: &[u8]) -> Vec<u8> {
    let feed =
        |encoder: &mut dyn Write| bytes.chunks(700).for_each(|chunk| encoder.write_all(chunk).and_then(|()| encoder.flush()).unwrap());
    if name == "x.gz" {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        feed(&mut encoder);
        return encoder.finish().unwrap();
    }
    let mut encoder = zstd::Encoder::new(Vec::new(), 0).unwrap();
    encoder.include_checksum(true).unwrap();
    feed(&mut encoder);
    encoder.finish().unwrap()
}

/// The packets, if the end is damage of the compressed stream (or of what it decodes to, where
/// `any`).
fn damaged(bytes: &[u8], any: bool) -> Vec<Packet> {
    let (packets, error) = read_bytes(bytes);
    let Some(ReadError::Damaged { packets: told, damage, .. }) = error else { panic!("{error:?}") };
    assert_eq!(told, packets.len() as u64);
    assert!(any || matches!(damage, Damage::Compressed(_)), "{damage:?}");
    packets
}

#[test]
fn cut_anywhere_a_stream_gives_more_and_more() {
    let whole = sample(9);
    let expected = read_bytes(&whole).0;
    for name in NAMES {
        let bytes = several(name, &whole);
        let mut most = 0;
        // The file header is whole well before the hundredth byte.
        for cut in 100..bytes.len() {
            let (packets, _) = read_bytes(&bytes[..cut]);
            assert!(packets.len() >= most && expected.starts_with(&packets), "{name} {cut}");
            most = packets.len();
            assert_eq!(read_stream(&bytes[..cut], 1).0, packets, "{name} {cut}");
        }
        assert!(most >= 8, "{name}: {most}");
    }
}

#[test]
fn cut_after_its_first_bytes_a_gzip_stream_is_cut_off_and_no_other_thing() {
    for cut in 2..10 {
        let bytes = &compressed("x.gz", &sample(1))[..cut];
        let (memory, stream) = (read_bytes(bytes).1, read_stream(bytes, 1).1);
        assert_eq!(format!("{memory:?}"), format!("{stream:?}"));
        assert!(matches!(memory, Some(ReadError::Damaged { damage: Damage::Compressed(_), .. })), "{cut}: {memory:?}");
    }
}

#[test]
fn damage_anywhere_keeps_what_was_before() {
    let whole = sample(9);
    for name in NAMES {
        let bytes = several(name, &whole);
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0xff;
            let (packets, error) = read_bytes(&bad);
            let (streamed, other) = read_stream(&bad, 1);
            assert_eq!((&streamed, format!("{other:?}")), (&packets, format!("{error:?}")), "{name} {at}");
            let before = read_bytes(&bytes[..at]).0;
            assert!(packets.starts_with(&before), "{name} {at}: {} of {}", packets.len(), before.len());
        }
    }
}

#[test]
fn a_wrong_checksum_comes_after_all_packets() {
    let whole = sample(200);
    let expected = read_bytes(&whole).0;
    for (name, trailer) in [("x.gz", 8), ("x.zst", 4)] {
        let bytes = blocks(name, &whole);
        for at in bytes.len() - trailer..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 4;
            assert_eq!(damaged(&bad, false), expected, "{name} {at}");
            let offset = whole.len() as u64;
            assert!(matches!(read_bytes(&bad).1, Some(ReadError::Damaged { offset: at, .. }) if at == offset));
        }
    }
}

#[test]
fn damage_in_one_part_keeps_those_before() {
    let whole = sample(60);
    let parts = [&whole[..], &whole[24..], &whole[24..]];
    for name in NAMES {
        let parts = parts.map(|part| compressed(name, part));
        let expected = [&read_bytes(&whole).0[..], &read_bytes(&whole).0].concat();
        let kept = parts[0].len() + parts[1].len();
        for at in 0..4 {
            let mut bad = parts.concat();
            bad[kept + at] ^= 0x40;
            // What changes a header's flags alone may only show later.
            let packets = damaged(&bad, at == 3);
            assert!(packets.starts_with(&expected), "{name} {at}: {}", packets.len());
        }
        assert_eq!(damaged(&[parts.concat(), b"behind it".to_vec()].concat(), false).len(), 180);
    }
}

#[test]
fn no_less_is_read_than_by_the_tools() {
    let whole = sample(300);
    for (name, tool) in NAMES.into_iter().zip(["gzip", "zstd"]) {
        let bytes = compressed(name, &whole);
        for tenth in 1..10 {
            let mut bad = bytes.clone();
            bad[bytes.len() * tenth / 10] ^= 0x55;
            let Some(out) = decompressed(tool, &bad) else {
                super::needs::missing(tool);
                break;
            };
            assert!(read_bytes(&bad).0.starts_with(&read_bytes(&out).0), "{tool} {tenth}");
        }
    }
}

/// What a tool gives before it fails; `None` where there is no such tool.
fn decompressed(tool: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let (input, output) = (Stdio::piped(), Stdio::piped());
    let mut child = Command::new(tool).arg("-dc").stdin(input).stdout(output).stderr(Stdio::null()).spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let bytes = bytes.to_vec();
    // It stops reading where it finds the damage.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&bytes)));
    let out = child.wait_with_output().ok()?.stdout;
    feeder.join().ok()?;
    Some(out)
}
