//! p4c's STF tests for v1model by BMv2's JSON: p4c makes it of each program, and netvm runs the test on it. What comes out otherwise is listed with the reason in `conformance-p4.txt`.

use crate::p4::{Arch, Kind, Tally, name, one, tests};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

const JSON: Kind = Kind { word: "json", happens: "fails by its JSON" };

/// Runs the tests whose names contain one of `names`, or all, with the p4c-bm2-ss of a folder. True if just those came out otherwise that are known to.
pub fn run(netvm: &Path, p4c: &Path, bmv2: &Path, names: &[&str]) -> io::Result<bool> {
    let places = ["", "bin"].map(|at| bmv2.join(at).join("p4c-bm2-ss"));
    let Some(compiler) = places.iter().find(|path| path.is_file()) else {
        return Err(io::Error::other(format!("no p4c-bm2-ss in {}", bmv2.display())));
    };
    let folder = std::env::temp_dir().join(format!("netvm-p4-json-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let wanted = |program: &Path| names.is_empty() || names.iter().any(|wanted| name(program).contains(wanted));
    let mut tally = Tally::default();
    for (program, test, arch) in tests(&p4c.join("testdata"))? {
        if arch == Arch::V1model && wanted(&program) {
            let json = folder.join(name(&program)).with_extension("json");
            let made = Command::new(compiler).args(["--std", "p4-16", "-o"]).arg(&json).arg(&program).stdin(Stdio::null()).output()?;
            let result = if made.status.success() { one(netvm, &json, &test)? } else { Some("p4c makes no JSON of it".to_owned()) };
            tally.note(JSON, &name(&program), result);
        }
    }
    fs::remove_dir_all(&folder)?;
    println!("STF tests for v1model by BMv2's JSON: {tally}");
    Ok(tally.untrue == 0)
}
