//! See `netvm_tests::jit_agrees`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::jit_agrees(bytes));
