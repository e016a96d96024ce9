//! The report as text: tables for people, with bars where a person watches.

use super::{Args, Section};
use crate::commands::shared::{bytes, grouped};
use crate::failure::Outcome;
use crate::hosts::Hosts;
use crate::input::shown;
use crate::out::Out;
use jiff::tz::TimeZone;
use netvm::io::stats::{Amount, Layer, Report, Side};
use std::path::PathBuf;

/// How many intervals there are, about, unless their length is asked for.
pub(super) const INTERVALS: i64 = 40;
/// The longest bar.
const BAR: usize = 40;

/// Writes the sections that are asked for, an empty line between them.
pub(super) fn write(args: &Args, names: &[PathBuf], report: &Report, hosts: &Hosts, out: &mut Out) -> Outcome {
    let mut sections = Vec::new();
    if args.shows(Section::Summary) {
        sections.push(summary(names, report));
    }
    if args.shows(Section::Protocols) {
        sections.push(protocols(report));
    }
    for layer in report.layers.iter().filter(|_| args.shows(Section::Conversations)) {
        sections.push(conversations(args, report, layer, hosts));
    }
    for layer in report.layers.iter().filter(|_| args.shows(Section::Endpoints)) {
        sections.push(endpoints(args, layer, hosts));
    }
    if args.shows(Section::Ports) && !report.ports.is_empty() {
        sections.push(ports(args, report));
    }
    if args.shows(Section::Sizes) {
        sections.push(sizes(report));
    }
    if args.shows(Section::Rates) && report.span.is_some() {
        sections.push(rates(report));
    }
    out.put(&sections.join("\n"))
}

/// Lines of cells: the first column to the left, the others to the right, as wide as their widest
/// cell.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).chain([head[column].chars().count()]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[String]| {
        let mut text = String::new();
        for (i, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let blanks = " ".repeat(width - cell.chars().count());
            match i {
                0 => text += &format!("{cell}{blanks}"),
                _ => text += &format!("  {blanks}{cell}"),
            }
        }
        text.trim_end().to_owned() + "\n"
    };
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    line(&head) + &rows.iter().map(|row| line(row)).collect::<String>()
}

/// `12.3`: a share of a hundred.
fn share(part: u64, all: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / all.max(1) as f64)
}

/// A bar as long as the share of the largest; nothing unless a person watches.
fn bar(part: u64, most: u64) -> String {
    if !Out::is_terminal() || part == 0 {
        return String::new();
    }
    let eighths = (part as f64 / most.max(1) as f64 * (BAR * 8) as f64).round().max(1.0) as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("  {}{rest}", "█".repeat(eighths / 8))
}

/// Bits a second, in a unit that people read.
fn bits(bytes: u64, seconds: f64) -> String {
    let mut rate = bytes as f64 * 8.0 / seconds;
    for unit in ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"] {
        if rate < 1000.0 {
            return format!("{rate:.1} {unit}");
        }
        rate /= 1000.0;
    }
    format!("{rate:.1} Tbit/s")
}

/// Date and time of day to the microsecond, in the time zone of TZ; seconds since 1970 for what no
/// calendar has.
fn time(nanos: i64) -> String {
    let instant = jiff::Timestamp::from_nanosecond(nanos.into());
    let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
    match instant {
        Ok(instant) => instant.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S.%6f").to_string(),
        Err(_) => format!("{} s", nanos / 1_000_000_000),
    }
}

fn seconds((first, last): (i64, i64)) -> f64 {
    (i128::from(last) - i128::from(first)) as f64 / 1e9
}

fn summary(names: &[PathBuf], report: &Report) -> String {
    let total = report.total;
    let mut text = match names {
        [one] => format!("capture   {}\n", shown(one)),
        _ => format!("captures  {}\n", names.len()),
    };
    text += &format!("packets   {}\nbytes     {} ({})", grouped(total.packets), grouped(total.bytes), bytes(total.bytes));
    if report.captured < total.bytes {
        text += &format!(", of which {} were captured", grouped(report.captured));
    }
    text.push('\n');
    let Some(span) = report.span else { return text };
    text += &format!("first     {}\nlast      {}\nduration  {:.6} s\n", time(span.0), time(span.1), seconds(span));
    let span = seconds(span);
    if span > 0.0 {
        text += &format!("rate      {:.1} packets/s, {}\n", total.packets as f64 / span, bits(total.bytes, span));
    }
    text + &format!("mean      {:.1} bytes\n", total.bytes as f64 / total.packets.max(1) as f64)
}

fn protocols(report: &Report) -> String {
    let Amount { packets, bytes } = report.total;
    let row = |node: &netvm::io::stats::Node| {
        let name = format!("{}{}", "  ".repeat(node.depth), node.name);
        let amount = node.amount;
        vec![name, grouped(amount.packets), share(amount.packets, packets), grouped(amount.bytes), share(amount.bytes, bytes)]
    };
    table(&["Protocols", "packets", "%", "bytes", "%"], &report.protocols.iter().map(row).collect::<Vec<_>>())
}

/// The side, by its name if it has one.
fn named(side: Side, hosts: &Hosts) -> String {
    match side {
        Side::Ip(address, port) => match (hosts.name(address), port) {
            (Some(name), Some(port)) => format!("{name}:{port}"),
            (Some(name), None) => name.to_owned(),
            (None, _) => side.to_string(),
        },
        Side::Ethernet(_) => side.to_string(),
    }
}

