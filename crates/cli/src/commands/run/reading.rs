//! The text of a configuration, and how it is read.

use super::search;
use crate::failure::{Failure, Outcome};
use netvm::application::{Application, Reading};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Whether a file is a configuration, by its name.
pub(crate) fn is_one(file: &Path) -> bool {
    file.extension().is_some_and(|end| end.eq_ignore_ascii_case("click"))
}

/// The text of a configuration; - is standard input.
pub(crate) fn read(file: &Path) -> Outcome<String> {
    let text = match file == Path::new("-") {
        true => Application::text(std::io::stdin().lock()),
        false => std::fs::File::open(file).and_then(Application::text),
    };
    text.map_err(|error| Failure::failed(format_args!("{}: {error}", file.display())))
}

/// Folders of element classes are there: in one that is not, nobody would miss the classes but
/// those who named it.
pub(crate) fn folders(elements: &[PathBuf]) -> Outcome {
    match elements.iter().find(|folder| !folder.is_dir()) {
        Some(missing) => Err(Failure::failed(format_args!("--elements {}: there is no such folder", missing.display()))),
        None => Ok(()),
    }
}

/// Reads a configuration of that name. A parameter that is nowhere in its text would have no
/// effect, and is refused: its name is wrong.
pub(crate) fn application(name: &str, text: &str, reading: &Reading) -> Outcome<Application> {
    let there_are = mentioned(text);
    if let Some(unknown) = reading.parameters.keys().find(|parameter| !there_are.contains(parameter.as_str())) {
        let all: Vec<&str> = there_are.into_iter().collect();
        let all = if all.is_empty() { "it has none".to_owned() } else { format!("those in it are {}", all.join(", ")) };
        return Err(Failure::usage(format_args!("{name} has no parameter '{unknown}'; {all}")));
    }
    Ok(Application::read(name, text, reading)?)
}

/// The names behind dollar signs in a text.
fn mentioned(text: &str) -> BTreeSet<&str> {
    let name = |rest: &str| rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let names = text.split('$').skip(1).map(|rest| rest.strip_prefix('{').unwrap_or(rest)).map(|rest| &rest[..name(rest)]);
    names.filter(|name| !name.is_empty()).collect()
}

/// How a configuration is read that stands in a file, with `NAME=VALUE` arguments and folders of
/// elements.
pub(crate) fn reading(file: Option<&Path>, parameters: impl Iterator<Item = String>, elements: &[PathBuf]) -> Outcome<Reading> {
    let split = |text: String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::usage(format_args!("expected NAME=VALUE, not '{text}'"))),
    };
    folders(elements)?;
    let mut elements = elements.to_vec();
    elements.extend(file.and_then(Reading::folder_beside));
    elements.extend(search::elements());
    Ok(Reading { parameters: parameters.map(split).collect::<Outcome<BTreeMap<_, _>>>()?, elements, ..Reading::default() })
}
