//! What `make install` puts where: the program that is tested here, installed in a folder of its
//! own.

use super::tools::{Dir, ended};
use std::path::Path;
use std::process::Command;

#[test]
fn what_is_installed_is_found_and_works() {
    let dir = Dir::new("install");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install");
    // A folder with the program alone: the C library has tests of its own.
    let built = dir.file("built");
    std::fs::create_dir_all(&built).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_netvm"), Path::new(&built).join("netvm")).expect("a link");
    let made = Command::new("sh").arg(&script).args([&built, "/usr"]).env("DESTDIR", dir.file("root")).env_remove("DEBUGDIR").output();
    assert!(ended(made.expect("the script runs")).good().is_empty());
    let at = |path: &str| Path::new(&dir.file("root")).join("usr").join(path);
    for path in [
        "share/man/man1/netvm-filter.1",
        "share/bash-completion/completions/netvm",
        "share/zsh/site-functions/_netvm",
        "share/fish/vendor_completions.d/netvm.fish",
        "share/netvm/apps/router/router16.click",
        "share/netvm/apps/nat/elements/Nat.c",
        "share/netvm/elements/DecIPTTL.c",
        "share/netvm/elements/include/netvm.h",
    ] {
        assert!(at(path).is_file(), "{path}");
    }
    if Command::new("objcopy").arg("--version").output().is_ok() {
        let size = |path: &str| std::fs::metadata(at(path)).map_or(0, |file| file.len());
        assert!(size("bin/netvm") < size("bin/.debug/netvm.debug"), "the symbols lie beside the program");
    }
    let capture = dir.trace("in.pcap", 1, 500);
    let run =
        |arguments: &[&str]| ended(Command::new(at("bin/netvm")).args(arguments).env("NETVM_NO_CACHE", "1").output().expect("it runs"));
    assert!(run(&["run", "count", "--map", &format!("in={capture}")]).good().starts_with("packets   500"));
    assert!(run(&["check", "router16"]).good().contains("leads back"));
    // Whatever the working folder: this is none of the checkout.
    let elsewhere = |arguments: &[&str]| {
        let mut command = Command::new(at("bin/netvm"));
        ended(
            command
                .args(arguments)
                .current_dir(dir.file(""))
                .env("NETVM_NO_CACHE", "1")
                .env_remove("NETVM_PATH")
                .output()
                .expect("it runs"),
        )
    };
    assert!(elsewhere(&["check", "router/forward"]).good().contains("elements"), "its routes are found");
    assert!(elsewhere(&["check", &at("share/netvm/apps").display().to_string()]).good().starts_with("14 of 14 "));
    let several = elsewhere(&["check", "forward"]).bad(1);
    assert!(several.contains("say which, nat/forward or router/forward"), "{several}");
    let missed = elsewhere(&["run", "rooter"]).bad(1);
    assert!(missed.contains("did you mean `router`?") && missed.contains("looked in ") && missed.contains("share/netvm/apps"), "{missed}");
    assert!(elsewhere(&["run", "a-long-way-off"]).bad(1).contains("there are balancer, "));
}

/// The crates that a package is built of, with their features.
fn crates_of(package: &str) -> std::collections::BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = [
        "tree",
        "--offline",
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
        "--no-dedupe",
        "--format",
        "{p} {f}",
        "--package",
        package,
    ];
    let told = ended(Command::new(cargo).current_dir(env!("CARGO_MANIFEST_DIR")).args(tree).output().expect("cargo runs")).good();
    told.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).filter(|line| !line.starts_with("netvm-capi ")).collect()
}

/// Otherwise `make install` would compile the half of them a second time.
#[test]
fn the_c_library_is_built_of_crates_that_the_program_is_built_of() {
    let (program, library) = (crates_of("netvm-cli"), crates_of("netvm-capi"));
    let others: Vec<_> = library.difference(&program).collect();
    assert!(library.len() > 20 && others.is_empty(), "with other features than in the program, see Cargo.toml of crates/capi: {others:?}");
}
