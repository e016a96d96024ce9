//! The engines side by side on one filter: verdicts compared packet by packet, then timed in turns.

use crate::native::{self, Bpf, CPacket, Compiler, Hand};
use crate::traces::{BURST, Trace};
use crate::{capi, dpdk, filters, kernel};
use netvm::io::LinkType;
use netvm::netil::exec::Selection;
use netvm::{Compiled, Filter, Profile, engines};
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
    /// How many packets it judges wrongly; none if it judges all alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<u64>,
}

enum Side {
    Netvm(&'static str, Box<Compiled>),
    Libpcap(Bpf),
    Kernel(kernel::Program),
    Dpdk(dpdk::Program),
    Hand(Hand),
    /// The C interface, a burst or one packet a call.
    Library(capi::Filter),
    /// One byte of each packet: no verdicts.
    Touch,
}

impl Side {
    fn name(&self) -> &'static str {
        match self {
            Self::Netvm(name, _) => name,
            Self::Libpcap(_) => "libpcap",
            Self::Kernel(_) => "kernel jit",
            Self::Dpdk(_) => "dpdk jit",
            Self::Hand(hand) => name_of(*hand),
            Self::Library(filter) if filter.single => "C API, one",
            Self::Library(_) => "C API",
            Self::Touch => "touch",
        }
    }

    /// Goes over the trace once; the verdicts of each burst go to `each`.
    fn pass(&mut self, trace: &Trace<'_>, mut each: impl FnMut(&[u64])) {
        match self {
            Self::Netvm(_, compiled) => {
                let mut selection = Selection::default();
                for burst in trace.bursts() {
                    compiled.select(&burst, &mut selection);
                    each(&selection.bits);
                }
            }
            Self::Libpcap(program) => over(trace, |burst, bits| program.run(burst, bits), each),
            Self::Kernel(program) => over(trace, |burst, bits| program.run(burst, bits), each),
            Self::Dpdk(program) => over(trace, |burst, bits| program.run(burst, bits), each),
            Self::Hand(hand) => over(trace, |burst, bits| hand.run(burst, bits), each),
            Self::Library(filter) => over(trace, |burst, bits| filter.run(burst, bits), each),
            Self::Touch => over(trace, native::touch, each),
        }
    }

    /// Whether its mistakes are its own, and told, rather than ours.
    fn may_be_wrong(&self) -> bool {
        matches!(self, Self::Dpdk(_))
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

/// Goes over the trace once with C.
fn over(trace: &Trace<'_>, run: impl Fn(&[CPacket<'_>], &mut [u64]), mut each: impl FnMut(&[u64])) {
    let mut bits = [0; BURST / 64];
    trace.c_bursts().for_each(|burst| {
        run(burst, &mut bits);
        each(&bits);
    });
}

fn name_of(hand: Hand) -> &'static str {
    let switch = hand.which == native::F9_SWITCH;
    match (hand.compiler, switch, hand.inlined) {
        (Compiler::System, false, false) => "C called",
        (Compiler::System, false, true) => "C inlined",
        (Compiler::System, true, false) => "C switch called",
        (Compiler::System, true, true) => "C switch inlined",
        (Compiler::Clang, false, false) => "clang called",
        (Compiler::Clang, false, true) => "clang inlined",
        (Compiler::Clang, true, false) => "clang switch called",
        (Compiler::Clang, true, true) => "clang switch inlined",
    }
}

/// netvm's engines.
fn ours(expression: &str) -> Result<Vec<Side>, String> {
    let mut sides = Vec::new();
    for engine in engines::ALL.iter().filter(|engine| engine.quick).chain(engines::forms()) {
        let settings = engines::Settings { no_cache: true, ..engines::Settings::default() };
        let compiled = Filter::compile_with(expression, LinkType::EN10MB, engine, settings).map_err(|e| e.to_string())?;
        sides.push(Side::Netvm(engine.name, Box::new(compiled)));
    }
    Ok(sides)
}

/// All sides.
fn sides(which: usize, expression: &str) -> Result<Vec<Side>, String> {
    let mut sides = ours(expression)?;
    sides.extend(Bpf::compile(expression).map(Side::Libpcap));
    sides.extend(there(which, "kernel jit", kernel::Program::compile(which)).map(Side::Kernel));
    sides.extend(there(which, "dpdk jit", dpdk::Program::compile(expression)).map(Side::Dpdk));
    sides.extend(by_hand(which).map(Side::Hand));
    sides.extend([false, true].into_iter().filter_map(|single| capi::Filter::compile(expression, single)).map(Side::Library));
    sides.push(Side::Touch);
    Ok(sides)
}

/// What there is of a peer; why not is told.
fn there<P>(which: usize, name: &str, program: Result<P, String>) -> Option<P> {
    program.inspect_err(|why| eprintln!("f{}: {name} skipped: {why}", which + 1)).ok()
}

/// Filter number `which` by hand: each way of writing it, by each compiler, called and inlined.
fn by_hand(which: usize) -> impl Iterator<Item = Hand> {
    let switch = (which + 1 == filters::COUNT).then_some(native::F9_SWITCH);
    let written = [which].into_iter().chain(switch);
    let built = written.flat_map(|which| native::compilers().iter().map(move |compiler| (which, *compiler)));
    built.flat_map(|(which, compiler)| [false, true].map(|inlined| Hand { which, inlined, compiler }))
}

/// Measures filter number `which` (from 0).
///
/// # Errors
/// The filter does not compile, or two sides judge a packet differently that never should.
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

