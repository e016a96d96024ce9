//! Builds the C sides: hand-written filters always, and what there are tools for: the same by
//! clang, libpcap's side, XDP programs (clang), DPDK's side (libdpdk-dev and libpcap). Optimised
//! whatever the profile, for this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rustc-check-cfg=cfg(libpcap, clang, xdp, dpdk)");
    let libpcap = has_libpcap();
    // Before what it refers to.
    if libpcap && let Some(flags) = dpdk_flags() {
        dpdk(&flags);
    }
    let mut build = optimised();
    build.files(["hand_filters", "tables", "burst", "router", "nat", "switch", "p4"].map(|name| format!("c/{name}.c")));
    if libpcap {
        build.file("c/libpcap.c");
        println!("cargo:rustc-cfg=libpcap");
    }
    build.compile("netvm_bench_c");
    if libpcap {
        println!("cargo:rustc-link-lib=pcap");
    }
    println!("cargo:rustc-env=NETVM_BENCH_CC={}", version(cc::Build::new().get_compiler().path()));
    let clang = version(Path::new("clang"));
    if clang.contains("clang") {
        by_clang();
    }
    println!("cargo:rustc-env=NETVM_BENCH_CLANG={clang}");
}

fn optimised() -> cc::Build {
    let mut build = cc::Build::new();
    // Loops begin with a cache line, or luck with their place decides some comparisons.
    build.opt_level(3).flag_if_supported("-march=native").flag_if_supported("-falign-loops=64").warnings(true);
    build
}

/// The hand-written filters once more, with other names, and the XDP programs.
fn by_clang() {
    let mut build = optimised();
    build.compiler("clang").file("c/hand_filters.c");
    for name in ["hand_called", "hand_inlined", "touch_each"] {
        build.define(name, Some(format!("{name}_clang").as_str()));
    }
    build.compile("netvm_bench_clang");
    println!("cargo:rustc-cfg=clang");
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") == "linux" && target("ARCH") == "x86_64" && xdp_programs() {
        optimised().file("c/kernel.c").compile("netvm_bench_kernel");
        println!("cargo:rustc-cfg=xdp");
    }
}

fn xdp_programs() -> bool {
    let object = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("xdp_filters.o");
    let mut command = Command::new("clang");
    // Debian keeps the headers of the machine's architecture in a folder that the BPF target does
    // not look into.
    command.args(["-target", "bpf", "-mcpu=v3", "-O2", "-Wall", "-Wextra", "-I/usr/include/x86_64-linux-gnu"]);
    command.args(["-c", "c/xdp_filters.c", "-o"]).arg(object).status().is_ok_and(|s| s.success())
}

fn dpdk(flags: &[String]) {
    let mut build = optimised();
    build.file("c/dpdk.c").define("ALLOW_EXPERIMENTAL_API", None);
    flags.iter().for_each(|flag| _ = build.flag(flag));
    build.compile("netvm_bench_dpdk");
    for name in ["rte_bpf", "rte_eal"] {
        println!("cargo:rustc-link-lib={name}");
    }
    println!("cargo:rustc-cfg=dpdk");
}

/// How to compile with DPDK, but for the machine, which stays this one; none if it is not there.
fn dpdk_flags() -> Option<Vec<String>> {
    let output = Command::new("pkg-config").args(["--cflags", "libdpdk"]).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.split_whitespace().filter(|flag| !flag.starts_with("-march=")).map(str::to_owned).collect())
}

fn has_libpcap() -> bool {
    let compiler = cc::Build::new().get_compiler();
    let mut command = Command::new(compiler.path());
    command.args(["-include", "pcap/pcap.h", "-x", "c", "-fsyntax-only", "/dev/null"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

fn version(compiler: &Path) -> String {
    let output = Command::new(compiler).arg("--version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("absent").to_owned()
}
