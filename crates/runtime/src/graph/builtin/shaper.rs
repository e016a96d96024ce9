//! Shaper and BandwidthShaper: packets are pulled through at no more than a rate.

use super::super::BURST;
use super::super::bucket::Bucket;
use super::super::{Args, ElementError, HandlerError, Packet, text};
use super::ratedunqueue::bucket;
use super::{BuiltIn, BuiltInClass, Ctx, CutThrough, ElementHandler, Facts, Handlers, Passage, Setup, element_handlers};
use netil::cut_through::{self, Role};

pub(super) static SHAPER: BuiltInClass = BuiltInClass {
    name: "Shaper",
    ports: "1/1-2",
    processing: "l/l",
    flow: "",
    facts: Facts { role: |_| Some(Role::Shaper), ..Facts::OTHER },
    manual: "Shaper(RATE [, BURST_DURATION, BURST_SIZE]) -- lets no more than RATE packets a second be pulled\n\n\
             Output 1, if it is there, gives packets that output 0 may not give now. Handlers: rate rw, reset w.",
    make: |setup| make(setup, false),
};

pub(super) static BANDWIDTH: BuiltInClass = BuiltInClass {
    name: "BandwidthShaper",
    ports: "1/1-2",
    processing: "l/l",
    flow: "",
    facts: Facts::OTHER,
    manual: "BandwidthShaper(RATE [, BURST_DURATION, BURST_BYTES]) -- lets no more than RATE bytes a second be pulled\n\n\
             RATE has a unit: 200kBps, 1Mbps. Handlers: rate rw, reset w.",
    make: |setup| make(setup, true),
};

fn make(setup: &Setup<'_>, bandwidth: bool) -> Result<Box<dyn BuiltIn>, ElementError> {
    let args = Args::parse(setup.arguments, &["RATE"], &["BURST_DURATION", "BURST_SIZE", "BURST_BYTES"])?;
    Ok(Box::new(Shaper { bucket: bucket(&args, bandwidth)?, bandwidth, owed: 0 }))
}

struct Shaper {
    bucket: Bucket,
    bandwidth: bool,
    owed: u64,
}

impl Shaper {
    fn may(&mut self, now: u64) -> bool {
        while self.owed > 0 && self.bucket.take(1, now) {
            self.owed -= 1;
        }
        self.owed == 0 && self.bucket.has(1, now)
    }

    /// Wakes whoever pulls when a packet may go again.
    fn wake(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now();
        let wait = self.bucket.wait(self.owed.max(1), now);
        ctx.wake_at(wait.map_or(0, |wait| now.saturating_add(wait.max(1))));
    }
}

impl BuiltIn for Shaper {
    fn bucket(&mut self) -> Option<&mut Bucket> {
        Some(&mut self.bucket)
    }

    fn pull(&mut self, port: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let now = ctx.now();
        let may = self.may(now);
        if port == 1 {
            return if may { None } else { ctx.pull(0) };
        }
        if !may {
            self.wake(ctx);
            return None;
        }
        let packet = ctx.pull(0)?;
        let price = if self.bandwidth { packet.len() as u64 } else { 1 };
        if !self.bucket.take(price, now) {
            self.owed = price;
        }
        Some(packet)
    }

    gives!(cut_through);

    gives!(handlers);
}

impl CutThrough for Shaper {
    fn passage(&self) -> Option<Passage<'_>> {
        let is_full = !self.bandwidth && self.owed == 0 && self.bucket.with(BURST as u64 + 1).is_some();
        is_full.then_some(Passage::On)
    }

    fn passed(&mut self, _: u64) {}

    fn enter(&self, data: &mut [u8], now_ns: u64, timed: bool) -> bool {
        self.bucket.with(0).map(|bucket| bucket.write(data, now_ns, timed)).is_some()
    }

    fn goes_on(&self, begun: &[u8], now: &[u8]) -> bool {
        cut_through::Bucket::has_taken(begun, now, BURST as u64)
    }

    fn leave(&mut self, data: &[u8]) {
        if let Some((units, filled_ns)) = cut_through::Bucket::read(data) {
            self.bucket.left(units, filled_ns);
        }
    }
}

impl Handlers for Shaper {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&[], &["reset"], &["rate"])
    }

    fn read(&mut self, _: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(self.bucket.rate().to_string())
    }

    fn write(&mut self, handler: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        let rate = match handler {
            "reset" => {
                self.bucket.empty();
                return Ok(());
            }
            _ if self.bandwidth => text::bandwidth(value).ok_or_else(|| HandlerError::invalid("expected a rate"))?,
            _ => text::integer(value).and_then(|n| u64::try_from(n).ok()).ok_or_else(|| HandlerError::invalid("expected a rate"))?,
        };
        self.owed = 0;
        self.bucket.set_rate(rate, Bucket::burst(rate, 20_000_000));
        Ok(())
    }
}
