//! Programs of `tests/filetests/mir`: the push handler after translation and after every pass that
//! changes it, as text, compared with the file beside the program. `NETVM_BLESS=1` writes those
//! files.
//!
//! A first line `; passes: a b` shows only those passes; the others run unseen. `lanes` among them
//! optimises for, and shows at the end, a filter as it is run for many packets at once.

use netil::asm::assemble;
use netil::module::HandlerKind;
use netil::verify;
use netvm_compiler::backends::c::for_lanes;
use netvm_compiler::mir::Order;
use netvm_compiler::passes::{Context, PIPELINE, Target};
use netvm_compiler::translate::translate;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn programs() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/mir");
    let mut all: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "netil"));
    all.sort();
    all
}

fn stages(path: &Path) -> String {
    let source = std::fs::read_to_string(path).unwrap();
    let shown = source.lines().next().and_then(|l| l.strip_prefix("; passes:")).map(|l| l.split_whitespace().collect::<Vec<_>>());
    let module = assemble(&source, "test").unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let program = verify(module).unwrap_or_else(|e| panic!("{}: {}", path.display(), e[0]));
    let mut func = translate(&program, HandlerKind::Push).unwrap().unwrap();
    let target = if shown.as_ref().is_some_and(|s| s.contains(&"lanes")) { Target::LANES } else { Target::HERE };
    let context = Context::new(&program, target.in_order(Order::Little));
    let mut before = func.to_string();
    let mut out = if shown.is_none() { format!("== translated\n{before}") } else { String::new() };
    for pass in PIPELINE {
        (pass.run)(&mut func, &context);
        let after = func.to_string();
        if after != before && shown.as_ref().is_none_or(|s| s.contains(&pass.name)) {
            write!(out, "== {}\n{after}", pass.name).unwrap();
        }
        before = after;
    }
    if shown.is_some_and(|s| s.contains(&"lanes")) {
        let lanes = for_lanes(&program, &func).unwrap();
        write!(out, "== lanes\n{}", lanes.map_or("not for lanes\n".to_owned(), |func| func.to_string())).unwrap();
    }
    out
}

#[test]
fn stages_are_what_is_expected() {
    let bless = std::env::var_os("NETVM_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in programs() {
        let expect = path.with_extension("expect");
        let found = stages(&path);
        if bless {
            std::fs::write(&expect, &found).unwrap();
        } else if std::fs::read_to_string(&expect).ok().as_ref() != Some(&found) {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(!programs().is_empty(), "no programs found");
    assert!(wrong.is_empty(), "{}\nNETVM_BLESS=1 accepts what is found", wrong.join("\n"));
}
