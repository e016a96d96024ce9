//! See `netvm_tests::bounded`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::bounded(bytes));
