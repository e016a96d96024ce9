//! What each format says, read as it means it.

use netvm_runtime::io::{Capture, Format, LinkType, Precision, ReadError, WriteOptions, Writer, capture::Damage, synth};

use crate::build::{ORDERS, Order, Packet, read_all, read_bytes, read_stream, sample, varied_pcapng};

fn packet(link: &str, time: &str, wire: u32, data: &[u8]) -> Packet {
    (link.into(), time.into(), wire, data.into())
}

#[test]
fn classic_in_both_orders_and_precisions() {
    for order in ORDERS {
        for (magic, time) in [(0xa1b2_c3d4, "7.000123"), (0xa1b2_3c4d, "7.000000123")] {
            let bytes = [order.pcap(magic, (2, 4), 65_535, 113), order.record((7, 123), (3, 60), b"abc")].concat();
            let (packets, error) = read_bytes(&bytes);
            assert!(error.is_none(), "{order:?} {error:?}");
            assert_eq!(packets, [packet("LINUX_SLL", time, 60, b"abc")]);
        }
    }
}

#[test]
fn classic_of_older_versions_has_its_lengths_the_other_way_round() {
    for (version, lengths) in [((2, 2), (60, 3)), ((2, 3), (60, 3)), ((2, 3), (3, 60)), ((543, 0), (60, 3))] {
        let order = Order::Big;
        let bytes = [order.pcap(0xa1b2_c3d4, version, 65_535, 1), order.record((7, 0), lengths, b"abc")].concat();
        assert_eq!(read_bytes(&bytes).0, [packet("EN10MB", "7.000000", 60, b"abc")], "{version:?}");
    }
}

#[test]
fn classic_of_patched_kernels_has_longer_record_headers() {
    let order = Order::Little;
    let record = [order.record((7, 0), (3, 60), &[9; 8]), b"abc".to_vec()].concat();
    let bytes = [order.pcap(0xa1b2_cd34, (2, 4), 65_535, 1), record.clone(), record].concat();
    let expected = packet("EN10MB", "7.000000", 60, b"abc");
    assert_eq!(read_bytes(&bytes).0, [expected.clone(), expected]);
}

#[test]
fn records_beyond_the_snapshot_length_are_cut_to_it() {
    let order = Order::Little;
    let bytes = [order.pcap(0xa1b2_c3d4, (2, 4), 2, 1), order.record((7, 0), (3, 60), b"abc"), order.record((8, 0), (1, 1), b"d")].concat();
    let expected = [packet("EN10MB", "7.000000", 60, b"ab"), packet("EN10MB", "8.000000", 1, b"d")];
    assert_eq!(read_bytes(&bytes).0, expected);
}

#[test]
fn raw_ip_is_one_link_type_whatever_its_number() {
    for number in [12, 14, 101] {
        let bytes = Order::Little.pcap(0xa1b2_c3d4, (2, 4), 0, number);
        let info = Capture::from_bytes(bytes).unwrap().info();
        assert_eq!((info.link_types, info.snaplen), (vec![LinkType::RAW], 262_144));
    }
}

#[test]
fn pcapng_with_everything_in_it() {
    let expected = [
        packet("EN10MB", "5.000000001", 60, b"first"),
        packet("RAW", "6.000002", 3, b"raw"),
        packet("EN10MB", "0.000000007", 4, b"back"),
        packet("EN10MB", "0.000000000", 6, b"simple"),
        packet("LINUX_SLL", "102.500000", 9, b"olde"),
        packet("LINUX_SLL", "100.000000", 8, b"cut "),
        packet("LINUX_SLL", "101.500000", 2, b"ng"),
    ];
    let (packets, error) = read_bytes(&varied_pcapng());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(packets, expected);
    for piece in [1, 7, 64] {
        assert_eq!(read_stream(&varied_pcapng(), piece).0, expected);
    }
}

