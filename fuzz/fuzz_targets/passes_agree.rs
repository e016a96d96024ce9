//! See `netvm_tests::passes_agree`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::passes_agree(bytes));
