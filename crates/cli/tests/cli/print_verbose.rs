//! Lines with `-v` and `-vv`: made-up packets of each protocol in `tests/lines/verbose.txt`, with
//! tcpdump's text beside them; the same packets, cut and damaged, are printed, too, without control
//! characters and in time.

use super::tools::Dir;
use netvm::io::{LinkType, Timestamp};
use netvm_cli::print::{Packet, Printer, Style, TimeForm, TimeStyle, Zone};
use std::process::Command;
use std::time::{Duration, Instant};

const TEXT: &str = include_str!("../lines/verbose.txt");

/// A packet of the file.
struct Case {
    title: &'static str,
    link: LinkType,
    bytes: Vec<u8>,
    /// What is printed with `-v`, and with `-vv`.
    texts: [&'static str; 2],
}

fn cases() -> Vec<Case> {
    TEXT.split("\n= ").skip(1).map(case).collect()
}

fn case(text: &'static str) -> Case {
    let (title, rest) = text.split_once('\n').expect("a title");
    let (digits, rest) = rest.split_once("\n-v\n").expect("text with -v");
    let (one, two) = rest.split_once("\n-vv\n").expect("text with -vv");
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal");
    let number = title.rsplit_once("link type ").and_then(|(_, number)| number.parse().ok()).expect("a link type");
    Case { title, link: LinkType::from_file(number), bytes: digits.chunks(2).map(byte).collect(), texts: [one.trim_end(), two.trim_end()] }
}

fn printer(verbose: u8) -> Printer {
    let time = TimeStyle { form: TimeForm::None, ..TimeStyle::default() };
    Printer::new(Style { verbose, time, ..Style::default() }, Zone::utc())
}

fn printed(printer: &mut Printer, link: LinkType, bytes: &[u8], wire_len: usize) -> String {
    let packet = Packet { bytes, wire_len: wire_len as u32, link, time: Timestamp::default(), number: 1 };
    printer.print(&packet).to_owned()
}

#[test]
fn made_up_packets_have_their_recorded_text() {
    let cases = cases();
    assert!(cases.len() > 60, "{} packets", cases.len());
    for case in &cases {
        for (verbose, text) in (1..).zip(case.texts) {
            let ours = printed(&mut printer(verbose), case.link, &case.bytes, case.bytes.len());
            assert_eq!(ours.trim_end(), text, "{}, -v{verbose}", case.title);
        }
    }
}

#[test]
fn the_recorded_text_is_that_of_tcpdump() {
    if !super::print::tcpdump_is_there() {
        return super::needs::missing("tcpdump 4.99");
    }
    let dir = Dir::new("verbose");
    for case in cases().iter().filter(|case| !case.title.starts_with('!')) {
        let capture = dir.capture("one.pcap", case.link, &[(Timestamp { secs: 1, ..Timestamp::default() }, case.bytes.clone())]);
        for (flag, text) in ["-v", "-vv"].into_iter().zip(case.texts) {
            let output = Command::new("tcpdump").args(["-n", "-t", flag, "-r", &capture]).env("TZ", "UTC").output().expect("it runs");
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), text, "{}, {flag}", case.title);
        }
    }
}

/// Holds a text against what every text is.
fn sound(text: &str, title: &str) {
    let printable = |b: u8| matches!(b, b'\n' | b'\t' | b' '..=b'~');
    assert!(text.ends_with('\n') && text.bytes().all(printable), "{title}: {text:?}");
}

#[test]
fn packets_cut_anywhere_are_printed() {
    let mut printers: Vec<Printer> = (0..4).map(printer).collect();
    for case in cases() {
        for cut in 1..case.bytes.len() {
            for printer in &mut printers {
                sound(&printed(printer, case.link, &case.bytes[..cut], case.bytes.len()), case.title);
                sound(&printed(printer, case.link, &case.bytes[..cut], cut), case.title);
            }
        }
    }
}

#[test]
fn damaged_packets_are_printed_in_time() {
    let mut printers: Vec<Printer> = (1..4).map(printer).collect();
    let mut random: u64 = 11;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let mut slowest = Duration::ZERO;
    for case in cases() {
        for _ in 0..400 {
            let mut bytes = case.bytes.clone();
            for _ in 0..=next(4) {
                let at = next(bytes.len());
                // Small numbers are counts and lengths, and lead deep into what reads them.
                bytes[at] = [0, 1, 2, 4, 8, 0x1b, 0x7f, 0x80, 0xff, next(256) as u8][next(10)];
            }
            let wire_len = bytes.len() + next(2) * next(40);
            for printer in &mut printers {
                let start = Instant::now();
                let text = printed(printer, case.link, &bytes, wire_len);
                slowest = slowest.max(start.elapsed());
                // A packet says little of itself: no list is longer than its bytes.
                assert!(text.len() < 200 * bytes.len().max(100), "{}: {} bytes of text", case.title, text.len());
                sound(&text, case.title);
            }
        }
    }
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
}
