//! P4 programs in `netvm test`, `netvm run` and `netvm check`.

use super::shared::EngineArg;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use netvm::Settings;
use netvm::p4::{Digest, Filling, Optimisation, Pipeline, Port, Switch, SwitchError, optimisation, shadowed, stf};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The names among these that are optimisations of P4 programs.
fn optimisations(names: &[String]) -> Vec<&'static str> {
    optimisation::ALL.iter().map(|(_, name, _)| *name).filter(|name| names.iter().any(|own| own == name)).collect()
}

/// How a P4 program is read.
#[derive(clap::Args)]
pub(crate) struct ReadingArgs {
    /// A folder for files that a P4 program includes; core.p4, v1model.p4 and psa.p4 are built in
    #[arg(short = 'I', long = "include", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folders: Vec<PathBuf>,

    /// A macro of the P4 preprocessor
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]")]
    defines: Vec<String>,
}

impl ReadingArgs {
    fn defines(&self) -> Vec<(String, String)> {
        let split = |d: &String| d.split_once('=').map_or((d.clone(), "1".to_owned()), |(n, v)| (n.to_owned(), v.to_owned()));
        self.defines.iter().map(split).collect()
    }

    /// Compiles a program.
    pub(crate) fn load(&self, path: &Path) -> Outcome<Pipeline> {
        self.load_without(path, &[])
    }

    /// Compiles a program without some optimisations.
    pub(crate) fn load_without(&self, path: &Path, without: &[Optimisation]) -> Outcome<Pipeline> {
        Ok(netvm::p4::load_without(path, &self.folders, &self.defines(), without)?)
    }

    fn load_for(&self, path: &Path, log: bool) -> Outcome<Pipeline> {
        if log { self.load_traced(path) } else { self.load(path) }
    }

    /// The configuration in which a program is the only element between devices.
    pub(crate) fn between(&self, program: &Path, entries: Option<&Path>, ports: &BTreeMap<u16, Port>, without: &[String]) -> String {
        let defines = self.defines();
        let without = optimisations(without);
        netvm::p4::Devices { program, entries, folders: &self.folders, defines: &defines, without: &without, ports }.configuration()
    }

    /// Compiles a program that tells what it does.
    pub(crate) fn load_traced(&self, path: &Path) -> Outcome<Pipeline> {
        Ok(netvm::p4::load_traced(path, &self.folders, &self.defines())?)
    }

    /// Whether a program can be an element of a graph with so many inputs and outputs.
    pub(crate) fn is_element(&self, path: &Path, inputs: u32, outputs: u32) -> bool {
        netvm::p4::is_element(path, &self.folders, &self.defines(), inputs, outputs)
    }

    /// The P4Info of a program.
    pub(crate) fn p4info(&self, path: &Path) -> Outcome<netvm::p4::P4Info> {
        Ok(netvm::p4::p4info(path, &self.folders, &self.defines())?)
    }

    /// Parsers and controls of a program as graphs.
    pub(crate) fn charts(&self, path: &Path) -> Outcome<Vec<netvm::p4::Chart>> {
        Ok(netvm::p4::charts(path, &self.folders, &self.defines())?)
    }

    /// Checks a program, and a file of entries for it: warnings are drawn on standard error, or
    /// told as JSON.
    pub(crate) fn check(&self, path: &Path, entries: Option<&Path>, json: bool) -> Outcome {
        let (pipeline, warnings) = netvm::p4::check(path, &self.folders, &self.defines())?;
        let mut all = vec![warnings];
        if let Some(entries) = entries {
            let Some(pipeline) = pipeline else {
                return Err(Failure::failed(format_args!("{}: the architecture of this program has no entries here", path.display())));
            };
            let mut switch = Switch::start(pipeline, &netvm::engines::ALL[0], Settings::default())?;
            if netvm::p4::is_protobuf(entries) {
                fill(&mut switch, self, path, entries)?;
            } else {
                all.push(of_file(entries, |text| shadowed::check(&mut switch, &entries.display().to_string(), text))?);
            }
        }
        if !json {
            let drawn: String = all.iter().map(|warnings| warnings.render(failure::stderr_has_color())).collect();
            if !drawn.is_empty() {
                failure::eprint_lossy(drawn.trim_end_matches('\n'));
            }
            return Ok(());
        }
        let one = |(file, line, column, message): (&str, u32, u32, &str)| serde_json::json!({"file": file, "line": line, "column": column, "message": message});
        let list: Vec<_> = all.iter().flat_map(|warnings| warnings.list().map(one).collect::<Vec<_>>()).collect();
        let mut out = Out::new();
        out.json(&serde_json::json!({"warnings": list}))?;
        out.flush()
    }
}

/// What is made of the text of a file; a fault is told with the file's name.
fn of_file<T>(path: &Path, made: impl FnOnce(&str) -> Result<T, SwitchError>) -> Outcome<T> {
    let wrong = |why: &dyn std::fmt::Display| Failure::failed(format_args!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    made(&text).map_err(|why| wrong(&why))
}

/// True for a file that is a P4 program by its name.
pub(crate) fn is_program(path: &Path) -> bool {
    is_json(path) || path.extension().is_some_and(|e| e == "p4")
}

/// True for one in BMv2's JSON.
pub(crate) fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "json")
}

