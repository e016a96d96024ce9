//! RandomSample: a part of all packets, by chance.

use super::super::{Args, ElementError, HandlerError, Packet, text};
use super::sample::Sample;
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, boolean, element_handlers};

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "RandomSample",
    ports: "1/1-2",
    processing: "a/ah",
    flow: "",
    facts: Facts { takes_bursts: true, ..Facts::OTHER },
    manual: "RandomSample([P, SAMPLE P, DROP Q, ACTIVE BOOL]) -- samples packets with a probability\n\n\
             A packet leaves by output 0 with probability P, or 1 - Q; the others by output 1, or are dropped where that is not connected. With ACTIVE false all leave by output 0.\n\
             Handlers: sampling_prob drop_prob active rw, drops r, clear_drops w.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["P"], &["SAMPLE", "DROP", "ACTIVE"])?;
        args.at_most_one(&["P", "SAMPLE", "DROP"])?;
        let part = match ["P", "SAMPLE", "DROP"].into_iter().find(|name| args.has(name)) {
            None => return Err(ElementError::argument("P is missing")),
            Some("DROP") => 1.0 - args.real("DROP", 0.0)?,
            Some(name) => args.real(name, 1.0)?,
        };
        let sample = Sample::new(checked(part)?, setup.seed);
        Ok(Box::new(RandomSample { sample, active: args.boolean("ACTIVE", true)?, drops: 0 }))
    },
};

fn checked(part: f64) -> Result<f64, ElementError> {
    if (0.0..=1.0).contains(&part) { Ok(part) } else { Err(ElementError::argument("a probability is between 0 and 1")) }
}

struct RandomSample {
    sample: Sample,
    active: bool,
    drops: u64,
}

impl RandomSample {
    fn pass(&mut self, packet: Packet, ctx: &mut Ctx<'_>) -> Option<Packet> {
        if !self.active || self.sample.takes() {
            return Some(packet);
        }
        self.drops += 1;
        ctx.emit_or_drop(1, packet, "not sampled");
        None
    }
}

impl BuiltIn for RandomSample {
    /// Each packet goes on by itself.
    fn room(&self) -> usize {
        0
    }

    fn push(&mut self, _: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.pass(packet, ctx) {
            ctx.emit(0, packet);
        }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let packet = ctx.pull(0)?;
        self.pass(packet, ctx)
    }

    gives!(handlers);
}

impl Handlers for RandomSample {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["drops"], &["clear_drops"], &["sampling_prob", "drop_prob", "active"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "sampling_prob" => text::shortest(self.sample.part()),
            "drop_prob" => text::shortest(1.0 - self.sample.part()),
            "active" => self.active.to_string(),
            _ => self.drops.to_string(),
        })
    }

    fn write(&mut self, handler: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        let part = || {
            text::real(value)
                .ok_or_else(|| HandlerError::invalid(format!("expected a probability, not '{value}'")))
                .and_then(|part| Ok(checked(part)?))
        };
        match handler {
            "sampling_prob" => self.sample.set_part(part()?),
            "drop_prob" => self.sample.set_part(1.0 - part()?),
            "active" => self.active = boolean(value)?,
            _ => self.drops = 0,
        }
        Ok(())
    }
}
