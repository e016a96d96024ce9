//! What became of packets: sent by port, dropped by reason, trapped by place.

use super::merge::Arrival;
use crate::commands::shared::grouped;
use crate::failure;
use netvm::netil::Verified;
use netvm::netil::exec::{Disposition, DropReason, Trap};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Places of traps that are told one by one.
const PLACES: usize = 5;

/// Counts of one run.
pub(super) struct Tally {
    program: Arc<Verified>,
    arrived: u64,
    sent: BTreeMap<u32, u64>,
    clones: BTreeMap<u32, u64>,
    verdict: u64,
    codes: BTreeMap<u32, u64>,
    no_input: u64,
    traps: HashMap<Trap, TrapTally>,
}

/// Traps at one place.
#[derive(Clone, Copy)]
struct TrapTally {
    count: u64,
    /// The first packet: input and number in it; none if a pull handler had none.
    first: Option<(usize, u64)>,
    /// The order in which places were met.
    order: usize,
}

/// A run as JSON.
#[derive(Serialize)]
pub(super) struct Json {
    seconds: f64,
    arrived: u64,
    sent: BTreeMap<String, u64>,
    clones: BTreeMap<String, u64>,
    dropped: Dropped,
    traps: Vec<JsonTrap>,
}

#[derive(Serialize)]
struct Dropped {
    verdict: u64,
    no_input: u64,
    /// By the code the program gave.
    program: BTreeMap<u32, u64>,
    trap: u64,
}

#[derive(Serialize)]
struct JsonTrap {
    place: String,
    handler: &'static str,
    instruction: u32,
    reason: String,
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_packet: Option<u64>,
}

impl Tally {
    pub(super) fn new(program: &Arc<Verified>) -> Self {
        Self {
            program: Arc::clone(program),
            arrived: 0,
            sent: BTreeMap::new(),
            clones: BTreeMap::new(),
            verdict: 0,
            codes: BTreeMap::new(),
            no_input: 0,
            traps: HashMap::new(),
        }
    }

    pub(super) fn arrived(&mut self, n: u64) {
        self.arrived += n;
    }

    pub(super) fn cloned(&mut self, port: u32) {
        *self.clones.entry(port).or_default() += 1;
    }

    /// What became of an arrival.
    pub(super) fn ended(&mut self, disposition: Option<Disposition>, arrival: &Arrival) {
        self.note(disposition, Some((arrival.input, arrival.number)));
    }

    /// What a pull output gave. That it gave nothing is no drop.
    pub(super) fn pulled(&mut self, disposition: Option<Disposition>) {
        if !matches!(disposition, Some(Disposition::Drop(DropReason::NoInput | DropReason::Verdict))) {
            self.note(disposition, None);
        }
    }

    fn note(&mut self, disposition: Option<Disposition>, first: Option<(usize, u64)>) {
        match disposition {
            Some(Disposition::Port(port)) => *self.sent.entry(port).or_default() += 1,
            Some(Disposition::Drop(DropReason::Verdict)) | None => self.verdict += 1,
            Some(Disposition::Drop(DropReason::Program(code))) => *self.codes.entry(code).or_default() += 1,
            Some(Disposition::Drop(DropReason::NoInput)) => self.no_input += 1,
            Some(Disposition::Trap(trap)) => {
                let order = self.traps.len();
                self.traps.entry(trap).or_insert(TrapTally { count: 0, first, order }).count += 1;
            }
        }
    }

    fn trapped(&self) -> u64 {
        self.traps.values().map(|place| place.count).sum()
    }

    fn places(&self) -> Vec<(&Trap, &TrapTally)> {
        let mut places: Vec<_> = self.traps.iter().collect();
        places.sort_by_key(|(_, place)| place.order);
        places
    }

    /// Tells where traps happened: the first places, then how many more.
    pub(super) fn tell_traps(&self) {
        let places = self.places();
        for (trap, place) in places.iter().take(PLACES) {
            let times = if place.count == 1 { "once".to_owned() } else { format!("{} times", grouped(place.count)) };
            let first = place.first.map_or(String::new(), |(_, number)| format!(", first by packet {number}"));
            failure::warning(format_args!("trap: {} ({times}{first})", self.program.describe(trap)));
        }
        if places.len() > PLACES {
            let rest: u64 = places.iter().skip(PLACES).map(|(_, place)| place.count).sum();
            failure::warning(format_args!("{} more traps at {} other places", grouped(rest), places.len() - PLACES));
        }
    }

    /// Warns if packets came, and none of them went on.
    pub(super) fn warn_if_lost(&self) {
        if self.arrived == 0
            || !self.sent.is_empty()
            || !self.clones.is_empty()
            || self.program.module().ports.iter().all(|p| p.kind.is_input())
        {
            return;
        }
        let mut text = format!("{} of {} packets dropped", grouped(self.arrived), grouped(self.arrived));
        let mut line = |n: u64, why: &str| text += &if n > 0 { format!("\n  {} {why}", grouped(n)) } else { String::new() };
        line(self.verdict, "by the program's verdict");
        self.codes.iter().for_each(|(code, n)| line(*n, &format!("by the program, code {code}")));
        line(self.no_input, "since there was no packet to receive");
        line(self.trapped(), "by traps");
        failure::warning(text);
    }

    fn port(&self, id: u32) -> String {
        self.program.module().port(id).map_or_else(|| id.to_string(), |p| p.name)
    }

    fn by_name(&self, counts: &BTreeMap<u32, u64>) -> BTreeMap<String, u64> {
        counts.iter().map(|(id, n)| (self.port(*id), *n)).collect()
    }

    pub(super) fn json(&self, seconds: f64) -> Json {
        let trap = |(trap, place): (&Trap, &TrapTally)| JsonTrap {
            place: self.program.describe(trap),
            handler: trap.handler.name(),
            instruction: trap.inst,
            reason: trap.kind.to_string(),
            count: place.count,
            first_packet: place.first.map(|(_, number)| number),
        };
        let dropped = Dropped { verdict: self.verdict, no_input: self.no_input, program: self.codes.clone(), trap: self.trapped() };
        Json {
            seconds,
            arrived: self.arrived,
            sent: self.by_name(&self.sent),
            clones: self.by_name(&self.clones),
            dropped,
            traps: self.places().into_iter().map(trap).collect(),
        }
    }

    pub(super) fn text(&self, seconds: f64) -> String {
        let mut text = format!("arrived  {}\n", grouped(self.arrived));
        let mut line = |what: &str, n: u64, how: &str| text += &format!("{what}  {}{how}\n", grouped(n));
        self.sent.iter().for_each(|(id, n)| line("sent   ", *n, &format!(" by {}", self.port(*id))));
        self.clones.iter().for_each(|(id, n)| line("copied ", *n, &format!(" to {}", self.port(*id))));
        if self.verdict > 0 {
            line("dropped", self.verdict, " by verdict");
        }
        self.codes.iter().for_each(|(code, n)| line("dropped", *n, &format!(" by the program, code {code}")));
        if self.no_input > 0 {
            line("dropped", self.no_input, ": no packet to receive");
        }
        if self.trapped() > 0 {
            line("dropped", self.trapped(), " by traps");
        }
        let rate = self.arrived as f64 / seconds.max(1e-9) / 1e6;
        text + &format!("took     {seconds:.3} s: {rate:.2} million packets/s\n")
    }
}
