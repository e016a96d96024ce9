//! p4c's STF tests for v1model and PSA by BMv2's JSON: p4c makes it of each program, and netvm runs
//! the test on it. What comes out otherwise is listed with the reason in `conformance-p4.txt`.

use crate::p4::{Arch, Kind, Tally, name, one, tests};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const JSON: Kind = Kind { word: "json", happens: "fails by its JSON" };
/// Compilers, and what they compile.
const COMPILERS: [(Arch, &str, &str); 2] = [(Arch::V1model, "p4c-bm2-ss", "v1model"), (Arch::Psa, "p4c-bm2-psa", "PSA")];

/// Runs the tests whose names contain one of `names`, or all, with the compilers of a folder. True
/// if just those came out otherwise that are known to.
pub fn run(netvm: &Path, p4c: &Path, bmv2: &Path, names: &[&str]) -> io::Result<bool> {
    let folder = std::env::temp_dir().join(format!("netvm-p4-json-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let mut is_as_known = true;
    for (arch, compiler, shown) in COMPILERS {
        match found(bmv2, compiler) {
            Some(compiler) => {
                let tally = tried(netvm, p4c, &compiler, arch, names, &folder)?;
                println!("STF tests for {shown} by BMv2's JSON: {tally}");
                is_as_known &= tally.untrue == 0;
            }
            None if arch == Arch::V1model => return Err(io::Error::other(format!("no {compiler} in {}", bmv2.display()))),
            None => println!("STF tests for {shown} by BMv2's JSON: skipped, as there is no {compiler} in {}", bmv2.display()),
        }
    }
    fs::remove_dir_all(&folder)?;
    Ok(is_as_known)
}

fn found(bmv2: &Path, compiler: &str) -> Option<PathBuf> {
    ["", "bin"].map(|at| bmv2.join(at).join(compiler)).into_iter().find(|path| path.is_file())
}

fn tried(netvm: &Path, p4c: &Path, compiler: &Path, wanted_arch: Arch, names: &[&str], folder: &Path) -> io::Result<Tally> {
    let wanted = |program: &Path| names.is_empty() || names.iter().any(|wanted| name(program).contains(wanted));
    let mut tally = Tally::default();
    for (program, test, arch) in tests(&p4c.join("testdata"))? {
        if arch == wanted_arch && wanted(&program) {
            let json = folder.join(name(&program)).with_extension("json");
            let made = Command::new(compiler).args(["--std", "p4-16", "-o"]).arg(&json).arg(&program).stdin(Stdio::null()).output()?;
            let result = if made.status.success() { one(netvm, &json, &test)? } else { Some("p4c makes no JSON of it".to_owned()) };
            tally.note(JSON, &name(&program), result);
        }
    }
    Ok(tally)
}
