//! Replays `tests/regressions/<target>/*`: inputs on which a fuzz target once failed, and the seeds
//! that it starts from.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

fn inputs(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(target);
    let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

#[test]
fn what_once_failed_does_not_fail_again() {
    let mut failed = Vec::new();
    for (name, target) in netvm_tests::TARGETS {
        let files = inputs(name);
        assert!(!files.is_empty(), "tests/regressions/{name} has no file: at least the seeds should be there");
        for file in files {
            let bytes = fs::read(&file).unwrap();
            if catch_unwind(|| target(&bytes)).is_err() {
                failed.push(file);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn every_target_has_its_program() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/fuzz_targets");
    for (name, _) in netvm_tests::TARGETS {
        assert!(programs.join(format!("{name}.rs")).exists(), "fuzz/fuzz_targets/{name}.rs is missing");
    }
}