#[test]
fn bursts_never_mix_link_types() {
    let mut capture = Capture::from_bytes(varied_pcapng()).unwrap();
    let mut seen = Vec::new();
    while let Some(burst) = capture.next_burst(256).unwrap() {
        assert!(burst.records().all(|record| record.interface().is_some_and(|i| i.link == burst.link_type())));
        seen.push((burst.link_type().to_string(), burst.len()));
    }
    let expected = [("EN10MB", 1), ("RAW", 1), ("EN10MB", 2), ("LINUX_SLL", 3)];
    assert_eq!(seen, expected.map(|(name, len)| (name.to_string(), len)));
}

#[test]
fn comments_and_interfaces_are_told() {
    let mut capture = Capture::from_bytes(varied_pcapng()).unwrap();
    let burst = capture.next_burst(256).unwrap().unwrap();
    let (mut times, mut lens) = (vec![1; 9], vec![1; 9]);
    burst.times_ns(&mut times);
    burst.wire_lens(&mut lens);
    assert_eq!((times, lens), (vec![5_000_000_001], vec![60]));
    let record = burst.record(0);
    assert_eq!(record.comments().collect::<Vec<_>>(), ["a comment"]);
    assert_eq!((record.interface_id(), record.snaplen()), (0, 262_144));
}

