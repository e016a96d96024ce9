//! DelayShaper: packets are pulled through no sooner than some time after their own.

use super::super::{Args, HandlerError, Packet, text};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, element_handlers};

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "DelayShaper",
    ports: "1/1",
    processing: "l/l",
    flow: "",
    facts: Facts { holds_packets: true, ..Facts::OWN },
    manual: "DelayShaper(DELAY) -- lets a packet be pulled DELAY after its time\n\nIt holds one packet; what is given has the present time. Handlers: delay rw.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["DELAY"], &[])?;
        args.required("DELAY")?;
        Ok(Box::new(DelayShaper { delay: args.duration("DELAY", 0)?, held: None }))
    },
};

struct DelayShaper {
    delay: u64,
    held: Option<Packet>,
}

impl BuiltIn for DelayShaper {
    fn held(&self) -> usize {
        self.held.iter().len()
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        if self.held.is_none() {
            self.held = ctx.pull(0);
        }
        let (when, now) = (self.held.as_ref()?.buffer.time_ns.saturating_add(self.delay), ctx.now());
        if when > now {
            ctx.wake_at(when);
            return None;
        }
        let mut packet = self.held.take()?;
        packet.buffer.time_ns = now;
        Some(packet)
    }

    fn is_ready(&self, _: u32, ctx: &Ready<'_>) -> bool {
        self.held.is_some() || ctx.any_input()
    }

    gives!(handlers);
}

impl Handlers for DelayShaper {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&[], &[], &["delay"])
    }

    fn read(&mut self, _: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(text::seconds(self.delay))
    }

    fn write(&mut self, _: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        self.delay = text::duration(value).ok_or_else(|| HandlerError::invalid("expected a time"))?;
        Ok(())
    }
}
