//! See `netvm_tests::p4_entries`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::p4_entries(bytes));
