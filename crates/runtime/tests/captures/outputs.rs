//! Outputs are complete or absent.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use netvm_runtime::io::{Capture, Compression, Format, LinkType, Precision, Timestamp, WriteError, WriteOptions, Writer};

use crate::build::{Order, read_all, read_bytes, sample, varied_pcapng};

/// A directory for one test.
struct TestDirectory(PathBuf);

impl TestDirectory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("netvm-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn write_some(path: &Path) -> Writer {
    let mut writer = Writer::create(path, &WriteOptions::for_output(path, &[])).unwrap();
    let mut capture = Capture::from_bytes(sample(2000)).unwrap();
    while let Some(burst) = capture.next_burst(256).unwrap() {
        writer.write_burst(&burst).unwrap();
    }
    writer
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let place = TestDirectory::new("dropped");
    drop(write_some(&place.0.join("out.pcap")));
    assert!(place.names().is_empty());
}

#[test]
fn a_file_has_its_name_when_it_is_finished_and_not_before() {
    let place = TestDirectory::new("finished");
    let path = place.0.join("out.pcap");
    let writer = write_some(&path);
    assert!(!path.exists());
    assert_eq!(writer.finish().unwrap().packets, 2000);
    assert_eq!(place.names(), ["out.pcap"]);
    assert_eq!(fs::read(&path).unwrap(), sample(2000));
}

#[test]
fn what_was_there_stays_until_the_end_and_then_goes_in_one_step() {
    let place = TestDirectory::new("replaced");
    let (path, link) = (place.0.join("out.pcap"), place.0.join("link.pcap"));
    fs::write(&path, b"before").unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    drop(write_some(&link));
    assert_eq!(fs::read(&path).unwrap(), b"before");
    write_some(&link).finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), sample(2000));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn an_output_is_no_input_while_that_is_open() {
    let place = TestDirectory::new("same");
    let path = place.0.join("both.pcap");
    fs::write(&path, sample(2000)).unwrap();
    let plan = WriteOptions::for_output(&path, &[]);
    let input = Capture::open(&path).unwrap();
    assert!(Writer::create(&path, &plan).err().unwrap().to_string().ends_with("it is an input, and would be lost; write to another file"));
    assert_eq!(fs::read(&path).unwrap(), sample(2000));
    drop(input);
    let writer = Writer::create(&path, &plan).unwrap();
    assert!(Writer::create(&path, &plan).err().unwrap().to_string().contains("it is written already"));
    writer.finish().unwrap();
    assert!(Writer::create(&path, &plan).is_ok());
}

#[test]
fn a_full_device_is_an_error_and_stays_one() {
    let plan = WriteOptions::for_output("x.pcap", &[]);
    let mut writer = Writer::create("/dev/full", &plan).unwrap();
    writer.write_packet(LinkType::EN10MB, Timestamp::from_micros(1, 0), 1, b"x").unwrap();
    let error = writer.flush().unwrap_err();
    assert_eq!(error.to_string(), "cannot write /dev/full: No space left on device (os error 28)");
    assert!(matches!(writer.finish(), Err(WriteError::Abandoned)));
    let mut late = Writer::create("/dev/full", &plan).unwrap();
    late.write_packet(LinkType::EN10MB, Timestamp::from_micros(1, 0), 1, b"x").unwrap();
    assert!(late.finish().is_err());
}

#[test]
fn a_reader_that_went_away_is_told_from_other_failures() {
    let (reader, pipe) = io::pipe().unwrap();
    drop(reader);
    let mut writer = Writer::to_writer(pipe, &WriteOptions::for_output("-", &[])).unwrap();
    writer.write_packet(LinkType::EN10MB, Timestamp::from_micros(1, 0), 1, b"x").unwrap();
    assert!(writer.flush().unwrap_err().is_broken_pipe());
}

#[test]
fn an_output_that_cannot_be_is_refused_at_once() {
    let place = TestDirectory::new("refused");
    let missing = place.0.join("no/such/directory.pcap");
    assert!(matches!(Writer::create(&missing, &WriteOptions::for_output(&missing, &[])), Err(WriteError::Io { .. })));
    assert!(Writer::create(&place.0, &WriteOptions::for_output(&place.0, &[])).is_err());
}

