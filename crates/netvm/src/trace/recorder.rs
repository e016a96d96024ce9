//! Writes down what happens to chosen packets.
//!
//! Every packet has a number in info memory from where it comes into being: one that is not
//! followed has [`OTHER`]. A packet with number 0 that leaves an element was made there: it
//! arrived, if the element has no inputs, or belongs to the packet that the element had last.

use super::fields::{Snapshot, differences};
use super::{Chosen, End, Journey, Step};
use crate::Error;
use crate::application::feed::NUMBER;
use crate::sync::lock;
use netil::app::{Application, Instance};
use netil::module::InfoField;
use runtime::graph::{At, Info, Observer, Packet, builtin};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

/// The number of packets that nobody follows.
const OTHER: u64 = u64::MAX;
/// The most steps of one journey: packets that are copied again and again fill memory.
const MOST_STEPS: usize = 10_000;

/// A packet being followed.
struct Followed {
    /// Its journey, and its name there.
    journey: usize,
    name: String,
    /// Packets made of it so far.
    children: u32,
    /// The step that it is in, as it was when it came in.
    within: Option<(usize, Snapshot)>,
}

/// What is known of the configuration and of packets.
pub(super) struct Recorder {
    chosen: Chosen,
    /// The element whose packets are counted; all that have no inputs if there is none.
    source: Option<usize>,
    /// Elements without inputs.
    sources: HashSet<usize>,
    /// Elements without outputs.
    sinks: HashSet<usize>,
    /// What elements would write.
    outputs: HashMap<usize, String>,
    /// Elements that may hold packets, as all in C may.
    keeps: HashMap<usize, End>,
    fields: Vec<InfoField>,
    arrived: u64,
    last: u64,
    journeys: Vec<Journey>,
    followed: HashMap<u64, Followed>,
    /// By element, the followed packet that it had last.
    has: HashMap<usize, u64>,
    pub(super) error: Option<Error>,
}

impl Recorder {
    pub(super) fn new(application: &Application, chosen: Chosen, source: Option<usize>, outputs: HashMap<usize, String>) -> Self {
        let without = |ends: fn(&netil::app::Wire) -> u32| {
            let with: HashSet<usize> = application.wires.iter().map(|wire| ends(wire) as usize).collect();
            (0..application.instances.len()).filter(|at| !with.contains(at)).collect::<HashSet<_>>()
        };
        let keeps = |(at, instance): (usize, &Instance)| match instance.program() {
            Some(_) => Some((at, End::Taken)),
            None => builtin::facts(&instance.class).holds_packets.then_some((at, End::Kept)),
        };
        Self {
            chosen,
            source,
            sources: without(|wire| wire.to.instance),
            sinks: without(|wire| wire.from.instance),
            outputs,
            keeps: application.instances.iter().enumerate().filter_map(keeps).collect(),
            fields: application.info.iter().filter(|field| field.name != NUMBER).cloned().collect(),
            arrived: 0,
            last: 0,
            journeys: Vec::new(),
            followed: HashMap::new(),
            has: HashMap::new(),
            error: None,
        }
    }

    pub(super) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// True if no chosen packet is on its way, and none will come.
    pub(super) fn is_done(&self) -> bool {
        let enough = self.chosen.most.is_some_and(|most| self.journeys.len() as u64 >= most);
        let passed = self.chosen.number.is_some_and(|number| self.arrived >= number);
        (enough || passed) && self.followed.is_empty()
    }

    pub(super) fn take(&mut self) -> Vec<Journey> {
        self.followed.clear();
        std::mem::take(&mut self.journeys)
    }

