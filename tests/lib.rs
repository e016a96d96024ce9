//! What the fuzz targets run on their bytes: here, so that plain tests replay every input that once
//! failed (`regressions.rs`).
//!
//! To add a target: a function here, its row in [`TARGETS`], a file of three lines in
//! `fuzz/fuzz_targets/`, a `[[bin]]` in `fuzz/Cargo.toml`. An input that fails goes to
//! `tests/regressions/<target>/`.
#![forbid(unsafe_code)]

mod bounded;
#[cfg(feature = "print")]
mod commands;
mod engines;
#[cfg(feature = "jit")]
mod optimiser;
#[cfg(feature = "print")]
mod print;
mod text;

pub use bounded::bounded;
#[cfg(feature = "print")]
pub use commands::p4_entries;
#[cfg(feature = "jit")]
pub use engines::jit_agrees;
pub use engines::{module_loader, verify_run};
#[cfg(feature = "jit")]
pub use optimiser::passes_agree;
#[cfg(feature = "print")]
pub use print::print_packet;
pub use text::{asm_text, click_text, element_text, filter_parser, p4_text};

use runtime::io::Capture;
use std::io::{Cursor, Read};

/// A fuzz target: panics if the bytes show a defect.
pub type Target = fn(&[u8]);

/// All of them by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("asm_text", asm_text),
    ("bounded", bounded),
    ("capture_reader", capture_reader),
    ("click_text", click_text),
    ("element_text", element_text),
    ("filter_parser", filter_parser),
    #[cfg(feature = "jit")]
    ("jit_agrees", jit_agrees),
    ("module_loader", module_loader),
    #[cfg(feature = "print")]
    ("p4_entries", p4_entries),
    ("p4_text", p4_text),
    #[cfg(feature = "jit")]
    ("passes_agree", passes_agree),
    #[cfg(feature = "print")]
    ("print_packet", print_packet),
    ("verify_run", verify_run),
];

/// A capture gives the same packets and the same damage from memory and from a pipe that gives a
/// few bytes at a time.
pub fn capture_reader(bytes: &[u8]) {
    let whole = read(Capture::from_bytes(bytes.to_vec()), 4096);
    let piecewise = read(Capture::from_reader(Trickle(Cursor::new(bytes.to_vec()))), 7);
    assert_eq!(whole, piecewise);
}

/// Packets as link type, time, wire length and bytes; and how it ended.
type Contents = (Vec<(u32, String, u32, Vec<u8>)>, Option<String>);

fn read(capture: Result<Capture, runtime::io::ReadError>, burst: usize) -> Contents {
    let mut packets = Vec::new();
    let mut capture = match capture {
        Ok(capture) => capture,
        Err(error) => return (packets, Some(error.to_string())),
    };
    loop {
        match capture.next_burst(burst) {
            Ok(Some(burst)) => {
                packets.extend(burst.records().zip(burst.packets()).map(|(record, packet)| {
                    (burst.link_type().number(), record.timestamp().to_string(), record.wire_len(), packet.to_vec())
                }))
            }
            Ok(None) => return (packets, None),
            Err(error) => return (packets, Some(error.to_string())),
        }
    }
}

/// Gives 1, 2, … 13 bytes at a time.
struct Trickle(Cursor<Vec<u8>>);

impl Read for Trickle {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = out.len().min(1 + self.0.position() as usize % 13);
        self.0.read(&mut out[..n])
    }
}
