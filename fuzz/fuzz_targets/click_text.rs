//! See `netvm_tests::click_text`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::click_text(bytes));
