//! `netvm elements`: the element classes there are, their manuals, and their sources.

use crate::failure::{Failure, Outcome};
use crate::out::Out;
use netvm::application::{Library, builtin};
use std::path::{Path, PathBuf};

/// List the element classes, or show the manual of one
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm elements
  netvm elements DecIPTTL
  netvm elements --copy library    sources and headers, for editors and C compilers")]
pub(crate) struct Args {
    /// A class
    #[arg(value_name = "CLASS")]
    class: Option<String>,

    /// A folder with element classes in C, looked into before the built-in ones
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    elements: Vec<PathBuf>,

    /// Write the built-in library to a new folder: classes, headers (include), and what runs them
    /// as plain C programs (standalone)
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with_all = ["class", "elements"])]
    copy: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    super::run::configuration::folders(&args.elements)?;
    let folders: Vec<_> = args.elements.iter().cloned().chain(super::run::search::elements()).collect();
    let library = Library::of(&folders);
    let mut out = Out::new();
    match (&args.copy, &args.class) {
        (Some(folder), _) => copy(folder)?,
        (None, Some(class)) => out.line(&manual(&library, class)?)?,
        (None, None) => list(&library, &mut out)?,
    }
    out.flush()
}

/// Each class with what it does; those of the runtime have no sources in C.
fn list(library: &Library, out: &mut Out) -> Outcome {
    let mut all = library.classes();
    all.extend(builtin::ALL.iter().map(|class| (class.name.to_owned(), class.manual.lines().next().unwrap_or_default().to_owned())));
    for (name, told) in all {
        let told = told.split_once(" -- ").map_or(told.as_str(), |(_, told)| told);
        out.line(&format!("{name:<24} {told}"))?;
    }
    Ok(())
}

fn manual(library: &Library, class: &str) -> Outcome<String> {
    if let Some(manual) = builtin::find(class).map(|builtin| builtin.manual).or_else(|| Library::declaring(class)) {
        return Ok(manual.to_owned());
    }
    let (_, text) = library.class(class).ok_or_else(|| unknown(library, class))?;
    let comment = text.trim_start().strip_prefix("/*").and_then(|rest| rest.split_once("*/")).map_or("", |(comment, _)| comment);
    let line = |line: &str| line.trim_start().trim_start_matches('*').strip_prefix(' ').unwrap_or_default().trim_end().to_owned();
    Ok(comment.lines().map(line).collect::<Vec<_>>().join("\n").trim().to_owned())
}

fn unknown(library: &Library, class: &str) -> Failure {
    let names: Vec<String> = library.classes().into_keys().chain(builtin::ALL.iter().map(|class| class.name.to_owned())).collect();
    let in_other_case = names.iter().map(String::as_str).find(|name| name.eq_ignore_ascii_case(class));
    match in_other_case.or_else(|| netvm::netil::asm::nearest(class, names.iter().map(String::as_str))) {
        Some(near) => Failure::failed(format_args!("there is no class '{class}'; did you mean '{near}'?")),
        None => Failure::failed(format_args!("there is no class '{class}'; `netvm elements` lists those there are")),
    }
}

fn copy(folder: &Path) -> Outcome {
    if folder.exists() {
        return Err(Failure::failed(format_args!("{} is there already", folder.display())));
    }
    let told = |error: std::io::Error| Failure::failed(format_args!("cannot write {}: {error}", folder.display()));
    for (name, bytes) in Library::built_in() {
        let path = folder.join(name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(told)?;
        std::fs::write(path, bytes).map_err(told)?;
    }
    Ok(())
}