/// A line that says what a table does not show.
fn rest(all: usize, shown: usize, others: Amount) -> String {
    let mut text = match all > shown {
        true => format!("… and {} more\n", grouped((all - shown) as u64)),
        false => String::new(),
    };
    if others.packets > 0 {
        text += &format!("… others, for which there was no room: {} packets, {} bytes\n", grouped(others.packets), grouped(others.bytes));
    }
    text
}

fn conversations(args: &Args, report: &Report, layer: &Layer, hosts: &Hosts) -> String {
    let begin = report.span.map_or(0, |(first, _)| first);
    let count = args.rows(layer.conversations.len());
    let row = |one: &netvm::io::stats::Conversation| {
        let pair = format!("{} <-> {}", named(one.sides.0, hosts), named(one.sides.1, hosts));
        let numbers = [one.there.packets, one.there.bytes, one.back.packets, one.back.bytes, one.amount().packets, one.amount().bytes];
        let times = [seconds((begin, one.span.0)), seconds(one.span)].map(|time| format!("{time:.6}"));
        [pair].into_iter().chain(numbers.map(grouped)).chain(times).collect()
    };
    let rows: Vec<Vec<String>> = layer.conversations.iter().take(count).map(row).collect();
    let head = format!("{} conversations: {}", layer.kind.name(), grouped(layer.conversations.len() as u64));
    let text = table(&[&head, "-> packets", "bytes", "<- packets", "bytes", "packets", "bytes", "start", "seconds"], &rows);
    text + &rest(layer.conversations.len(), count, layer.other_conversations)
}

fn endpoints(args: &Args, layer: &Layer, hosts: &Hosts) -> String {
    let count = args.rows(layer.endpoints.len());
    let row = |one: &netvm::io::stats::Endpoint| {
        let numbers =
            [one.amount().packets, one.amount().bytes, one.sent.packets, one.sent.bytes, one.received.packets, one.received.bytes];
        [named(one.side, hosts)].into_iter().chain(numbers.map(grouped)).collect()
    };
    let rows: Vec<Vec<String>> = layer.endpoints.iter().take(count).map(row).collect();
    let head = format!("{} endpoints: {}", layer.kind.name(), grouped(layer.endpoints.len() as u64));
    let text = table(&[&head, "packets", "bytes", "sent packets", "bytes", "received packets", "bytes"], &rows);
    text + &rest(layer.endpoints.len(), count, layer.other_endpoints)
}

fn ports(args: &Args, report: &Report) -> String {
    let count = args.rows(report.ports.len());
    let row = |port: &netvm::io::stats::Port| {
        let name = format!("{} {}", port.kind.name(), port.port);
        vec![
            name,
            grouped(port.amount.packets),
            share(port.amount.packets, report.total.packets),
            grouped(port.amount.bytes),
            share(port.amount.bytes, report.total.bytes),
        ]
    };
    let rows: Vec<Vec<String>> = report.ports.iter().take(count).map(row).collect();
    let head = format!("Ports: {}", grouped(report.ports.len() as u64));
    table(&[&head, "packets", "%", "bytes", "%"], &rows) + &rest(report.ports.len(), count, Amount::default())
}

fn sizes(report: &Report) -> String {
    let most = report.sizes.iter().map(|size| size.amount.packets).max().unwrap_or(0);
    let row = |size: &netvm::io::stats::Size| {
        let name = size.to.map_or_else(|| format!("{} and more", size.from), |to| format!("{}-{to}", size.from));
        let seen = size.seen.map_or(["-".to_owned(), "-".to_owned()], |(least, most)| [grouped(least.into()), grouped(most.into())]);
        let numbers = [grouped(size.amount.packets), share(size.amount.packets, report.total.packets)];
        let cells = [name].into_iter().chain(numbers).chain(seen);
        cells.collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = report.sizes.iter().map(row).collect();
    let bars = report.sizes.iter().map(|size| bar(size.amount.packets, most));
    with_bars(&table(&["Sizes in bytes", "packets", "%", "least", "most"], &rows), bars)
}

fn rates(report: &Report) -> String {
    let rates = report.rates.clone().fitted(INTERVALS);
    let length = rates.interval() as f64 / 1e9;
    let most = rates.rows().map(|(_, amount)| amount.bytes).max().unwrap_or(0);
    let row = |(begin, amount): (i64, Amount)| {
        let rate = format!("{:.1}", amount.packets as f64 / length);
        vec![time(begin), grouped(amount.packets), grouped(amount.bytes), rate, bits(amount.bytes, length)]
    };
    let rows: Vec<Vec<String>> = rates.rows().map(row).collect();
    let head = format!("Intervals of {length} s");
    let bars = rates.rows().map(|(_, amount)| bar(amount.bytes, most));
    let text = with_bars(&table(&[&head, "packets", "bytes", "packets/s", "bits"], &rows), bars);
    text + &rest(0, 0, rates.outside())
}

/// A table with a bar behind each line but its first.
fn with_bars(table: &str, bars: impl Iterator<Item = String>) -> String {
    let mut lines = table.lines();
    let head = lines.next().unwrap_or_default().to_owned() + "\n";
    head + &lines.zip(bars).map(|(line, bar)| format!("{line}{bar}\n")).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["é".to_owned(), "1".to_owned()], vec!["long".to_owned(), "1,000".to_owned()]];
        assert_eq!(table(&["x", "n"], &rows), "x         n\né         1\nlong  1,000\n");
    }

    #[test]
    fn rates_have_units() {
        assert_eq!(
            (bits(125, 1.0), bits(125_000_000, 0.5), bits(u64::MAX, 1e-9)),
            ("1.0 kbit/s".into(), "2.0 Gbit/s".into(), "147573952589676384.0 Tbit/s".to_owned()).clone()
        );
    }
}
