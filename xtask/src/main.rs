//! Holds netvm against others: `conformance NETVM CLICK [NAME…]` runs Click's own tests on netvm,
//! `conformance-p4 NETVM P4C [NAME…]` those of p4c, `conformance-p4-json NETVM P4C BMV2 [NAME…]`
//! the same by BMv2's JSON, `conformance-tutorials NETVM DIR TESTS` our tests on the programs of
//! p4lang/tutorials, `conformance-filters NETVM LIBPCAP [NAME…]` libpcap's tests of filters,
//! `compare-print NETVM DIR [FLAG…]` compares printed lines with tcpdump's.
#![forbid(unsafe_code)]

mod clicktest;
mod conformance;
mod filters;
mod lines;
mod p4;
mod p4json;

use std::io;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let passed = match arguments[..] {
        ["conformance", netvm, click, ref names @ ..] => conformance::run(Path::new(netvm), Path::new(click), names),
        ["conformance-p4", netvm, p4c, ref names @ ..] => p4::run(Path::new(netvm), Path::new(p4c), names),
        ["conformance-p4-json", netvm, p4c, bmv2, ref names @ ..] => p4json::run(Path::new(netvm), Path::new(p4c), Path::new(bmv2), names),
        ["conformance-tutorials", netvm, folder, tests] => p4::tutorials(Path::new(netvm), Path::new(folder), Path::new(tests)),
        ["conformance-filters", netvm, libpcap, ref names @ ..] => filters::run(Path::new(netvm), Path::new(libpcap), names),
        ["compare-print", netvm, dir, ref flags @ ..] => compare_print(Path::new(netvm), Path::new(dir), flags).map(|()| true),
        _ => {
            let commands = "conformance NETVM CLICK [NAME…] | conformance-p4 NETVM P4C [NAME…] | conformance-p4-json NETVM P4C BMV2 [NAME…] | conformance-tutorials NETVM DIR TESTS | conformance-filters NETVM LIBPCAP [NAME…] | compare-print NETVM DIR [FLAG…]";
            eprintln!("usage: xtask {commands}");
            return ExitCode::from(2);
        }
    };
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare_print(netvm: &Path, dir: &Path, flags: &[&str]) -> io::Result<()> {
    print!("{}", lines::report(&lines::compare(netvm, dir, &[&["-n"], flags].concat())?));
    Ok(())
}
