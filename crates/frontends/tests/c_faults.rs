//! What is wrong with element classes, as people see it: files of `tests/filetests/c`, each with
//! cases that begin with a line `=== title`, compared with the file beside it. `NETVM_BLESS=1`
//! writes those files.
//!
//! A case is the text of a class; lines from `--- name.h` on are a header, `--- values` has lines
//! `name number` for parameters of the instance and `--- generated` what CONFIG makes; `--- ports`
//! has a line such as `lh/l` for inputs and outputs that pull (`l`) and push. A case without these
//! is described and then compiled with one input and one output that push.

use netvm_frontends::c::{self, InfoLayout, Instance, SourceFile, Value};
use netvm_frontends::click::processing::Kind;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/c");
    let mut all: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "c"));
    all.sort();
    all
}

/// The text of a case's part.
fn part<'a>(case: &'a str, name: &str) -> Option<&'a str> {
    let start = case.find(&format!("\n--- {name}\n"))?;
    let text = &case[start + name.len() + 6..];
    Some(text.split("\n--- ").next().unwrap_or(text))
}

fn instance(case: &str) -> Instance {
    let mut instance = Instance { name: "e".to_owned(), inputs: vec![Kind::Push], outputs: vec![Kind::Push], ..Instance::default() };
    for line in part(case, "values").unwrap_or("").lines() {
        let (name, value) = line.split_once(' ').unwrap();
        instance.values.insert(name.to_owned(), Value::Int(value.parse().unwrap()));
    }
    if let Some((inputs, outputs)) = part(case, "ports").and_then(|ports| ports.trim().split_once('/')) {
        let kinds = |letters: &str| letters.chars().map(|letter| if letter == 'l' { Kind::Pull } else { Kind::Push }).collect();
        (instance.inputs, instance.outputs) = (kinds(inputs), kinds(outputs));
    }
    instance.generated = part(case, "generated").unwrap_or("").to_owned();
    instance
}

fn outcome(title: &str, case: &str) -> String {
    let text = case.split("\n--- ").next().unwrap();
    let source = SourceFile { name: "e.c", text };
    let include = |name: &str| part(case, name).map(str::to_owned);
    if let Err(faults) = c::describe(source, &include) {
        return faults.render(false);
    }
    match c::compile(source, &include, &instance(case), &mut InfoLayout::default()) {
        Err(faults) => faults.render(false),
        Ok(compiled) => {
            netil::verify(compiled.module).unwrap_or_else(|errors| panic!("{title}: {}", errors[0]));
            "nothing is wrong\n".to_owned()
        }
    }
}

#[test]
fn faults_are_told_as_recorded() {
    let bless = std::env::var_os("NETVM_BLESS").is_some();
    let mut wrong = String::new();
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut found = String::new();
        for case in text.split("=== ").skip(1) {
            let (title, case) = case.split_once('\n').unwrap();
            let _ = writeln!(found, "=== {title}\n{}", outcome(title, case));
        }
        let expect = path.with_extension("expect");
        if bless {
            std::fs::write(&expect, &found).unwrap();
        } else if std::fs::read_to_string(&expect).ok().as_ref() != Some(&found) {
            let _ = write!(wrong, "{}:\n{found}", path.display());
        }
    }
    assert!(files().len() > 3, "no cases found");
    assert!(wrong.is_empty(), "{wrong}\nNETVM_BLESS=1 accepts what is found");
}
