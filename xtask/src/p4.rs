//! The STF tests of p4c's sources, run on netvm: programs for v1model in `p4_16_samples`, and the translated ones of `p4_14_samples`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The longest that a test may take, in seconds.
const TIME: &str = "60";

/// Tests that fail here, each with the reason.
const OTHERWISE: &[(&str, &str)] = &[
    ("extern-funcs-bmv2", "calls a function of a shared library"),
    ("counter3", "counts four bytes more for each packet, as hardware does with the frame check sequence; BMv2 does not either"),
];

/// Runs the tests whose names contain one of `names`, or all. True if just those failed that are known to.
pub fn run(netvm: &Path, p4c: &Path, names: &[&str]) -> io::Result<bool> {
    let (mut passed, mut known, mut untrue) = (0, 0, 0);
    for (program, test) in tests(&p4c.join("testdata"))? {
        let name = program.file_stem().map_or(String::new(), |n| n.to_string_lossy().into_owned());
        if !names.is_empty() && !names.iter().any(|wanted| name.contains(wanted)) {
            continue;
        }
        let failure = one(netvm, &program, &test)?;
        let reason = OTHERWISE.iter().find(|(n, _)| *n == name).map(|(_, why)| *why);
        match (failure, reason) {
            (None, None) => passed += 1,
            (Some(_), Some(why)) => {
                known += 1;
                println!("{name}: fails, as is known: {why}");
            }
            (Some(how), None) => {
                untrue += 1;
                println!("{name}: FAILS: {how}");
            }
            (None, Some(_)) => {
                untrue += 1;
                println!("{name}: passes, and is said to fail");
            }
        }
    }
    println!("{passed} passed, {known} failed as is known, {untrue} came out otherwise");
    Ok(untrue == 0)
}

/// Programs with their tests, in the order of their names.
fn tests(testdata: &Path) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let mut found = Vec::new();
    for folder in ["p4_16_samples", "p4_16_samples/parser-inline"] {
        for entry in fs::read_dir(testdata.join(folder))? {
            let test = entry?.path();
            let program = test.with_extension("p4");
            if test.extension().is_some_and(|e| e == "stf") && is_v1model(&program) {
                found.push((program, test));
            }
        }
    }
    for entry in fs::read_dir(testdata.join("p4_14_samples"))? {
        let test = entry?.path();
        let translated = test.with_extension("p4").file_name().map(|name| testdata.join("p4_14_samples_outputs").join(name));
        if let Some(program) = translated.filter(|p| test.extension().is_some_and(|e| e == "stf") && is_v1model(p)) {
            found.push((program, test));
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a program, or a file beside it that it includes, is for v1model and for no other architecture.
fn is_v1model(program: &Path) -> bool {
    let Ok(text) = fs::read_to_string(program) else { return false };
    let included = text.lines().filter_map(|l| l.trim().strip_prefix("#include \"")).filter_map(|l| l.split('"').next());
    let others = included.filter_map(|name| fs::read_to_string(program.with_file_name(name)).ok());
    let all: String = others.fold(text.clone(), |all, other| all + &other);
    all.contains("v1model.p4") && !text.contains("PSA_Switch")
}

/// How a test failed, if it did.
fn one(netvm: &Path, program: &Path, test: &Path) -> io::Result<Option<String>> {
    let output = Command::new("timeout").arg(TIME).arg(netvm).arg("test").arg(program).arg(test).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(None);
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Ok(Some(told.lines().next().unwrap_or("without a word").to_owned()))
}
