//! Running a configuration of elements: its text, the streams and the clock around it, what is told
//! at the end.

use super::{Args, control, cores, kernel, lost, mapping, record, report, search};
use crate::commands::shared::grouped;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use crate::progress::Progress;
use crate::signals::{Heard, Signals};
use netvm::application::{Application, Graph, Host, Library, Reading, Recipe, Settings, Stats, Stream};
use netvm::control::{Replaceable, Server};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest sleep without a look at signals.
const NAP: Duration = Duration::from_millis(20);
/// The longest configuration that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// Whether a file is a configuration, by its name.
pub(crate) fn is_one(file: &Path) -> bool {
    file.extension().is_some_and(|end| end.eq_ignore_ascii_case("click"))
}

/// The text of a configuration; - is standard input.
pub(crate) fn read(file: &Path) -> Outcome<String> {
    use std::io::Read;
    let told = |error: std::io::Error| Failure::failed(format_args!("{}: {error}", file.display()));
    let mut bytes = Vec::new();
    match file == Path::new("-") {
        true => std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes).map_err(told)?,
        false => std::fs::File::open(file).map_err(told)?.take(LONGEST + 1).read_to_end(&mut bytes).map_err(told)?,
    };
    if bytes.len() as u64 > LONGEST {
        return Err(Failure::failed(format_args!("{}: a configuration has {LONGEST} bytes at most", file.display())));
    }
    String::from_utf8(bytes).map_err(|_| Failure::failed(format_args!("{}: not text in UTF-8", file.display())))
}

/// Folders of element classes are there: in one that is not, nobody would miss the classes but
/// those who named it.
pub(crate) fn folders(elements: &[PathBuf]) -> Outcome {
    match elements.iter().find(|folder| !folder.is_dir()) {
        Some(missing) => Err(Failure::failed(format_args!("--elements {}: there is no such folder", missing.display()))),
        None => Ok(()),
    }
}

/// Reads a configuration of that name. A parameter that is nowhere in its text would have no
/// effect, and is refused: its name is wrong.
pub(crate) fn application(name: &str, text: &str, reading: &Reading) -> Outcome<Application> {
    let there_are = mentioned(text);
    if let Some(unknown) = reading.parameters.keys().find(|parameter| !there_are.contains(parameter.as_str())) {
        let all: Vec<&str> = there_are.into_iter().collect();
        let all = if all.is_empty() { "it has none".to_owned() } else { format!("those in it are {}", all.join(", ")) };
        return Err(Failure::usage(format_args!("{name} has no parameter '{unknown}'; {all}")));
    }
    Ok(Application::read(name, text, reading)?)
}

/// The names behind dollar signs in a text.
fn mentioned(text: &str) -> BTreeSet<&str> {
    let name = |rest: &str| rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let names = text.split('$').skip(1).map(|rest| rest.strip_prefix('{').unwrap_or(rest)).map(|rest| &rest[..name(rest)]);
    names.filter(|name| !name.is_empty()).collect()
}

/// How a configuration is read that stands in a file, with `NAME=VALUE` arguments and folders of
/// elements.
pub(crate) fn reading(file: Option<&Path>, parameters: impl Iterator<Item = String>, elements: &[PathBuf]) -> Outcome<Reading> {
    let split = |text: String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::usage(format_args!("expected NAME=VALUE, not '{text}'"))),
    };
    folders(elements)?;
    let mut elements = elements.to_vec();
    elements.extend(file.and_then(Path::parent).map(|folder| folder.join("elements")).filter(|folder| folder.is_dir()));
    elements.extend(search::elements());
    Ok(Reading { parameters: parameters.map(split).collect::<Outcome<BTreeMap<_, _>>>()?, elements, ..Reading::default() })
}

/// The device that stands for an interface of another name, `DEVICE=dev:NAME`.
fn interface(map: &str) -> Option<(String, String)> {
    let (device, place) = map.split_once('=')?;
    let interface = place.strip_prefix("dev:")?.split(',').next()?;
    Some((device.to_owned(), interface.to_owned()))
}

/// What was made, unless a signal ended that: then the signal is what went wrong.
pub(super) fn unless_ended<T, E>(made: Result<T, E>, signals: &Signals) -> Outcome<T>
where
    Failure: From<E>,
{
    made.or_else(|error| signals.result().and(Err(error.into())))
}

pub(super) fn run(args: &Args, file: Option<&Path>, text: &str, first: impl Iterator<Item = String>) -> Outcome {
    no_ports(args)?;
    run_text(args, file, text, first, &args.maps)
}

