//! `PORT=FILE`: which capture is at which port.

use crate::failure::{Failure, Outcome};
use netvm::io::{Info, LinkType, Precision, Timestamp, WriteOptions, Writer};
use netvm::netil::Verified;
use netvm::netil::exec::ExchangeBuffer;
use netvm::netil::module::{Port, PortKind};
use std::collections::HashMap;
use std::path::PathBuf;

/// An argument `PORT=FILE`, or `FILE` for the first port.
#[derive(Clone)]
pub(super) struct PortFile {
    port: Option<String>,
    pub path: PathBuf,
}

impl PortFile {
    /// The port as it was written.
    pub(super) fn name(&self) -> Option<&str> {
        self.port.as_deref()
    }
}

pub(super) fn parse(text: &str) -> Result<PortFile, String> {
    let capture = |path: &str| path.strip_prefix("pcap:").unwrap_or(path).into();
    match text.split_once('=') {
        Some(("", _) | (_, "")) => Err("expected PORT=FILE or FILE".to_owned()),
        // A slash before the sign: a path that has one in its name.
        Some((port, path)) if !port.contains('/') => Ok(PortFile { port: Some(port.to_owned()), path: capture(path) }),
        _ => Ok(PortFile { port: None, path: capture(text) }),
    }
}

/// The ids of the ports of a kind.
pub(super) fn of_kind(program: &Verified, kind: PortKind) -> Vec<u32> {
    program.module().all_ports().into_iter().filter(|(_, p)| p.kind == kind).map(|(id, _)| id).collect()
}

/// The ports that arguments mean, inputs or outputs.
pub(super) fn resolve(program: &Verified, files: &[PortFile], inputs: bool) -> Outcome<Vec<(u32, PathBuf)>> {
    let ports: Vec<(u32, Port)> = program.module().all_ports().into_iter().filter(|(_, p)| p.kind.is_input() == inputs).collect();
    files.iter().map(|file| Ok((find(&ports, file, inputs)?, file.path.clone()))).collect()
}

fn find(ports: &[(u32, Port)], file: &PortFile, inputs: bool) -> Outcome<u32> {
    let what = if inputs { "input" } else { "output" };
    let Some(name) = &file.port else {
        return ports.first().map(|(id, _)| *id).ok_or_else(|| Failure::usage(format_args!("the program has no {what} port")));
    };
    let by_name = ports.iter().find(|(_, p)| p.name == *name);
    let by_number = || name.parse().ok().and_then(|n: u32| ports.iter().find(|(id, _)| *id == n));
    by_name.or_else(by_number).map(|(id, _)| *id).ok_or_else(|| {
        let known: Vec<String> = ports.iter().map(|(id, p)| format!("{} ({id})", p.name)).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Failure::usage(format_args!("no {what} port '{name}'; the program's {what}s: {known}"))
    })
}

/// Captures at output ports.
pub(super) struct Outputs {
    writers: Vec<Writer>,
    /// The index of a port's writer.
    by_port: HashMap<u32, usize>,
    precision: Precision,
}

impl Outputs {
    pub(super) fn create(ports: &[(u32, PathBuf)], infos: &[Info]) -> Outcome<Self> {
        let precision = infos.iter().map(|info| info.precision).max().unwrap_or_default();
        let mut outputs = Self { writers: Vec::new(), by_port: HashMap::new(), precision };
        let mut by_path: HashMap<&PathBuf, usize> = HashMap::new();
        for (port, path) in ports {
            // Two ports may share a capture.
            let at = match by_path.get(path) {
                Some(at) => *at,
                None => {
                    outputs.writers.push(Writer::create(path, &WriteOptions::for_output(path, infos))?);
                    outputs.writers.len() - 1
                }
            };
            by_path.insert(path, at);
            if outputs.by_port.insert(*port, at).is_some_and(|before| before != at) {
                return Err(Failure::usage(format_args!("two captures for output port {port}")));
            }
        }
        Ok(outputs)
    }

    /// Writes a packet that left by a port; a port without capture swallows it.
    pub(super) fn write(&mut self, port: u32, link: LinkType, wire_len: u32, packet: &ExchangeBuffer<'_>) -> Outcome {
        let Some(writer) = self.by_port.get(&port).and_then(|at| self.writers.get_mut(*at)) else { return Ok(()) };
        let (secs, nanos) = ((packet.time_ns / 1_000_000_000) as i64, (packet.time_ns % 1_000_000_000) as u32);
        let time = Timestamp { secs, nanos, precision: self.precision };
        Ok(writer.write_packet(link, time, wire_len, packet.bytes())?)
    }

    pub(super) fn flush(&mut self) -> Outcome {
        self.writers.iter_mut().try_for_each(|w| Ok(w.flush()?))
    }

    pub(super) fn finish(self) -> Outcome {
        self.writers.into_iter().try_for_each(|w| Ok(w.finish().map(drop)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_a_port_or_not() {
        let port = |text| parse(text).map(|p| (p.port, p.path)).ok();
        assert_eq!(port("lan=a.pcap"), Some((Some("lan".into()), "a.pcap".into())));
        assert_eq!(port("0=-"), Some((Some("0".into()), "-".into())));
        assert_eq!(port("a.pcap"), Some((None, "a.pcap".into())));
        assert_eq!(port("./odd=name.pcap"), Some((None, "./odd=name.pcap".into())));
        assert_eq!((port("=a"), port("a=")), (None, None));
    }
}
