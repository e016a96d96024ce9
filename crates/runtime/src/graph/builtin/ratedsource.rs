//! RatedSource: packets at a rate.

use super::super::bucket::Bucket;
use super::super::{Args, HandlerError, Packet, text};
use super::infinitesource::{Made, data};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, Task, TaskKind, TaskResult, element_handlers};

/// How long a source may be late and still make up for it.
const BURST: u64 = 20_000_000;
/// Packets of a turn, and how many of them have been made before.
const TURN: (u64, u64) = (1, 0);

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "RatedSource",
    ports: "0/1",
    processing: "a/a",
    flow: "",
    facts: Facts { takes_bursts: true, ..Facts::MAKER },
    manual: "RatedSource([DATA, RATE, LIMIT, ACTIVE, LENGTH, BANDWIDTH, STOP]) -- makes RATE (10) packets of DATA a second\n\n\
             BANDWIDTH says the rate in bytes of packets. LIMIT packets in all (-1: no end); then it asks for the end of the run if STOP is true.\n\
             Handlers: count r, reset w, data rate limit active length rw.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["DATA", "RATE", "LIMIT", "ACTIVE"], &["LENGTH", "DATASIZE", "BANDWIDTH", "STOP"])?;
        let made = Made {
            data: data(&args)?,
            limit: args.integer("LIMIT", -1)?,
            active: args.boolean("ACTIVE", true)?,
            stop: args.boolean("STOP", false)?,
            count: 0,
        };
        let rate = match args.has("BANDWIDTH") {
            true => args.bandwidth("BANDWIDTH", 0)? / (made.data.len() as u64).max(1),
            false => u64::from(args.count("RATE", 10, u32::MAX)?),
        };
        let bucket = Bucket::new(rate, Bucket::burst(rate, BURST));
        Ok(Box::new(RatedSource { pulled: setup.output_pulled.first() == Some(&true), bucket, made }))
    },
};

struct RatedSource {
    pulled: bool,
    bucket: Bucket,
    made: Made,
}

impl RatedSource {
    /// All packets that it is time for at once, where they may be made so. In simulated time each
    /// has a time of its own.
    fn many(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let now = ctx.now();
        let due = if ctx.is_real() { self.bucket.available(now) } else { 0 };
        let count = ctx.may_make(TURN, self.made.before_last().min(due), false);
        if count < 2 || !self.bucket.take(count, now) {
            return false;
        }
        self.made.packets(count, TURN, ctx);
        true
    }

    /// The next packet if it is time for one; else the timer is set for when it is.
    fn packet(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        if !self.made.may() {
            return None;
        }
        let now = ctx.now();
        if !self.bucket.take(1, now) {
            let wait = self.bucket.wait(1, now);
            ctx.wake_at(wait.map_or(0, |wait| now.saturating_add(wait)));
            return None;
        }
        let packet = self.made.packet(ctx);
        if self.made.is_over() && self.made.stop {
            ctx.stop();
        }
        packet
    }
}

impl BuiltIn for RatedSource {
    fn task(&mut self) -> Option<&mut dyn Task> {
        if self.pulled { None } else { Some(self) }
    }

    fn bucket(&mut self) -> Option<&mut Bucket> {
        Some(&mut self.bucket)
    }

    fn one_at_a_time(&self) -> bool {
        // Its timer is set whenever it has nothing to do before a moment, and no burst goes on
        // beyond that.
        self.pulled
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.packet(ctx)
    }

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        self.made.may()
    }

    gives!(handlers);
}

impl Handlers for RatedSource {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count"], &["reset"], &["data", "length", "datasize", "limit", "active", "rate"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(self.made.read(handler).unwrap_or_else(|| self.bucket.rate().to_string()))
    }

    fn write(&mut self, handler: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        if !self.made.write(handler, value)? {
            let rate =
                text::integer(value).and_then(|rate| u64::try_from(rate).ok()).ok_or_else(|| HandlerError::invalid("expected a rate"))?;
            self.bucket.set_rate(rate, Bucket::burst(rate, BURST));
        }
        Ok(())
    }
}

impl Task for RatedSource {
    fn kind(&self) -> TaskKind {
        TaskKind::Makes
    }

    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        if self.many(ctx) {
            return TaskResult::Done;
        }
        let Some(packet) = self.packet(ctx) else { return TaskResult::Idle };
        ctx.emit(0, packet);
        TaskResult::Done
    }

    fn is_scheduled(&self, _: &Ready<'_>) -> bool {
        self.made.may()
    }
}