/// Makes a program ready to run.
pub(crate) fn start(pipeline: Pipeline, engine: &EngineArg, seed: u64) -> Outcome<Switch> {
    let settings = Settings { seed, engine: engine.settings(), ..Settings::default() };
    Ok(Switch::start(pipeline, engine.get(), settings)?)
}

/// Fills tables and groups with what a file has: commands or, by its name, a `WriteRequest` of
/// P4Runtime as protobuf text.
pub(crate) fn fill(switch: &mut Switch, reading: &ReadingArgs, program: &Path, path: &Path) -> Outcome {
    let info = if netvm::p4::is_protobuf(path) { Some(reading.p4info(program)?) } else { None };
    let filling = |text: &str| match info {
        Some(info) => Filling::Protobuf(text.to_owned(), Box::new(info)),
        None => Filling::Commands(text.to_owned()),
    };
    of_file(path, |text| filling(text).enter(switch)).map(drop)
}

/// Runs a file of commands; what they tell.
pub(crate) fn commands(switch: &mut Switch, path: &Path) -> Outcome<Vec<String>> {
    of_file(path, |text| stf::configure(switch, text))
}

/// Compiles a program, so that it says what `log_msg` has if that is wanted.
pub(crate) fn ready(reading: &ReadingArgs, program: &Path, engine: &EngineArg, seed: u64, log: bool) -> Outcome<Switch> {
    logging(reading.load_for(program, log)?, engine, seed, log)
}

fn logging(pipeline: Pipeline, engine: &EngineArg, seed: u64, log: bool) -> Outcome<Switch> {
    let mut switch = start(pipeline, engine, seed)?;
    if log {
        switch.log();
    }
    Ok(switch)
}

/// What the program said, as lines.
pub(crate) fn said(switch: &mut Switch, json: bool) -> Vec<String> {
    let line = |(place, text): (String, String)| {
        if json { serde_json::json!({"log": text, "place": place}).to_string() } else { format!("{place}: {text}") }
    };
    switch.logged().into_iter().map(line).collect()
}

/// A digest as a line.
pub(crate) fn digest(digest: &Digest, json: bool) -> String {
    if json {
        // Numbers may be wider than those of JSON.
        let values = digest.values.iter().map(|(name, value)| (name.clone(), serde_json::Value::from(value.to_string())));
        let values: serde_json::Map<String, serde_json::Value> = values.collect();
        return serde_json::json!({"digest": digest.name, "time_us": digest.time_us, "values": values}).to_string();
    }
    let values: Vec<String> = digest.values.iter().map(|(name, value)| format!("{name}={value:#x}")).collect();
    format!("digest {} at {} us: {}", digest.name, digest.time_us, values.join(" "))
}

/// `netvm test PROGRAM.p4 TEST.stf...`
pub(crate) fn test(
    program: &Path,
    tests: &[PathBuf],
    reading: &ReadingArgs,
    engine: &EngineArg,
    (json, log): (bool, bool),
    frame_check: bool,
) -> Outcome {
    if tests.is_empty() {
        return Err(Failure::usage("an STF file is needed behind the program"));
    }
    let pipeline = reading.load_for(program, log)?;
    let mut out = Out::new();
    let mut wrong = 0;
    for path in tests {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::failed(format_args!("{}: {error}", path.display())))?;
        let mut switch = logging(pipeline.clone(), engine, 0, log)?;
        let report = stf::run_with_overhead(&mut switch, &text, if frame_check { stf::FRAME_CHECK } else { 0 });
        said(&mut switch, json).iter().try_for_each(|line| out.line(line))?;
        let digests = switch.digests();
        if json {
            for told in &report.told {
                out.line(&serde_json::json!({"told": told}).to_string())?;
            }
            for sent in &report.sent {
                let hex: String = sent.bytes.iter().map(|b| format!("{b:02x}")).collect();
                out.line(&serde_json::json!({"port": sent.port, "hex": hex}).to_string())?;
            }
            let verdict = serde_json::json!({"test": path.display().to_string(), "pass": report.wrong.is_empty(), "wrong": report.wrong});
            digests.iter().try_for_each(|d| out.line(&digest(d, true)))?;
            out.line(&verdict.to_string())?;
        } else {
            report.told.iter().try_for_each(|line| out.line(line))?;
            digests.iter().try_for_each(|d| out.line(&digest(d, false)))?;
        }
        if !json && report.wrong.is_empty() {
            out.line(&format!("{}: {} packets expected, and they left", path.display(), report.expected))?;
        }
        report.wrong.iter().for_each(|why| failure::error(&format!("{}: {why}", path.display())));
        wrong += report.wrong.len();
    }
    out.flush()?;
    if wrong == 0 { Ok(()) } else { Err(Failure::told()) }
}
