//! p4c's tests held against netvm: the STF tests of programs for v1model and PSA in `p4_16_samples`
//! and of the translated ones of `p4_14_samples`; all samples for both, which `netvm check`
//! accepts; and the programs of `p4_16_errors`, which it refuses. What comes out otherwise is
//! listed with the reason in `conformance-p4.txt`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The longest that a test may take, in seconds.
const TIME: &str = "60";

/// Lines `KIND NAME: REASON`.
const OTHERWISE: &str = include_str!("../conformance-p4.txt");

/// What a list is about.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    /// The first word of its lines.
    pub word: &'static str,
    /// What happens that should not.
    pub happens: &'static str,
}

const STF: Kind = Kind { word: "fails", happens: "fails" };
const SAMPLE: Kind = Kind { word: "refused", happens: "is refused" };
const INFO: Kind = Kind { word: "p4info", happens: "has another P4Info" };
const HARDWARE: Kind = Kind { word: "hardware", happens: "counts the frame check sequence" };
const ERROR: Kind = Kind { word: "accepted", happens: "is accepted" };

/// The architectures whose programs are run.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Arch {
    V1model,
    Psa,
}

/// What came out.
#[derive(Default)]
pub(super) struct Tally {
    fine: usize,
    known: usize,
    pub untrue: usize,
}

impl Tally {
    /// Notes one case: how it came out otherwise than it should, if it did.
    pub fn note(&mut self, kind: Kind, name: &str, otherwise: Option<String>) {
        match (otherwise, reason(kind, name)) {
            (None, None) => self.fine += 1,
            (Some(_), Some(_)) => self.known += 1,
            (Some(how), None) => {
                self.untrue += 1;
                println!("{name}: {}: {how}", kind.happens.to_uppercase());
            }
            (None, Some(_)) => {
                self.untrue += 1;
                println!("{name}: is as it should be, and the list says that it {}", kind.happens);
            }
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { fine, known, untrue } = self;
        write!(
            f,
            "{fine}/{} passed, {known} came out otherwise for the reason that is listed, {untrue} came out otherwise",
            fine + known + untrue
        )
    }
}

fn reason(kind: Kind, name: &str) -> Option<&'static str> {
    let line = |line: &'static str| line.strip_prefix(kind.word)?.trim_start().strip_prefix(name)?.strip_prefix(": ");
    OTHERWISE.lines().find_map(line)
}

/// Runs the tests whose names contain one of `names`, or all. True if just those came out otherwise
/// that are known to.
pub fn run(netvm: &Path, p4c: &Path, names: &[&str]) -> io::Result<bool> {
    let data = p4c.join("testdata");
    let wanted = |program: &Path| names.is_empty() || names.iter().any(|wanted| name(program).contains(wanted));
    let [mut stf, mut psa, mut samples, mut psa_samples, mut errors, mut infos, mut psa_infos] = [(); 7].map(|()| Tally::default());
    let mut warnings = std::collections::BTreeMap::new();
    for (program, test, arch) in tests(&data)?.into_iter().filter(|(program, ..)| wanted(program)) {
        let tally = if arch == Arch::Psa { &mut psa } else { &mut stf };
        tally.note(STF, &name(&program), one(netvm, &program, &test)?);
    }
    for program in programs(&data, &["p4_16_samples"])?.into_iter().filter(|p| wanted(p) && is_whole(p)) {
        let tally = match arch(&program) {
            Some(Arch::V1model) => &mut samples,
            Some(Arch::Psa) => &mut psa_samples,
            None => continue,
        };
        let result = check(netvm, &program)?;
        result.iter().flatten().for_each(|warning| *warnings.entry(kind_of(warning)).or_insert(0) += 1);
        tally.note(SAMPLE, &name(&program), result.err());
    }
    for (program, expected, arch) in infos_of(&data)?.into_iter().filter(|(program, ..)| wanted(program)) {
        let tally = if arch == Arch::Psa { &mut psa_infos } else { &mut infos };
        tally.note(INFO, &name(&program), p4info(netvm, &program, &expected)?);
    }
    for program in programs(&data, &["p4_16_errors"])?.into_iter().filter(|p| wanted(p)) {
        let accepted = check(netvm, &program)?.ok().map(|_| "p4c refuses it".to_owned());
        errors.note(ERROR, &name(&program), accepted);
    }
    let rows = [
        ("STF tests for v1model", "passed", &stf),
        ("STF tests for PSA", "passed", &psa),
        ("samples for v1model", "accepted", &samples),
        ("samples for PSA", "accepted", &psa_samples),
        ("P4Info of samples for v1model", "equal", &infos),
        ("P4Info of samples for PSA", "equal", &psa_infos),
        ("wrong programs", "refused", &errors),
    ];
    rows.iter().for_each(|(what, good, tally)| println!("{what}: {}", tally.to_string().replace("passed", good)));
    warnings.iter().for_each(|(kind, count)| println!("warnings about samples: {count} times: {kind}"));
    Ok(rows.iter().all(|(_, _, tally)| tally.untrue == 0))
}

