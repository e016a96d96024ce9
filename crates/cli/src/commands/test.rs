//! `netvm test`: whether element classes, or whole graphs, do what their scripts say.

use super::shared::EngineArg;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use netvm::application::Library;
use netvm::scripts::{self, ScriptError, scenarios};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Run scripts of element classes and of graphs, or STF files of a P4 program
///
/// A script CLASS.txt tells what goes into an element of that class, and what comes out of it: a
/// case for each thing to be tested, with packets in hexadecimal, annotations, time, and handlers.
/// A script with a line that begins with graph or run is about whole configurations: what comes in
/// by their devices, what leaves and what is written. Both hold if nothing else happens than what
/// they say. What is different is told with its place.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm test tests/elements/Paint.txt
  netvm test Limit.txt --elements . --engine interp

A script:
  case the color that the argument says
  config COLOR 7
  in 0 01020304 paint=1
  out 0 01020304 paint=7

Lines of a script:
  case WORDS                      begins a case: a fresh element
  config ARGUMENTS                of the element; none by default
  ports INPUTS OUTPUTS            that are connected; 1 1 by default
  beside CONFIGURATION            elements that the arguments name; nothing comes to them
  at SECONDS                      the clock, 1 at first; timers that are due run
  in PORT HEX [NAME=VALUE ...]    a packet comes in, with those annotations
  wait PORT HEX [NAME=VALUE ...]  a packet waits before an input that pulls, until the element asks for it
  ask PORT                        a packet is asked for at that output
  write HANDLER VALUE             a write handler is called
  read HANDLER VALUE              a read handler has that value
and behind those what happens then, in order:
  print LINE
  out PORT HEX [NAME=VALUE ...]   a packet leaves, with those annotations
  drop [REASON]
  trap

A script of graphs:
  graph FromDevice(eth0) -> q :: Queue(1) -> u :: Unqueue(ACTIVE false) -> ToDevice(eth1)
  in eth0 eth 02:00:00:00:00:01 02:00:00:00:00:02 / ip 10.0.0.1 10.0.0.2 / udp 1 2 / data 20
  in eth0 hex 0102
  drop q queue full
  read q.length 1

Lines of a script of graphs:
  let NAME TEXT                   from here on $NAME stands for TEXT in packets
  case WORDS                      what the next lines are about
  run CONFIG [NAME=VALUE ...]     begins a scenario: a file in the folder above the script's
  graph CONFIGURATION             begins a scenario; $FOLDER in it is a folder of its own
  file NAME LINE                  a line of text in a file in $FOLDER
  bytes NAME HEX                  bytes of a file in $FOLDER
  at SECONDS                      when the next packet comes; else a millisecond after the one before
  in NAME PACKET                  a packet comes in by a device or, with a dot in NAME, stands in a capture in $FOLDER
and in any place behind those what comes of it:
  out NAME PACKET [@ SECONDS]     a packet leaves by a device or into a capture, in that order, at that time
  drop ELEMENT REASON             an element drops a packet; all are listed
  text NAME LINE                  a line is written to stdout, stderr or a file in $FOLDER; all are listed
  write HANDLER VALUE             at the end, a handler is written
  read HANDLER VALUE              at the end, a handler says so
  error TEXT                      the handler before, the configuration or the run is refused with this text
Packets are layers with / between them:
  eth DST SRC [TYPE]   arp request|reply MAC IP MAC IP   ip SRC DST [ttl= id= tos= proto= off= opts=HEX df mf len= sum=]
  ip6 SRC DST [hlim= next=]   udp SPORT DPORT [len= sum=]   tcp SPORT DPORT [seq= ack= flags=SAFRP win= sum=]
  icmp TYPE CODE [rest=HEX sum=]   icmp6 TYPE CODE [rest=HEX sum=]   data N   hex HEX   zero N   part FROM N")]
pub(crate) struct Args {
    /// Scripts, those of classes each named as its class; or a P4 program (.p4, .json of BMv2) and
    /// STF files
    #[arg(value_name = "SCRIPT.txt | PROGRAM TEST.stf", required = true, value_hint = clap::ValueHint::FilePath)]
    scripts: Vec<PathBuf>,

