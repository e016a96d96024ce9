//! The library of elements as the program has it: each file compressed, which is a third of a
//! megabyte less.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let (elements, out) = (Path::new("../../elements"), PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()));
    println!("cargo::rerun-if-changed={}", elements.display());
    let mut table = "[\n".to_owned();
    for (number, file) in files(elements)?.iter().enumerate() {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(file)?)?;
        fs::write(out.join(number.to_string()), encoder.finish()?)?;
        let path = file.strip_prefix(elements).unwrap_or(file).display();
        let _ = writeln!(table, "    ({:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{number}\")).as_slice()),", path.to_string());
    }
    fs::write(out.join("elements.rs"), table + "]\n")
}

/// All files below a folder, by name.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    entries.sort();
    let below = entries.into_iter().map(|path| if path.is_dir() { files(&path) } else { Ok(vec![path]) });
    Ok(below.collect::<io::Result<Vec<_>>>()?.concat())
}
