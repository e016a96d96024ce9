//! A NetIL program between interfaces: it becomes the one element of a configuration, with a device
//! at each of its ports.
//!
//! ```text
//! --in a=dev:eth0 --out b=dev:eth1 --out c=c.pcap      FromDevice(eth0) -> [0]program;  program[0] -> Queue -> ToDevice(eth1);  program[1] -> Queue -> ToDevice(out1)
//! ```
//!
//! Left out: programs with a pull handler or info memory of their own, which are no elements.

use super::ports::{PortFile, resolve};
use super::{Args, configuration, mapping};
use crate::failure::{Failure, Outcome};
use netvm::io::device::Spec;
use netvm::netil::Verified;
use netvm::netil::module::PortKind;
use std::fmt::Write as _;
use std::path::Path;

/// Packets that wait for an interface.
const QUEUE: u32 = 4096;

/// Whether a port has an interface, or a capture in memory.
pub(super) fn is_wanted(args: &Args) -> bool {
    let is_in_memory = |file: &PortFile| file.path.to_str().is_some_and(|path| path.starts_with("mem:"));
    args.inputs.iter().chain(&args.outputs).any(|file| spec(file).is_some() || is_in_memory(file))
}

fn spec(file: &PortFile) -> Option<Spec> {
    Spec::parse(file.path.to_str()?)
}

/// What is wrong with a port's file that was to be an interface.
pub(super) fn check(args: &Args) -> Outcome {
    let others = args.inputs.iter().chain(&args.outputs).filter(|file| spec(file).is_none());
    let wrong = others.into_iter().find_map(|file| mapping::no_kind(file.path.to_str()?));
    wrong.map_or(Ok(()), |why| Err(Failure::usage(why)))
}

/// Runs the program as an element.
pub(super) fn run(args: &Args, file: &Path, program: &Verified) -> Outcome {
    let (text, maps) = between(args, file, program)?;
    configuration::run_text(args, None, &text, std::iter::empty(), &maps)
}

/// The configuration, and what stands for its devices.
fn between(args: &Args, file: &Path, program: &Verified) -> Outcome<(String, Vec<String>)> {
    let (mut text, mut maps) = (format!("program :: NetIL(\"{}\");\n", file.display()), Vec::new());
    for is_input in [true, false] {
        let files = if is_input { &args.inputs } else { &args.outputs };
        let ports = resolve(program, files, is_input)?;
        let all = program.module().all_ports().into_iter().filter(|(_, port)| port.kind.is_input() == is_input);
        for (n, (id, port)) in all.enumerate() {
            if matches!(port.kind, PortKind::PullInput | PortKind::PullOutput) {
                return Err(Failure::usage(format_args!("port '{}' is pulled: such a program runs on captures only", port.name)));
            }
            let at: Vec<&PortFile> = ports.iter().zip(files).filter(|((of, _), _)| *of == id).map(|(_, file)| file).collect();
            let device = match at[..] {
                [] => None,
                [one] => Some(named(one, is_input, n, &mut maps)),
                _ => return Err(Failure::usage(format_args!("port '{}' has two: with interfaces a port has one", port.name))),
            };
            let _ = match (device, is_input) {
                (Some(device), true) => writeln!(text, "FromDevice({device}) -> [{n}]program;"),
                (None, true) => writeln!(text, "Idle -> [{n}]program;"),
                (Some(device), false) => writeln!(text, "program[{n}] -> Queue({QUEUE}) -> ToDevice({device});"),
                (None, false) => writeln!(text, "program[{n}] -> Discard;"),
            };
        }
    }
    Ok((text, maps))
}

/// The device of a port: ports at one interface have the same.
fn named(file: &PortFile, is_input: bool, n: usize, maps: &mut Vec<String>) -> String {
    let name = match spec(file) {
        Some(spec) => spec.to_string().replace(|c: char| !c.is_ascii_alphanumeric(), "_"),
        None => format!("{}{n}", if is_input { "in" } else { "out" }),
    };
    let map = format!("{name}={}", file.path.display());
    if !maps.contains(&map) {
        maps.push(map);
    }
    name
}
