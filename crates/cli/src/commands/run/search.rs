//! Where configurations and element classes are found by name: in the folders of `NETVM_PATH`, then in those that are installed with the program.

use std::path::{Path, PathBuf};

/// The folders, in the order in which they are looked into.
fn folders() -> Vec<PathBuf> {
    let named = std::env::var_os("NETVM_PATH").unwrap_or_default();
    let named = std::env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty()).collect::<Vec<_>>();
    // The program is in PREFIX/bin.
    let prefix = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.parent()?.to_owned()));
    named.into_iter().chain(prefix.map(|prefix| prefix.join("share/netvm/apps"))).collect()
}

/// The file of a configuration. One that is not there is looked for by its name: `nat` is `nat/nat.click`, `nat/forward` is `nat/forward.click`, and `router16` the file of that
/// name in whatever folder.
pub(crate) fn configuration(file: &Path) -> PathBuf {
    let is_name = !file.is_absolute() && file != Path::new("-") && file.extension().is_none_or(|end| end == "click");
    if !is_name || file.exists() {
        return file.to_owned();
    }
    folders().iter().find_map(|folder| found(folder, file)).unwrap_or_else(|| file.to_owned())
}

fn found(folder: &Path, name: &Path) -> Option<PathBuf> {
    let file = name.with_extension("click");
    let direct = [folder.join(name).join(&file), folder.join(&file)];
    if let Some(found) = direct.into_iter().find(|path| path.is_file()) {
        return Some(found);
    }
    let mut inside: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path().join(&file)).collect();
    inside.sort();
    inside.into_iter().find(|path| path.is_file())
}

/// Folders of element classes beside what is found by name.
pub(crate) fn elements() -> Vec<PathBuf> {
    folders().into_iter().map(|folder| folder.join("elements")).filter(|folder| folder.is_dir()).collect()
}
