//! The element classes there are in C: those built in, and those in folders that are named.

use crate::frontends::click::application::Classes;
use crate::frontends::click::processing::Shape;
use include_dir::{Dir, include_dir};
use runtime::graph::native;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../elements");
/// The largest source file that is read.
const LARGEST: u64 = 1 << 20;

/// Element classes and headers by name.
pub struct Library {
    folders: Vec<PathBuf>,
}

impl Library {
    /// The built-in classes behind those of folders, in their order.
    pub fn of(folders: &[PathBuf]) -> Self {
        Self { folders: folders.to_vec() }
    }

    /// The source of a class, with its file's name.
    pub fn class(&self, name: &str) -> Option<(String, String)> {
        self.file(&format!("{name}.c"))
    }

    /// A header that classes include, with its file's name.
    pub fn header(&self, name: &str) -> Option<(String, String)> {
        self.file(&format!("include/{name}")).or_else(|| self.file(name))
    }

    /// All classes with the first line of their manuals, by name.
    pub fn classes(&self) -> BTreeMap<String, String> {
        let named =
            |path: &Path| path.extension().filter(|end| *end == "c").and(path.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
        let built_in = BUILT_IN.files().filter_map(|file| named(file.path()));
        let entries = self.folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
        let names = built_in.chain(entries.filter_map(|entry| named(&entry.path())));
        names.filter_map(|name| self.class(&name).map(|(_, text)| (name, purpose(&text)))).collect()
    }

    fn file(&self, name: &str) -> Option<(String, String)> {
        if name.contains("..") || name.starts_with('/') {
            return None;
        }
        let found =
            self.folders.iter().find_map(|folder| read(&folder.join(name)).map(|text| (folder.join(name).display().to_string(), text)));
        let built_in =
            || BUILT_IN.get_file(name).and_then(|file| file.contents_utf8()).map(|text| (format!("elements/{name}"), text.to_owned()));
        found.or_else(built_in)
    }
}

impl Classes for Library {
    fn native(&self, class: &str) -> Option<Shape<'static>> {
        native::find(class).map(|class| Shape { ports: class.ports, processing: class.processing, flow: class.flow })
    }

    fn source(&self, class: &str) -> Option<(String, String)> {
        self.class(class)
    }

    fn include(&self, name: &str) -> Option<String> {
        self.header(name).map(|(_, text)| text)
    }

    fn names(&self) -> Vec<String> {
        self.classes().into_keys().chain(native::ALL.iter().map(|class| class.name.to_owned())).collect()
    }
}

fn read(path: &Path) -> Option<String> {
    let small = path.metadata().ok()?.len() <= LARGEST;
    small.then(|| std::fs::read_to_string(path).ok()).flatten()
}

/// What the manual at a file's beginning says in its first line.
fn purpose(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start_matches(['/', '*', ' ']).trim());
    lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_found_by_name() {
        let library = Library::of(&[]);
        assert!(library.class("Paint").unwrap().1.contains("ELEMENT(Paint"));
        assert!(library.header("click.h").unwrap().1.contains("INFO(u8, paint)"));
        assert!(library.classes()["Paint"].starts_with("Paint(COLOR"));
        assert_eq!([library.class("Nonesuch"), library.class("../Cargo"), library.class("/etc/passwd")], [None, None, None]);
    }
}
