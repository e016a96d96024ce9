//! `netvm simulate --machine x11`: the slot program, and what it does with the packets.

use super::observed::Subject;
use super::{Args, SchemeArg};
use crate::commands::shared::grouped;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use machine::x11::{Machine, Pipeline, Size};
use netvm::netil::exec::{Disposition, ExchangeBuffer, Outcome as Ended, State};
use netvm::netil::module::HandlerKind;
use netvm::netil::{Interpreter, Verified};
use netvm::targets::{self, X11};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is printed.
#[derive(Serialize)]
struct Results {
    machine: String,
    size: Size,
    registers: u16,
    flags: u16,
    hazards: Vec<machine::x11::hazards::Hazard>,
    packets: usize,
    cycles: u64,
    packets_per_second: f64,
    ends: BTreeMap<String, u64>,
    /// Packets that ended otherwise than with the interpreter, one after the other, and in
    /// lock-step; of configurations lock-step is compared with one after the other.
    differing: u64,
    differing_in_lock_step: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    listing: Option<String>,
}

type Done = Vec<(Disposition, Vec<u8>)>;

pub(super) fn run(args: &Args, machine: &Machine) -> Outcome {
    if args.rate.is_some() || args.saturate.is_some() || args.packets.is_some() || args.threads.is_some() {
        return Err(Failure::usage(
            "--rate, --saturate, --packets and --threads are for machines of threads: a pipeline takes a packet each few cycles, whatever it does",
        ));
    }
    if args.scheme != SchemeArg::Locks {
        return Err(Failure::usage(format_args!(
            "--scheme is for machines of threads: packets are in the pipeline of {} one behind the other",
            machine.name
        )));
    }
    let (made, names) = match args.observed.subject()? {
        Subject::Program(program) => (targets::x11(&program, machine)?, Vec::new()),
        Subject::Configuration(application) => application.x11(machine)?,
    };
    let packets = args.observed.packets()?;
    let input = made.elements.first().and_then(|program| port(program));
    let buffers = || packets.iter().map(|(time, packet, missing)| buffer(&made, packet, (*time, *missing), input));
    let serial = one_by_one(&made, buffers())?;
    let mut pipeline = pipeline(&made)?;
    let (lock_step, cycles) = pipeline.lock_step(buffers(), machine);
    let lock_step: Done = lock_step.into_iter().map(|(end, buffer)| (end, buffer.bytes().to_vec())).collect();
    let differ = |a: &Done, b: &Done| a.iter().zip(b).filter(|(a, b)| a != b).count() as u64;
    let wanted = if let [program] = &made.elements[..] { interpreted(program, buffers())? } else { serial.clone() };
    let mut ends = BTreeMap::new();
    lock_step.iter().for_each(|(end, _)| *ends.entry(ended(*end, &names)).or_default() += 1);
    let passes = made.made.program.size().stages.div_ceil(machine.pipeline.stages.max(1) as usize) as u32;
    let results = Results {
        machine: machine.name.clone(),
        size: made.made.program.size(),
        registers: made.made.registers,
        flags: made.made.flags,
        hazards: made.made.hazards.clone(),
        packets: packets.len(),
        cycles,
        packets_per_second: machine.packets_per_second(passes),
        ends,
        differing: differ(&serial, &wanted),
        differing_in_lock_step: differ(&lock_step, &wanted),
        listing: args.listing.then(|| made.made.program.to_string()),
    };
    targets::x11_hazards(&made.made, &made.names).iter().for_each(|hazard| failure::warning(format_args!("{hazard}")));
    let mut out = Out::new();
    match args.json {
        true => out.json(&results)?,
        false => out.put(&text(&results, machine))?,
    }
    out.flush()
}

/// The port that packets come in by.
fn port(program: &Verified) -> Option<u32> {
    let ports = program.module().all_ports();
    ports.iter().find(|(_, port)| port.kind == netvm::netil::module::PortKind::PushInput).map(|(id, _)| *id)
}

fn buffer<'a>(made: &X11, packet: &'a [u8], (time, missing): (u64, u32), input: Option<u32>) -> ExchangeBuffer<'a> {
    let mut buffer = ExchangeBuffer::borrowed(packet);
    (buffer.port, buffer.time_ns, buffer.missing) = (input.unwrap_or(0), time, missing);
    let info = made.elements.iter().map(|program| program.module().info_size).max().unwrap_or(0);
    buffer.info = vec![0; info as usize];
    buffer
}

fn pipeline(made: &X11) -> Outcome<Pipeline<'_>> {
    Pipeline::new(&made.made.program, made.elements.clone()).map_err(|why| Failure::failed(format_args!("{why}")))
}

fn one_by_one<'a>(made: &X11, packets: impl Iterator<Item = ExchangeBuffer<'a>>) -> Outcome<Done> {
    let mut pipeline = pipeline(made)?;
    let one = |buffer| {
        let (end, buffer) = pipeline.run(buffer);
        (end, buffer.bytes().to_vec())
    };
    Ok(packets.map(one).collect())
}

fn interpreted<'a>(program: &Arc<Verified>, packets: impl Iterator<Item = ExchangeBuffer<'a>>) -> Outcome<Done> {
    let mut state = State::plain(program).map_err(|why| Failure::failed(format_args!("{why}")))?;
    let (mut engine, mut out) = (Interpreter::new(Arc::clone(program)), Ended::default());
    // What fails is told by the pipeline.
    let _ = engine.init(&mut state);
    let one = |buffer| {
        let mut burst = [buffer];
        engine.run(HandlerKind::Push, &mut burst, &mut state, &mut out);
        (out.dispositions[0], burst[0].bytes().to_vec())
    };
    Ok(packets.map(one).collect())
}

fn ended(end: Disposition, names: &[String]) -> String {
    match end {
        Disposition::Port(port) => names.get(port as usize).map_or_else(|| format!("port {port}"), Clone::clone),
        Disposition::Drop(_) => "dropped".to_owned(),
        Disposition::Trap(_) => "trapped".to_owned(),
    }
}

fn text(results: &Results, machine: &Machine) -> String {
    let (size, p) = (&results.size, &machine.pipeline);
    let mut text = format!("{}: {}\n", machine.name, machine.description);
    text += &format!(
        "program: {} operations in {} instructions, {} of {} stages; {} access points, {} of {} registers, {} of {} flags\n\n",
        size.operations, size.instructions, size.stages, p.stages, size.points, results.registers, p.registers, results.flags, p.flags
    );
    let mut line = |what: &str, value: String| text += &format!("  {what:<12} {value}\n");
    let rate = grouped(results.packets_per_second as u64);
    line(
        "packets",
        format!("{} in {} cycles; {rate} a second, whatever they are", grouped(results.packets as u64), grouped(results.cycles)),
    );
    line("ended", results.ends.iter().map(|(end, count)| format!("{end}: {}", grouped(*count))).collect::<Vec<_>>().join(", "));
    line("interpreter", told(results.differing, "one after the other"));
    line("lock-step", told(results.differing_in_lock_step, "each in a stage of its own"));
    results.listing.iter().for_each(|listing| text += &format!("\n{listing}"));
    text
}

fn told(differing: u64, how: &str) -> String {
    match differing {
        0 => format!("all packets end the same, {how}"),
        n => format!("{} packets end otherwise, {how}", grouped(n)),
    }
}
