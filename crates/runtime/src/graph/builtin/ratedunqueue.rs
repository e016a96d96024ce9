//! RatedUnqueue and BandwidthRatedUnqueue: pull packets at a rate and push them.

use super::super::bucket::Bucket;
use super::super::{Args, ElementError, HandlerError, text};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, Setup, Task, TaskResult, element_handlers};

pub(super) static RATED: BuiltInClass = BuiltInClass {
    name: "RatedUnqueue",
    ports: "1/1",
    processing: "l/h",
    flow: "",
    facts: Facts::OTHER,
    manual: "RatedUnqueue(RATE [, BURST_DURATION, BURST_SIZE]) -- pulls RATE packets a second and pushes them\n\n\
             What was not taken may be made up for: BURST_SIZE packets, or those of BURST_DURATION (20 ms).\nHandlers: rate active rw, calls r, how its turns went.",
    make: |setup| make(setup, false),
};

pub(super) static BANDWIDTH: BuiltInClass = BuiltInClass {
    name: "BandwidthRatedUnqueue",
    ports: "1/1",
    processing: "l/h",
    flow: "",
    facts: Facts::OTHER,
    manual: "BandwidthRatedUnqueue(RATE [, BURST_DURATION, BURST_BYTES]) -- pulls packets of RATE bytes a second and pushes them\n\n\
             RATE has a unit: 200kBps, 1Mbps. What was not taken may be made up for: BURST_BYTES, or those of BURST_DURATION (20 ms). A packet goes if a token is there, \
             and then owes what it is longer.\nHandlers: rate active rw, calls r.",
    make: |setup| make(setup, true),
};

/// A bucket as the arguments of shapers and unqueues say.
pub(super) fn bucket(args: &Args, bandwidth: bool) -> Result<Bucket, ElementError> {
    let rate = match bandwidth {
        true => args.bandwidth("RATE", 0)?,
        false => u64::from(args.count("RATE", 0, u32::MAX)?),
    };
    if !args.has("RATE") {
        return Err(ElementError::argument("RATE is missing"));
    }
    args.at_most_one(&["BURST_DURATION", "BURST_SIZE", "BURST_BYTES"])?;
    let size = if bandwidth { "BURST_BYTES" } else { "BURST_SIZE" };
    let capacity = match args.has(size) {
        true => u64::from(args.count(size, 1, u32::MAX)?),
        false => Bucket::burst(rate, args.duration("BURST_DURATION", 20_000_000)?),
    };
    Ok(Bucket::new(rate, capacity))
}

fn make(setup: &Setup<'_>, bandwidth: bool) -> Result<Box<dyn BuiltIn>, ElementError> {
    let args = Args::parse(setup.arguments, &["RATE"], &["BURST_DURATION", "BURST_SIZE", "BURST_BYTES"])?;
    Ok(Box::new(RatedUnqueue { bucket: bucket(&args, bandwidth)?, bandwidth, owed: 0, active: true, calls: [0; 4] }))
}

struct RatedUnqueue {
    bucket: Bucket,
    bandwidth: bool,
    /// Bytes that the last packet was longer than there were tokens.
    owed: u64,
    active: bool,
    /// Turns; those that did nothing; packets; turns that found none.
    calls: [u64; 4],
}

impl RatedUnqueue {
    /// Pays what is owed; true if a packet may go.
    fn may(&mut self, now: u64) -> bool {
        while self.owed > 0 && self.bucket.take(1, now) {
            self.owed -= 1;
        }
        self.owed == 0 && self.bucket.has(1, now)
    }

    fn pay(&mut self, bytes: usize, now: u64) {
        let price = if self.bandwidth { bytes as u64 } else { 1 };
        if !self.bucket.take(price, now) {
            self.owed = price;
            self.may(now);
        }
    }
}

impl BuiltIn for RatedUnqueue {
    fn bucket(&mut self) -> Option<&mut Bucket> {
        Some(&mut self.bucket)
    }

    fn task(&mut self) -> Option<&mut dyn Task> {
        Some(self)
    }

    gives!(handlers);
}

impl Handlers for RatedUnqueue {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["calls"], &[], &["rate", "active"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        let [runs, empty, pushes, failed] = self.calls;
        Ok(match handler {
            "active" => self.active.to_string(),
            "calls" => format!("{runs} calls to run_task()\n{empty} empty runs\n{pushes} pushes\n{failed} failed pulls\n"),
            _ => self.bucket.rate().to_string(),
        })
    }

    fn write(&mut self, handler: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        if handler == "active" {
            self.active = super::boolean(value)?;
            return Ok(());
        }
        let number = if self.bandwidth { text::bandwidth(value) } else { text::integer(value).and_then(|n| u64::try_from(n).ok()) };
        let rate = number.ok_or_else(|| HandlerError::invalid("expected a rate"))?;
        self.bucket.set_rate(rate, Bucket::burst(rate, 20_000_000));
        Ok(())
    }
}

impl Task for RatedUnqueue {
    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        let now = ctx.now();
        self.calls[0] += 1;
        if !self.active {
            return TaskResult::Idle;
        }
        if !self.may(now) {
            self.calls[1] += 1;
            let wait = self.bucket.wait(self.owed.max(1), now);
            ctx.wake_at(wait.map_or(0, |wait| now.saturating_add(wait + 1)));
            return TaskResult::Idle;
        }
        let Some(packet) = ctx.pull(0) else {
            self.calls[1] += 1;
            self.calls[3] += 1;
            return TaskResult::Idle;
        };
        self.calls[2] += 1;
        self.pay(packet.len(), now);
        ctx.emit(0, packet);
        TaskResult::Done
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        self.active && ctx.any_input()
    }
}
