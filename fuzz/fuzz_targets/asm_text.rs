//! See `netvm_tests::asm_text`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::asm_text(bytes));
