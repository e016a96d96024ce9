//! What the threads of a run have recorded, put together.
//!
//! With the order of all packets a packet goes through several graphs, one a stage, of which each
//! has a part of its way: the part of the next graph knows the number that the packet had before
//! ([`runtime::graph::Recorded::from`]). With that of flows each graph has whole ways.

use super::handlers::{self, Recording};
use super::{Cores, Mode, Placement, Stage};
use crate::control::why::Noted;
use netil::app::Application;
use runtime::graph::{OWN_BITS, Sampler};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// By element that packets come to first, behind the sources: the only source that leads there, or
/// none.
pub(super) type Origins = BTreeMap<String, Option<String>>;

/// Where packets come from that come to the elements behind the sources.
pub(super) fn origins(application: &Application, placement: &Placement) -> Origins {
    let is_source = |at: u32| placement.stages[at as usize] == Stage::Source;
    let name = |at: u32| application.instances[at as usize].name.clone();
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for wire in application.wires.iter().filter(|wire| is_source(wire.from.instance) && !is_source(wire.to.instance)) {
        all.entry(name(wire.to.instance)).or_default().insert(name(wire.from.instance));
    }
    all.into_iter().map(|(to, from)| (to, if from.len() == 1 { from.into_iter().next() } else { None })).collect()
}

/// The last stage keeps as many packets as so many replicas at most.
const MOST_KEPT: usize = 8;

impl Cores {
    /// Keeps the ways of the last packets, so many of each replica: of all that come, or of as many
    /// as take a hundredth of the time. The application has room for their numbers
    /// ([`crate::application::Application::record`]).
    ///
    /// # Errors
    /// It has none.
    pub fn record(&mut self, packets: usize, all: bool) -> Result<(), String> {
        let recording = match (&self.mode, all) {
            (Mode::Total(_), _) => Recording::Part(packets, 0),
            (Mode::Flow(_), true) => Recording::All(packets),
            (Mode::Flow(_), false) => Recording::Some(packets),
        };
        // Packets of all replicas come to the last stage.
        let replicas = self.replicas().map_or(1, |replicas| replicas.active.clamp(1, MOST_KEPT));
        let own = if let Recording::Part(packets, series) = recording { Recording::Part(packets * replicas, series) } else { recording };
        handlers::record(&mut self.rest, own, self.gauge.name())?;
        self.directory.record(recording)?;
        if let Mode::Total(epochs) = &self.mode {
            epochs.change.record_by(Sampler::new(packets, (!all).then_some(crate::control::why::PART)));
        }
        Ok(())
    }

    /// The packets of all threads whose ways are kept, in the order of their times, each with the
    /// `thread` that it was recorded by first; none if nothing is kept.
    pub fn recorded(&self) -> Option<Vec<Value>> {
        let own = crate::control::why::noted(&self.rest)?;
        let crashed = self.run.crashes.all().into_iter().filter_map(|crash| Some((crash.thread, crash.packets?)));
        let others = self.directory.recorded().into_iter().chain(crashed).chain(self.ended.iter().cloned());
        let all = [(self.gauge.name().to_owned(), own)].into_iter().chain(others).collect();
        Some(match &self.mode {
            Mode::Total(_) => joined(all, &self.origins),
            Mode::Flow(_) => alone(all),
        })
    }
}

/// Whole ways.
fn alone(threads: Vec<(String, Vec<Noted>)>) -> Vec<Value> {
    let told = |(name, packets): (String, Vec<Noted>)| packets.into_iter().map(move |packet| of_thread(packet.told, &name));
    in_order(threads.into_iter().flat_map(told).collect())
}

/// Parts of ways, put together.
fn joined(threads: Vec<(String, Vec<Noted>)>, origins: &Origins) -> Vec<Value> {
    let (names, parts): (Vec<String>, Vec<Vec<Noted>>) = threads.into_iter().unzip();
    let all: HashMap<u64, (usize, &Noted)> =
        parts.iter().enumerate().flat_map(|(at, part)| part.iter().map(move |packet| (packet.number, (at, packet)))).collect();
    let mut behind: HashMap<u64, &Noted> = HashMap::new();
    for packet in parts.iter().flatten().filter(|packet| packet.from > 0) {
        behind.insert(packet.from, packet);
    }
    // The first part of a packet's way.
    let before = |number: &u64| all.get(number).map(|(_, packet)| packet.from).filter(|from| all.contains_key(from));
    let first = |number: u64| std::iter::successors(Some(number), before).take(names.len()).last().unwrap_or(number);
    let next = |packet: &&Noted| behind.get(&packet.number).copied();
    let mut told = Vec::new();
    for (at, packet) in parts.iter().enumerate().flat_map(|(at, part)| part.iter().map(move |packet| (at, packet))) {
        if all.contains_key(&packet.from) {
            continue;
        }
        let parts: Vec<&Noted> = std::iter::successors(Some(packet), next).take(names.len()).collect();
        let mut one = of_thread(whole(packet, &parts[1..], origins), &names[at]);
        if packet.of > 0 {
            let of = first(packet.of);
            one["copy_of"] = (of & ((1 << OWN_BITS) - 1)).into();
            one["copy_of_thread"] = all.get(&of).map(|(at, _)| names[*at].clone()).into();
        }
        told.push(one);
    }
    in_order(told)
}