/// Runs a configuration between what stands for its devices.
pub(super) fn run_text(args: &Args, file: Option<&Path>, text: &str, first: impl Iterator<Item = String>, maps: &[String]) -> Outcome {
    let name = &file.map_or("config".to_owned(), |file| file.display().to_string());
    let mut reading = reading(file, first.chain(args.parameters.iter().cloned()), &args.elements)?;
    reading.interfaces = args.maps.iter().filter_map(|map| interface(map)).collect();
    let mut application = application(name, text, &reading)?;
    if record::wanted(args, &application) {
        application.record()?;
    }
    if let Some(target) = &args.target {
        return kernel::run(args, target, &application);
    }
    let signals = Signals::watch()?;
    let mut settings = Settings { seed: args.seed, budget: Some(args.budget), simulated: args.sim_time, ..Settings::default() };
    for map in maps {
        mapping::device(map, &application, &mut settings)?;
    }
    if !settings.live.is_empty() {
        signals.end_with_terminal()?;
    }
    let server = control::open(args, &application, &mut settings)?;
    if let Some(place) = &args.place {
        return cores::run(args, place, &application, (settings, server), &signals, &reading);
    }
    if args.explain_place {
        failure::eprint_lossy("all elements are on one thread, as there is no --place; with --place rtc:2 they would be");
        cores::explain(args, &application, &cores::ReplicaPlacement::Replicas(2))?;
    }
    let begun = Instant::now();
    let pending = server.as_ref().map(Server::pending);
    let host = Box::new(Terminal::new(signals.clone(), args.json, pending));
    let recipe = Recipe {
        name: name.clone(),
        reading: reading.clone(),
        engine: args.engine.get(),
        engines: args.engine.settings_without(&args.without),
        settings: settings.clone(),
    };
    let started = application.start(args.engine.get(), args.engine.settings_without(&args.without), settings, host);
    let mut graph = unless_ended(started, &signals)?;
    if args.explain_opt {
        failure::eprint_lossy(application.explain(Some(&graph)).to_string().trim_end());
    }
    if args.stats || args.json {
        graph.measure(stopwatch);
    }
    if record::wanted(args, &application) {
        record::begin(record::amount(args), &mut graph)?;
    }
    let live = announce(&graph.stats());
    let whole = record::guarded(&mut graph, |graph| drive_replaceable(graph, &signals, server, Some(&recipe)))?;
    // As JSON they are part of the one value that is printed.
    let handlers = if args.json { asked(&mut graph, &args.handlers)? } else { Vec::new() };
    if !args.json {
        say_handlers(&mut graph, &args.handlers)?;
    }
    let stats = graph.stats();
    tell(args, &stats, handlers, begun.elapsed().as_secs_f64())?;
    warn(&application, &Library::of(&reading.elements), &stats);
    // A run on live devices has no other end than a signal.
    if !live {
        signals.result()?;
    }
    if whole { Ok(()) } else { Err(Failure::told()) }
}

/// Says which devices are live, once they are open. False if none is.
pub(super) fn announce(stats: &Stats) -> bool {
    let devices: Vec<String> = stats.devices.iter().map(|it| format!("{} ({})", it.device, it.name)).collect();
    if !devices.is_empty() {
        failure::eprint_lossy(&format!("running on {}; an interrupt ends the run", devices.join(", ")));
    }
    !devices.is_empty()
}

/// A configuration has no ports of its own that captures could come to.
fn no_ports(args: &Args) -> Outcome {
    let given = [("--in", !args.inputs.is_empty()), ("--out", !args.outputs.is_empty())].into_iter().find(|(_, given)| *given);
    match given {
        Some((what, _)) => {
            Err(Failure::usage(format_args!("{what} is for programs; which captures stand for a configuration's devices says --map")))
        }
        None => Ok(()),
    }
}

/// Runs to the end or to a signal, and completes outputs. False if something was damaged.
pub(crate) fn drive(graph: &mut Graph, signals: &Signals, server: Option<Server>) -> bool {
    drive_replaceable(graph, signals, server, None)
}

/// Runs to the end or to a signal, and completes outputs; by a recipe another version of the
/// configuration may take its place. False if something was damaged.
fn drive_replaceable(graph: &mut Graph, signals: &Signals, mut server: Option<Server>, recipe: Option<&Recipe>) -> bool {
    let mut bar = Progress::new(true);
    graph.start();
    let mut turns = 0u32;
    while !signals.stop() && graph.turn() {
        turns = turns.wrapping_add(1);
        match (&mut server, recipe) {
            (Some(server), Some(recipe)) => server.serve(&mut Replaceable { graph, recipe }),
            (Some(server), None) => server.serve(graph),
            (None, _) => {}
        }
        if turns.is_multiple_of(256) {
            bar.at(graph.progress());
        }
    }
    bar.clear();
    let faults = graph.finish();
    for fault in &faults {
        failure::error(&format!("{} :: {}: {}", graph.name(fault.instance), graph.class(fault.instance), fault.message()));
    }
    faults.is_empty()
}

/// Prints handlers as Click does: the value, with the handler's name before it if there are
/// several. Behind a name may stand what the handler is asked.
pub(crate) fn say_handlers(graph: &mut Graph, handlers: &[String]) -> Outcome {
    let wanted = wanted(graph, handlers)?;
    let several = wanted.len() > 1;
    for handler in wanted {
        let value = handler.read(graph)?;
        match value {
            Some(value) if several => graph.print(Stream::Out, &format!("{}:\n{value}\n\n", handler.shown())),
            Some(value) => graph.print(Stream::Out, &format!("{value}\n")),
            None => {}
        }
    }
    Ok(())
}

