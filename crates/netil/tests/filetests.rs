//! Programs of `tests/filetests/asm`: each is assembled; its binary form, its disassembly or its
//! errors are compared with the file beside it. `NETVM_BLESS=1` writes those files.

use netil::asm::assemble;
use netil::codec::DecodeLimits;
use netil::disasm::disassemble;
use netil::module::{HandlerKind, Module};
use netil::table::TABLE;
use std::path::{Path, PathBuf};

fn programs() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/asm");
    let mut all: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "netil"));
    all.sort();
    all
}

/// What is expected of a program: errors, or the disassembly and the bytes.
fn found(path: &Path) -> String {
    let source = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let module = match assemble(&source, name) {
        Ok(module) => module,
        Err(errors) => return errors.to_string(),
    };
    let bytes = module.to_bytes().unwrap();
    assert_eq!(Module::from_bytes(&bytes, &DecodeLimits::default()).unwrap(), module, "{name}: binary form");
    let text = disassemble(&module);
    assert_eq!(assemble(&text, "other").unwrap(), module, "{name}: disassembly");
    format!("{text}\n{}", hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    let line = |(i, chunk): (usize, &[u8])| {
        let digits: Vec<String> = chunk.iter().map(|b| format!("{b:02x}")).collect();
        format!("{:04x}  {}\n", 16 * i, digits.join(" "))
    };
    bytes.chunks(16).enumerate().map(line).collect()
}

#[test]
fn programs_give_what_is_expected() {
    let bless = std::env::var_os("NETVM_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in programs() {
        let expect = path.with_extension("expect");
        let found = found(&path);
        if bless {
            std::fs::write(&expect, &found).unwrap();
        } else if std::fs::read_to_string(&expect).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "not what the files expect (NETVM_BLESS=1 rewrites them):\n{}", wrong.join("\n"));
}

#[test]
fn one_program_has_every_instruction() {
    let path = programs().into_iter().find(|p| p.ends_with("every_instruction.netil")).unwrap();
    let module = assemble(&std::fs::read_to_string(path).unwrap(), "").unwrap();
    let handlers = HandlerKind::ALL.into_iter().filter_map(|k| module.handler(k));
    let used: Vec<_> = handlers.flat_map(|h| h.code.iter().map(|i| i.op)).collect();
    let missing: Vec<_> = TABLE.iter().filter(|row| !used.contains(&row.op)).map(|row| row.mnemonic).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
