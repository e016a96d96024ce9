//! How often packets came to the states, conditions and tables of a program: written into its
//! [charts](super::charts).
//!
//! Packets are followed by the marks of a traced program. What a parser in a parser does is counted
//! in its own chart, and not at the arrows of the other one.

use super::{Chart, MarkKind, Pass};
use std::collections::HashMap;

/// What a run of packets did.
#[derive(Debug, Default)]
pub struct Traffic {
    arrived: u64,
    /// Times of the first and the last packet, in nanoseconds.
    times: Option<(u64, u64)>,
    /// States: how often they were met; tables: how often asked. By their places.
    met: HashMap<String, u64>,
    /// From one state to the next; to `accept` and `reject` from the last.
    steps: HashMap<(String, String), u64>,
    /// Conditions: yes and no; tables: hits and misses.
    ways: HashMap<String, [u64; 2]>,
}

impl Traffic {
    /// A packet came in at that time, and went that way.
    pub fn note(&mut self, time_ns: u64, passes: &[Pass]) {
        self.arrived += 1;
        let first = self.times.map_or(time_ns, |(first, _)| first);
        self.times = Some((first, time_ns.max(first)));
        for pass in passes {
            self.pass(pass);
        }
    }

    fn pass(&mut self, pass: &Pass) {
        let (mut state, mut table, mut is_wrong) = (None::<&str>, None::<&str>, false);
        for event in &pass.events {
            match event.kind {
                MarkKind::State => {
                    if let Some(from) = state.replace(&event.place) {
                        self.step(from, &event.place);
                    }
                    *self.met.entry(event.place.clone()).or_default() += 1;
                }
                MarkKind::Error => is_wrong = true,
                MarkKind::Enter => {
                    if let Some(from) = state.take() {
                        self.step(from, if is_wrong { "reject" } else { "accept" });
                    }
                }
                MarkKind::Table(_) => {
                    table = Some(&event.place);
                    *self.met.entry(event.place.clone()).or_default() += 1;
                }
                MarkKind::Hit | MarkKind::Miss => {
                    let way = usize::from(event.kind == MarkKind::Miss);
                    if let Some(table) = table {
                        self.ways.entry(table.to_owned()).or_default()[way] += 1;
                    }
                }
                MarkKind::Branch(yes) => self.ways.entry(event.place.clone()).or_default()[usize::from(!yes)] += 1,
                _ => {}
            }
        }
    }

    fn step(&mut self, from: &str, to: &str) {
        *self.steps.entry((from.to_owned(), to.to_owned())).or_default() += 1;
    }

    /// Writes the counts into the boxes and at the arrows.
    pub fn write(&self, charts: &mut [Chart]) {
        for chart in charts {
            let places: Vec<(String, String)> = chart.boxes.iter().map(|one| (one.place.clone(), one.title.clone())).collect();
            for one in chart.boxes.iter_mut().filter(|one| !one.place.is_empty()) {
                let ways = self.ways.get(&one.place);
                let count = self.met.get(&one.place).copied().or_else(|| ways.map(|w| w.iter().sum())).unwrap_or(0);
                let gap = if one.detail.is_empty() { "" } else { " | " };
                one.detail = format!("{}{gap}{}", one.detail, self.shown(count));
            }
            for arrow in &mut chart.arrows {
                let (from, to) = (&places[arrow.from], &places[arrow.to]);
                let way = match arrow.label.split([',', ' ']).next() {
                    Some("yes" | "hit") => self.ways.get(&from.0).map(|w| w[0]),
                    Some("no" | "miss") => self.ways.get(&from.0).map(|w| w[1]),
                    _ => None,
                };
                let end = if to.0.is_empty() { &to.1 } else { &to.0 };
                let count = way.or_else(|| self.steps.get(&(from.0.clone(), end.clone())).copied());
                if let Some(count) = count.filter(|_| !from.0.is_empty()) {
                    arrow.label = format!("{}{}{count}", arrow.label, if arrow.label.is_empty() { "" } else { ": " });
                }
            }
        }
    }

    /// A count, its share of all that arrived, and how many in a second.
    fn shown(&self, count: u64) -> String {
        let share = if self.arrived > 0 { format!(", {:.0} %", count as f64 * 100.0 / self.arrived as f64) } else { String::new() };
        let seconds = self.times.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9);
        let rate = if seconds > 0.0 { format!(", {:.0}/s", count as f64 / seconds) } else { String::new() };
        format!("{count}{share}{rate}")
    }
}
