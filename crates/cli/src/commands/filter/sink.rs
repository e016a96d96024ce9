//! Where selected packets go: into a capture, to standard output as lines or as JSON, to both, or
//! nowhere.

use super::Args;
use super::rotate::Output;
use crate::failure::{Failure, Outcome};
use crate::input::{Flow, Inputs};
use crate::out::Out;
use crate::print::{Ends, Packet, Printer, Style, TimeForm, Zone};
use netvm::io::{Burst, WriteOptions};
use netvm::netil::exec::Selection;
use serde::Serialize;
use std::net::IpAddr;
use std::path::Path;

/// Where selected packets go.
pub(super) struct Sink {
    output: Option<Output>,
    lines: Lines,
}

/// What is printed of them.
enum Lines {
    Nothing,
    Text { printer: Box<Printer>, out: Out, every_line: bool },
    Json { printer: Box<Printer>, out: Out, every_line: bool },
}

/// A packet as JSON.
#[derive(Serialize)]
struct Line<'a> {
    /// From 1, among those selected.
    number: u64,
    /// From 1, in its capture.
    packet: u64,
    /// Seconds since 1970.
    time: String,
    link_type: String,
    captured: usize,
    length: u32,
    #[serde(flatten)]
    ends: JsonEnds,
    /// What is printed without `--json`, without time.
    text: &'a str,
}

/// The outermost IP header's addresses and protocol, and the ports after it.
#[derive(Default, Serialize)]
struct JsonEnds {
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination_port: Option<u16>,
}

impl From<Ends> for JsonEnds {
    fn from(ends: Ends) -> Self {
        let (source, destination) = ends.addresses.unzip();
        let (source_port, destination_port) = ends.ports.unzip();
        Self { source, destination, protocol: ends.protocol, source_port, destination_port }
    }
}

impl Sink {
    pub(super) fn new(args: &Args, inputs: &Inputs) -> Outcome<Self> {
        let output = match &args.write {
            Some(path) if args.print && path == Path::new("-") => {
                return Err(Failure::usage("--print and -w - would both write to standard output"));
            }
            Some(path) => {
                let plan = WriteOptions::for_output(path, &inputs.survey()?);
                Some(Output::new(&args.rotate, path, plan, args.live.interface.is_some(), args.look.packet_buffered)?)
            }
            None => None,
        };
        let summary = args.count || args.json && args.stats;
        let lines = if summary || output.is_some() && !args.print { Lines::Nothing } else { Lines::new(args) };
        Ok(Self { output, lines })
    }

    /// Makes the output another user's.
    pub(super) fn give_to(&self, user: u32, group: u32) -> Outcome {
        self.output.as_ref().map_or(Ok(()), |output| output.give_to(user, group))
    }

    /// True if a person may see packets on the screen.
    pub(super) fn prints(&self) -> bool {
        !matches!(self.lines, Lines::Nothing)
    }

    /// Takes the selected packets of a burst; `before` were selected earlier.
    pub(super) fn take(&mut self, burst: &Burst<'_>, selection: &Selection, before: u64) -> Outcome<Flow> {
        let flow = self.output.as_mut().map_or(Ok(Flow::More), |output| output.take(burst, selection))?;
        self.lines.take(burst, selection, before)?;
        Ok(flow)
    }

    pub(super) fn flush(&mut self) -> Outcome {
        self.output.as_mut().map_or(Ok(()), Output::flush)?;
        self.lines.flush()
    }

    pub(super) fn finish(mut self) -> Outcome {
        self.lines.flush()?;
        self.output.map_or(Ok(()), Output::finish)
    }
}

impl Lines {
    fn new(args: &Args) -> Self {
        let every_line = args.look.line_buffered || args.look.packet_buffered;
        let interface = args.live.interface.as_ref().map(|_| netvm::io::live::interface_name as fn(u32) -> Option<String>);
        let mut style = Style { interface, ..args.look.style() };
        if !args.json {
            return Self::Text { printer: Box::new(Printer::new(style, Zone::system())), out: Out::new(), every_line };
        }
        style.time.form = TimeForm::None;
        style.number = false;
        Self::Json { printer: Box::new(Printer::new(style, Zone::utc())), out: Out::new(), every_line }
    }

    fn take(&mut self, burst: &Burst<'_>, selection: &Selection, before: u64) -> Outcome {
        let chosen = (0..burst.len()).filter(|&i| selection.get(i)).zip(before + 1..);
        match self {
            Self::Nothing => {}
            Self::Text { printer, out, every_line } => {
                for (i, number) in chosen {
                    out.put(printer.print(&packet(burst, i, number)))?;
                    if *every_line {
                        out.flush()?;
                    }
                }
            }
            Self::Json { printer, out, every_line } => {
                for (i, number) in chosen {
                    out.json(&json(burst, &packet(burst, i, number), i, printer))?;
                    if *every_line {
                        out.flush()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Outcome {
        match self {
            Self::Nothing => Ok(()),
            Self::Text { out, .. } | Self::Json { out, .. } => out.flush(),
        }
    }
}

fn packet<'a>(burst: &Burst<'a>, i: usize, number: u64) -> Packet<'a> {
    let record = burst.record(i);
    Packet { bytes: record.data, wire_len: record.wire_len(), link: record.link_type(), time: record.timestamp(), number }
}

fn json<'p>(burst: &Burst<'_>, packet: &Packet<'_>, i: usize, printer: &'p mut Printer) -> Line<'p> {
    printer.print(packet);
    Line {
        number: packet.number,
        packet: burst.first_number() + i as u64 + 1,
        time: packet.time.to_string(),
        link_type: packet.link.to_string(),
        captured: packet.bytes.len(),
        length: packet.wire_len,
        ends: printer.ends().into(),
        text: printer.text().trim_end(),
    }
}
