//! Lines of 802.11 frames, bare and behind headers of the radio: fixed ones, and made-up frames
//! held against tcpdump.

use super::tools::{Dir, run};
use netvm::io::{LinkType, Timestamp};
use netvm_cli::print::{Packet, Printer, Style, Zone};
use std::process::Command;

const STATIONS: [[u8; 6]; 3] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], [0xff; 6]];

fn text(link: u32, style: Style, bytes: &[u8]) -> String {
    let mut printer = Printer::new(style, Zone::utc());
    let packet = Packet { bytes, wire_len: bytes.len() as u32, link: LinkType::from_file(link), time: Timestamp::default(), number: 1 };
    printer.print(&packet).trim_end_matches('\n').get(16..).unwrap_or_default().to_owned()
}

/// Frame control, duration, three addresses, sequence control.
fn header(control: u16) -> Vec<u8> {
    let mut bytes = control.to_le_bytes().to_vec();
    bytes.extend([0x3c, 0]);
    bytes.extend(STATIONS.concat());
    bytes.extend([0x10, 0]);
    bytes
}

fn beacon() -> Vec<u8> {
    let mut bytes = header(0x0080);
    bytes.extend([1, 2, 3, 4, 5, 6, 7, 8, 100, 0, 0x11, 0]);
    bytes.extend(*b"\x00\x04cafe\x01\x04\x82\x84\x8b\x16\x03\x01\x06\xdd\x03abc");
    bytes
}

/// The texts are what tcpdump 4.99.3 prints of these frames.
#[test]
fn frames_have_the_lines_of_tcpdump() {
    let plain = |bytes: &[u8]| text(105, Style::default(), bytes);
    assert_eq!(plain(&beacon()), "Beacon (cafe) [1.0* 2.0* 5.5* 11.0 Mbit] ESS CH: 6, PRIVACY");
    let cut = beacon();
    assert_eq!(plain(&cut[..cut.len() - 1]), "Beacon (cafe) [1.0* 2.0* 5.5* 11.0 Mbit] ESS CH: 6, PRIVACY [|802.11]");
    assert_eq!(plain(&[0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 7]), "Acknowledgment RA:02:00:00:00:00:07 ");
    assert_eq!(plain(&[0xd4, 0, 0, 0, 2]), " [|802.11]");
    let mut leaving = header(0x00c0);
    leaving.extend([3, 0]);
    let reason = "Deauthenticated because sending STA is leaving (or has left) IBSS or ESS";
    assert_eq!(plain(&leaving), format!("DeAuthentication (02:00:00:00:00:02): {reason}"));
    let linked = text(105, Style { link: true, verbose: 1, ..Style::default() }, &leaving);
    let ends = "BSSID:ff:ff:ff:ff:ff:ff DA:02:00:00:00:00:01 SA:02:00:00:00:00:02";
    assert_eq!(linked, format!("60us {ends} DeAuthentication: {reason}"));
    let mut secret = header(0x4188);
    secret.extend([0, 0, 1, 2, 3, 0x60, 9, 9]);
    assert_eq!(plain(&secret), "Data IV:30201 Pad 20 KeyID 1");
}

#[test]
fn radiotap_fields_have_the_text_of_tcpdump() {
    let mut bytes = vec![0, 0, 18, 0, 0x2e, 0x08, 0, 0, 0x10, 22, 0x6c, 0x09, 0xa0, 0, 0xd8, 1, 0, 0];
    bytes.extend(beacon());
    bytes.extend([1, 2, 3, 4]);
    let radio = "11.0 Mb/s 2412 MHz 11b -40dBm signal antenna 1 ";
    assert_eq!(text(127, Style::default(), &bytes), format!("{radio}Beacon (cafe) [1.0* 2.0* 5.5* 11.0 Mbit] ESS CH: 6, PRIVACY"));
    assert_eq!(text(127, Style::default(), &bytes[..12]), " [|802.11_radio]");
}

struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }

    fn frame(&mut self) -> Vec<u8> {
        let kind = [0, 0, 1, 2, 2, 3][self.below(6)] as u16;
        let control = (kind << 2) | (self.below(16) << 4) as u16 | [0u16, 0x100, 0x200, 0x300, 0x4000, 0x3c00][self.below(6)];
        let mut bytes = header(control);
        match kind {
            0 => {
                let fixed = [0, 2, 4, 6, 10, 12][self.below(6)];
                bytes.extend((0..fixed).map(|_| [0, 1, 2, 3, 17, 200][self.below(6)]));
                while self.below(5) > 0 {
                    let length = [0, 1, 4, 8, 6][self.below(5)];
                    bytes.extend([[0u8, 1, 3, 4, 5, 16, 221][self.below(7)], length as u8]);
                    bytes.extend(self.bytes(length));
                }
            }
            2 => {
                let more = [0, 2, 8][self.below(3)];
                bytes.extend(self.bytes(more));
                bytes.extend([
                    0xaa, 0xaa, 3, 0, 0, 0, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2,
                ]);
            }
            _ => bytes.extend(self.bytes(30)),
        }
        // What data frames carry is other printers' matter.
        let cut = if kind == 2 { 26 } else { bytes.len() };
        let keep = if self.below(3) == 0 { self.below(cut) + 1 } else { bytes.len() };
        bytes.truncate(keep);
        bytes
    }

    /// Radiotap, with any fields.
    fn radiotap(&mut self) -> Vec<u8> {
        let known = [0x3f, 0x7fff, 0x0c_0000 | 0x2f, 0x20_0002, 0x18_402e][self.below(5)];
        let present = (self.bytes(4).iter().fold(0u32, |all, &byte| all << 8 | u32::from(byte))) & known;
        let extended = if self.below(6) == 0 { 0x8000_0000 } else { 0 };
        let mut bytes = vec![0, 0, 0, 0];
        bytes.extend((present | extended).to_le_bytes());
        if extended != 0 {
            bytes.extend([[0u8, 4, 2][self.below(3)], 0, 0, 0]);
        }
        let rest = 8 + self.below(60);
        bytes.extend(self.bytes(rest));
        let length = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    fn packet(&mut self, link: u32) -> Vec<u8> {
        let mut bytes = match link {
            127 => self.radiotap(),
            163 => [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64][..], &self.bytes(56)].concat(),
            119 => [&[0, 0, 0, 0x44][..], &self.bytes(140)].concat(),
            192 => [&[0, 0, 12, 0, [105, 1, 77][self.below(3)], 0, 0, 0][..], &self.bytes(4)].concat(),
            _ => Vec::new(),
        };
        bytes.extend(self.frame());
        bytes
    }
}

#[test]
fn made_up_frames_have_the_lines_of_tcpdump() {
    let is_there = Command::new("tcpdump")
        .arg("--version")
        .output()
        .is_ok_and(|o| [o.stdout, o.stderr].iter().any(|text| String::from_utf8_lossy(text).contains("tcpdump version 4.99")));
    if !is_there {
        println!("skipped: needs tcpdump 4.99");
        return;
    }
    let dir = Dir::new("wlan");
    let mut random = Random(11);
    for link in [105, 119, 127, 163, 192] {
        let packets: Vec<_> = (0..1500).map(|_| (Timestamp::default(), random.packet(link))).collect();
        let file = dir.capture(&format!("{link}.pcap"), LinkType::from_file(link), &packets);
        // tcpdump counts headers behind PPI twice, and none where a check sequence cuts what a
        // frame carries.
        let without_header = if matches!(link, 127 | 192) { "-nxx" } else { "-nx" };
        for flags in ["-n", "-ne", "-nev", "-nq", "-nxx", without_header] {
            let theirs = Command::new("tcpdump").args([flags, "-t", "-r", &file]).output().expect("tcpdump runs");
            let theirs = String::from_utf8_lossy(&theirs.stdout).into_owned();
            let ours = run(&format!("filter {flags} -t -r {file}")).good();
            for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
                assert_eq!(ours, theirs, "line {number} of link type {link}, {flags}");
            }
            assert_eq!(ours.lines().count(), theirs.lines().count(), "link type {link}, {flags}");
        }
    }
}
