//! See `netvm_tests::capture_reader`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::capture_reader(bytes));