/// The programs of p4lang/tutorials: all are accepted, and do what the tests in
/// `tests/p4/tutorials` say that have their names. True if that is so.
pub fn tutorials(netvm: &Path, folder: &Path, tests: &Path) -> io::Result<bool> {
    let (mut accepted, mut passed, mut wrong) = (0, 0, 0);
    // What a student begins with is not whole.
    let whole = |p: &PathBuf| p.parent().is_some_and(|dir| dir.ends_with("solution") || dir.ends_with("p4runtime"));
    for program in programs(folder, &["exercises"])?.into_iter().filter(whole) {
        let test = tests.join(name(&program)).with_extension("stf");
        let result = match check(netvm, &program)? {
            Err(why) => Some(why),
            Ok(_) if test.exists() => {
                accepted += 1;
                let why = one(netvm, &program, &test)?;
                passed += usize::from(why.is_none());
                why
            }
            Ok(_) => {
                accepted += 1;
                None
            }
        };
        if let Some(why) = result {
            wrong += 1;
            println!("{}: {why}", program.display());
        }
    }
    println!("tutorials: {accepted} programs accepted, {passed} pass their tests, {wrong} do not or are refused");
    Ok(wrong == 0 && accepted > 0)
}

pub(super) fn name(program: &Path) -> String {
    program.file_stem().map_or(String::new(), |n| n.to_string_lossy().into_owned())
}

/// All programs of some folders and of those in them, in the order of their names.
fn programs(data: &Path, folders: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = folders.iter().map(|f| data.join(f)).collect();
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            match path.extension() {
                _ if path.is_dir() => left.push(path),
                Some(end) if end == "p4" => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A warning without the names in it.
fn kind_of(warning: &str) -> String {
    let words = warning.split('`').enumerate().map(|(n, words)| if n % 2 == 1 { "_" } else { words });
    let words: String = words.collect();
    words.split(" of parser").next().unwrap_or_default().to_owned() + if words.contains(" of parser") { " is never reached" } else { "" }
}

/// Whether `netvm check` accepts a program, with its warnings; why not. Anything else than
/// acceptance or refusal is an error of its own.
fn check(netvm: &Path, program: &Path) -> io::Result<Result<Vec<String>, String>> {
    let output = Command::new("timeout").arg(TIME).arg(netvm).arg("check").arg(program).stdin(Stdio::null()).output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Ok(Ok(told.lines().filter_map(|line| line.strip_prefix("warning: ")).map(ToOwned::to_owned).collect())),
        Some(1) => Ok(Err(told.lines().next().unwrap_or("without a word").to_owned())),
        other => Err(io::Error::other(format!("{}: netvm check ended with {other:?}", program.display()))),
    }
}

/// Samples of which p4c's P4Info is there, in the order of their names. Those for PSA on DPDK are
/// left out.
fn infos_of(data: &Path) -> io::Result<Vec<(PathBuf, PathBuf, Arch)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(data.join("p4_16_samples_outputs"))? {
        let expected = entry?.path();
        let Some(program) = expected.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".p4info.txtpb")) else { continue };
        let program = data.join("p4_16_samples").join(program);
        let text = fs::read_to_string(&expected)?;
        let found_arch = match () {
            () if !program.exists() => None,
            () if text.contains("arch: \"v1model\"") => Some(Arch::V1model),
            () if text.contains("arch: \"psa\"") => arch(&program),
            () => None,
        };
        found.extend(found_arch.map(|arch| (program, expected, arch)));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// How the P4Info of a program is another than the expected one, if it is. The order of objects of
