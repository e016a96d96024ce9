//! See `netvm_tests::filter_parser`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::filter_parser(bytes));
