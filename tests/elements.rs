//! The element library: every element is plain C11 for gcc and clang, without a warning, and has a manual and one class of its name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn elements() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../elements").canonicalize().unwrap()
}

/// The classes' files, in order.
fn files() -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(elements()).unwrap().map(|e| e.unwrap().path()).collect();
    found.retain(|p| p.extension().is_some_and(|e| e == "c"));
    found.sort();
    assert!(found.len() >= 20, "the library is not where it was");
    found
}

fn class(file: &Path) -> String {
    file.file_stem().unwrap().to_string_lossy().into_owned()
}

fn is_there(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|o| o.status.success())
}

#[test]
fn every_element_has_its_manual_and_its_class() {
    for file in files() {
        let (text, class) = (fs::read_to_string(&file).unwrap(), class(&file));
        let title = text.lines().nth(1).unwrap_or_default();
        assert!(title.starts_with(&format!(" * {class}")) && title.contains(" -- "), "{class}: the second line is its title");
        assert!(text.contains(&format!("\nELEMENT({class}, \"")), "{class}: no ELEMENT of that name");
        assert!(text.lines().count() <= 600, "{class}: longer than 600 lines");
    }
}

#[test]
fn every_element_is_plain_c_without_warnings() {
    let compilers = ["gcc", "clang", "clang-14"].into_iter().filter(|c| is_there(c)).collect::<Vec<_>>();
    assert!(!compilers.is_empty(), "no C compiler");
    for (file, compiler) in files().iter().flat_map(|f| compilers.iter().map(move |c| (f, c))) {
        let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"];
        let output = Command::new(compiler).args(flags).arg("-I").arg(elements().join("include")).arg(file).output().unwrap();
        assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