/// A part and those behind it; where another should be and is not known, or where the way began
/// before the part, it is not known what is there.
fn whole(packet: &Noted, behind: &[&Noted], origins: &Origins) -> Value {
    let mut told = packet.told.clone();
    let mut way: Vec<Value> = told["way"].as_array().cloned().unwrap_or_default();
    if packet.from > 0 {
        way.insert(0, Value::Null);
    } else if packet.comes {
        let reached = |part: &&Noted| part.told["way"].as_array().and_then(|way| Some(way.first()?.as_str()?.to_owned()));
        let to = reached(&packet).or_else(|| behind.iter().find_map(reached));
        way.insert(0, to.and_then(|to| origins.get(&to).cloned().flatten()).into());
    }
    for part in behind {
        way.extend(part.told["way"].as_array().into_iter().flatten().cloned());
        for name in ["element", "class", "dropped", "failed"] {
            told[name] = part.told[name].clone();
        }
        told["rested"] = (told["rested"] == true || part.told["rested"] == true).into();
    }
    if behind.last().map_or(packet.goes, |last| last.goes) {
        way.push(Value::Null);
        (told["element"], told["class"]) = (Value::Null, Value::Null);
    }
    told["way"] = json!(way);
    told
}

fn of_thread(mut packet: Value, name: &str) -> Value {
    packet["thread"] = name.into();
    packet
}

fn in_order(mut packets: Vec<Value>) -> Vec<Value> {
    packets.sort_by_key(|packet| packet["time_ns"].as_u64());
    packets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u64, (from, of): (u64, u64), way: &[&str], [comes, goes]: [bool; 2]) -> Noted {
        let told = json!({ "packet": number & 0xff, "copy_of": null, "time_ns": 1, "way": way, "element": way.last(), "class": "C", "dropped": null, "rested": false });
        Noted { number, from, of, comes, goes, told }
    }

    fn ways(threads: Vec<(String, Vec<Noted>)>) -> Vec<(String, Value, Value, Value)> {
        let origins = Origins::from([("a".to_owned(), Some("in".to_owned())), ("b".to_owned(), None)]);
        let mut told = joined(threads, &origins);
        let of = |it: &mut Value| (it["thread"].as_str().unwrap().to_owned(), it["way"].take(), it["element"].take(), it["copy_of"].take());
        told.iter_mut().map(of).collect()
    }

    #[test]
    fn ways_go_through_several_stages() {
        let [replica, first, rest] = [2_u64, 258, 1].map(|graph| graph << OWN_BITS);
        let stage = |at: u64, before: u64, way: &[&str], goes| part(at, (before, 0), way, [true, goes]);
        let threads = vec![
            ("in order".to_owned(), vec![stage(rest + 1, first + 1, &["q"], false), part(rest + 2, (0, rest + 1), &["r"], [false, false])]),
            ("replica 0".to_owned(), vec![stage(replica + 1, 0, &["a"], true), stage(replica + 2, 0, &[], true)]),
            ("in order 1".to_owned(), vec![stage(first + 1, replica + 1, &["s", "t"], true), stage(first + 2, replica + 2, &["b"], true)]),
        ];
        let told = ways(threads);
        assert_eq!(told[0].1, json!(["r"]));
        assert_eq!((&told[1].1, &told[1].2), (&json!(["in", "a", "s", "t", "q"]), &json!("q")));
        assert_eq!((&told[2].1, &told[2].2), (&json!([null, "b", null]), &json!(null)));
    }

    #[test]
    fn ways_go_on_in_the_graph_behind() {
        let (replica, rest) = (2 << OWN_BITS, 1 << OWN_BITS);
        let threads = vec![
            (
                "in order".to_owned(),
                vec![
                    part(rest + 1, (replica + 1, 0), &["q", "out"], [true, false]),
                    part(rest + 2, (0, rest + 1), &["q"], [false, false]),
                    part(rest + 3, (replica + 9, 0), &["q"], [true, false]),
                ],
            ),
            (
                "replica 0".to_owned(),
                vec![
                    part(replica + 1, (0, 0), &["a"], [true, true]),
                    part(replica + 2, (0, 0), &["b", "c"], [true, false]),
                    part(replica + 3, (0, 0), &["a"], [true, true]),
                ],
            ),
        ];
        let [here, there] = ["in order", "replica 0"].map(str::to_owned);
        assert_eq!(
            ways(threads),
            [
                (here.clone(), json!(["q"]), json!("q"), json!(1)),
                (here, json!([null, "q"]), json!("q"), json!(null)),
                (there.clone(), json!(["in", "a", "q", "out"]), json!("out"), json!(null)),
                (there.clone(), json!([null, "b", "c"]), json!("c"), json!(null)),
                (there, json!(["in", "a", null]), json!(null), json!(null)),
            ]
        );
    }
}
