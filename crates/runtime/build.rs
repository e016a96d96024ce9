//! Tells the compiler of the two ways in which the crate's tests are built beside the usual one:
//! `--cfg loom` runs them in all orders that the memory model allows, `--cfg shuttle` in random
//! ones (`scripts/models`).
#![forbid(unsafe_code)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(loom, shuttle)");
}
