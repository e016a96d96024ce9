//! The target that chooses passes: any of them, in any order, as often as one likes.

use crate::engines::Seen;
use compiler::passes::{ALL, Options as Passes, Target};
use jit::JitEngine;
use netil::Engine;
use netil::arbitrary::{Options, arbitrary_decisions, arbitrary_module, few_valued_packet, mixer, seeded_packet};
use netil::exec::{Packets, Selection, State};
use netil::{Interpreter, Verified, verify};
use std::sync::Arc;

/// The most passes that run.
const MOST: usize = 40;
/// The most passes that are left out: what one pass does shows where the others are there.
const MOST_DISABLED: usize = 3;
/// Packets of a burst: more than a word of bits.
const BURST: u64 = 70;

/// Whatever passes run, in whatever order, the program means the same. The first byte chooses the
/// kind of program, the target, and whether the pipeline runs without some passes or up to one of
/// them, or passes run in an order of their own; the next ones say which; the others are the
/// program.
pub fn passes_agree(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let (passes, rest) = chosen(*choice, rest);
    let module = if choice & 1 == 0 { arbitrary_decisions(rest) } else { arbitrary_module(rest, &Options::default()) };
    let Ok(program) = verify(module) else { return };
    let program = Arc::new(program);
    let Ok(mut jit) = JitEngine::with_options(Arc::clone(&program), &passes) else { return };
    let mut interpreter = Interpreter::new(Arc::clone(&program));
    let packets: Vec<Vec<u8>> = (0..3).map(seeded_packet).chain((0..12).map(few_valued_packet)).collect();
    assert_eq!(Seen::of(&mut jit, &mixer, &packets), Seen::of(&mut interpreter, &mixer, &packets), "{passes:?}");
    if program.is_filter() {
        assert_eq!(selected(&program, &mut jit), selected(&program, &mut interpreter), "{passes:?}");
    }
}

/// What to run, and the bytes that are left.
fn chosen(choice: u8, bytes: &[u8]) -> (Passes, &[u8]) {
    let target = if choice & 2 == 0 { Target::HERE } else { Target::LANES };
    let name = |b: &u8| ALL[usize::from(*b) % ALL.len()].name.to_owned();
    let (count, rest) = bytes.split_first().map_or((0, bytes), |(count, rest)| (usize::from(*count) % MOST, rest));
    let (which, rest) = rest.split_at(count.min(rest.len()));
    let names: Vec<String> = which.iter().map(name).collect();
    let passes = match choice >> 2 & 3 {
        0 => Passes { target, disabled: names.into_iter().take(MOST_DISABLED).collect(), ..Passes::default() },
        1 => Passes { target, stop_after: names.first().cloned(), ..Passes::default() },
        _ => Passes { target, order: Some(names), ..Passes::default() },
    };
    (passes, rest)
}

fn selected(program: &Arc<Verified>, engine: &mut dyn Engine) -> Selection {
    let bytes: Vec<Vec<u8>> = (0..BURST).map(few_valued_packet).collect();
    let frames: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let wire_len: Vec<u32> = frames.iter().map(|f| f.len() as u32).collect();
    let time_ns: Vec<u64> = (0..BURST).map(|i| i * 1_234_567_891).collect();
    let mut state = State::new(program, &mixer).expect("every coprocessor has a unit");
    state.budget = 300;
    let mut selection = Selection::default();
    engine.select(&Packets { frames: &frames, wire_len: &wire_len, time_ns: &time_ns }, &mut state, &mut selection);
    selection
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    /// Programs that are run however slow the machine is.
    const LEAST: u32 = 1000;

    /// Random bytes for `NETVM_SECONDS`, three unless told, from `NETVM_SEED`.
    #[test]
    fn random_bytes() {
        let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
        let (end, mut seed) = (Instant::now() + Duration::from_secs(number("NETVM_SECONDS", 3)), number("NETVM_SEED", 0));
        let mut runs = 0;
        while Instant::now() < end || runs < LEAST {
            let mut state = seed;
            let mut random = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 56) as u8
            };
            let length = 20 + usize::from(random()) * 2;
            let bytes: Vec<u8> = (0..length).map(|_| random()).collect();
            let panic = std::panic::catch_unwind(|| super::passes_agree(&bytes));
            assert!(panic.is_ok(), "seed {seed}: {bytes:?}");
            (seed, runs) = (seed + 1, runs + 1);
        }
        println!("{runs} programs");
    }
}
