//! The library of elements that is in the program, which `build.rs` compresses.

use flate2::read::ZlibDecoder;
use std::io::Read as _;
use std::path::Path;

/// Files by their paths in the library.
static FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/elements.rs"));

/// The paths of all files.
pub(super) fn paths() -> impl Iterator<Item = &'static Path> {
    FILES.iter().map(|(path, _)| Path::new(*path))
}

/// The text of a file.
pub(super) fn text(path: &str) -> Option<String> {
    let (_, compressed) = FILES.iter().find(|(known, _)| *known == path)?;
    let mut text = String::new();
    ZlibDecoder::new(*compressed).read_to_string(&mut text).ok().map(|_| text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_library_is_in_the_program_as_it_is() {
        let elements = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../elements");
        for path in super::paths() {
            assert_eq!(super::text(path.to_str().unwrap()), std::fs::read_to_string(elements.join(path)).ok(), "{}", path.display());
        }
        assert!(super::text("Classifier.c").is_some() && super::text("include/netvm.h").is_some() && super::text("standalone").is_none());
    }
}
