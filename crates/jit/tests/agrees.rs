//! The JIT gives what the interpreter gives: dispositions, clones, packets, memories and the place of a trap.
//!
//! `NETVM_CASES` sets the number of generated modules (the quick suite takes a few thousand), `NETVM_SEED` the first.

mod support;

use netil::arbitrary::{Options, seeded_module};
use netil::disasm::disassemble;
use netil::verify;
use netvm_jit::JitEngine;
use std::sync::Arc;
use support::{cases, compare};

#[test]
fn generated_modules() {
    let mut failures = Vec::new();
    for seed in cases(1500) {
        let statements = [3, 8, 40][(seed % 3) as usize];
        let program = Arc::new(verify(seeded_module(seed, &Options { statements, ..Options::default() })).unwrap());
        let jit = JitEngine::new(Arc::clone(&program)).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", disassemble(program.module())));
        if let Err(what) = compare(jit, seed) {
            failures.push(format!("seed {seed}: {what}\n{}", disassemble(program.module())));
        }
    }
    let shortest = failures.iter().min_by_key(|f| f.len()).cloned().unwrap_or_default();
    assert!(failures.is_empty(), "{} failures, the shortest: {shortest}", failures.len());
}
