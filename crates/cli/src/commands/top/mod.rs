//! `netvm top`: elements of a running configuration with their rates, refreshed like top(1), over its control socket.

mod model;
mod view;

use super::ctl::{Client, socket_of};
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::signals::Signals;
use model::{Order, Sample, Table};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The shortest time between two looks, in seconds.
const SHORTEST: f64 = 0.05;
/// How often signals are looked for while nothing else happens.
const NAP: Duration = Duration::from_millis(100);

/// Show what a running configuration does: packets, rates and drops of each element
///
/// The configuration runs with netvm run --control. Keys: q ends, p pauses, r orders by rate, d by drops, o in the order of the configuration, the arrow keys scroll.
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
    let mut source = Source { client: Client::connect(&socket_of(args.socket.as_ref())?)?, before: None };
    let signals = Signals::watch()?;
    if args.batch || !std::io::stdout().is_terminal() {
        return print(args, &mut source, interval, &signals);
    }
    let mut terminal = ratatui::try_init()?;
    let result = show(args, &mut source, interval, &signals, &mut terminal);
    ratatui::restore();
    result
}

/// Where samples come from.
struct Source {
    client: Client,
    before: Option<Sample>,
}

impl Source {
    /// What happened since it was last asked.
    fn table(&mut self) -> Outcome<Table> {
        let sample = Sample::of(&self.client.ask(&json!({ "op": "stats" }))?, Instant::now());
        let table = Table::of(&sample, self.before.as_ref());
        self.before = Some(sample);
        Ok(table)
    }
}

/// Tables one below the other. The first has no rates.
fn print(args: &Args, source: &mut Source, interval: Duration, signals: &Signals) -> Outcome {
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

/// The screen.
fn show(args: &Args, source: &mut Source, interval: Duration, signals: &Signals, terminal: &mut ratatui::DefaultTerminal) -> Outcome {
    let mut screen = view::Screen { order: args.order, ..view::Screen::default() };
    let (mut table, mut tables, mut next) = (source.table()?, 1, Instant::now() + interval);
    loop {
        table.sort(screen.order);
        terminal.draw(|frame| screen.draw(&table, frame))?;
        let wait = next.saturating_duration_since(Instant::now()).min(NAP);
        if event::poll(wait)? && matches!(event::read()?, Event::Key(key) if !takes(&mut screen, key)) || signals.stop() {
            return Ok(());
        }
        if Instant::now() >= next {
            next += interval;
            if !screen.paused {
                table = source.table()?;
                tables += 1;
            }
            if args.count.is_some_and(|count| tables > count) {
                return Ok(());
            }
        }
    }
}

/// Does what a key says; false if that is to end.
fn takes(screen: &mut view::Screen, key: KeyEvent) -> bool {
    if key.kind != KeyEventKind::Press {
        return true;
    }
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Char('p' | ' ') => screen.paused = !screen.paused,
        KeyCode::Char('r') => screen.order = Order::Rate,
        KeyCode::Char('d') => screen.order = Order::Drops,
        KeyCode::Char('o') => screen.order = Order::Configuration,
        KeyCode::Up => screen.first = screen.first.saturating_sub(1),
        KeyCode::Down => screen.first += 1,
        KeyCode::PageUp => screen.first = screen.first.saturating_sub(10),
        KeyCode::PageDown => screen.first += 10,
        KeyCode::Home => screen.first = 0,
        _ => {}
    }
    true
}
