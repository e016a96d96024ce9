//! See `netvm_tests::print_packet`.
#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| netvm_tests::print_packet(bytes));
