//! `netvm check FOLDER`: how many of a folder's configurations are accepted, and why others are
//! not.
//!
//! Configurations are the files `*.click` in the folder and in those within it; links are not
//! followed. Of each that is refused the first reason counts, without the element's name, so that
//! those with one reason stand together. Invariant: folders and files are hostile; depth and number
//! are bounded.

use crate::commands::run::configuration;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use netvm::Error;
use netvm::application::{Application, Reading};
use netvm::diagnostics::{Diagnostic, Kind};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How deep folders may lie in each other.
const DEPTH: usize = 32;
/// Configurations of a folder, at most.
const MOST: usize = 100_000;
/// Files that are named for a reason, where there are more.
const SHOWN: usize = 3;

/// What came of a folder.
#[derive(Serialize)]
struct Summary {
    configurations: usize,
    accepted: usize,
    /// Most frequent first.
    refused: Vec<Reason>,
}

/// Why configurations are refused.
#[derive(Serialize)]
struct Reason {
    reason: String,
    count: usize,
    /// `FILE:LINE` of each.
    places: Vec<String>,
}

pub(super) fn run(folder: &Path, parameters: &[String], elements: &[PathBuf], json: bool) -> Outcome {
    let mut files = Vec::new();
    find(folder, 0, &mut files)?;
    files.sort();
    let summary = summary(folder, &files, parameters, elements)?;
    let mut out = Out::new();
    match json {
        true => out.json(&summary)?,
        false => out.put(&shown(&summary))?,
    }
    out.flush()?;
    if summary.refused.is_empty() { Ok(()) } else { Err(Failure::told()) }
}

/// The configurations in a folder.
fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Outcome {
    let told = |error: std::io::Error| Failure::failed(format_args!("{}: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(told)? {
        let entry = entry.map_err(told)?;
        let kind = entry.file_type().map_err(told)?;
        if kind.is_dir() && depth < DEPTH {
            find(&entry.path(), depth + 1, files)?;
        } else if kind.is_file() && configuration::is_one(&entry.path()) {
            files.push(entry.path());
        }
        if files.len() > MOST {
            return Err(Failure::failed(format_args!("{}: more than {MOST} configurations", folder.display())));
        }
    }
    Ok(())
}

fn summary(folder: &Path, files: &[PathBuf], parameters: &[String], elements: &[PathBuf]) -> Outcome<Summary> {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let reading = configuration::reading(Some(file), parameters.iter().cloned(), elements)?;
        let shown = file.strip_prefix(folder).unwrap_or(file).display().to_string();
        if let Err((reason, line)) = check(file, &reading) {
            reasons.entry(reason).or_default().push(line.map_or_else(|| shown.clone(), |line| format!("{shown}:{line}")));
        }
    }
    let mut refused: Vec<_> = reasons.into_iter().map(|(reason, places)| Reason { reason, count: places.len(), places }).collect();
    refused.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
    let accepted = files.len() - refused.iter().map(|reason| reason.count).sum::<usize>();
    Ok(Summary { configurations: files.len(), accepted, refused })
}

/// The first reason why a configuration is refused, with its line if it is in that file.
fn check(file: &Path, reading: &Reading) -> Result<(), (String, Option<u32>)> {
    let text = configuration::read(file).map_err(|failure| (failure.message().replace(&format!("{}: ", file.display()), ""), None))?;
    let name = file.display().to_string();
    Application::read_without_devices(&name, &text, reading)
        .and_then(|application| application.check())
        .map_err(|error| first(&name, &error))
}

fn first(name: &str, error: &Error) -> (String, Option<u32>) {
    let Error::Configuration(faults) = error else { return (error.to_string(), None) };
    let Some((part, fault)) = faults.0.iter().find_map(|part| Some((part, part.faults.0.first()?))) else {
        return (error.to_string(), None);
    };
    let (file, line) = part.sources.line(fault.span.start);
    (without_name(fault), (file == name).then_some(line))
}

/// Of a fault of an element the class remains.
fn without_name(fault: &Diagnostic) -> String {
    match fault.kind.as_deref() {
        Some(Kind::Element { class, what, .. }) => format!("{class}: {what}"),
        _ => fault.message.clone(),
    }
}

fn shown(summary: &Summary) -> String {
    let Summary { configurations, accepted, refused } = summary;
    let part = if *configurations == 0 { 0.0 } else { 100.0 * *accepted as f64 / *configurations as f64 };
    let mut text = format!("{accepted} of {configurations} configurations are accepted ({part:.1} %)\n");
    for Reason { reason, count, places } in refused {
        let more = if places.len() > SHOWN { ", …" } else { "" };
        text += &format!("{count:5}  {reason}  ({}{more})\n", places[..places.len().min(SHOWN)].join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_no_names() {
        assert_eq!(
            without_name(&Diagnostic::of_element(Default::default(), ("a", "Queue"), "CAPACITY is wrong")),
            "Queue: CAPACITY is wrong"
        );
        let other = "there is no element class `X`";
        assert_eq!(without_name(&Diagnostic::new(Default::default(), other)), other);
    }
}
