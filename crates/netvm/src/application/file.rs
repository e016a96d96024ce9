//! Configurations in files: their text, and the folder of element classes that belongs to them.

use super::{Application, Reading};
use crate::Error;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The longest configuration that is read, in bytes.
const LONGEST: u64 = 16 << 20;

impl Reading {
    /// The folder of element classes that belongs to a configuration's file: `elements` beside it,
    /// if that is there.
    pub fn folder_beside(file: &Path) -> Option<PathBuf> {
        file.parent().map(|folder| folder.join("elements")).filter(|folder| folder.is_dir())
    }
}

impl Application {
    /// Reads a configuration in a file, which messages name. The folder `elements` beside it is
    /// looked into after those of `reading`.
    ///
    /// # Errors
    /// The file cannot be read; else as for [`Self::read`].
    pub fn read_file(file: &Path, reading: &Reading) -> Result<Self, Error> {
        let name = file.display().to_string();
        let text = std::fs::File::open(file).and_then(Self::text);
        let text = text.map_err(|error| Error::Io { name: name.clone(), error })?;
        let mut reading = reading.clone();
        reading.elements.extend(Reading::folder_beside(file));
        Self::read(&name, &text, &reading)
    }

    /// The text of a configuration.
    ///
    /// # Errors
    /// It cannot be read, has more than 16 MiB, or is not UTF-8.
    pub fn text(source: impl Read) -> io::Result<String> {
        let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let mut bytes = Vec::new();
        source.take(LONGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LONGEST {
            return Err(wrong(format!("a configuration has {LONGEST} bytes at most")));
        }
        String::from_utf8(bytes).map_err(|_| wrong("not text in UTF-8".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_classes_beside_it() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/count/count.click");
        let folder = Reading::folder_beside(&file).unwrap();
        assert_eq!(folder, file.with_file_name("elements"));
        assert_eq!(Reading::folder_beside(&folder.join("FlowCount.c")), None);
        Application::read_file(&file, &Reading::default()).map(drop).unwrap();
        assert!(Application::read(&file.display().to_string(), &std::fs::read_to_string(&file).unwrap(), &Reading::default()).is_err());
    }

    #[test]
    fn what_is_no_text_says_so() {
        let missing = Application::read_file(Path::new("no/such.click"), &Reading::default()).map(drop).unwrap_err();
        assert!(missing.to_string().starts_with("no/such.click: No such file or directory"), "{missing}");
        let told = |source: &mut dyn Read| Application::text(source).unwrap_err().to_string();
        assert_eq!(told(&mut io::repeat(b' ')), "a configuration has 16777216 bytes at most");
        assert_eq!(told(&mut &b"\xff"[..]), "not text in UTF-8");
    }
}
