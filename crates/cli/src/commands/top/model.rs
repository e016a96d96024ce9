//! Two samples of a run's statistics and what happened between them.

use crate::commands::ctl::conflicts::conflict;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Instant;

/// The order of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Order {
    /// As the configuration declares them.
    #[default]
    Configuration,
    /// The most packets a second first.
    Rate,
    /// The most drops first.
    Drops,
}

/// What a run said at a time.
pub(super) struct Sample {
    at: Instant,
    seconds: f64,
    arrived: u64,
    busy: Option<f64>,
    elements: Vec<Element>,
    devices: Vec<(String, [u64; 3])>,
    threads: Vec<Thread>,
    replicas: Option<u64>,
    transactions: Vec<Transactions>,
}

/// An element's runs as transactions so far, and those of them that conflicted.
struct Transactions {
    element: String,
    runs: u64,
    aborts: u64,
    /// What most of these were about.
    most: Option<String>,
}

/// A thread of the run, and for how long it was on a core.
struct Thread {
    id: u64,
    name: String,
    seconds: f64,
    core: Option<u64>,
    /// Those that came to it, if packets do.
    packets: Option<u64>,
    active: bool,
    pinned: Option<u64>,
    waiting: Option<(u64, u64)>,
}

/// An element's counts so far.
struct Element {
    name: String,
    class: String,
    stage: Option<String>,
    packets: u64,
    dropped: u64,
    ns: Option<f64>,
}

impl Sample {
    /// Reads what the control socket answers to `stats`.
    pub(super) fn of(stats: &Value, at: Instant) -> Self {
        let list = |name: &str| stats[name].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let element = |it: &Value| Element {
            name: text(&it["name"]),
            class: text(&it["class"]),
            stage: it["stage"].as_str().map(str::to_owned),
            // What makes packets has none that come in.
            packets: number(&it["packets"]).max(it["out"].as_array().into_iter().flatten().map(number).sum()),
            dropped: it["dropped"].as_object().into_iter().flatten().map(|(_, count)| number(count)).sum(),
            ns: it["ns_per_packet"].as_f64(),
        };
        let thread = |it: &Value| Thread {
            id: number(&it["id"]),
            name: text(&it["name"]),
            // What it only looked for frames it was idle.
            seconds: it["cpu_seconds"].as_f64().unwrap_or(0.0) - it["looked_seconds"].as_f64().unwrap_or(0.0),
            core: it["core"].as_u64(),
            packets: it["packets"].as_u64(),
            active: it["active"] != false,
            pinned: it["pinned"].as_u64(),
            waiting: it["waiting"].as_u64().zip(it["room"].as_u64()),
        };
        let counts = |it: &Value| ["received", "sent", "dropped"].map(|name| total(&it[name]));
        Self {
            at,
            seconds: stats["seconds"].as_f64().unwrap_or(0.0),
            arrived: number(&stats["arrived"]),
            busy: stats["busy"].as_f64(),
            elements: list("elements").iter().map(element).collect(),
            devices: list("devices").iter().map(|it| (text(&it["name"]), counts(it))).collect(),
            threads: list("threads").iter().map(thread).collect(),
            replicas: stats["replicas"]["wanted"].as_u64(),
            transactions: list("elements").iter().filter_map(transactions).collect(),
        }
    }
}

impl Sample {
    /// Names of all elements.
    #[cfg(feature = "screen")]
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.elements.iter().map(|element| element.name.as_str())
    }
}

fn transactions(element: &Value) -> Option<Transactions> {
    let of = element.get("transactions")?;
    let runs = ["commits", "aborts", "locked"].iter().map(|name| number(&of[*name])).sum();
    let most = of["conflicts"].as_array().and_then(|all| all.first()).map(|first| conflict(first).trim().to_owned());
    Some(Transactions { element: element["name"].as_str()?.to_owned(), runs, aborts: number(&of["aborts"]), most })
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// A number, or the sum of numbers by reason.
fn total(value: &Value) -> u64 {
    value.as_object().map_or_else(|| number(value), |parts| parts.values().map(number).sum())
}

/// A thread that was there before, too.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Busy {
    pub(super) name: String,
    /// The part of the time that it was on a core.
    pub(super) share: f64,
    /// The core that it was on last.
    pub(super) core: Option<u64>,
    /// Packets come to it, so that it can be moved.
    pub(super) moves: bool,
    /// How many a second.
    pub(super) rate: Option<f64>,
    /// False of a replica that gets none at present.
    pub(super) active: bool,
    /// The core that it is to run on.
    pub(super) pinned: Option<u64>,
    /// Epochs that wait for it, and how many may.
    pub(super) waiting: Option<(u64, u64)>,
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) class: String,
    /// The stage that it is in, where there are several.
    pub(super) stage: Option<String>,
    pub(super) packets: u64,
    /// A second, if there was a sample before.
    pub(super) rate: Option<f64>,
    pub(super) dropped: u64,
    pub(super) drop_rate: Option<f64>,
    pub(super) ns: Option<f64>,
    declared: usize,
}

/// An element that runs as transactions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contention {
    pub(super) element: String,
    /// The part of its runs that conflicted, since a sample before if there was one.
    pub(super) part: f64,
    /// What most conflicts are about, and how many, so far.
    pub(super) most: Option<String>,
}

