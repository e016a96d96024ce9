//! The JIT gives what the interpreter gives: dispositions, clones, packets, memories and the place
//! of a trap.
//!
//! `NETVM_CASES` sets the number of generated modules (the quick suite takes a few thousand),
//! `NETVM_SEED` the first.

mod support;

use netil::arbitrary::{Options, seeded_module};
use netil::disasm::disassemble;
use netil::module::{Extra, Handler, Inst};
use netil::table::Op;
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

/// Functions that are compiled quickly rather than well: the same modules behind much code that no
/// packet runs.
#[test]
fn large_modules() {
    for seed in 0..6 {
        let mut module = seeded_module(seed, &Options { statements: 12, ..Options::default() });
        [&mut module.push, &mut module.pull].into_iter().flatten().for_each(pad);
        let program = Arc::new(verify(module).unwrap_or_else(|e| panic!("seed {seed}: {}", e[0])));
        let jit = JitEngine::new(Arc::clone(&program)).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        compare(jit, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
}

/// Puts loads in front that only a packet of port 0xffff would meet.
fn pad(handler: &mut Handler) {
    const LOADS: u32 = 9000;
    let start = 3 + 3 * LOADS;
    let mut code = vec![Inst::new(Op::Dup), Inst::with(Op::Push, 0xffff), Inst::with(Op::JCmpNeq, start)];
    code.extend((0..LOADS).flat_map(|k| [Inst::with(Op::Push, k), Inst::new(Op::UpLoad8), Inst::new(Op::Pop)]));
    for mut inst in handler.code.drain(..) {
        match &mut inst.extra {
            Extra::Switch(s) => s.cases.iter_mut().map(|c| &mut c.1).chain([&mut s.default]).for_each(|t| *t += start),
            _ if inst.op.branches() => inst.imm[0] += start,
            _ => {}
        }
        code.push(inst);
    }
    handler.code = code;
    handler.max_stack += 2;
}
