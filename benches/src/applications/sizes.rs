//! P4 forwarding by packet size, as Fig. 5 of the PVPP paper has it: the application of the paper
//! as an element, in compiled C and in machine code. Nodes, one or several, are those of VPP:
//! `make vpp-forms` measures them.
//!
//! Packets are copied in, so that long ones cost what memory costs. What compiled C sends is
//! compared with what the interpreter sends.

use super::p4;
use netvm::engines::{self, EngineInfo};
use serde::Serialize;

/// Bytes of a packet, without the frame check sequence.
const LENGTHS: [usize; 6] = [64, 128, 256, 512, 1024, 1500];
/// Routes.
const ENTRIES: usize = 1_000;
/// Engines, and passes over the trace in a round.
const ENGINES: [(&str, u64); 2] = [("jit", 4), ("aot", 20)];

/// One size, one engine.
#[derive(Serialize)]
pub struct Row {
    /// Bytes of a packet.
    pub length: usize,
    /// How it ran.
    pub engine: &'static str,
    /// Per packet.
    pub median_ns: f64,
}

/// Measures each size.
///
/// # Errors
/// The program cannot be run, or compiled C sends something else.
pub fn measure(rounds: usize) -> Result<Vec<Row>, String> {
    let _cleared = super::sides::Cleared;
    let mut rows = Vec::new();
    for length in LENGTHS {
        let side = |engine: &'static EngineInfo| {
            let mut case = p4::paper(ENTRIES);
            case.length = length;
            case.by(engine, engines::Settings::default())
        };
        let wanted = side(&engines::ALL[0])?.outputs(1)?;
        for (engine, passes) in ENGINES {
            let engine = engines::find(engine).ok_or("an engine that there is not")?;
            let mut side = side(engine)?;
            if side.outputs(1)? != wanted {
                return Err(format!("packets of {length} bytes: {} sends other ones than the interpreter", engine.name));
            }
            let mut times = (0..rounds).map(|_| side.ns(passes).map(|(ns, _)| ns)).collect::<Result<Vec<f64>, String>>()?;
            rows.push(Row { length, engine: engine.name, median_ns: super::median(&mut times).unwrap_or(f64::NAN) });
        }
    }
    Ok(rows)
}
