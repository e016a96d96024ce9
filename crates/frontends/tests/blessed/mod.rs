//! Recorded outputs: a file holds inputs and what came of them; `NETVM_BLESS=1` writes what comes
//! now.
//!
//! A case begins with a line `=== input`; what follows up to the next case is its output. Lines
//! before the first case are kept.

use std::fmt::Write;
use std::path::PathBuf;

/// Runs every case of tests/data/`name` and compares, or records.
pub fn check(name: &str, run: impl Fn(&str) -> String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let recorded = std::fs::read_to_string(&path).expect("the file of recorded outputs");
    let mut now = String::new();
    let mut cases = recorded.split("\n=== ");
    let _ = writeln!(now, "{}", cases.next().unwrap_or("").trim_end());
    for case in cases {
        let input = case.lines().next().unwrap_or("");
        let output = run(&input.replace("\\n", "\n"));
        let _ = write!(now, "\n=== {input}\n{}\n", output.trim_end());
    }
    if std::env::var_os("NETVM_BLESS").is_some() {
        std::fs::write(&path, now).expect("a writable file");
        return;
    }
    for (theirs, ours) in recorded.split("\n=== ").zip(now.split("\n=== ")) {
        assert_eq!(theirs.trim_end(), ours.trim_end(), "{name}; if the new output is right, record it with NETVM_BLESS=1");
    }
    assert_eq!(recorded.trim_end(), now.trim_end(), "{name}");
}
