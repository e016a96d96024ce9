//! Builds the C sides: hand-written filters always, libpcap's where its headers are. Optimised whatever the profile, for this machine.

use std::process::{Command, Stdio};

fn main() {
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rustc-check-cfg=cfg(libpcap)");
    let libpcap = has_libpcap();
    let mut build = cc::Build::new();
    build.opt_level(3).flag_if_supported("-march=native").warnings(true).file("c/hand_filters.c");
    if libpcap {
        build.file("c/libpcap.c");
        println!("cargo:rustc-cfg=libpcap");
    }
    build.compile("netvm_bench_c");
    if libpcap {
        println!("cargo:rustc-link-lib=pcap");
    }
    let compiler = cc::Build::new().get_compiler();
    println!("cargo:rustc-env=NETVM_BENCH_CC={}", version(compiler.path()));
}

fn has_libpcap() -> bool {
    let compiler = cc::Build::new().get_compiler();
    let mut command = Command::new(compiler.path());
    command.args(["-include", "pcap/pcap.h", "-x", "c", "-fsyntax-only", "/dev/null"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

fn version(compiler: &std::path::Path) -> String {
    let output = Command::new(compiler).arg("--version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}
