//! The engines side by side on one filter: verdicts compared packet by packet, then timed in turns.

use crate::filters;
use crate::native::{self, Bpf};
use crate::traces::{BURST, Trace};
use netvm::io::LinkType;
use netvm::netil::exec::Selection;
use netvm::{Compiled, Filter, engines};
use serde::Serialize;
use std::time::{Duration, Instant};

/// A measurement lasts at least that long.
const PIECE: Duration = Duration::from_millis(8);

/// What one filter costs on one trace.
#[derive(Serialize)]
pub struct Row {
    /// f1 to f9.
    pub filter: String,
    /// How many packets it selects.
    pub selected: u64,
    /// Packets in the trace.
    pub packets: usize,
    /// Each engine.
    pub engines: Vec<Timing>,
}

/// What one engine takes.
#[derive(Serialize)]
pub struct Timing {
    /// Its name.
    pub engine: &'static str,
    /// Median over the rounds, nanoseconds per packet.
    pub median_ns: f64,
    /// Fastest round, nanoseconds per packet.
    pub minimum_ns: f64,
}

enum Side {
    Netvm(&'static str, Box<Compiled>),
    Libpcap(Bpf),
    Hand {
        which: usize,
        inlined: bool,
    },
    /// One byte of each packet: no verdicts.
    Touch,
}

impl Side {
    fn name(&self) -> &'static str {
        match self {
            Self::Netvm(name, _) => name,
            Self::Libpcap(_) => "libpcap",
            Self::Hand { inlined: false, .. } => "C called",
            Self::Hand { inlined: true, .. } => "C inlined",
            Self::Touch => "touch",
        }
    }

    /// Goes over the trace once; the verdicts of each burst go to `each`.
    fn pass(&mut self, trace: &Trace<'_>, mut each: impl FnMut(&[u64])) {
        let mut bits = [0; BURST / 64];
        match self {
            Self::Netvm(_, compiled) => {
                let mut selection = Selection::default();
                for burst in trace.bursts() {
                    compiled.select(&burst, &mut selection);
                    each(&selection.bits);
                }
            }
            Self::Libpcap(program) => trace.c_bursts().for_each(|burst| {
                program.run(burst, &mut bits);
                each(&bits);
            }),
            Self::Hand { which, inlined } => trace.c_bursts().for_each(|burst| {
                native::hand(*which, *inlined, burst, &mut bits);
                each(&bits);
            }),
            Self::Touch => trace.c_bursts().for_each(|burst| {
                native::touch(burst, &mut bits);
                each(&bits);
            }),
        }
    }

    fn verdicts(&mut self, trace: &Trace<'_>) -> Vec<u64> {
        let mut all = Vec::new();
        self.pass(trace, |bits| all.extend_from_slice(bits));
        all
    }

    /// Nanoseconds per packet over that many passes.
    fn time(&mut self, trace: &Trace<'_>, passes: u32) -> f64 {
        let start = Instant::now();
        let mut seen = 0;
        for _ in 0..passes {
            self.pass(trace, |bits| seen ^= bits[0]);
        }
        std::hint::black_box(seen);
        start.elapsed().as_secs_f64() * 1e9 / (f64::from(passes) * trace.len() as f64)
    }
}

/// netvm's engines.
fn ours(expression: &str) -> Result<Vec<Side>, String> {
    let mut sides = Vec::new();
    for engine in engines::ALL.iter().filter(|engine| engine.quick).chain(engines::forms()) {
        let settings = engines::Settings { no_cache: true };
        let compiled = Filter::compile_with(expression, LinkType::EN10MB, engine, settings).map_err(|e| e.to_string())?;
        sides.push(Side::Netvm(engine.name, Box::new(compiled)));
    }
    Ok(sides)
}

/// All sides.
fn sides(which: usize, expression: &str) -> Result<Vec<Side>, String> {
    let mut sides = ours(expression)?;
    sides.extend(Bpf::compile(expression).map(Side::Libpcap));
    sides.extend([false, true].map(|inlined| Side::Hand { which, inlined }));
    sides.push(Side::Touch);
    Ok(sides)
}

/// Measures filter number `which` (from 0).
///
/// # Errors
/// The filter does not compile, or two sides judge a packet differently.
pub fn measure(which: usize, trace: &Trace<'_>, rounds: usize) -> Result<Row, String> {
    timed(format!("f{}", which + 1), sides(which, &filters::all()[which])?, trace, rounds)
}

/// Measures a filter that only netvm's engines take in reasonable time.
///
/// # Errors
/// As [`measure`].
pub fn measure_own(name: &str, expression: &str, trace: &Trace<'_>, rounds: usize) -> Result<Row, String> {
    timed(name.to_owned(), ours(expression)?, trace, rounds)
}

fn timed(name: String, mut sides: Vec<Side>, trace: &Trace<'_>, rounds: usize) -> Result<Row, String> {
    let selected = compare(&name, &mut sides, trace)?;
    let passes: Vec<u32> = sides.iter_mut().map(|side| calibrate(side, trace)).collect();
    let mut times = vec![Vec::new(); sides.len()];
    for _ in 0..rounds {
        for ((side, passes), times) in sides.iter_mut().zip(&passes).zip(&mut times) {
            times.push(side.time(trace, *passes));
        }
    }
    let engines = sides.iter().zip(times).map(|(side, times)| timing(side.name(), times)).collect();
    Ok(Row { filter: name, selected, packets: trace.len(), engines })
}

fn calibrate(side: &mut Side, trace: &Trace<'_>) -> u32 {
    let once = side.time(trace, 1) * trace.len() as f64;
    (PIECE.as_nanos() as f64 / once).ceil().max(1.0) as u32
}

fn timing(engine: &'static str, mut times: Vec<f64>) -> Timing {
    times.sort_by(f64::total_cmp);
    Timing { engine, median_ns: times[times.len() / 2], minimum_ns: times[0] }
}

/// Holds every side's verdicts against the first one's; how many packets are selected.
fn compare(filter: &str, sides: &mut [Side], trace: &Trace<'_>) -> Result<u64, String> {
    let judges = sides.iter_mut().filter(|side| !matches!(side, Side::Touch));
    let verdicts: Vec<_> = judges.map(|side| (side.name(), side.verdicts(trace))).collect();
    let (reference, expected) = &verdicts[0];
    for (name, found) in &verdicts[1..] {
        if let Some(word) = found.iter().zip(expected).position(|(a, b)| a != b) {
            let packet = word * 64 + (found[word] ^ expected[word]).trailing_zeros() as usize;
            return Err(format!("{filter}: {name} and {reference} judge packet {packet} differently"));
        }
    }
    Ok(expected.iter().map(|w| u64::from(w.count_ones())).sum())
}
