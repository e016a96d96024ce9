//! Where selected packets go: nowhere, into a capture, to standard output as lines or as JSON.

use super::Args;
use crate::failure::Outcome;
use crate::input::Inputs;
use crate::out::Out;
use crate::print::{Ends, Packet, Printer, TimeForm, Zone};
use netvm::io::{Burst, Plan, Writer};
use netvm::netil::exec::Selection;
use serde::Serialize;
use std::net::IpAddr;

/// Where selected packets go.
pub(super) enum Sink {
    Nowhere,
    Capture(Box<Writer>),
    Lines { printer: Box<Printer>, out: Out, every_line: bool },
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
        let summary = args.count || args.json && args.stats;
        if let Some(path) = &args.write {
            let plan = Plan::for_output(path, &inputs.survey()?);
            return Ok(Self::Capture(Box::new(Writer::create(path, &plan)?)));
        }
        if summary {
            return Ok(Self::Nowhere);
        }
        let every_line = args.look.line_buffered;
        let mut style = args.look.style();
        if !args.json {
            return Ok(Self::Lines { printer: Box::new(Printer::new(style, Zone::system())), out: Out::new(), every_line });
        }
        style.time.form = TimeForm::None;
        style.number = false;
        Ok(Self::Json { printer: Box::new(Printer::new(style, Zone::utc())), out: Out::new(), every_line })
    }

    /// Takes the selected packets of a burst; `before` were selected earlier.
    pub(super) fn take(&mut self, burst: &Burst<'_>, selection: &Selection, before: u64) -> Outcome {
        let chosen = (0..burst.len()).filter(|&i| selection.get(i)).zip(before + 1..);
        match self {
            Self::Nowhere => Ok(()),
            Self::Capture(writer) => Ok(writer.write_selected(burst, &selection.bits)?),
            Self::Lines { printer, out, every_line } => {
                for (i, number) in chosen {
                    out.put(printer.print(&packet(burst, i, number)))?;
                    if *every_line {
                        out.flush()?;
                    }
                }
                Ok(())
            }
            Self::Json { printer, out, every_line } => {
                for (i, number) in chosen {
                    out.json(&json(burst, &packet(burst, i, number), i, printer))?;
                    if *every_line {
                        out.flush()?;
                    }
                }
                Ok(())
            }
        }
    }

    pub(super) fn flush(&mut self) -> Outcome {
        match self {
            Self::Nowhere => Ok(()),
            Self::Capture(writer) => Ok(writer.flush()?),
            Self::Lines { out, .. } | Self::Json { out, .. } => out.flush(),
        }
    }

    pub(super) fn finish(self) -> Outcome {
        match self {
            Self::Nowhere => Ok(()),
            Self::Capture(writer) => Ok(writer.finish().map(drop)?),
            Self::Lines { mut out, .. } | Self::Json { mut out, .. } => out.flush(),
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
