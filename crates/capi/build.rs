//! Tells the linker the name under which programs will look for the shared library, as
//! `scripts/install-lib` installs it: `libnetvm.so.0.1`, the part of the version within which
//! programs need not be linked anew. And that the library stays once it is loaded: threads of its
//! own may compile filters when a program would unload it.
#![forbid(unsafe_code)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let part = |name: &str| std::env::var(format!("CARGO_PKG_VERSION_{name}")).unwrap_or_default();
    let version = match part("MAJOR").as_str() {
        "0" => format!("0.{}", part("MINOR")),
        major => major.to_owned(),
    };
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnetvm.so.{version}");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