#[test]
fn names_say_what_people_expect_of_them() {
    let plan = |name: &str| WriteOptions::for_output(name, &[]);
    assert_eq!((plan("a.pcap").format, plan("a.pcap").compression), (Format::Pcap, Compression::None));
    assert_eq!((plan("a.pcapng").format, plan("A.PCAPNG").format), (Format::Pcapng, Format::Pcapng));
    assert_eq!((plan("a.pcapng.zst").format, plan("a.pcapng.zst").compression), (Format::Pcapng, Compression::Zstd));
    assert_eq!((plan("a.gz").format, plan("a.gz").compression), (Format::Pcap, Compression::Gzip));
    assert_eq!(plan("-").format, Format::Pcap);
}

#[test]
fn inputs_decide_format_and_precision() {
    let info = |bytes: Vec<u8>| Capture::from_bytes(bytes).unwrap().info();
    let nanos = Order::Big.pcap(0xa1b2_3c4d, (2, 4), 100, 1);
    let plan = WriteOptions::for_output("a.pcap", &[info(sample(0)), info(nanos.clone())]);
    assert_eq!((plan.format, plan.precision, plan.snaplen), (Format::Pcap, Precision::Nano, 262_144));
    let raw = Order::Big.pcap(0xa1b2_c3d4, (2, 4), 100, 101);
    assert_eq!(WriteOptions::for_output("a.pcap", &[info(raw), info(nanos)]).format, Format::Pcapng);
}

#[test]
fn an_output_without_packets_is_a_capture() {
    let place = TestDirectory::new("empty");
    for name in ["a.pcap", "a.pcapng", "a.pcap.gz", "a.pcapng.zst"] {
        let path = place.0.join(name);
        Writer::create(&path, &WriteOptions::for_output(&path, &[])).unwrap().finish().unwrap();
        let mut capture = Capture::open(&path).unwrap();
        assert_eq!(capture.info().link_types, [LinkType::EN10MB], "{name}");
        assert!(capture.next_burst(1).unwrap().is_none());
    }
}

#[test]
fn selected_packets_are_written_and_no_others() {
    let mut capture = Capture::from_bytes(sample(300)).unwrap();
    let all = read_bytes(&sample(300)).0;
    let place = TestDirectory::new("selected");
    let path = place.0.join("a.pcap");
    let mut writer = Writer::create(&path, &WriteOptions::for_output(&path, &[capture.info()])).unwrap();
    let burst = capture.next_burst(300).unwrap().unwrap();
    // Bits past the last packet are ignored.
    writer.write_selected(&burst, &[0b101, 0, 1 << 63, 0, 1 << 43 | 1 << 60]).unwrap();
    writer.finish().unwrap();
    let written = read_all(&mut Capture::open(&path).unwrap(), 256).0;
    assert_eq!(written, [0, 2, 191, 299].map(|i| all[i].clone()));
}

#[test]
fn a_pcap_refuses_what_it_cannot_hold() {
    let mut writer = Writer::to_writer(io::sink(), &WriteOptions::for_output("-", &[])).unwrap();
    writer.write_packet(LinkType::RAW, Timestamp::from_micros(1, 0), 1, b"x").unwrap();
    let mixed = writer.write_packet(LinkType::EN10MB, Timestamp::from_micros(1, 0), 1, b"x").unwrap_err();
    assert_eq!(mixed.to_string(), "a pcap has one link type, but EN10MB follows RAW; name the output .pcapng");
    for time in [Timestamp::from_micros(-1, 0), Timestamp::from_micros(1 << 32, 0)] {
        let mut writer = Writer::to_writer(io::sink(), &WriteOptions::for_output("-", &[])).unwrap();
        assert!(matches!(writer.write_packet(LinkType::RAW, time, 1, b"x"), Err(WriteError::Timestamp(_))));
    }
}

#[test]
fn captures_of_different_kinds_go_into_one_pcapng() {
    let place = TestDirectory::new("joined");
    let path = place.0.join("all.pcapng");
    let inputs = [
        sample(5),
        varied_pcapng(),
        [Order::Big.pcap(0xa1b2_3c4d, (2, 4), 100, 101), Order::Big.record((1, 2), (1, 1), b"x")].concat(),
        sample(2),
    ];
    let mut writer = Writer::create(&path, &WriteOptions::for_output(&path, &[])).unwrap();
    for input in &inputs {
        let mut capture = Capture::from_bytes(input.clone()).unwrap();
        while let Some(burst) = capture.next_burst(2).unwrap() {
            writer.write_burst(&burst).unwrap();
        }
    }
    writer.finish().unwrap();
    let expected: Vec<_> = inputs.iter().flat_map(|input| read_bytes(input).0).collect();
    assert_eq!(read_all(&mut Capture::open(&path).unwrap(), 256).0, expected);
}
