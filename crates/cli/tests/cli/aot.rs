//! Filters compiled by the system's compiler: the cache, and machines without a compiler.

use super::tools::{Dir, ended, netvm, run};
use std::os::unix::fs::PermissionsExt;

fn has_compiler() -> bool {
    std::process::Command::new("cc").arg("--version").output().is_ok_and(|out| out.status.success())
}

#[test]
fn compiled_code_is_kept_unless_that_is_unwanted() {
    if !has_compiler() {
        super::needs::missing("a C compiler");
        return;
    }
    let dir = Dir::new("aot");
    let (trace, cache) = (dir.trace("t.pcap", 1, 500), dir.file("cache"));
    let count = |more: &str| {
        let line = format!("filter -r {trace} --count --engine aot {more} tcp port 80 or tcp port 443");
        ended(netvm(line.split_whitespace()).env("XDG_CACHE_HOME", &cache).env("NETVM_NO_CACHE", "").output().expect("the program starts"))
            .good()
    };
    let wanted = run(&format!("filter -r {trace} --count --engine interp tcp port 80 or tcp port 443")).good();
    assert_eq!(count("--no-cache"), wanted);
    assert!(!std::fs::exists(&cache).unwrap());
    assert_eq!(count(""), wanted);
    let place = std::path::Path::new(&cache).join("netvm/aot");
    let files = || std::fs::read_dir(&place).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
    let [file] = &files()[..] else { panic!("{:?}", files()) };
    assert_eq!(std::fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(count(""), wanted);
    // What others may have written is not run, nor is it overwritten.
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let line = format!("filter -r {trace} --count --engine aot tcp port 80 or tcp port 443");
    let refused = ended(netvm(line.split_whitespace()).env("XDG_CACHE_HOME", &cache).env("NETVM_NO_CACHE", "").output().unwrap()).bad(1);
    assert!(refused.contains("not a file that only this user can write"), "{refused}");
}

#[test]
fn without_a_compiler_the_default_engine_works_and_aot_says_what_is_missing() {
    let dir = Dir::new("no-cc");
    let trace = dir.trace("t.pcap", 1, 500);
    let with = |engine: &str| {
        let line = format!("filter -r {trace} --count --engine {engine} tcp");
        ended(netvm(line.split_whitespace()).env("NETVM_CC", "/nowhere/cc").output().expect("the program starts"))
    };
    assert_eq!(with("auto").good(), with("interp").good());
    let error = with("aot").bad(1);
    assert!(error.contains("no C compiler was found: install gcc or clang, or name one in NETVM_CC"), "{error}");
}

#[test]
fn c_and_every_pass_can_be_looked_at() {
    let c = run("compile --filter udp --emit c").good();
    assert!(c.contains("void netvm_select_scalar(const struct nv_burst *b)") && c.contains("netvm_select_avx512"), "{c}");
    let fold = run("compile --filter udp --emit mir:fold").good();
    assert!(fold.starts_with("func .push") && fold != run("compile --filter udp --emit mir-opt").good());
    let without = run("compile --filter udp --emit mir-opt --without byteswap --without dce").good();
    assert_ne!(without, run("compile --filter udp --emit mir-opt").good());
    assert!(run("compile --filter udp --emit mir:nothing").bad(2).contains("invalid value 'mir:nothing'"));
}