#[test]
fn a_survey_sees_the_whole_file() {
    let path = std::env::temp_dir().join(format!("netvm-survey-{}.pcapng", std::process::id()));
    std::fs::write(&path, varied_pcapng()).unwrap();
    let mut capture = Capture::open(&path).unwrap();
    let survey = capture.survey().unwrap();
    assert_eq!(survey.link_types, [LinkType::EN10MB, LinkType::RAW, LinkType::LINUX_SLL]);
    assert_eq!((survey.format, survey.precision, survey.complete), (Format::Pcapng, Precision::Nano, true));
    assert_eq!(read_all(&mut capture, 1).0.len(), 7, "a survey takes no packet away");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn the_size_of_bursts_changes_nothing() {
    let bytes = sample(1000);
    let all = read_bytes(&bytes).0;
    let trace = synth::mixed_trace(11, 1000);
    assert_eq!(all.len(), trace.len());
    for ((time, data), read) in trace.into_iter().zip(&all) {
        assert_eq!(*read, ("EN10MB".into(), time.to_string(), data.len() as u32, data));
    }
    for max in [1, 3, 255, 4096] {
        assert_eq!(read_all(&mut Capture::from_bytes(bytes.clone()).unwrap(), max).0, all);
    }
}

#[test]
fn what_is_no_capture_is_said_to_be_none() {
    assert!(matches!(Capture::from_bytes(Vec::new()), Err(ReadError::Empty)));
    assert!(matches!(Capture::from_bytes(b"GET / HTTP/1.1".to_vec()), Err(ReadError::NotACapture { .. })));
    assert!(matches!(Capture::from_bytes(b"\n\r\r\nnot pcapng".to_vec()), Err(ReadError::NotACapture { .. })));
    let old = Order::Little.pcap(0xa1b2_c3d4, (1, 9), 0, 1);
    let version = Damage::Version { major: 1, minor: 9 };
    assert!(matches!(Capture::from_bytes(old), Err(ReadError::Damaged { damage: found, offset: 0, .. }) if found == version));
    let cut = sample(0)[..20].to_vec();
    let damage = Damage::FileHeaderCut(20);
    assert!(matches!(Capture::from_bytes(cut), Err(ReadError::Damaged { damage: found, .. }) if found == damage));
}

#[test]
fn converting_keeps_packets_times_and_lengths() {
    let directory = std::env::temp_dir().join(format!("netvm-convert-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let order = Order::Big;
    let nanos = [order.pcap(0xa1b2_3c4d, (2, 4), 100, 276), order.record((7, 123), (3, 60), b"abc")].concat();
    for (input, names) in
        [(sample(300), ["a.pcap", "a.pcapng"]), (nanos, ["b.pcap", "b.pcapng.gz"]), (varied_pcapng(), ["c.pcapng", "c.zst"])]
    {
        let expected = read_bytes(&input).0;
        let source = directory.join("in");
        std::fs::write(&source, &input).unwrap();
        for name in names {
            let path = directory.join(name);
            copy(&mut Capture::open(&source).unwrap(), &path);
            assert_eq!(read_all(&mut Capture::open(&path).unwrap(), 256).0, expected, "{name}");
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn copying_a_pcapng_keeps_options() {
    let path = std::env::temp_dir().join(format!("netvm-options-{}.pcapng", std::process::id()));
    copy(&mut Capture::from_bytes(varied_pcapng()).unwrap(), &path);
    let written = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for text in [&b"maker"[..], b"eth0", b"a comment", b"name resolution"] {
        assert!(written.windows(text.len()).any(|window| window == text));
    }
    // All but the custom block.
    assert_eq!(written.len(), varied_pcapng().len() - 20);
}

#[test]
fn copying_a_pcapng_keeps_names_and_secrets_in_their_places() {
    let order = Order::Big;
    let packet = |text: &[u8]| order.enhanced(0, 1, 3, text, &[]);
    let kept = [
        order.section(&[]),
        order.block(10, b"secrets before interfaces"),
        order.interface(1, 100, &[]),
        packet(b"one"),
        order.block(4, b"names"),
        order.block(10, b"more secrets"),
        packet(b"two"),
        order.interface(101, 100, &[]),
        order.block(4, b"more names"),
        packet(b"red"),
        order.section(&[]),
        order.interface(1, 100, &[]),
        order.block(4, b"names of another section"),
        packet(b"six"),
    ]
    .concat();
    let left_out = [order.block(5, b"statistics"), order.block(0xbad, b"custom"), order.block(10, b"secrets for no packet")].concat();
    let path = std::env::temp_dir().join(format!("netvm-secrets-{}.pcapng", std::process::id()));
    let written = |max: usize, bits: u64| {
        let mut capture = Capture::from_bytes([kept.clone(), left_out.clone()].concat()).unwrap();
        let mut writer = Writer::create(&path, &WriteOptions::for_output(&path, &[])).unwrap();
        while let Some(burst) = capture.next_burst(max).unwrap() {
            writer.write_selected(&burst, &[bits]).unwrap();
        }
        writer.finish().unwrap();
        std::fs::read(&path).unwrap()
    };
    for max in [1, 2, 256] {
        assert!(written(max, u64::MAX) == kept, "bursts of {max}");
        let without_packets = written(max, 0);
        let packets = ["one", "two", "red", "six"].iter().map(|text| packet(text.as_bytes()).len()).sum::<usize>();
        assert_eq!(without_packets.len(), kept.len() - packets);
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn secrets_without_end_are_kept_up_to_a_limit() {
    let order = Order::Little;
    let secrets = order.block(10, &vec![7; (1 << 20) - 12]);
    let begin = [order.section(&[]), order.interface(1, 0, &[])].concat();
    let end = [order.interface(101, 0, &[]), order.enhanced(1, 1, 3, b"one", &[])].concat();
    let input = [begin.clone(), secrets.repeat(20), end.clone()].concat();
    let path = std::env::temp_dir().join(format!("netvm-many-secrets-{}.pcapng", std::process::id()));
    copy(&mut Capture::from_bytes(input).unwrap(), &path);
    let written = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(written == [begin, secrets.repeat(16), end].concat());
}

pub fn copy(capture: &mut Capture, path: &std::path::Path) {
    let mut writer = Writer::create(path, &WriteOptions::for_output(path, &[capture.survey().unwrap()])).unwrap();
    while let Some(burst) = capture.next_burst(256).unwrap() {
        writer.write_burst(&burst).unwrap();
    }
    assert_eq!(writer.finish().unwrap().packets, capture.packets());
}
