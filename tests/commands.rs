//! Targets that run P4 programs: what a control plane says to one.

use netvm::p4::{Pipeline, Reading, Switch, stf};
use netvm::{Settings, engines};
use std::path::Path;
use std::sync::OnceLock;

/// Tables of several kinds, a selector, counters, registers, meters, groups and digests.
const PROGRAM: &str = include_str!("p4/controller.p4");

fn program() -> Pipeline {
    static MADE: OnceLock<Pipeline> = OnceLock::new();
    let reading = Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
    MADE.get_or_init(|| p4::compile(Path::new("controller.p4"), PROGRAM, reading).unwrap_or_else(|e| panic!("{}", e.first()))).clone()
}

/// Lines are commands: each is done or refused with a message, and packets are forwarded behind
/// them.
pub fn p4_entries(bytes: &[u8]) {
    let mut switch = Switch::start(program(), &engines::ALL[0], Settings::default()).unwrap_or_else(|e| panic!("{e}"));
    for line in String::from_utf8_lossy(bytes).lines().take(64) {
        if let Err(why) = stf::configure(&mut switch, line) {
            assert!(!why.text().is_empty());
        }
    }
    let _ = switch.receive(3, bytes, 0);
    let _ = switch.dump(None);
}
