//! Compiled C gives the interpreter's verdicts, in every form that this machine can run: on made-up
//! filters in NetIL, of shapes that no front end makes (loops, switches, traps, odd widths), and on
//! packets cut at every length.
//!
//! `NETVM_CASES` sets the number of filters, `NETVM_SEED` the first.

#[path = "../../../tests/needs.rs"]
mod needs;

mod support;

use netil::Engine;
use netil::exec::{Packets, Selection, State};
use netil::{Interpreter, Verified};
use netvm_aot::AotEngine;
use netvm_aot::build::Compiler;
use netvm_aot::code::{Options, has};
use std::sync::Arc;
use support::{RandomFilter, number, packets, program};

fn select(engine: &mut dyn Engine, packets: &[Vec<u8>]) -> Selection {
    let frames: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let wire_len: Vec<u32> = (0..frames.len() as u32).map(|i| i * 3).collect();
    let mut state = State::new(engine.program(), &|_| None).unwrap();
    state.budget = 50;
    let mut out = Selection::default();
    engine.select(&Packets { frames: &frames, wire_len: &wire_len, time_ns: &vec![0; frames.len()] }, &mut state, &mut out);
    out
}

fn engine(program: &Arc<Verified>, form: &'static str) -> AotEngine {
    let options = Options { no_cache: true, form: Some(form) };
    AotEngine::new(Box::new(Interpreter::new(Arc::clone(program))), &options).unwrap()
}

#[test]
fn made_up_filters() {
    if Compiler::system().is_err() {
        needs::missing("a C compiler");
        return;
    }
    let packets = packets();
    let (first, count) = (number("NETVM_SEED", 1), number("NETVM_CASES", 40));
    let forms: Vec<&str> = ["any", "avx512", "avx2", "scalar"].into_iter().filter(|form| has(form)).collect();
    let mut many = 0;
    for seed in first..first + count {
        let source = RandomFilter::text(seed);
        let program = program(&source);
        let wanted = select(&mut Interpreter::new(Arc::clone(&program)), &packets);
        // The form for any machine has the logic of the others and compiles in a fraction of their
        // time.
        for form in forms.iter().filter(|form| **form == "any" || seed % 4 == 0) {
            let mut engine = engine(&program, form);
            let made = engine.code().unwrap_or_else(|| panic!("seed {seed}: no C\n{source}")).form;
            many += u64::from(made == "any");
            let got = select(&mut engine, &packets);
            let differs = (0..packets.len()).find(|i| got.get(*i) != wanted.get(*i));
            assert_eq!(differs, None, "seed {seed}, {form}: packet {:02x?}\n{source}", differs.map(|i| &packets[i]));
        }
    }
    assert!(many * 4 > count, "only {many} of {count} filters are for many packets at once");
}

/// Selects packets whose second word lies in one of the ranges.
fn member_of(ranges: &[(u32, u32)]) -> Arc<Verified> {
    let list: Vec<String> = ranges.iter().map(|(low, high)| format!("{low}-{high}")).collect();
    let code = "segment .push\n.maxstacksize 4\n pop\n push 4\n spload.32\n set.has s\n ret\nends\n";
    program(&format!("segment .sets\n .set s, 32\n {}\nends\n{code}", list.join(",\n ")))
}

/// Sets of every form, tested at the ends of their ranges, beside them and elsewhere.
#[test]
fn large_sets() {
    if Compiler::system().is_err() {
        needs::missing("a C compiler");
        return;
    }
    let scattered = |i: u32| i.wrapping_mul(2_654_435_761);
    let net = |i: u32, bits: u32| (scattered(i) & (u32::MAX << (32 - bits)), scattered(i) | u32::MAX.checked_shr(bits).unwrap_or(0));
    let sets: [(&str, Vec<(u32, u32)>); 6] = [
        ("few", (0..40).map(|i| net(i, 32)).collect()),
        ("hosts", (0..3_000).map(|i| net(i, 32)).collect()),
        ("near", (0..50).map(|i| (7_000 + 37 * i, 7_000 + 37 * i)).collect()),
        ("nets", (0..700).map(|i| net(i, 12 + i % 13)).collect()),
        ("most", (0..5_000).map(|i| net(i, 29)).collect()),
        ("span", (0..300).map(|i| (200 * i, 200 * i + i % 90)).collect()),
    ];
    for (name, ranges) in sets {
        let program = member_of(&ranges);
        let ends = ranges.iter().step_by(7).flat_map(|(low, high)| [*low, *high, low.wrapping_sub(1), high.wrapping_add(1)]);
        let values = ends.chain((0..500).map(|i| scattered(i + 77_777))).chain(0..20);
        let packets: Vec<Vec<u8>> = values.map(|v| [&[0; 4][..], &v.to_be_bytes(), &[0; 60]].concat()).collect();
        let wanted = select(&mut Interpreter::new(Arc::clone(&program)), &packets);
        for form in ["any", "avx512", "avx2", "scalar"].into_iter().filter(|form| has(form)) {
            assert_eq!(select(&mut engine(&program, form), &packets), wanted, "{name}, {form}");
        }
    }
}

#[test]
fn a_program_too_large_for_a_c_compiler_is_left_to_the_other_engine() {
    // None of these tests decides another, and they are no set.
    let tests: String = (0..6_000).map(|i| format!(" push {}\n upload.16\n push {}\n jcmp.g in\n", i % 60, 6_000 - i)).collect();
    let program = program(&format!("segment .push\n pop\n{tests} push 0\n ret\nin:\n push 1\n ret\nends\n"));
    let mut engine = engine(&program, "any");
    assert!(engine.code().is_none());
    let packets = packets();
    assert_eq!(select(&mut engine, &packets), select(&mut Interpreter::new(program), &packets));
}
