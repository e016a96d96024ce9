//! See `netvm_tests::module_loader`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::module_loader(bytes));
