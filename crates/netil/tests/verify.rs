//! Programs of `tests/filetests/verify`: what the verifier says of each, compared with the file
//! beside it. `NETVM_BLESS=1` writes those files.
//!
//! A file holds cases; a case starts with `; case: NAME` and is assembled by itself.

use netil::asm::assemble;
use netil::verify;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/verify");
    let mut all: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "netil"));
    all.sort();
    all
}

fn verdicts(source: &str) -> String {
    let mut out = String::new();
    for case in source.split("; case: ").skip(1) {
        let (name, text) = case.split_once('\n').unwrap();
        let module = assemble(text, "").unwrap_or_else(|e| panic!("{name}: {e}"));
        match verify(module) {
            Ok(_) => writeln!(out, "{name}\n    verified").unwrap(),
            Err(errors) => {
                writeln!(out, "{name}").unwrap();
                errors.iter().for_each(|e| writeln!(out, "    {e}").unwrap());
            }
        }
    }
    out
}

#[test]
fn verdicts_are_what_is_expected() {
    let bless = std::env::var_os("NETVM_BLESS").is_some();
    for path in files() {
        let expect = path.with_extension("expect");
        let found = verdicts(&std::fs::read_to_string(&path).unwrap());
        if bless {
            std::fs::write(&expect, &found).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&expect).unwrap_or_default(), found, "{}; NETVM_BLESS=1 accepts it", path.display());
    }
    assert!(!files().is_empty());
}