/// What is shown.
#[derive(Default)]
pub(super) struct Table {
    pub(super) seconds: f64,
    pub(super) arrived: u64,
    pub(super) rate: Option<f64>,
    pub(super) busy: Option<f64>,
    pub(super) rows: Vec<Row>,
    /// Name; frames received, sent, dropped; each so far.
    pub(super) devices: Vec<(String, [u64; 3])>,
    /// By queue, packets that wait there and how many may, where that was asked.
    #[cfg(feature = "screen")]
    pub(super) depths: HashMap<String, (u64, u64)>,
    pub(super) threads: Vec<Busy>,
    /// How many replicas get packets, if their number can change.
    pub(super) replicas: Option<u64>,
    pub(super) contention: Vec<Contention>,
}

impl Table {
    /// What a sample says, with rates since one before.
    pub(super) fn of(now: &Sample, before: Option<&Sample>) -> Self {
        let passed = before.map(|before| now.at.saturating_duration_since(before.at).as_secs_f64()).filter(|passed| *passed > 0.0);
        let rate = |new: u64, old: u64| passed.map(|passed| new.saturating_sub(old) as f64 / passed);
        let known: HashMap<&str, &Element> =
            before.iter().flat_map(|before| &before.elements).map(|element| (element.name.as_str(), element)).collect();
        let row = |(declared, it): (usize, &Element)| {
            let old = known.get(it.name.as_str());
            Row {
                name: it.name.clone(),
                class: it.class.clone(),
                stage: it.stage.clone(),
                packets: it.packets,
                rate: rate(it.packets, old.map_or(0, |old| old.packets)),
                dropped: it.dropped,
                drop_rate: rate(it.dropped, old.map_or(0, |old| old.dropped)),
                ns: it.ns,
                declared,
            }
        };
        Self {
            seconds: now.seconds,
            arrived: now.arrived,
            rate: rate(now.arrived, before.map_or(0, |before| before.arrived)),
            busy: now.busy,
            rows: now.elements.iter().enumerate().map(row).collect(),
            devices: now.devices.clone(),
            #[cfg(feature = "screen")]
            depths: HashMap::new(),
            threads: busy(now, before, passed),
            replicas: now.replicas,
            contention: now.transactions.iter().map(|it| contention(it, before)).collect(),
        }
    }

    pub(super) fn sort(&mut self, order: Order) {
        self.rows.sort_by_key(|row| row.declared);
        match order {
            Order::Configuration => {}
            Order::Rate => self.rows.sort_by(|a, b| b.rate.unwrap_or(0.0).total_cmp(&a.rate.unwrap_or(0.0))),
            Order::Drops => self.rows.sort_by_key(|row| Reverse(row.dropped)),
        }
    }
}

fn contention(now: &Transactions, before: Option<&Sample>) -> Contention {
    let old = before.and_then(|before| before.transactions.iter().find(|it| it.element == now.element));
    let since = |new: u64, old: Option<u64>| new.saturating_sub(old.unwrap_or(0));
    let (runs, aborts) = (since(now.runs, old.map(|old| old.runs)), since(now.aborts, old.map(|old| old.aborts)));
    Contention { element: now.element.clone(), part: aborts as f64 / runs.max(1) as f64, most: now.most.clone() }
}

/// How busy threads were since a sample before.
fn busy(now: &Sample, before: Option<&Sample>, passed: Option<f64>) -> Vec<Busy> {
    let old = |id: u64| before.and_then(|before| before.threads.iter().find(|it| it.id == id));
    let one = |it: &Thread| {
        let (old, passed) = (old(it.id)?, passed?);
        let share = ((it.seconds - old.seconds) / passed).clamp(0.0, 1.0);
        let rate = it.packets.map(|packets| packets.saturating_sub(old.packets.unwrap_or(0)) as f64 / passed);
        let Thread { core, pinned, waiting, active, .. } = *it;
        Some(Busy { name: it.name.clone(), share, core, moves: it.packets.is_some(), rate, active, pinned, waiting })
    };
    now.threads.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    fn stats(packets: u64, dropped: u64) -> Value {
        let element = |name: &str, packets: u64, dropped: u64| json!({ "name": name, "class": "Queue", "packets": packets, "out": [packets], "dropped": { "full": dropped } });
        json!({ "seconds": 2.0, "arrived": packets, "elements": [element("a", 5, 0), element("b", packets, dropped), { "name": 7 }] })
    }

    #[test]
    fn rates_are_of_what_happened_between_two_samples() {
        let begun = Instant::now();
        let first = Sample::of(&stats(100, 4), begun);
        let second = Sample::of(&stats(300, 14), begun + Duration::from_secs(2));
        assert_eq!(Table::of(&first, None).rows[1].rate, None);
        let mut table = Table::of(&second, Some(&first));
        assert_eq!((table.rate, table.rows[0].rate), (Some(100.0), Some(0.0)));
        assert_eq!((table.rows[1].packets, table.rows[1].rate, table.rows[1].drop_rate), (300, Some(100.0), Some(5.0)));
        table.sort(Order::Rate);
        assert_eq!(table.rows[0].name, "b");
        table.sort(Order::Configuration);
        assert_eq!(table.rows[0].name, "a");
        table.sort(Order::Drops);
        assert_eq!((table.rows[0].name.as_str(), table.rows[0].dropped), ("b", 14));
    }
}
