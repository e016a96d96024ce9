//! Generated modules: they verify, they cover the table, and they survive every form a module has.

use netil::arbitrary::{Options, arbitrary_module, seeded_module};
use netil::asm::assemble;
use netil::codec::DecodeLimits;
use netil::disasm::{disassemble, normalise};
use netil::module::{HandlerKind, Module};
use netil::table::TABLE;
use netil::verify;
use std::collections::HashMap;

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

/// Changed bytes behind a right checksum are refused or are a module that is written back as it was.
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