    /// A folder with element classes in C, looked into before the built-in ones; a folder
    /// `elements` beside the script is looked into, too
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    elements: Vec<PathBuf>,

    #[command(flatten)]
    p4: super::p4::ReadingArgs,

    /// Of a P4 program: tell each packet that left as {"port":N,"hex":"..."}, and each verdict, as
    /// JSON
    #[arg(long)]
    json: bool,

    /// Of a P4 program: tell what it says by log_msg, and assertions that do not hold
    #[arg(long)]
    log: bool,

    /// Of a P4 program: check_counter expects 4 bytes more of each packet, Ethernet's frame check
    /// sequence, as tests for hardware do; simple_switch does not count it
    #[arg(long)]
    frame_check_sequence: bool,

    #[command(flatten)]
    engine: EngineArg,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if let [program, tests @ ..] = args.scripts.as_slice()
        && super::p4::is_program(program)
    {
        return super::p4::test(program, tests, &args.p4, &args.engine, (args.json, args.log), args.frame_check_sequence);
    }
    let mut out = Out::new();
    let mut wrong = 0;
    for path in &args.scripts {
        let (cases, different) = judge(args, path)?;
        match different.as_slice() {
            [] => out.line(&format!("{}: {}", path.display(), held(cases)))?,
            different => different.iter().for_each(|words| failure::error(words)),
        }
        wrong += different.len();
    }
    out.flush()?;
    if wrong == 0 { Ok(()) } else { Err(Failure::told()) }
}

/// The number of cases, and what is different.
fn judge(args: &Args, path: &Path) -> Outcome<(usize, Vec<String>)> {
    let failed = |why: &dyn std::fmt::Display| Failure::failed(format_args!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    let reading = super::run::configuration::reading(Some(path), std::iter::empty(), &args.elements)?;
    match scenarios::is_scenarios(&text) {
        true => graphs(args, path, &text, &reading.elements).map_err(|error| failed(&error)),
        false => class(args, path, &text, &reading.elements).map_err(|error| failed(&error)),
    }
}

/// The number of cases in scenarios of graphs, and what is different.
fn graphs(args: &Args, path: &Path, text: &str, elements: &[PathBuf]) -> Result<(usize, Vec<String>), ScriptError> {
    let all = scenarios::parse(path, text)?;
    let base = temporary_folder().map_err(|error| ScriptError::new(format_args!("{}: {error}", std::env::temp_dir().display())))?;
    let mut wrong = Vec::new();
    for (n, scenario) in all.iter().enumerate() {
        let found = scenario.play(elements, args.engine.get(), args.engine.settings(), &base.join(n.to_string()));
        wrong.extend(scenarios::judge(scenario, &found).into_iter().map(|what| format!("{}: {what}", path.display())));
    }
    // What cannot be removed stays where temporary files are.
    let _ = std::fs::remove_dir_all(base);
    // A scenario has a case or several; one that begins without a word is a case, too.
    let named = text.lines().filter(|line| line.trim_start().starts_with("case ")).count();
    Ok((named.max(all.len()), wrong))
}

/// A new folder that only this user may enter. One that is there, perhaps a link that others made,
/// is not taken.
fn temporary_folder() -> std::io::Result<PathBuf> {
    let make = |n: u32| {
        let folder = std::env::temp_dir().join(format!("netvm-test-{}-{n}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder).map(|()| folder)
    };
    let exists = |made: &std::io::Result<PathBuf>| made.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists);
    (0..1000).map(make).find(|made| !exists(made)).unwrap_or_else(|| Err(std::io::ErrorKind::AlreadyExists.into()))
}

/// The number of cases of one class, and what is different.
fn class(args: &Args, path: &Path, text: &str, elements: &[PathBuf]) -> Result<(usize, Vec<String>), ScriptError> {
    let name = path.display().to_string();
    let cases = scripts::parse(text)?;
    let class = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let library = Library::of(elements);
    let happened = scripts::run(&library, &class, &cases, args.engine.get(), args.engine.settings())?;
    let different = cases.iter().zip(&happened).flat_map(|(case, happened)| scripts::differences(&name, case, happened));
    Ok((cases.len(), different.collect()))
}

fn held(cases: usize) -> String {
    if cases == 1 { "1 case holds".to_owned() } else { format!("{cases} cases hold") }
}
