//! What happens to packets in a NetIL program: for `netvm trace`. All packets before are run as
//! well, so that tables are as the packet finds them.
//!
//! Leaves out: single instructions, and packets that wait at pull inputs.

use super::merge::{Arrival, Merge};
use super::ports;
use crate::failure::{self, Failure, Outcome};
use crate::print::{Packet, Printer, Style, Zone};
use crate::signals::Signals;
use netvm::io::Timestamp;
use netvm::netil::exec::ExchangeBuffer;
use netvm::netil::module::PortKind;
use netvm::{Filter, Session, Settings, engines, load};
use std::path::Path;
use std::sync::Arc;

/// Runs of bytes that differ, as they are told, at most.
const RUNS: usize = 16;

/// Which packets are followed.
pub(crate) struct Wanted<'a> {
    pub(crate) number: Option<u64>,
    pub(crate) filter: Option<&'a str>,
    pub(crate) most: u64,
    pub(crate) json: bool,
}

/// What became of a packet.
struct Journey {
    arrival: String,
    number: u64,
    end: String,
    copies: Vec<String>,
    lengths: (usize, usize),
    /// Where bytes differ, with those before and after, if there are as many.
    changes: Vec<(usize, String, String)>,
}

/// Follows packets of a capture through the program in a file; what is to be printed, and whether
/// the capture was whole.
pub(crate) fn packets(file: &Path, read: &Path, wanted: &Wanted<'_>) -> Outcome<(String, bool)> {
    let program = Arc::new(load::program(file)?);
    let Some(port) = ports::of_kind(&program, PortKind::PushInput).first().copied() else {
        return Err(Failure::failed(format_args!("{}: packets are pushed into no port of it; only those are followed", file.display())));
    };
    let mut filter = wanted.filter.map(|text| Filter::new(text, &engines::ALL[1])).transpose()?;
    let signals = Signals::watch()?;
    let mut merge = Merge::open(&[(port, read.to_owned())])?;
    let mut session = Session::start(Arc::clone(&program), &engines::ALL[0], Settings::default())?;
    let (mut arrivals, mut told, mut arrived, mut text) = (Vec::new(), 0, 0, String::new());
    while told < wanted.most && !signals.stop() {
        merge.next(1, &mut arrivals, &signals, &mut || Ok(()))?;
        let Some(arrival) = arrivals.first() else { break };
        arrived = arrival.number;
        let buffer = arrival.buffer();
        let is_wanted = match &mut filter {
            Some(filter) => filter.matches(arrival.link, buffer.bytes(), buffer.wire_len())?,
            None => wanted.number.is_none_or(|number| number == arrival.number),
        };
        let journey = one(&mut session, &program, arrival);
        if is_wanted {
            told += 1;
            text += &if wanted.json { format!("{}\n", journey.json()) } else { journey.text(told > 1, &program.module().name) };
        }
        if wanted.number == Some(arrived) {
            break;
        }
    }
    signals.result()?;
    match (told, wanted.number) {
        (0, Some(number)) => return Err(Failure::failed(format_args!("there is no packet {number}: {arrived} arrived"))),
        (0, None) => failure::warning(format_args!("none of {arrived} packets was chosen")),
        _ => {}
    }
    Ok((text, merge.is_whole()))
}

fn one(session: &mut Session, program: &netvm::netil::Verified, arrival: &Arrival) -> Journey {
    let before = arrival.buffer();
    let line = line(arrival, &before);
    let mut buffers = [arrival.buffer()];
    let outcome = session.push(&mut buffers);
    let disposition = outcome.dispositions.first().copied();
    let name = |port: u32| program.module().port(port).map_or_else(|| port.to_string(), |port| port.name);
    let copies = outcome.clones.iter().map(|clone| name(clone.port)).collect();
    let end = disposition.map_or_else(|| "ended here".to_owned(), |disposition| session.describe(disposition));
    let after = if buffers[0].is_present() { buffers[0].bytes() } else { &[] };
    Journey {
        arrival: line,
        number: arrival.number,
        end,
        copies,
        lengths: (before.bytes().len(), after.len()),
        changes: changes(before.bytes(), after),
    }
}

fn line(arrival: &Arrival, buffer: &ExchangeBuffer<'_>) -> String {
    let time = arrival.time_ns();
    let packet = Packet {
        bytes: buffer.bytes(),
        wire_len: buffer.wire_len(),
        link: arrival.link,
        time: Timestamp::from_nanos((time / 1_000_000_000) as i64, (time % 1_000_000_000) as u32),
        number: arrival.number,
    };
    Printer::new(Style::default(), Zone::system()).print(&packet).trim_end().to_owned()
}

/// Runs of bytes that differ; none where the lengths do.
fn changes(before: &[u8], after: &[u8]) -> Vec<(usize, String, String)> {
    let mut runs: Vec<(usize, String, String)> = Vec::new();
    if before.len() != after.len() {
        return runs;
    }
    for (at, (a, b)) in before.iter().zip(after).enumerate().filter(|(_, (a, b))| a != b) {
        match runs.last_mut().filter(|(from, text, _)| from + text.len() / 2 == at) {
            Some((_, text, new)) => {
                *text += &format!("{a:02x}");
                *new += &format!("{b:02x}");
            }
            None => runs.push((at, format!("{a:02x}"), format!("{b:02x}"))),
        }
    }
    runs
}

impl Journey {
    fn text(&self, follows: bool, program: &str) -> String {
        let bold = anstyle::Style::new().bold();
        let mut text = format!(
            "{}{bold}Packet {}{bold:#}: {}\n  {program}: {}\n",
            if follows { "\n" } else { "" },
            self.number,
            self.arrival,
            self.end
        );
        self.copies.iter().for_each(|port| text += &format!("    copy sent to {port}\n"));
        if self.lengths.0 != self.lengths.1 {
            text += &format!("    length {} → {}\n", self.lengths.0, self.lengths.1);
        }
        for (at, before, after) in self.changes.iter().take(RUNS) {
            text += &match before.len() {
                2 => format!("    byte {at}: {before} → {after}\n"),
                digits => format!("    bytes {at} to {}: {before} → {after}\n", at + digits / 2 - 1),
            };
        }
        if self.changes.len() > RUNS {
            text += &format!("    and bytes at {} other places\n", self.changes.len() - RUNS);
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let change = |(at, before, after): &(usize, String, String)| serde_json::json!({ "from": at, "before": before, "after": after });
        serde_json::json!({
            "packet": self.number, "arrived": self.arrival, "end": self.end, "copies": self.copies,
            "length": [self.lengths.0, self.lengths.1], "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
        })
    }
}
