//! `make install` builds the C library of the very crates that the program is built of: it compiles
//! nothing twice, which takes minutes. Cargo builds a crate again where its features differ, so
//! what the library depends on must have the features that it has in the program.

use std::collections::BTreeSet;
use std::process::Command;

/// The packages that a package is built of, each with its features.
fn built_of(package: &str) -> BTreeSet<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args([
        "tree",
        "--offline",
        "--locked",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p} [{f}]",
        "--package",
        package,
    ]);
    let output = tree.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.replace(" (*)", "").replace(" (proc-macro)", "")).filter(|line| !line.starts_with(package)).collect()
}

#[test]
fn the_library_is_built_of_the_crates_of_the_program() {
    let (program, library) = (built_of("netvm-cli"), built_of("netvm-capi"));
    let twice: Vec<&String> = library.difference(&program).collect();
    assert!(library.len() > 50 && twice.is_empty(), "compiled twice (crates/capi/Cargo.toml can ask for the same features): {twice:#?}");
}
