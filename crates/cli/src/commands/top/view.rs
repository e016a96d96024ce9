//! The table as lines of text.

use super::model::{Busy, Contention, Row, Table};

/// Threads that are told of in a line.
const IN_A_LINE: usize = 4;
/// What is above the columns.
pub(super) const HEAD: [&str; 7] = ["element", "class", "packets/s", "packets", "dropped/s", "dropped", "ns/packet"];

/// All of it.
pub(super) fn lines(table: &Table) -> Vec<String> {
    let rows: Vec<[String; 7]> = std::iter::once(HEAD.map(str::to_owned)).chain(table.rows.iter().map(cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let line = |row: &[String; 7]| {
        let cell = |(n, text): (usize, &String)| if n < 2 { format!("{text:<0$}", widths[n]) } else { format!("{text:>0$}", widths[n]) };
        row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let replicas = table.replicas.map_or_else(String::new, |count| format!(", {count} replicas"));
    std::iter::once(title(table) + &replicas)
        .chain(table.devices.iter().map(port))
        .chain(threads(table, None))
        .chain(contention(table))
        .chain(rows.iter().map(line))
        .collect()
}

pub(super) fn title(table: &Table) -> String {
    let rate = table.rate.map_or_else(String::new, |rate| format!(", {}/s", short(rate)));
    let busy = table.busy.map_or_else(String::new, |busy| format!(", {:.0} % busy", busy * 100.0));
    format!("{} packets arrived in {:.1} s{rate}{busy}", table.arrived, table.seconds)
}

pub(super) fn port((name, [received, sent, dropped]): &(String, [u64; 3])) -> String {
    format!("{name}: {received} received, {sent} sent, {dropped} dropped")
}

/// How busy threads are, some in a line; the one that is chosen in brackets.
pub(super) fn threads(table: &Table, chosen: Option<&str>) -> Vec<String> {
    let one = |it: &Busy| {
        let core = it.core.map_or_else(String::new, |core| format!(" on core {core}"));
        let pinned = if it.pinned.is_some() { " (pinned)" } else { "" };
        let waiting = it.waiting.map_or_else(String::new, |(waiting, room)| format!(" {waiting}/{room}"));
        let text = format!("{} {:.0} %{core}{pinned}{waiting}", it.name, it.share * 100.0);
        if chosen == Some(it.name.as_str()) { format!("[{text}]") } else { text }
    };
    let all: Vec<String> = table.threads.iter().map(one).collect();
    all.chunks(IN_A_LINE).map(|some| format!("threads: {}", some.join(", "))).collect()
}

/// Elements that run as transactions, a line each.
pub(super) fn contention(table: &Table) -> Vec<String> {
    let one = |it: &Contention| {
        let most = it.most.as_ref().map_or_else(String::new, |most| format!("; most so far: {most}"));
        format!("{}: {:.1} % of transactions conflict{most}", it.element, it.part * 100.0)
    };
    table.contention.iter().map(one).collect()
}

pub(super) fn cells(row: &Row) -> [String; 7] {
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), short);
    let ns = row.ns.map_or_else(String::new, |ns| format!("{ns:.1}"));
    [row.name.clone(), row.class.clone(), rate(row.rate), row.packets.to_string(), rate(row.drop_rate), row.dropped.to_string(), ns]
}

/// A rate in few characters.
pub(super) fn short(rate: f64) -> String {
    match rate {
        rate if rate >= 1e9 => format!("{:.2} G", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.2} M", rate / 1e6),
        rate if rate >= 1e4 => format!("{:.1} k", rate / 1e3),
        rate => format!("{rate:.0}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::model::Sample;
    use super::*;
    use serde_json::json;
    use std::time::{Duration, Instant};

    pub(in super::super) fn table() -> Table {
        let stats = |packets: u64| {
            json!({ "seconds": 3.5, "arrived": packets, "busy": 0.25,
            "elements": [{ "name": "in", "class": "FromDevice", "packets": 0, "out": [packets], "dropped": {}, "ns_per_packet": 12.34 },
                         { "name": "q", "class": "Queue", "packets": packets, "out": [], "dropped": { "full": 2 },
                           "transactions": { "commits": packets * 3, "aborts": packets, "locked": 0, "conflicts": [{ "about": "t", "key": "0a", "full": false, "lines": [7], "count": packets }] } }],
            "threads": [{ "name": "in order", "id": 5, "cpu_seconds": packets as f64 / 1e5, "core": 1, "packets": packets, "pinned": 1, "waiting": 2, "room": 4 }, { "name": "replica", "id": 6 + packets, "cpu_seconds": 1.0 }],
            "devices": [{ "name": "in", "received": packets, "sent": 0, "dropped": { "full": 1 } }] })
        };
        let begun = Instant::now();
        let before = Sample::of(&stats(0), begun);
        Table::of(&Sample::of(&stats(50_000), begun + Duration::from_secs(1)), Some(&before))
    }

    #[test]
    fn text_has_columns() {
        let wanted = [
            "50000 packets arrived in 3.5 s, 50.0 k/s, 25 % busy",
            "in: 50000 received, 0 sent, 1 dropped",
            // The other thread was not there before.
            "threads: in order 50 % on core 1 (pinned) 2/4",
            "q: 25.0 % of transactions conflict; most so far: 50000 t 0a (line 7)",
            "element  class       packets/s  packets  dropped/s  dropped  ns/packet",
            "in       FromDevice     50.0 k    50000          0        0       12.3",
            "q        Queue          50.0 k    50000          0        2",
        ];
        assert_eq!(lines(&table()), wanted);
        let replicated = Table { replicas: Some(2), ..table() };
        assert_eq!(lines(&replicated)[0], format!("{}, 2 replicas", wanted[0]));
    }
}