/// Measures a filter with its terms as they are written beside the same with its terms ordered by a
/// profile.
///
/// # Errors
/// As [`measure`].
pub fn measure_profiled(name: &str, expression: &str, profile: &Profile, trace: &Trace<'_>, rounds: usize) -> Result<Row, String> {
    let mut sides = Vec::new();
    for (engine, plain, ordered) in [("jit", "jit", "jit profiled"), ("aot-avx512", "aot-avx512", "aot-avx512 profiled")] {
        let Some(engine) = engines::find(engine) else { continue };
        let filter = || {
            Filter::new(expression, engine).map(|f| f.with_settings(engines::Settings { no_cache: true, ..engines::Settings::default() }))
        };
        let compiled = |filter: Filter| -> Result<_, netvm::Error> { { filter }.prepare(LinkType::EN10MB)?.another() };
        let written = filter().and_then(compiled).map_err(|e| e.to_string())?;
        let profiled = filter().map(|f| f.with_profile(profile.clone())).and_then(compiled).map_err(|e| e.to_string())?;
        sides.extend([Side::Netvm(plain, Box::new(written)), Side::Netvm(ordered, Box::new(profiled))]);
    }
    timed(name.to_owned(), sides, trace, rounds)
}

fn timed(name: String, mut sides: Vec<Side>, trace: &Trace<'_>, rounds: usize) -> Result<Row, String> {
    let (selected, wrong) = compare(&name, &mut sides, trace)?;
    let passes: Vec<u32> = sides.iter_mut().map(|side| calibrate(side, trace)).collect();
    let mut times = vec![Vec::new(); sides.len()];
    for _ in 0..rounds {
        for ((side, passes), times) in sides.iter_mut().zip(&passes).zip(&mut times) {
            times.push(side.time(trace, *passes));
        }
    }
    let engines = sides.iter().zip(times).zip(wrong).map(|((side, times), wrong)| timing(side.name(), times, wrong)).collect();
    Ok(Row { filter: name, selected, packets: trace.len(), engines })
}

fn calibrate(side: &mut Side, trace: &Trace<'_>) -> u32 {
    let once = side.time(trace, 1) * trace.len() as f64;
    (PIECE.as_nanos() as f64 / once).ceil().max(1.0) as u32
}

fn timing(engine: &'static str, mut times: Vec<f64>, wrong: Option<u64>) -> Timing {
    times.sort_by(f64::total_cmp);
    Timing { engine, median_ns: times[times.len() / 2], minimum_ns: times[0], wrong }
}

/// Holds every side's verdicts against the first one's: how many packets are selected, and for each
/// side how many it judges wrongly.
fn compare(filter: &str, sides: &mut [Side], trace: &Trace<'_>) -> Result<(u64, Vec<Option<u64>>), String> {
    let expected = sides[0].verdicts(trace);
    let reference = sides[0].name();
    let mut wrong = Vec::new();
    for side in sides {
        let found = if matches!(side, Side::Touch) { expected.clone() } else { side.verdicts(trace) };
        let differing = expected.iter().zip(&found).map(|(a, b)| a ^ b).collect::<Vec<_>>();
        let first = differing.iter().position(|word| *word != 0);
        if let Some(word) = first.filter(|_| !side.may_be_wrong()) {
            let packet = word * 64 + differing[word].trailing_zeros() as usize;
            return Err(format!("{filter}: {} and {reference} judge packet {packet} differently", side.name()));
        }
        wrong.push(first.map(|_| ones(&differing)));
    }
    Ok((ones(&expected), wrong))
}

fn ones(words: &[u64]) -> u64 {
    words.iter().map(|w| u64::from(w.count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::Memory;

    /// Nothing of ours: how that compares is tested elsewhere, and takes long to compile.
    fn others(which: usize, expression: &str) -> Vec<Side> {
        let mut sides: Vec<_> = by_hand(which).map(Side::Hand).collect();
        sides.extend(Bpf::compile(expression).map(Side::Libpcap));
        sides.extend(there(which, "kernel jit", kernel::Program::compile(which)).map(Side::Kernel));
        sides.extend(there(which, "dpdk jit", dpdk::Program::compile(expression)).map(Side::Dpdk));
        sides
    }

    #[test]
    fn peers_and_hand_written_filters_agree_on_every_beginning_of_a_packet() {
        for (which, expression) in filters::all().iter().enumerate() {
            for packet in (0..filters::COUNT).map(filters::packet) {
                let memory = Memory::beginnings(&packet);
                let mut sides = others(which, expression);
                compare(expression, &mut sides, &memory.trace()).unwrap();
            }
        }
    }

    #[test]
    fn the_kernel_takes_all_filters_or_none() {
        let taken =
            (0..filters::COUNT).map(kernel::Program::compile).inspect(|p| _ = p.as_ref().inspect_err(|why| eprintln!("skipped: {why}")));
        let count = taken.filter(Result::is_ok).count();
        assert!([0, filters::COUNT].contains(&count), "{count}");
    }

    #[test]
    fn a_packet_judged_otherwise_is_an_error_that_names_it() {
        let hand = |which| Side::Hand(Hand { which, inlined: true, compiler: Compiler::System });
        // f1 takes the packet once it has an Ethernet header, f2 from the source address on.
        let memory = Memory::beginnings(&filters::packet(0));
        let error = compare("f", &mut [hand(0), hand(1)], &memory.trace()).unwrap_err();
        assert_eq!(error, "f: C inlined and C inlined judge packet 14 differently");
    }
}
