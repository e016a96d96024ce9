//! RED: drops some packets before a queue is full.
//!
//! Source: S. Floyd, V. Jacobson, Random Early Detection Gateways for Congestion Avoidance, 1993,
//! and the gentle variant. The queue is the first one that packets are pushed to behind it, or
//! pulled from before it; random numbers are of the run's seed.

use super::super::{Args, ElementError, HandlerError, Packet};
use super::{BuiltIn, BuiltInClass, Ctx, CutThrough, ElementHandler, Facts, Handlers, Passage, Setup, element_handlers};
use netil::cut_through::Role;

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "RED",
    ports: "1/1-2",
    processing: "a/ah",
    flow: "",
    facts: Facts { role: |arguments| if names_queues(arguments) { None } else { Some(Role::Early) }, ..Facts::OTHER },
    manual: "RED(MIN_THRESH, MAX_THRESH, MAX_P [, QUEUES, STABILITY, GENTLE]) -- drops packets early\n\n\
             While the average length of the queue is between MIN_THRESH and MAX_THRESH, packets are dropped with a probability that rises to MAX_P; above, all are, or with \
             GENTLE (true) more and more up to twice MAX_THRESH. QUEUES names the queues; without it the nearest. STABILITY (4) is the weight of the past. Dropped packets \
             leave by output 1 if it is there.\nHandlers: drops r, avg_queue_size r, queues r, stats r (the queues' length, its average, drops), reset w, min_thresh max_thresh max_p rw.",
    make: |setup| make(setup),
};

/// Whether the queues are not the nearest ones.
fn names_queues(arguments: &[String]) -> bool {
    arguments.iter().any(|argument| argument.trim_start().starts_with("QUEUES"))
}

fn make(setup: &Setup<'_>) -> Result<Box<dyn BuiltIn>, ElementError> {
    let args = Args::parse(setup.arguments, &["MIN_THRESH", "MAX_THRESH", "MAX_P"], &["QUEUES", "STABILITY", "GENTLE"])?;
    args.required("MIN_THRESH").and(args.required("MAX_THRESH")).and(args.required("MAX_P"))?;
    let red = Red {
        least: args.real("MIN_THRESH", 0.0)?,
        most: args.real("MAX_THRESH", 0.0)?,
        probability: args.real("MAX_P", 0.0)?,
        weight: 0.5f64.powi(args.count("STABILITY", 4, 30)? as i32),
        gentle: args.boolean("GENTLE", true)?,
        named: args.text("QUEUES").map(|names| names.split_whitespace().map(str::to_owned).collect()).unwrap_or_default(),
        average: 0.0,
        since: 0,
        drops: 0,
        seed: setup.seed,
        pulled: setup.pulled.first() == Some(&true),
    };
    match red.least <= red.most && (0.0..=1.0).contains(&red.probability) {
        true => Ok(Box::new(red)),
        false => Err(ElementError::argument("MIN_THRESH should not be above MAX_THRESH, and MAX_P between 0 and 1")),
    }
}

struct Red {
    least: f64,
    most: f64,
    probability: f64,
    weight: f64,
    gentle: bool,
    named: Vec<String>,
    average: f64,
    /// Packets since the last drop.
    since: u64,
    drops: u64,
    seed: u64,
    pulled: bool,
}

impl Red {
    fn length(&self, ctx: &mut Ctx<'_>) -> f64 {
        let length = |name: &String| ctx.read_handler(&format!("{name}.length"), "").ok()?.parse::<f64>().ok();
        self.named.iter().filter_map(length).sum()
    }

    fn chance(&self) -> f64 {
        let (average, span) = (self.average, (self.most - self.least).max(1e-9));
        match () {
            () if average <= self.least => 0.0,
            () if average < self.most => self.probability * (average - self.least) / span,
            () if self.gentle && average < 2.0 * self.most => {
                self.probability + (1.0 - self.probability) * (average - self.most) / self.most.max(1e-9)
            }
            () => 1.0,
        }
    }

    fn drops_now(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let length = self.length(ctx);
        self.average += (length - self.average) * self.weight;
        let chance = self.chance();
        if chance <= 0.0 {
            self.since = 0;
            return false;
        }
        self.since += 1;
        let spread = chance / (1.0 - (self.since as f64 * chance).min(1.0 - 1e-9));
        let drop = chance >= 1.0 || self.random() < spread;
        if drop {
            self.since = 0;
            self.drops += 1;
        }
        drop
    }

    /// From 0 to 1 (splitmix64).
    fn random(&mut self) -> f64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl BuiltIn for Red {
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        if self.named.is_empty() {
            self.named = if self.pulled { ctx.queues_before() } else { ctx.queues_behind() };
        }
        match self.named.iter().find(|name| !ctx.can_read(&format!("{name}.length"))) {
            Some(name) => Err(ElementError::resource(format!("QUEUES: '{name}' is no queue"))),
            None if self.named.is_empty() => Err(ElementError::resource("there is no queue near: QUEUES names some")),
            None => Ok(()),
        }
    }

    fn push(&mut self, _: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        match self.drops_now(ctx) {
            true => ctx.emit_or_drop(1, packet, "dropped early"),
            false => ctx.emit(0, packet),
        }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        loop {
            let packet = ctx.pull(0)?;
            match self.drops_now(ctx) {
                true => ctx.emit_or_drop(1, packet, "dropped early"),
                false => return Some(packet),
            }
        }
    }

    gives!(cut_through);

    gives!(handlers);
}

impl Handlers for Red {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["drops", "avg_queue_size", "queues", "stats"], &["reset"], &["min_thresh", "max_thresh", "max_p"])
    }

    fn read(&mut self, handler: &str, _: &str, ctx: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "drops" => self.drops.to_string(),
            "avg_queue_size" => format!("{:.3}", self.average),
            "queues" => self.named.join("\n"),
            "stats" => format!("{} current queue\n{:.3} avg queue\n{} drops\n", self.length(ctx), self.average, self.drops),
            "min_thresh" => self.least.to_string(),
            "max_thresh" => self.most.to_string(),
            _ => self.probability.to_string(),
        })
    }

    fn write(&mut self, handler: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        let number = || {
            super::super::text::real(value)
                .filter(|n| *n >= 0.0)
                .ok_or_else(|| HandlerError::invalid(format!("expected a number, not '{value}'")))
        };
        match handler {
            "min_thresh" => self.least = number()?,
            "max_thresh" => self.most = number()?,
            "max_p" => self.probability = number()?.min(1.0),
            _ => (self.drops, self.since) = (0, 0),
        }
        Ok(())
    }
}

impl CutThrough for Red {
    fn passage(&self) -> Option<Passage<'_>> {
        // The queue is empty, and so is its average: that is below each threshold.
        (self.average == 0.0 && !self.pulled).then_some(Passage::On)
    }

    fn passed(&mut self, _: u64) {
        self.since = 0;
    }
}
