//! The element library: every class can be described.

use netvm_frontends::c::{self, Source};
use std::path::{Path, PathBuf};

fn library() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../elements")
}

fn include(name: &str) -> Option<String> {
    std::fs::read_to_string(library().join("include").join(name)).ok()
}

/// Names and texts of all classes.
fn classes() -> Vec<(String, String)> {
    let files = std::fs::read_dir(library()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "c")).collect();
    files.sort();
    files.iter().map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_class_can_be_described() {
    let mut wrong = String::new();
    for (name, text) in classes() {
        match c::describe(Source { name: &name, text: &text }, &include) {
            Ok(class) => {
                assert_eq!(format!("{}.c", class.name), name, "a file is named after its class");
                assert!(class.summary.contains(" -- ") && class.summary.starts_with(&class.name), "{name}: {}", class.summary);
            }
            Err(faults) => wrong += &faults.render(false),
        }
    }
    assert!(classes().len() > 20, "the library is not found");
    assert!(wrong.is_empty(), "{wrong}");
}
