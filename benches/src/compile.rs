//! How long it takes from the text of a filter to something that runs: netvm's machine code,
//! libpcap's bytecode.

use crate::filters;
use crate::native::Bpf;
use netvm::io::LinkType;
use netvm::{Filter, engines};
use serde::Serialize;
use std::time::{Duration, Instant};

/// No more compilations of a filter than fit in that time; at least one.
const PATIENCE: Duration = Duration::from_millis(400);
const TIMES: usize = 101;

/// Compile times of one filter, microseconds.
#[derive(Serialize)]
pub struct Row {
    /// f1 to f9, or the number of hosts or pairs.
    pub filter: String,
    /// The very first compilation in this process, text to machine code; only for f1.
    pub first_us: Option<f64>,
    /// Text to machine code, median.
    pub jit_us: f64,
    /// Text to a verified program on the interpreter, median.
    pub interp_us: f64,
    /// libpcap, optimised, median; none if it was not asked.
    pub libpcap_us: Option<f64>,
}

/// Measures f1 to f9, then lists of ORed hosts, and of nets with ports.
///
/// # Errors
/// A filter does not compile.
pub fn measure() -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (i, expression) in filters::all().iter().enumerate() {
        rows.push(row(format!("f{}", i + 1), expression, true)?);
    }
    for n in [200, 1000, 10_000] {
        rows.push(row(format!("{n} hosts"), &filters::hosts(n), n <= 200)?);
    }
    for n in [1_000, 5_000] {
        rows.push(row(format!("{n} pairs"), &filters::pairs(n), false)?);
    }
    Ok(rows)
}

fn row(filter: String, expression: &str, libpcap: bool) -> Result<Row, String> {
    let with = |name: &str| {
        let engine = engines::find(name).ok_or_else(|| format!("no engine {name}"))?;
        repeat(|| Filter::compile(expression, LinkType::EN10MB, engine).map(drop).map_err(|e| e.to_string()))
    };
    let (first, jit) = with("jit")?;
    let (_, interp) = with("interp")?;
    let ask = || Bpf::compile(expression).map(drop).ok_or_else(|| "libpcap refuses it".to_owned());
    let libpcap = if libpcap && Bpf::compile("ip").is_some() { Some(repeat(ask)?.1) } else { None };
    Ok(Row { first_us: (filter == "f1").then_some(first), filter, jit_us: jit, interp_us: interp, libpcap_us: libpcap })
}

/// First and median time in microseconds.
fn repeat(mut work: impl FnMut() -> Result<(), String>) -> Result<(f64, f64), String> {
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || times.len() < TIMES && begin.elapsed() < PATIENCE {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let first = times[0];
    times.sort_by(f64::total_cmp);
    Ok((first, times[times.len() / 2]))
}
