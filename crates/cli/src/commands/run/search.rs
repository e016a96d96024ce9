//! Where configurations and element classes are found by name: in the folders of `NETVM_PATH`, in
//! those that are installed with the program, and, of a program that lies where cargo built it, in
//! its checkout.

use crate::failure::{Failure, Outcome};
use std::path::{Path, PathBuf};

/// The folders, in the order in which they are looked into.
fn folders() -> Vec<PathBuf> {
    let named = std::env::var_os("NETVM_PATH").unwrap_or_default();
    let named = std::env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty()).collect::<Vec<_>>();
    // The program is in PREFIX/bin, or in CHECKOUT/target/PROFILE.
    let program = std::env::current_exe().ok();
    let prefix = program.as_deref().and_then(|program| program.parent()?.parent());
    let checkout = prefix.and_then(Path::parent).filter(|checkout| checkout.join("elements/include/netvm.h").is_file());
    let installed = prefix.map(|prefix| prefix.join("share/netvm/apps"));
    named.into_iter().chain(installed).chain(checkout.map(|checkout| checkout.join("apps"))).collect()
}

/// The file of a configuration. One that is not there is looked for by its name: `nat` is
/// `nat/nat.click`, `nat/forward` is `nat/forward.click`, and `router16` the file of that name in
/// whatever folder, if there is only one.
pub(crate) fn configuration(file: &Path) -> Outcome<PathBuf> {
    if !is_name(file) || file.exists() {
        return Ok(file.to_owned());
    }
    let folders = folders();
    let found = folders.iter().map(|folder| found(folder, file)).find(|found| !found.is_empty()).unwrap_or_default();
    match &found[..] {
        [] => Err(absent(file, &folders)),
        [one] => Ok(one.clone()),
        several => {
            let names: Vec<_> = several.iter().map(|path| name_of(path)).collect();
            Err(Failure::failed(format_args!("there are several applications {}: say which, {}", file.display(), names.join(" or "))))
        }
    }
}

/// Whether that was found by its name, and so lies where its user need not be allowed to write.
pub(crate) fn is_elsewhere(file: &Path) -> bool {
    is_name(file) && !file.exists()
}

fn is_name(file: &Path) -> bool {
    !file.is_absolute() && file != Path::new("-") && file.extension().is_none_or(|end| end == "click")
}

/// The files of that name in a folder: the one that it leads to, or all that lie in folders within.
fn found(folder: &Path, name: &Path) -> Vec<PathBuf> {
    let file = name.with_extension("click");
    let direct = [folder.join(name).join(&file), folder.join(&file)];
    if let Some(found) = direct.into_iter().find(|path| path.is_file()) {
        return vec![found];
    }
    let mut inside: Vec<PathBuf> = within(folder).map(|folder| folder.join(&file)).filter(|path| path.is_file()).collect();
    inside.sort();
    inside
}

fn within(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// There is no such file: what might be meant, and where it was looked for.
fn absent(file: &Path, folders: &[PathBuf]) -> Failure {
    let is_one = |path: &PathBuf| path.extension().is_some_and(|end| end == "click");
    let mut names: Vec<String> = folders
        .iter()
        .flat_map(|folder| within(folder))
        .flat_map(|folder| within(&folder))
        .filter(is_one)
        .map(|path| name_of(&path))
        .collect();
    names.sort();
    names.dedup();
    let stem = file.with_extension("").display().to_string();
    let last = |name: &String| name.rsplit('/').next().unwrap_or_default().to_owned();
    let near = netvm::netil::asm::nearest(&stem, names.iter().map(String::as_str)).map(str::to_owned);
    let near = near.or_else(|| {
        let lasts: Vec<String> = names.iter().map(last).collect();
        let near = netvm::netil::asm::nearest(&stem, lasts.iter().map(String::as_str))?;
        names.iter().find(|name| last(name) == near).cloned()
    });
    let meant = match near {
        Some(near) => format!("; did you mean `{near}`?"),
        None if names.is_empty() => String::new(),
        None => format!("; there are {}", names.join(", ")),
    };
    let looked: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Failure::failed(format_args!(
        "{}: there is no such file, and no application of that name{meant}\nlooked in {} (NETVM_PATH names more folders)",
        file.display(),
        looked.join(", ")
    ))
}

/// What an application's file is called by: `nat` for `nat/nat.click`, `nat/forward` for another in
/// its folder.
fn name_of(file: &Path) -> String {
    let last = |path: Option<&std::ffi::OsStr>| path.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, folder) = (last(file.file_stem()), last(file.parent().and_then(Path::file_name)));
    if stem == folder { stem } else { format!("{folder}/{stem}") }
}

/// Folders of element classes beside what is found by name.
pub(crate) fn elements() -> Vec<PathBuf> {
    folders().into_iter().map(|folder| folder.join("elements")).filter(|folder| folder.is_dir()).collect()
}
