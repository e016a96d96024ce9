//! What docs/portability.md says already: cells by program and column, so that a run may fill in
//! what is not there.

use super::columns::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Cells by kind, program and column.
pub type Known = BTreeMap<(String, String, String), Cell>;

pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/portability.md")
}

/// The page's cells; reasons are those that it lists.
pub fn read() -> Known {
    let text = std::fs::read_to_string(path()).expect("the page");
    let listed = text.split("## Reasons").nth(1).unwrap_or_default();
    let reasons: BTreeMap<&str, &str> = listed.lines().filter_map(|line| line.split_once(". ")).collect();
    let (mut known, mut kind, mut columns) = (Known::new(), String::new(), Vec::new());
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut kind);
        }
        let Some(row) = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) else { continue };
        let cells: Vec<&str> = row.split(" | ").collect();
        if cells[0] == "program" {
            columns = cells[1..].iter().map(|name| (*name).to_owned()).collect();
            continue;
        }
        for (column, said) in columns.iter().zip(&cells[1..]) {
            let number = said.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            let cell = match number.and_then(|number| reasons.get(number)) {
                Some(reason) => Err((*reason).to_owned()),
                None => Ok((*said).to_owned()),
            };
            known.insert((kind.clone(), cells[0].to_owned(), column.clone()), cell);
        }
    }
    known
}
