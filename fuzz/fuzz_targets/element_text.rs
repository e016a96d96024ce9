//! See `netvm_tests::element_text`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::element_text(bytes));
