//! Every pass keeps the meaning: the JIT agrees with the interpreter with any one pass left out,
//! with the pipeline cut after any pass, and with passes in any order.

mod support;

use compiler::passes::{ALL, Options as Passes, Target};
use netil::arbitrary::{Options, few_valued_packet, seeded_decisions, seeded_module};
use netil::disasm::disassemble;
use netil::verify;
use netvm_jit::{JitEngine, JitError};
use std::sync::Arc;
use support::{cases, compare, compare_on};

/// The pipeline in every way in which one pass makes the difference, and none at all.
fn pipelines() -> Vec<Passes> {
    let names = || ALL.iter().map(|p| p.name.to_owned());
    let without = names().map(|name| Passes { disabled: vec![name], ..Passes::default() });
    let until = names().map(|name| Passes { stop_after: Some(name), ..Passes::default() });
    let only = names().map(|name| Passes { disabled: names().filter(|n| *n != name).collect(), ..Passes::default() });
    let none = Passes { disabled: names().collect(), ..Passes::default() };
    without.chain(until).chain(only).chain([none]).collect()
}

/// Passes in an order that nobody thought of, for both targets.
fn disordered(seed: u64) -> Passes {
    let mut state = seed;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let order = (0..random(30)).map(|_| ALL[random(ALL.len())].name.to_owned()).collect();
    let target = if random(4) == 0 { Target::LANES } else { Target::HERE };
    Passes { order: Some(order), target, ..Passes::default() }
}

#[test]
fn each_pass_keeps_the_meaning_of_decisions() {
    let mut failures = Vec::new();
    for seed in cases(300) {
        let program = Arc::new(verify(seeded_decisions(seed)).unwrap());
        let some = pipelines().into_iter().enumerate().filter(|(i, _)| (*i as u64 + seed).is_multiple_of(7)).map(|(_, p)| p);
        for passes in some.chain([Passes::default(), disordered(seed), disordered(!seed)]) {
            let found = match JitEngine::with_options(Arc::clone(&program), &passes) {
                Ok(jit) => compare_on(jit, seed, few_valued_packet).err(),
                Err(e) => Some(e.to_string()),
            };
            if let Some(what) = found {
                failures.push(format!("seed {seed}, {passes:?}: {what}\n{}", disassemble(program.module())));
            }
        }
    }
    let shortest = failures.iter().min_by_key(|f| f.len()).cloned().unwrap_or_default();
    assert!(failures.is_empty(), "{} failures, the shortest: {shortest}", failures.len());
}

#[test]
fn each_pass_keeps_the_meaning() {
    let mut failures = Vec::new();
    for seed in cases(60) {
        let statements = [3, 8, 20][(seed % 3) as usize];
        let program = Arc::new(verify(seeded_module(seed, &Options { statements, ..Options::default() })).unwrap());
        for passes in pipelines().into_iter().chain([disordered(seed)]) {
            let found = match JitEngine::with_options(Arc::clone(&program), &passes) {
                Ok(jit) => compare(jit, seed).err(),
                // Without the passes that remove values there may be too many.
                Err(JitError::TooLarge(..)) => None,
                Err(e) => Some(e.to_string()),
            };
            if let Some(what) = found {
                failures.push(format!("seed {seed}, {passes:?}: {what}\n{}", disassemble(program.module())));
            }
        }
    }
    let shortest = failures.iter().min_by_key(|f| f.len()).cloned().unwrap_or_default();
    assert!(failures.is_empty(), "{} failures, the shortest: {shortest}", failures.len());
}
