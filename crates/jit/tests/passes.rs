//! Every pass keeps the meaning: the JIT agrees with the interpreter with any one pass left out, and with the pipeline cut after any pass.

mod support;

use compiler::passes::{ALL, Options as Passes};
use netil::arbitrary::{Options, seeded_module};
use netil::disasm::disassemble;
use netil::verify;
use netvm_jit::JitEngine;
use std::sync::Arc;
use support::{cases, compare};

/// The pipeline in every way in which one pass makes the difference, and none at all.
fn pipelines() -> Vec<Passes> {
    let names = || ALL.iter().map(|p| p.name.to_owned());
    let without = names().map(|name| Passes { disabled: vec![name], ..Passes::default() });
    let until = names().map(|name| Passes { stop_after: Some(name), ..Passes::default() });
    let only = names().map(|name| Passes { disabled: names().filter(|n| *n != name).collect(), ..Passes::default() });
    let none = Passes { disabled: names().collect(), ..Passes::default() };
    without.chain(until).chain(only).chain([none]).collect()
}

#[test]
fn each_pass_keeps_the_meaning() {
    let mut failures = Vec::new();
    for seed in cases(60) {
        let statements = [3, 8, 20][(seed % 3) as usize];
        let program = Arc::new(verify(seeded_module(seed, &Options { statements, ..Options::default() })).unwrap());
        for passes in pipelines() {
            let found = match JitEngine::with_options(Arc::clone(&program), &passes) {
                Ok(jit) => compare(jit, seed).err(),
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
