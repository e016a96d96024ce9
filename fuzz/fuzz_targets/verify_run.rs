//! See `netvm_tests::verify_run`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::verify_run(bytes));
