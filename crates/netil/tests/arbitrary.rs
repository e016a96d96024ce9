//! Generated modules: they verify, they cover the table, and they survive every form a module has.

use netil::Interpreter;
use netil::arbitrary::{Options, arbitrary_module, mixer, seeded_module, seeded_packet};
use netil::asm::assemble;
use netil::codec::DecodeLimits;
use netil::disasm::{disassemble, normalise};
use netil::exec::{Disposition, ExchangeBuffer, Outcome, State};
use netil::module::{HandlerKind, Module};
use netil::table::TABLE;
use netil::verify;
use std::collections::HashMap;
use std::sync::Arc;

const SEEDS: u64 = 3000;

fn modules(n: u64) -> impl Iterator<Item = (u64, Module)> {
    (0..n).map(|seed| (seed, seeded_module(seed, &Options::default())))
}

#[test]
fn generated_modules_verify() {
    for (seed, module) in modules(SEEDS) {
        if let Err(errors) = verify(module.clone()) {
            panic!("seed {seed}: {}\n{}", errors[0], disassemble(&module));
        }
    }
}

#[test]
fn every_instruction_occurs_and_is_reached() {
    let mut count: HashMap<_, u32> = HashMap::new();
    for (_, module) in modules(SEEDS) {
        let verified = verify(module).unwrap();
        for (handler, facts) in HandlerKind::ALL.into_iter().filter_map(|k| verified.handler(k)) {
            for (inst, _) in handler.code.iter().zip(&facts.reachable).filter(|(_, reached)| **reached) {
                *count.entry(inst.op).or_default() += 1;
            }
        }
    }
    let rare: Vec<_> = TABLE.iter().map(|row| (row.mnemonic, count.get(&row.op).copied().unwrap_or(0))).filter(|(_, n)| *n < 20).collect();
    assert!(rare.is_empty(), "{rare:?}");
}

#[test]
fn binary_and_text_give_the_module_back() {
    for (seed, module) in modules(SEEDS) {
        let bytes = module.to_bytes().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let decoded = Module::from_bytes(&bytes, &DecodeLimits::default()).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert!(decoded == module, "seed {seed}");
        assert!(decoded.to_bytes().as_ref() == Ok(&bytes), "seed {seed}");
        assert!(normalise(&module) == module, "seed {seed}");
        let text = disassemble(&module);
        let again = assemble(&text, "other").unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert!(again == module, "seed {seed}: {text}\nbecame\n{}", disassemble(&again));
    }
}

#[test]
fn a_seed_and_a_byte_string_always_mean_the_same() {
    let options = Options::default();
    assert_eq!(seeded_module(7, &options), seeded_module(7, &options));
    let bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(arbitrary_module(&bytes, &options), arbitrary_module(&bytes, &options));
}

#[test]
fn modules_from_byte_strings_verify() {
    let mut seed = 1u64;
    for len in 0..1500 {
        let bytes: Vec<u8> = (0..len)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56) as u8
            })
            .collect();
        let module = arbitrary_module(&bytes, &Options::default());
        assert!(verify(module).is_ok(), "{bytes:?}");
    }
}

/// Changed bytes behind a right checksum are refused or are a module that is written back as it
/// was.
#[test]
fn changed_bytes_never_panic() {
    for (seed, module) in modules(300) {
        let good = module.to_bytes().unwrap();
        let mut random = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        for _ in 0..60 {
            let mut bytes = good.clone();
            for _ in 0..3 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = 16 + (random >> 33) as usize % (bytes.len() - 16);
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, (random >> 20) as u8][(random >> 8) as usize % 6];
            }
            let crc = netil::digest::crc32(&[&bytes[..12], &bytes[16..]]);
            bytes[12..16].copy_from_slice(&crc.to_le_bytes());
            if let Ok(module) = Module::from_bytes(&bytes, &DecodeLimits::default()) {
                let _ = disassemble(&module);
                let _ = verify(module);
            }
        }
    }
}

/// What became of some packets, and of data memory.
fn run(seed: u64, module: &Module) -> (Vec<Disposition>, Vec<Vec<u8>>, Vec<u8>) {
    let program = Arc::new(verify(module.clone()).unwrap());
    let mut state = State::new(&program, &mixer).unwrap();
    (state.budget, state.seed) = (300, seed);
    let mut engine = Interpreter::new(Arc::clone(&program));
    let mut out = Outcome::default();
    if let Err(failed) = engine.init(&mut state) {
        return (vec![failed], Vec::new(), state.data);
    }
    let packets: Vec<Vec<u8>> = (0..6).map(|i| seeded_packet(6 * seed + i)).collect();
    for queue in &mut state.inputs {
        queue.extend(packets.iter().map(|p| ExchangeBuffer::borrowed(p).into_owned()));
    }
    let mut burst: Vec<_> = packets.iter().map(|p| ExchangeBuffer::borrowed(p)).collect();
    engine.run(HandlerKind::Push, &mut burst, &mut state, &mut out);
    let after = burst.iter().map(|b| b.bytes().to_vec()).collect();
    (out.dispositions, after, state.data)
}

#[test]
fn verified_modules_run_without_panic_and_always_alike() {
    let (mut runs, mut traps) = (0, 0);
    for (seed, module) in modules(1000) {
        let first = run(seed, &module);
        assert!(first == run(seed, &module), "seed {seed}");
        runs += first.0.len();
        traps += first.0.iter().filter(|d| matches!(d, Disposition::Trap(_))).count();
    }
    assert!(3 * traps < 2 * runs && 20 * traps > runs, "{traps} of {runs} runs trap");
}