/// one kind does not count.
fn p4info(netvm: &Path, program: &Path, expected: &Path) -> io::Result<Option<String>> {
    let arguments = ["compile", "--emit", "p4info"];
    let output = Command::new("timeout").arg(TIME).arg(netvm).args(arguments).arg(program).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Ok(Some(told.lines().next().unwrap_or("without a word").to_owned()));
    }
    let (made, wanted) = (String::from_utf8_lossy(&output.stdout).into_owned(), fs::read_to_string(expected)?);
    let (made, wanted) = (objects(&made), objects(&wanted));
    let missing = wanted.iter().find(|o| !made.contains(o)).map(|o| format!("is missing: {o}"));
    let more = made.iter().find(|o| !wanted.contains(o)).map(|o| format!("is there: {o}"));
    Ok(missing.or(more).map(|why| why.replace('\n', " ").chars().take(200).collect()))
}

/// The objects of a P4Info in protobuf's text format: all lines from one that begins at the margin
/// to the next.
fn objects(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match all.last_mut() {
            Some(last) if line.starts_with([' ', '}']) => *last += &format!("\n{}", line.trim()),
            _ => all.push(line.to_owned()),
        }
    }
    all.sort();
    all
}

/// Programs with their tests, in the order of their names.
pub(super) fn tests(testdata: &Path) -> io::Result<Vec<(PathBuf, PathBuf, Arch)>> {
    let mut found = Vec::new();
    for folder in ["p4_16_samples", "p4_16_samples/parser-inline"] {
        for entry in fs::read_dir(testdata.join(folder))? {
            let test = entry?.path();
            let program = test.with_extension("p4");
            if let Some(arch) = arch(&program).filter(|_| test.extension().is_some_and(|e| e == "stf")) {
                found.push((program, test, arch));
            }
        }
    }
    for entry in fs::read_dir(testdata.join("p4_14_samples"))? {
        let test = entry?.path();
        let translated = test.with_extension("p4").file_name().map(|name| testdata.join("p4_14_samples_outputs").join(name));
        if let Some(program) = translated.filter(|p| test.extension().is_some_and(|e| e == "stf") && arch(p) == Some(Arch::V1model)) {
            found.push((program, test, Arch::V1model));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// The architecture of a program: that of the file which it, or a file beside it that it includes,
/// includes. PSA's declarations for DPDK are others.
fn arch(program: &Path) -> Option<Arch> {
    let text = fs::read_to_string(program).ok()?;
    let included = text.lines().filter_map(|l| l.trim().strip_prefix("#include \"")).filter_map(|l| l.split('"').next());
    let others = included.filter_map(|name| fs::read_to_string(program.with_file_name(name)).ok());
    let all: String = others.fold(text.clone(), |all, other| all + &other);
    match text.contains("PSA_Switch") {
        true => (all.contains("psa.p4") && !all.contains("dpdk/psa.p4")).then_some(Arch::Psa),
        false => all.contains("v1model.p4").then_some(Arch::V1model),
    }
}

/// Whether a file is a program, and not part of one.
fn is_whole(program: &Path) -> bool {
    fs::read_to_string(program).is_ok_and(|text| text.contains("main"))
}

/// How a test failed, if it did.
pub(super) fn one(netvm: &Path, program: &Path, test: &Path) -> io::Result<Option<String>> {
    let mut command = Command::new("timeout");
    command.arg(TIME).arg(netvm).arg("test").arg(program).arg(test).stdin(Stdio::null());
    if reason(HARDWARE, &name(test)).is_some() {
        command.arg("--frame-check-sequence");
    }
    let output = command.output()?;
    if output.status.success() {
        return Ok(None);
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Ok(Some(told.lines().next().unwrap_or("without a word").to_owned()))
}
