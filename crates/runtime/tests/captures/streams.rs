//! Pipes that pause, and compressed streams.

use std::{
    io::{PipeReader, Write, pipe},
    os::fd::AsRawFd,
    process::{Command, Stdio},
};

use netvm_runtime::io::{Capture, Compression, Format, Progress, ReadError, WriteOptions, Writer, capture::Damage};

use crate::build::{read_bytes, sample, varied_pcapng};

/// Bytes compressed as the ending of a name asks for.
pub fn compressed(name: &str, bytes: &[u8]) -> Vec<u8> {
    match WriteOptions::for_output(name, &[]).compression {
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zstd => zstd::encode_all(bytes, 0).unwrap(),
        Compression::None => bytes.to_vec(),
    }
}

#[test]
fn compressed_captures_of_several_parts_read_as_one() {
    for whole in [sample(500), varied_pcapng()] {
        let expected = read_bytes(&whole).0;
        for name in ["x.gz", "x.zst"] {
            let (a, b) = whole.split_at(whole.len() / 3);
            let parts = [compressed(name, a), compressed(name, b)].concat();
            assert_eq!(read_bytes(&parts).0, expected, "{name}");
        }
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4][..], &compressed("x.zst", &whole)].concat();
        assert_eq!(read_bytes(&skippable).0, expected);
    }
}

#[test]
fn a_compressed_stream_cut_off_gives_what_was_before() {
    let whole = sample(2000);
    for name in ["x.gz", "x.zst"] {
        let bytes = compressed(name, &whole);
        let (packets, error) = read_bytes(&bytes[..bytes.len() / 2]);
        assert!(packets.len() > 100, "{name}: {}", packets.len());
        assert_eq!(packets, read_bytes(&whole).0[..packets.len()]);
        let cut = Damage::Compressed("it is cut off".into());
        assert!(matches!(&error, Some(ReadError::Damaged { damage, .. }) if *damage == cut), "{error:?}");
    }
}

#[test]
fn a_bomb_is_read_in_passing() {
    // 256 MiB of zeros: after the header, records of no bytes at all.
    let mut bytes = compressed("x.gz", &sample(0));
    bytes.extend(compressed("x.gz", &vec![0; 64 << 20]).repeat(4));
    let mut capture = Capture::from_bytes(bytes).unwrap();
    let mut packets = 0;
    while let Some(burst) = capture.next_burst(4096).unwrap() {
        packets += burst.len();
    }
    assert_eq!(packets, (256 << 20) / 16);
}

#[test]
fn a_packet_is_handed_on_before_the_pipe_has_the_next() {
    let whole = sample(3);
    let first = 40 + u32::from_le_bytes(whole[32..36].try_into().unwrap()) as usize;
    let (reader, mut writer) = pipe().unwrap();
    // A little of the second record comes along.
    writer.write_all(&whole[..first + 5]).unwrap();
    let mut capture = open(&reader);
    assert!(matches!(capture.poll_burst(256).unwrap(), Progress::Burst(burst) if burst.len() == 1));
    assert!(matches!(capture.poll_burst(256).unwrap(), Progress::Idle));
    writer.write_all(&whole[first + 5..]).unwrap();
    drop(writer);
    assert!(matches!(capture.poll_burst(256).unwrap(), Progress::Burst(burst) if burst.len() == 2));
    assert!(matches!(capture.poll_burst(256).unwrap(), Progress::End));
}

#[test]
fn a_compressed_pipe_pauses_as_well() {
    for format in [Format::Pcap, Format::Pcapng] {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let (reader, pipe_writer) = pipe().unwrap();
            let plan = WriteOptions { format, compression, ..WriteOptions::for_output("x", &[]) };
            let mut writer = Writer::to_writer(pipe_writer, &plan).unwrap();
            let mut input = Capture::from_bytes(sample(40)).unwrap();
            writer.write_burst(&input.next_burst(10).unwrap().unwrap()).unwrap();
            writer.flush().unwrap();
            let mut capture = open(&reader);
            assert_eq!(until_idle(&mut capture), 10);
            writer.write_burst(&input.next_burst(30).unwrap().unwrap()).unwrap();
            writer.finish().unwrap();
            let mut rest = 0;
            while let Some(burst) = capture.next_burst(256).unwrap() {
                rest += burst.len();
            }
            assert_eq!(rest, 30, "{format:?} {compression:?}");
        }
    }
}

/// How many packets come before the pipe pauses.
fn until_idle(capture: &mut Capture) -> usize {
    let mut packets = 0;
    loop {
        match capture.poll_burst(256).unwrap() {
            Progress::Burst(burst) => packets += burst.len(),
            Progress::Idle => return packets,
            Progress::End => panic!("the pipe is open"),
        }
    }
}

/// Opens a pipe the way a shell's process substitution does.
fn open(reader: &PipeReader) -> Capture {
    Capture::open(format!("/proc/self/fd/{}", reader.as_raw_fd())).unwrap()
}

#[test]
fn tools_compress_as_we_read() {
    let whole = sample(100);
    for (tool, level) in [("gzip", "-9"), ("zstd", "-3"), ("pzstd", "-3")] {
        let child = Command::new(tool).args([level, "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            super::needs::missing(tool);
            continue;
        };
        child.stdin.take().unwrap().write_all(&whole).unwrap();
        let bytes = child.wait_with_output().unwrap().stdout;
        assert_eq!(read_bytes(&bytes).0, read_bytes(&whole).0, "{tool}");
    }
}