    /// Whether the packet that has just arrived is one of those chosen.
    fn chooses(&mut self, packet: &Packet) -> bool {
        if self.chosen.most.is_some_and(|most| self.journeys.len() as u64 >= most) || self.chosen.number.is_some_and(|n| n != self.arrived)
        {
            return false;
        }
        let Some(filter) = &mut self.chosen.filter else { return true };
        let matches = filter.matches(packet.link, packet.buffer.bytes(), packet.wire_len());
        matches.unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            false
        })
    }

    /// A number for a packet of a journey.
    fn follow(&mut self, journey: usize, name: String) -> u64 {
        self.last += 1;
        self.followed.insert(self.last, Followed { journey, name, children: 0, within: None });
        self.last
    }

    /// The number of a packet that is made of that one.
    fn child(&mut self, of: u64) -> Option<(u64, String)> {
        let parent = self.followed.get_mut(&of)?;
        parent.children += 1;
        let (journey, name) = (parent.journey, format!("{}.{}", parent.name, parent.children));
        Some((self.follow(journey, name.clone()), name))
    }

    /// Writes a step down; `None` if there are too many.
    fn step(&mut self, number: u64, element: usize, input: Option<u32>, packet: &Packet) -> Option<usize> {
        let followed = self.followed.get_mut(&number)?;
        let steps = &mut self.journeys.get_mut(followed.journey)?.steps;
        if steps.len() >= MOST_STEPS {
            self.followed.remove(&number);
            return None;
        }
        let end = match self.outputs.get(&element) {
            Some(file) => End::Written(file.clone()),
            None => self.keeps.get(&element).cloned().unwrap_or(End::Gone),
        };
        let packet_name = followed.name.clone();
        followed.within = Some((steps.len(), Snapshot::of(packet)));
        steps.push(Step { packet: packet_name, element, input, changes: Vec::new(), end, copies: Vec::new(), made: Vec::new() });
        Some(steps.len() - 1)
    }

    /// The step that a followed packet is in, if it is in that element.
    fn current(&mut self, number: u64, element: usize) -> Option<&mut Step> {
        let followed = self.followed.get(&number)?;
        let (at, _) = followed.within.as_ref()?;
        self.journeys.get_mut(followed.journey)?.steps.get_mut(*at).filter(|step| step.element == element)
    }

    /// Ends the step of a packet: what it is now, and what became of it.
    fn conclude(&mut self, number: u64, element: usize, end: End, packet: &Packet) {
        if self.current(number, element).is_none() && self.step(number, element, None, packet).is_none() {
            return;
        }
        let Some((_, before)) = self.followed.get_mut(&number).and_then(|followed| followed.within.take()) else { return };
        let Some(followed) = self.followed.get(&number) else { return };
        let changes = differences(&before, &Snapshot::of(packet), &self.fields);
        let steps = &mut self.journeys[followed.journey].steps;
        let mine = steps.iter_mut().rev().find(|step| step.packet == followed.name && step.element == element);
        if let Some(step) = mine {
            (step.changes, step.end) = (changes, end);
        }
    }

    /// A packet without number leaves an element.
    fn comes_into_being(&mut self, at: At, packet: &mut Packet) -> u64 {
        if let Some(of) = self.has.get(&at.node).copied()
            && let Some((number, name)) = self.child(of)
        {
            if let Some(step) = self.last_step(of, at.node) {
                step.made.push((name, at.port));
            }
            return number;
        }
        if !self.sources.contains(&at.node) || self.source.is_some_and(|source| source != at.node) {
            return OTHER;
        }
        self.arrived += 1;
        if !self.chooses(packet) {
            return OTHER;
        }
        let (bytes, wire_len) = (packet.buffer.bytes().to_vec(), packet.wire_len());
        let journey =
            Journey { number: self.arrived, time_ns: packet.buffer.time_ns, link: packet.link, bytes, wire_len, steps: Vec::new() };
        self.journeys.push(journey);
        let number = self.follow(self.journeys.len() - 1, self.arrived.to_string());
        self.step(number, at.node, None, packet);
        self.conclude(number, at.node, End::Left(at.port), packet);
        number
    }

    /// The last step of a packet, if that was in the element.
    fn last_step(&mut self, number: u64, element: usize) -> Option<&mut Step> {
        let followed = self.followed.get(&number)?;
        let steps = &mut self.journeys.get_mut(followed.journey)?.steps;
        steps.iter_mut().rev().find(|step| step.packet == followed.name).filter(|step| step.element == element)
    }
}

/// The recorder, watching.
pub(super) struct Watching(pub Arc<Mutex<Recorder>>);

impl Observer for Watching {
    fn enters(&mut self, at: At, packet: &mut Packet, info: &Info) {
        let recorder = &mut *lock(&self.0);
        let number = info.get(packet, NUMBER);
        match recorder.followed.contains_key(&number) {
            true => drop(recorder.has.insert(at.node, number)),
            false => drop(recorder.has.remove(&at.node)),
        }
        recorder.step(number, at.node, Some(at.port), packet);
        if recorder.sinks.contains(&at.node) && !recorder.keeps.contains_key(&at.node) {
            recorder.followed.remove(&number);
        }
    }

    fn leaves(&mut self, at: At, packet: &mut Packet, copy: bool, info: &Info) {
        let recorder = &mut *lock(&self.0);
        let number = info.get(packet, NUMBER);
        if number == 0 {
            let number = recorder.comes_into_being(at, packet);
            return info.set(packet, NUMBER, number);
        }
        if number == OTHER || !recorder.followed.contains_key(&number) {
            return;
        }
        let has_left = recorder.has.get(&at.node) == Some(&number) && recorder.current(number, at.node).is_none();
        if copy || has_left {
            if let Some((child, name)) = recorder.child(number) {
                if let Some(step) = recorder.last_step(number, at.node) {
                    step.copies.push((name, at.port));
                }
                info.set(packet, NUMBER, child);
            }
            return;
        }
        recorder.conclude(number, at.node, End::Left(at.port), packet);
    }

    fn drops(&mut self, node: usize, reason: &str, packet: &Packet, info: &Info) {
        let recorder = &mut *lock(&self.0);
        let number = match info.get(packet, NUMBER) {
            0 => recorder.has.get(&node).copied().unwrap_or(OTHER),
            number => number,
        };
        if recorder.followed.contains_key(&number) {
            recorder.conclude(number, node, End::Dropped(reason.to_owned()), packet);
            recorder.followed.remove(&number);
        }
    }

    fn wakes(&mut self, node: usize) {
        lock(&self.0).has.remove(&node);
    }
}
