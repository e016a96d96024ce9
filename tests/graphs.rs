//! The elements that the runtime knows itself: each has a script in `tests/graphs`, and does what
//! that says, on every engine. Classes in C have one there for what scripts of a single element
//! cannot say: arguments that are refused, handlers of tables.
//!
//! `NETVM_SCENARIO=Queue cargo test -p netvm-tests --test graphs` runs those whose name begins so.

use netvm::application::builtin;
use netvm::engines::{self, EngineInfo, Settings};
use netvm::scripts::scenarios::{self, Config, Scenario, judge};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("graphs")
}

fn script(class: &str) -> Vec<Scenario> {
    let file = folder().join(format!("{class}.txt"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{class}: no script in tests/graphs: {error}"));
    scenarios::parse(&file, &text).unwrap_or_else(|wrong| panic!("{}: {wrong}", file.display()))
}

/// Whether a configuration has an element of a class.
fn has(scenario: &Scenario, class: &str) -> bool {
    let Config::Text(text) = &scenario.config else { return false };
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == class)
}

#[test]
fn every_class_of_the_runtime_has_its_script() {
    for class in builtin::ALL {
        let all = script(class.name);
        assert!(all.len() >= 2, "{}: more than one scenario", class.name);
        assert!(all.iter().all(|scenario| has(scenario, class.name)), "{}: every scenario has an element of it", class.name);
        let bad = all.iter().any(|scenario| !scenario.errors.is_empty());
        assert!(bad, "{}: what is refused", class.name);
    }
}

/// The classes that have a script.
fn scripted() -> Vec<String> {
    let class = |file: PathBuf| file.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut all: Vec<String> = std::fs::read_dir(folder()).unwrap().map(|entry| class(entry.unwrap().path())).collect();
    all.sort();
    all
}

#[test]
fn every_script_is_of_a_class() {
    for class in scripted() {
        let in_c = folder().join(format!("../../elements/{class}.c")).exists();
        assert!(in_c || builtin::find(&class).is_some(), "{class}: there is no such class");
        assert!(script(&class).iter().all(|scenario| has(scenario, &class)), "{class}: every scenario has an element of it");
    }
}

/// What is different with that engine.
fn hold_on(engine: &EngineInfo) {
    let wanted = std::env::var("NETVM_SCENARIO").unwrap_or_default();
    let base = std::env::temp_dir().join(format!("netvm-graphs-{}-{}", std::process::id(), engine.name));
    let mut wrong = Vec::new();
    for class in scripted().iter().filter(|class| class.starts_with(&wanted)) {
        for (n, scenario) in script(class).iter().enumerate() {
            let found = scenario.play(&[], engine, Settings { no_cache: true, ..Settings::default() }, &base.join(format!("{class}-{n}")));
            wrong.extend(judge(scenario, &found).into_iter().map(|what| format!("{class}.txt on {}, {what}", engine.name)));
        }
    }
    std::fs::remove_dir_all(&base).unwrap();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn scripts_hold_on_the_interpreter() {
    hold_on(engines::find("interp").unwrap());
}

#[test]
fn scripts_hold_on_machine_code() {
    hold_on(engines::find("jit").unwrap());
}

#[test]
fn scripts_hold_linked() {
    hold_on(engines::find("aot").unwrap());
}
