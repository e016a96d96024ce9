//! TimedSource: a packet every so often.

use super::super::{Args, ElementError, HandlerError, text};
use super::infinitesource::{Made, data};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, element_handlers};

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "TimedSource",
    ports: "0/1",
    processing: "h/h",
    flow: "",
    facts: Facts { takes_bursts: true, ..Facts::MAKER },
    manual: "TimedSource([INTERVAL, DATA, LIMIT, STOP, ACTIVE, HEADROOM]) -- makes a packet of DATA every INTERVAL (0.5 s), the first after that time\n\n\
             LIMIT packets in all (-1: no end); then it asks for the end of the run if STOP is true.\nHandlers: count r, reset w, data interval active limit length headroom rw; headroom changes nothing, room is made when it is asked for.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["INTERVAL", "DATA"], &["LIMIT", "STOP", "ACTIVE", "HEADROOM", "LENGTH"])?;
        let made = Made {
            data: data(&args)?,
            limit: args.integer("LIMIT", -1)?,
            active: args.boolean("ACTIVE", true)?,
            stop: args.boolean("STOP", false)?,
            count: 0,
        };
        Ok(Box::new(TimedSource {
            interval: args.duration("INTERVAL", 500_000_000)?.max(1),
            headroom: i64::from(args.count("HEADROOM", 28, u32::MAX)?),
            made,
        }))
    },
};

struct TimedSource {
    interval: u64,
    /// Taken and told.
    headroom: i64,
    made: Made,
}

impl TimedSource {
    fn schedule(&self, ctx: &mut Ctx<'_>) {
        let when = if self.made.may() { ctx.now().saturating_add(self.interval) } else { 0 };
        ctx.wake_at(when);
    }
}

impl BuiltIn for TimedSource {
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.schedule(ctx);
        Ok(())
    }

    fn timer(&mut self, when: u64, ctx: &mut Ctx<'_>) {
        let Some(packet) = self.made.packet(ctx) else { return };
        ctx.emit(0, packet);
        match self.made.may() {
            true => ctx.wake_at(when.saturating_add(self.interval)),
            false if self.made.stop => ctx.stop(),
            false => {}
        }
    }

    gives!(handlers);
}

impl Handlers for TimedSource {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count"], &["reset"], &["data", "length", "limit", "active", "interval", "headroom"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        if handler == "headroom" {
            return Ok(self.headroom.to_string());
        }
        Ok(self.made.read(handler).unwrap_or_else(|| text::seconds(self.interval)))
    }

    fn write(&mut self, handler: &str, value: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        if handler == "headroom" {
            self.headroom = text::integer(value).filter(|n| *n >= 0).ok_or_else(|| HandlerError::invalid("expected a number"))?;
        } else if !self.made.write(handler, value)? {
            self.interval = text::duration(value).ok_or_else(|| HandlerError::invalid("expected a time"))?.max(1);
        }
        if ctx.wakes_at() == 0 {
            self.schedule(ctx);
        }
        Ok(())
    }
}
