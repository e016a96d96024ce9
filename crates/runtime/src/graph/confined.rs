//! Where a run may write files: anywhere, or within one folder, as scripts of tests may whose
//! author nobody knows.
//!
//! A name is within the folder if the folder that it is in, with links resolved, is the folder or
//! in it, and the file is no link itself. `/dev/null` and `/dev/full` keep nothing and are allowed.
//! Leaves out what other processes do to the folder meanwhile.

use super::ElementError;
use std::path::{Component, Path};

/// Devices that keep nothing of what is written.
const NOTHING_KEPT: &[&str] = &["/dev/null", "/dev/full"];

/// Whether a file of that name may be written.
///
/// # Errors
/// The name leads out of the folder.
pub(super) fn writable(within: Option<&Path>, name: &Path) -> Result<(), ElementError> {
    match within {
        Some(folder) if !is_within(folder, name) && !NOTHING_KEPT.iter().any(|device| name == Path::new(device)) => {
            Err(ElementError::resource(format!("{}: a script writes only within its own folder, $FOLDER", name.display())))
        }
        _ => Ok(()),
    }
}

fn is_within(folder: &Path, name: &Path) -> bool {
    let (Ok(folder), Some(parent)) = (folder.canonicalize(), name.parent()) else { return false };
    // `..` and the like name no file.
    let is_named = name.file_name().is_some();
    let is_link = name.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink());
    match parent.canonicalize() {
        Ok(parent) => parent.starts_with(folder) && is_named && !is_link,
        // Where there is no folder, nothing can be written.
        Err(_) => is_named && name.starts_with(folder) && !name.components().any(|part| part == Component::ParentDir),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_of_the_folder_are_refused() {
        let folder = std::env::temp_dir().join(format!("netvm-confined-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("in")).unwrap();
        std::os::unix::fs::symlink("/tmp", folder.join("link")).unwrap();
        std::os::unix::fs::symlink("/tmp/x", folder.join("x")).unwrap();
        let may = |name: &str| writable(Some(&folder), &folder.join(name)).is_ok();
        for name in ["a", "in/a", "in/../a", "none/a", "/dev/null"] {
            assert!(may(name), "{name}");
        }
        for name in ["../a", "link/a", "x", "/tmp/a", "in/../../a", "none/../../a", "/dev/sda", ".."] {
            assert!(!may(name), "{name}");
        }
        assert!(writable(None, Path::new("/tmp/a")).is_ok());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
