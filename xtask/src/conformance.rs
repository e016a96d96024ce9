//! Click's own tests, run on netvm: which pass, which fail, and which need something that is not
//! there.
//!
//! Each test runs in a folder of its own, with `click` and `click-flatten` on the path being netvm
//! ([`super::clicktest`] reads the files). A test needs something that is not there if its
//! `%require` fails, or if it fails and a class of elements, an option or a program was missed.
//!
//! Besides, configurations that come with Click are checked and run as they are, which is counted
//! apart; of those in its folder `conf` the summary of `netvm check` tells how many are accepted.

use crate::clicktest::{self, Test};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The longest that a test may take, in seconds.
const TIME: &str = "20";

/// What came of a test.
enum Result {
    Passed,
    Failed(String),
    Unsupported(String),
}

/// Tests that come out otherwise here, each with the reason.
const OTHERWISE: &str = include_str!("../conformance.txt");

/// Configurations of Click's sources, with what handlers say after a run.
const CONFIGURATIONS: &[(&str, &[(&str, &str)])] = &[(
    "conf/fake-iprouter.click",
    &[
        ("InfiniteSource@4.count", "600000"),
        ("Discard@6.count", "600000"),
        ("tol.count", "0"),
        ("out0.drops", "0"),
        ("out1.highwater_length", "0"),
    ],
)];

/// Runs the tests under `click`/test whose names contain one of `names`, or all, with that netvm,
/// and the configurations. True if just those failed that are known to.
pub fn run(netvm: &Path, click: &Path, names: &[&str]) -> io::Result<bool> {
    let tests = files(&click.join("test"))?;
    let scratch = std::env::temp_dir().join(format!("netvm-conformance-{}", std::process::id()));
    let tools = tools(&scratch, netvm)?;
    let mut tally = Tally::default();
    for path in tests {
        let name = path.strip_prefix(click.join("test")).unwrap_or(&path).with_extension("").display().to_string();
        if names.is_empty() || names.iter().any(|wanted| name.contains(wanted)) {
            tally.add(&name, one(&path, &scratch.join("work"), &tools).unwrap_or_else(|error| Result::Failed(error.to_string())));
        }
    }
    let configurations = configurations(&tools, click, names)?;
    fs::remove_dir_all(&scratch)?;
    tally.tell();
    configurations.iter().for_each(|line| println!("{}", line.as_ref().unwrap_or_else(|failed| failed)));
    if names.is_empty() {
        print!("{}", accepted(netvm, &click.join("conf"))?);
    }
    let failed = configurations.iter().filter(|result| result.is_err()).count();
    println!("configurations as they are: {} passed, {failed} failed", configurations.len() - failed);
    Ok(tally.untrue == 0 && failed == 0)
}

/// How many of the configurations in a folder are accepted, and why others are not.
fn accepted(netvm: &Path, folder: &Path) -> io::Result<String> {
    let checked = Command::new(netvm).arg("check").arg(folder).output()?;
    Ok(format!("in {}: {}", folder.display(), String::from_utf8_lossy(&checked.stdout)))
}

/// Checks and runs the configurations: a line for each.
fn configurations(tools: &Path, click: &Path, names: &[&str]) -> io::Result<Vec<std::result::Result<String, String>>> {
    let wanted = CONFIGURATIONS.iter().filter(|(name, _)| names.is_empty() || names.iter().any(|wanted| name.contains(wanted)));
    let mut lines = Vec::new();
    for (name, handlers) in wanted {
        let (file, handlers_of) = (click.join(name), handlers.iter().flat_map(|(handler, _)| ["-h", handler]));
        let checked = command(tools, "netvm").arg("check").arg(&file).output()?;
        lines.push(if checked.status.success() { Ok(format!("pass         check {name}")) } else { Err(failed("check", name, &checked)) });
        let run = command(tools, "click").arg(&file).args(handlers_of).output()?;
        let told: Vec<&str> = std::str::from_utf8(&run.stdout).unwrap_or_default().split_whitespace().collect();
        let said = handlers.iter().all(|(handler, value)| told.windows(2).any(|pair| pair == [&format!("{handler}:")[..], value]));
        lines.push(if run.status.success() && said { Ok(format!("pass         run {name}")) } else { Err(failed("run", name, &run)) });
    }
    Ok(lines)
}

/// A program of the tools that is ended after some time.
fn command(tools: &Path, name: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "1", TIME]).arg(tools.join(name));
    command
}

fn failed(what: &str, name: &str, output: &std::process::Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ");
    format!("fail         {what} {name}: {} {}", text(&output.stderr), text(&output.stdout))
}

/// What came of all.
#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
    unsupported: u32,
    /// That the list does not know.
    untrue: u32,
    missing: BTreeMap<String, u32>,
}

impl Tally {
    fn add(&mut self, name: &str, result: Result) {
        let known = OTHERWISE.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        self.untrue += u32::from(known.is_some() != matches!(result, Result::Failed(_)));
        match (result, known) {
            (Result::Passed, known) => {
                println!(
                    "pass         {name}{}",
                    if known.is_some() { ": is listed in xtask/conformance.txt as one that does not" } else { "" }
                );
                self.passed += 1;
            }
            (Result::Unsupported(why), _) => {
                println!("unsupported  {name}: {why}");
                *self.missing.entry(why).or_default() += 1;
                self.unsupported += 1;
            }
            (Result::Failed(why), known) => {
                println!("{:12} {name}: {}", known.map_or("fail", |_| "otherwise"), known.unwrap_or(&why));
                self.failed += 1;
            }
        }
    }