/// What handlers say, with what was asked.
pub(super) fn asked(graph: &mut Graph, handlers: &[String]) -> Outcome<Vec<(String, String)>> {
    let mut values = Vec::new();
    for handler in wanted(graph, handlers)? {
        values.extend(handler.read(graph)?.map(|value| (handler.shown(), value)));
    }
    Ok(values)
}

/// A handler that is to be read.
struct Wanted {
    name: String,
    asked: String,
    /// Whether a pattern named it together with others, of which some may not have it.
    by_pattern: bool,
}

impl Wanted {
    fn shown(&self) -> String {
        format!("{} {}", self.name, self.asked).trim_end().to_owned()
    }

    fn read(&self, graph: &mut Graph) -> Outcome<Option<String>> {
        match graph.read(&self.name, &self.asked, None) {
            Ok(value) => Ok(Some(value.trim_end_matches('\n').to_owned())),
            Err(_) if self.by_pattern => Ok(None),
            Err(error) => Err(Failure::failed(error)),
        }
    }
}

fn wanted(graph: &Graph, handlers: &[String]) -> Outcome<Vec<Wanted>> {
    let mut wanted = Vec::new();
    for text in handlers {
        let (handler, asked) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let asked = asked.trim().to_owned();
        match handler.split_once('.') {
            Some((pattern, name)) => {
                let elements = graph.matching(pattern);
                if elements.is_empty() {
                    return Err(Failure::failed(format_args!("no element matches '{pattern}'")));
                }
                let by_pattern = elements.len() > 1;
                let names = elements.into_iter().map(|element| format!("{}.{name}", graph.name(element)));
                wanted.extend(names.map(|name| Wanted { name, asked: asked.clone(), by_pattern }));
            }
            None => wanted.push(Wanted { name: handler.to_owned(), asked, by_pattern: false }),
        }
    }
    Ok(wanted)
}

pub(super) fn tell(args: &Args, stats: &Stats, handlers: Vec<(String, String)>, seconds: f64) -> Outcome {
    if args.json {
        let mut out = Out::new();
        out.json(&netvm::application::report::json(stats, handlers, seconds))?;
        out.flush()?;
    }
    if args.stats {
        failure::eprint_lossy(report::table(stats, seconds).trim_end());
    }
    Ok(())
}

/// Warns of traps, and of a run of which nothing came out.
pub(super) fn warn(application: &Application, library: &Library, stats: &Stats) {
    for (at, (name, class, node)) in stats.nodes.iter().enumerate().filter(|(_, (_, _, node))| node.traps > 0) {
        let place = node.first_trap.as_deref().unwrap_or_default();
        let help = lost::unmarked(application, library, at).map(|help| format!("\nhelp: {help}")).unwrap_or_default();
        failure::warning(format_args!("{name} :: {class} trapped {} times; the first place: {place}{help}", grouped(node.traps)));
    }
    lost::warn(application, stats);
}

/// Nanoseconds from the first look on.
fn stopwatch() -> u64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    u64::try_from(BEGUN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The streams and the clock of this process.
pub(crate) struct Terminal {
    pub(crate) out: Out,
    pub(crate) signals: Signals,
    /// Whether what elements print goes to standard error, since standard output is for JSON.
    pub(crate) only_err: bool,
    /// Somebody asks something over a socket.
    pub(crate) asked: Option<Arc<AtomicBool>>,
    /// Signals that scripts hear.
    heard: Heard,
}

impl Terminal {
    pub(crate) fn new(signals: Signals, only_err: bool, asked: Option<Arc<AtomicBool>>) -> Self {
        Self { out: Out::new(), signals, only_err, asked, heard: Heard::default() }
    }

    fn is_asked(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.load(Ordering::Relaxed))
    }
}

impl Host for Terminal {
    fn write(&mut self, stream: Stream, text: &[u8]) {
        // A reader that is gone has nothing to be told.
        let _ = match stream {
            Stream::Out if !self.only_err => self.out.bytes(text),
            Stream::Out | Stream::Err => self.out.flush().and_then(|()| Ok(std::io::stderr().write_all(text)?)),
        };
    }

    fn clock(&self) -> Option<u64> {
        SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|now| u64::try_from(now.as_nanos()).ok())
    }

    fn sleep(&mut self, nanoseconds: u64) {
        let _ = self.out.flush();
        let end = Instant::now() + Duration::from_nanos(nanoseconds.min(3_600_000_000_000));
        while !self.signals.stop() && !self.is_asked() && !self.heard.any() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            self.heard.wait(left.min(NAP));
        }
    }

    fn stops(&self) -> bool {
        self.signals.stop()
    }

    fn hear(&mut self, signal: i32, hears: bool) {
        self.signals.hear(&mut self.heard, signal, hears);
    }

    fn signalled(&mut self) -> Option<i32> {
        self.signals.heard(&self.heard)
    }

    fn raise(&mut self, signal: i32) {
        let _ = self.out.flush();
        let _ = signal_hook::low_level::raise(signal);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.out.flush();
    }
}
