//! Compiled C gives the interpreter's verdicts, in every form that this machine can run: on made-up filters in NetIL, of shapes that no front
//! end makes (loops, switches, traps, odd widths), and on packets cut at every length.
//!
//! `NETVM_CASES` sets the number of filters, `NETVM_SEED` the first.

mod support;

use compiler::Engine;
use netil::exec::{Packets, Selection, State};
use netil::{Interpreter, Verified};
use netvm_aot::AotEngine;
use netvm_aot::build::Compiler;
use netvm_aot::code::{Options, has};
use std::sync::Arc;
use support::{Source, number, packets, program};

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
        println!("skipped: needs a C compiler");
        return;
    }
    let packets = packets();
    let (first, count) = (number("NETVM_SEED", 1), number("NETVM_CASES", 40));
    let forms: Vec<&str> = ["any", "avx512", "avx2", "scalar"].into_iter().filter(|form| has(form)).collect();
    let mut many = 0;
    for seed in first..first + count {
        let source = Source::text(seed);
        let program = program(&source);
        let wanted = select(&mut Interpreter::new(Arc::clone(&program)), &packets);
        // The form for any machine has the logic of the others and compiles in a fraction of their time.
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
