//! Internet checksums: what is known of a header without options, and of numbers that change a
//! checksum, gives shorter code.

use super::{PACKETS, recorded};
use netvm_aot::build::Compiler;

/// The header of RFC 1071's examples as they are found everywhere; its checksum is right.
const HEADER: [u8; 20] = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
/// Numbers that are added and taken out.
const TERMS: [u32; 8] = [0, 1, 0xff, 0x100, 0x7fff, 0xfeff, 0xfffe, 0xffff];

/// Bytes behind a header for what is found out.
const RESULTS: u32 = 70;

/// Headers that are right, wrong by a bit, and of nothing but zeros or ones.
fn header(n: u32) -> Vec<u8> {
    let mut header = HEADER.to_vec();
    match n % 6 {
        0 => header.fill(0),
        1 => header.fill(0xff),
        // Sums of 0xffff and of numbers beside it.
        2 => header = [vec![0; 16], (0xfffd + n / 6).to_le_bytes().to_vec()].concat(),
        3 => header[n as usize % 20] ^= 1 << (n / 20 % 8),
        // Other words with an unchanged checksum.
        4 => header.swap(n as usize % 10, 10 + n as usize % 10),
        _ => header.rotate_left(2 * (n as usize % 10)),
    }
    if n.is_multiple_of(5) {
        header[10..12].copy_from_slice(&(n as u16).wrapping_mul(0x1f1f).to_be_bytes());
    }
    header
}

/// A case of [`recorded`]: whether each header's checksum is right, asked in three ways, and what
/// its checksum becomes.
fn of_headers(first: u32) -> String {
    let mut text = "checksums of headers\n".to_owned();
    for n in first..first + PACKETS as u32 {
        text += "; packet: ";
        header(n).iter().for_each(|byte| text += &format!("{byte:02x}"));
        text += &format!("{:0width$}\n", 0, width = 2 * RESULTS as usize);
    }
    text += "; budget: 1000000\nsegment .push\npop\n";
    text += "push 0\npush 20\nchksum.calc\npush 0\nw.eq 32\npush 20\npstore.8\n";
    text += "push 0\npush 20\nchksum.calc\npush 0\nw.ne 32\npush 21\npstore.8\n";
    text += "push 0\npush 20\nchksum.calc\npush 22\npstore.16\n";
    let mut at = 24;
    let mut note = |text: &mut String, steps: &str| {
        *text += &format!("push 10\nupload.16\n{steps}push {at}\npstore.16\n");
        at += 2;
    };
    for term in TERMS {
        note(&mut text, &format!("push {term}\nchksum.add\n"));
        note(&mut text, &format!("push {term}\nchksum.sub\n"));
        note(&mut text, &format!("push {term}\nchksum.sub\npush {}\nchksum.add\n", 0xffff - term));
        note(&mut text, &format!("push {term}\nchksum.add\npush {term}\nchksum.add\npush 0\nchksum.sub\n"));
    }
    note(&mut text, &"push 12\nupload.16\nchksum.add\npush 14\nupload.16\nchksum.sub\n".repeat(12));
    text + "push 0\npush 20\nchksum.jump good\npush 0\npush 20\npstore.8\ngood:\nret 1\nends\n"
}

#[test]
fn checksums_of_headers_and_their_changes() {
    if Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    for first in (0..120).step_by(PACKETS as usize) {
        assert!(recorded(&of_headers(first)), "{first}");
    }
}
