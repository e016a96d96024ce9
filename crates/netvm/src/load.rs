//! Programs from files, told apart by their first bytes: binary modules and NetIL source.

use crate::Error;
use netil::codec::{DecodeLimits, MAGIC};
use netil::{Module, Verified};
use std::path::Path;

/// The module in a file, or on standard input for `-`; not yet verified.
///
/// # Errors
/// The file cannot be read, is neither source nor a binary module, or is a wrong one.
pub fn module(path: &Path) -> Result<Module, Error> {
    let name = path.display().to_string();
    let bytes = read(path).map_err(|error| Error::Io { name: name.clone(), error })?;
    module_from(&bytes, &name)
}

/// The module in these bytes; `name` is for messages and becomes the module's source name if it is
/// text.
///
/// # Errors
/// They are neither source nor a binary module, or a wrong one.
pub fn module_from(bytes: &[u8], name: &str) -> Result<Module, Error> {
    if bytes.starts_with(&MAGIC) {
        return Module::from_bytes(bytes, &DecodeLimits::default()).map_err(|error| Error::Module { name: name.to_owned(), error });
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => netil::asm::assemble(text, name).map_err(Error::Source),
        _ => Err(Error::NotAProgram(name.to_owned())),
    }
}

/// Verifies a module; `name` is for messages.
///
/// # Errors
/// Every check that failed.
pub fn verify(module: Module, name: &str) -> Result<Verified, Error> {
    netil::verify(module).map_err(|errors| Error::Verify { name: name.to_owned(), errors })
}

/// The verified program in a file.
///
/// # Errors
/// As [`module()`] and [`verify`].
pub fn program(path: &Path) -> Result<Verified, Error> {
    verify(module(path)?, &path.display().to_string())
}

/// The most bytes of a text that a configuration names.
const LONGEST: u64 = 16 << 20;

/// The text of a file that a configuration names: no device, no pipe, and no more than 16 MiB,
/// whatever it names.
pub(crate) fn text(path: &Path) -> std::io::Result<String> {
    let refused = |why: &str| Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, why));
    let about = std::fs::metadata(path)?;
    match about.len() {
        _ if !about.is_file() => refused("it is no regular file"),
        LONGEST.. => refused("it is longer than 16 MiB"),
        _ => std::fs::read_to_string(path),
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    // One byte more than any form of a program may have: the loader says that it is too long.
    let limit = DecodeLimits::default().bytes as u64 + 1;
    let mut bytes = Vec::new();
    match path == Path::new("-") {
        true => std::io::stdin().lock().take(limit).read_to_end(&mut bytes)?,
        false => std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "segment .push\n pop\n ret 1\nends";

    #[test]
    fn both_forms_load_to_the_same_module() {
        let module = module_from(ALL.as_bytes(), "all.netil").unwrap();
        let bytes = module.to_bytes().unwrap();
        assert_eq!(module_from(&bytes, "all.nvm").unwrap(), module);
        assert!(verify(module, "all.netil").unwrap().is_filter());
    }

    #[test]
    fn what_is_no_program_is_told_by_name() {
        let error = module_from(&[0x7f, b'E', b'L', b'F', 0, 0xff], "a.out").unwrap_err();
        assert!(error.to_string().starts_with("a.out: neither"), "{error}");
        let error = module_from(b"NVM\0rubbish", "x.nvm").unwrap_err();
        assert!(error.to_string().starts_with("x.nvm: "), "{error}");
        let error = module_from(b"segment .push\n pup\nends", "x.netil").unwrap_err();
        assert!(error.to_string().starts_with("x.netil:2:2: "), "{error}");
    }

    #[test]
    fn refusals_name_the_file_and_the_place() {
        let module = module_from(b"segment .push\n pop\n pop\n ret 1\nends", "x.netil").unwrap();
        let error = verify(module, "x.netil").unwrap_err();
        assert!(error.to_string().contains("x.netil:3"), "{error}");
    }
}