    fn tell(&self) {
        println!("{} passed, {} failed, {} need something that is not there", self.passed, self.failed, self.unsupported);
        let mut missing: Vec<_> = self.missing.iter().filter(|(_, tests)| **tests > 1).collect();
        missing.sort_by_key(|(_, tests)| std::cmp::Reverse(**tests));
        missing.iter().for_each(|(why, tests)| println!("  {tests} {why}"));
    }
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|end| end == "clicktest") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A folder with the programs that tests call.
fn tools(scratch: &Path, netvm: &Path) -> io::Result<PathBuf> {
    let folder = scratch.join("bin");
    fs::create_dir_all(&folder)?;
    let netvm = netvm.canonicalize()?;
    for name in ["netvm", "click", "click-flatten"] {
        std::os::unix::fs::symlink(&netvm, folder.join(name))?;
    }
    let buildtool = folder.join("click-buildtool");
    fs::write(
        &buildtool,
        "#!/bin/sh\n[ \"$1\" = provides ] || exit 1\nshift\nfor class; do click --provides \"$class\" || exit 1; done\n",
    )?;
    let mut permissions = fs::metadata(&buildtool)?.permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(&buildtool, permissions)?;
    Ok(folder)
}

fn one(path: &Path, work: &Path, tools: &Path) -> io::Result<Result> {
    let text = clicktest::text(&fs::read(path)?);
    let test = match clicktest::parse(&text) {
        Ok(test) => test,
        Err(error) => return Ok(Result::Failed(error)),
    };
    let _ = fs::remove_dir_all(work);
    fs::create_dir_all(work)?;
    for (number, require) in test.requires.iter().enumerate() {
        if !shell(require, &format!("require{number}"), work, tools)? {
            let first = require.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            return Ok(Result::Unsupported(format!("requires `{}`", first.trim())));
        }
    }
    for (name, text) in test.files.iter().filter(|(name, _)| Path::new(name).is_relative()) {
        let file = work.join(name);
        fs::create_dir_all(file.parent().unwrap_or(work))?;
        fs::write(file, clicktest::bytes(text))?;
    }
    let went_well = shell(&test.script, "script", work, tools)?;
    Ok(judge(&test, went_well, work))
}

/// The shell that runs scripts: bash where there is one, since some tests print bytes as `\xd4`,
/// which not every `printf` does.
fn shell_name() -> &'static str {
    let found = Command::new("bash").args(["-c", "true"]).status().is_ok_and(|status| status.success());
    if found { "bash" } else { "sh" }
}

/// Runs a script as clicktest does: every command must succeed. Its streams are the files `stdout`
/// and `stderr`.
fn shell(script: &str, name: &str, work: &Path, tools: &Path) -> io::Result<bool> {
    let file = work.join(format!(".{name}.sh"));
    fs::write(&file, clicktest::bytes(script))?;
    let stream = |name: &str| fs::File::create(work.join(name)).map(Stdio::from);
    let input = fs::File::open(work.join("stdin")).map_or_else(|_| Stdio::null(), Stdio::from);
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("timeout");
    command
        .args(["-k", "1", TIME, shell_name(), "-e"])
        .arg(&file)
        .current_dir(work)
        .env("PATH", path)
        .env("rundir", work)
        .env_remove("VALGRIND");
    let mut child = command.stdin(input).stdout(stream("stdout")?).stderr(stream("stderr")?).spawn()?;
    let status = child.wait()?;
    // What a script left running in the background is of the group that `timeout` made.
    let group = format!("-{}", child.id());
    Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status()?;
    Ok(status.success())
}

fn judge(test: &Test, went_well: bool, work: &Path) -> Result {
    let read = |name: &str| fs::read(work.join(name)).map(|bytes| clicktest::text(&bytes)).unwrap_or_default();
    let mut wrong: BTreeMap<&str, String> = BTreeMap::new();
    let mut right = Vec::new();
    for expectation in &test.expectations {
        match test.difference(expectation, &read(&expectation.name)) {
            Ok(None) => right.push(expectation.name.as_str()),
            Ok(Some(why)) | Err(why) => drop(wrong.entry(&expectation.name).or_insert(why)),
        }
    }
    // Of several expectations for one file any may hold.
    let wrong = wrong.into_iter().find(|(name, _)| !right.contains(name)).map(|(_, why)| why);
    let told: String = fs::read_dir(work).into_iter().flatten().flatten().map(|entry| read(&entry.file_name().to_string_lossy())).collect();
    match (went_well, wrong, missed(&told)) {
        (true, None, _) => Result::Passed,
        (_, _, Some(missed)) => Result::Unsupported(missed),
        (_, Some(why), None) => Result::Failed(why),
        (false, None, None) => Result::Failed(format!("a command failed: {}", told_last(&read("stderr")))),
    }
}

fn told_last(stderr: &str) -> &str {
    stderr.lines().find(|line| line.starts_with("error")).or(stderr.lines().last()).unwrap_or("nothing was told")
}

/// What a test missed, if its output says so.
fn missed(told: &str) -> Option<String> {
    let between = |before: &str, behind: &str| told.split_once(before).and_then(|(_, rest)| rest.split_once(behind)).map(|(what, _)| what);
    let class = between("there is no element class '", "'").map(|class| format!("class {class}"));
    let option = || between("error: option ", " is not known").map(|option| format!("option {option}"));
    let program = || {
        told.lines()
            .find_map(|line| line.strip_suffix(": not found").or(line.strip_suffix(": command not found")))
            .and_then(|line| line.rsplit(": ").next())
            .map(|name| format!("program {name}"))
    };
    class.or_else(option).or_else(program)
}
