//! `netvm top`: elements of a running configuration with their rates, refreshed like top(1), over
//! its control socket.

#[cfg(feature = "screen")]
mod graph;
mod model;
#[cfg(feature = "screen")]
mod screen;
mod view;

use super::ctl::{Client, socket_of};
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::signals::Signals;
use model::{Order, Sample, Table};
use serde_json::json;
#[cfg(feature = "screen")]
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The shortest time between two looks, in seconds.
const SHORTEST: f64 = 0.05;
/// What queues say of themselves: packets that wait, and how many may.
#[cfg(feature = "screen")]
const DEPTH: [&str; 2] = ["length", "capacity"];
/// Queues that are asked each time.
#[cfg(feature = "screen")]
const MOST_QUEUES: usize = 64;
/// How often signals are looked for while nothing else happens.
const NAP: Duration = Duration::from_millis(100);

/// Show what a running configuration does: packets, rates and drops of each element
///
/// The configuration runs with netvm run --control. Keys: q ends, p pauses, r orders by rate, d by
/// drops, o in the order of the configuration, the arrow keys scroll; t chooses a thread, m moves
/// it to the next core and a lets it run on any, + and - add and remove a replica (of runs with
/// --place). g changes between the list and the graph of stages: boxes of threads, in the colour of
/// their core, with the rings between them, packets a second and what waits at each.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm top
  netvm top --socket /run/router.sock --interval 0.5
  netvm top --batch --count 3 > rates.txt")]
pub(crate) struct Args {
    /// The control socket; if not said, that of the only configuration that runs
    #[arg(short, long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    socket: Option<PathBuf>,

    /// Seconds between two looks
    #[arg(short, long, default_value_t = 1.0, value_name = "SECONDS")]
    interval: f64,

    /// Print tables one below the other instead of a screen; so it is if the output is no terminal
    #[arg(short, long)]
    batch: bool,

    /// End after so many tables
    #[arg(short = 'n', long, value_name = "N")]
    count: Option<u64>,

    /// In which order elements are shown
    #[arg(long, value_enum, default_value_t = Order::Configuration)]
    order: Order,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let fits = (SHORTEST..=3600.0).contains(&args.interval);
    let interval = Duration::try_from_secs_f64(args.interval).ok().filter(|_| fits);
    let interval = interval.ok_or_else(|| Failure::usage(format_args!("--interval takes seconds from {SHORTEST} to 3600")))?;
    let mut source = SampleSource {
        client: Client::connect(&socket_of(args.socket.as_ref())?)?,
        before: None,
        #[cfg(feature = "screen")]
        queues: None,
    };
    let signals = Signals::watch()?;
    #[cfg(feature = "screen")]
    if !args.batch && std::io::stdout().is_terminal() {
        return screen::run(args, &mut source, interval, &signals);
    }
    print(args, &mut source, interval, &signals)
}

/// Where samples come from.
struct SampleSource {
    client: Client,
    before: Option<Sample>,
    /// The elements that there were, and the queues among them.
    #[cfg(feature = "screen")]
    queues: Option<(Vec<String>, Vec<String>)>,
}

impl SampleSource {
    /// Asks for something; what came of it, for people.
    #[cfg(feature = "screen")]
    fn ask(&mut self, request: &serde_json::Value) -> Outcome<Result<serde_json::Value, String>> {
        self.client.answer(request)
    }

    /// What happened since it was last asked.
    fn table(&mut self) -> Outcome<Table> {
        let sample = Sample::of(&self.client.ask(&json!({ "op": "stats" }))?, Instant::now());
        let table = Table::of(&sample, self.before.as_ref());
        self.before = Some(sample);
        Ok(table)
    }

    /// What happened since it was last asked, with what waits in queues.
    #[cfg(feature = "screen")]
    fn with_depths(&mut self) -> Outcome<Table> {
        let mut table = self.table()?;
        let reads: Vec<_> = self
            .queues()?
            .iter()
            .flat_map(|queue| DEPTH.map(|name| json!({ "op": "read", "handler": format!("{queue}.{name}") })))
            .collect();
        // Another version of the configuration may have other elements by now.
        let answers = self.client.answer(&json!({ "op": "batch", "requests": reads }))?.unwrap_or_default();
        let number = |answer: &serde_json::Value| answer["ok"].as_str()?.trim().parse::<u64>().ok();
        let depths: Vec<_> = answers
            .as_array()
            .map_or(&[][..], Vec::as_slice)
            .chunks(2)
            .map(|two| Some((number(two.first()?)?, number(two.get(1)?)?)))
            .collect();
        let known = self.queues()?.iter().cloned().zip(depths);
        table.depths = known.filter_map(|(name, depth)| Some((name, depth?))).collect();
        Ok(table)
    }

    /// Elements that say how many packets wait in them, and how many may.
    #[cfg(feature = "screen")]
    fn queues(&mut self) -> Outcome<&[String]> {
        let names: Vec<String> = self.before.iter().flat_map(|sample| sample.names()).map(str::to_owned).collect();
        if self.queues.as_ref().is_none_or(|(known, _)| *known != names) {
            let elements = self.client.ask(&json!({ "op": "elements" }))?;
            let reads = |element: &serde_json::Value, name: &str| {
                element["handlers"].as_array().into_iter().flatten().any(|it| it["name"] == name && it["read"] == true)
            };
            let is_queue = |element: &&serde_json::Value| DEPTH.iter().all(|name| reads(element, name));
            let queues = elements.as_array().into_iter().flatten().filter(is_queue).filter_map(|it| it["name"].as_str().map(str::to_owned));
            self.queues = Some((names, queues.take(MOST_QUEUES).collect()));
        }
        Ok(self.queues.as_ref().map_or(&[], |(_, queues)| queues))
    }
}

/// Tables one below the other. The first has no rates.
fn print(args: &Args, source: &mut SampleSource, interval: Duration, signals: &Signals) -> Outcome {
    for number in 1.. {
        let mut table = source.table()?;
        table.sort(args.order);
        let mut out = Out::new();
        for line in view::lines(&table) {
            out.line(&line)?;
        }
        out.line("")?;
        out.flush()?;
        if args.count == Some(number) || rests(interval, signals) {
            break;
        }
    }
    Ok(())
}

/// Waits; true if the program is to end.
fn rests(interval: Duration, signals: &Signals) -> bool {
    let end = Instant::now() + interval;
    while Instant::now() < end && !signals.stop() {
        std::thread::sleep(NAP.min(end.saturating_duration_since(Instant::now())));
    }
    signals.stop()
}
