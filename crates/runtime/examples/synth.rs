//! Writes a realistic capture: `synth OUT PACKETS [SEED]`. The demo and the benchmarks begin with
//! it.

use netvm_runtime::io::synth::Mix;
use netvm_runtime::io::{LinkType, Precision, WriteOptions, Writer};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [out, packets, rest @ ..] = arguments.as_slice() else { return Err("usage: synth OUT PACKETS [SEED]".into()) };
    let seed = rest.first().map_or(Ok(1), |s| s.parse())?;
    let mut writer = Writer::create(out, &WriteOptions { precision: Precision::Micro, ..WriteOptions::for_output(out, &[]) })?;
    for (time, frame) in Mix::new(seed).take(packets.parse()?) {
        writer.write_packet(LinkType::EN10MB, time, frame.len() as u32, &frame)?;
    }
    writer.finish()?;
    Ok(())
}
