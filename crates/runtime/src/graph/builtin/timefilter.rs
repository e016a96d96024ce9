//! TimeFilter: packets of a part of the time.
//!
//! The packet that ends it is held while the handler of END_CALL runs, since that may extend the
//! time: handlers of an element are written when it has returned.

use super::super::{Args, ElementError, HandlerError, Packet, text};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Setup, element_handlers};

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "TimeFilter",
    ports: "1/1-2",
    processing: "a/ah",
    flow: "",
    facts: Facts { holds_packets: true, ..Facts::OTHER },
    manual: "TimeFilter([START, END, START_AFTER T, START_DELAY T, END_AFTER T, END_DELAY T, INTERVAL T, STOP BOOL, END_CALL HANDLER TEXT]) -- lets packets of some time pass\n\n\
             Packets pass from START up to END, in seconds since 1970. They may be given as times after the first packet (AFTER), or after the run's beginning (DELAY), the end as an \
             INTERVAL after the start. Other packets leave by output 1, or are dropped. The first packet behind the end ends the run (STOP), or writes a handler, $t being its time; if that extends \
             the interval, the packet passes.\nHandlers: start end interval rw, extend_interval w.",
    make,
};

const OUTSIDE: &str = "outside the time";

/// When something is.
#[derive(Clone, Copy)]
enum When {
    At(u64),
    /// So long behind the first packet.
    After(u64),
    /// So long behind the beginning of the run.
    Delay(u64),
    /// So long behind the start.
    Interval(u64),
}

/// What happens at the end.
enum Ending {
    Nothing,
    Stop,
    Call(String),
}

/// A keyword, and what its time means.
type Kind<'k> = (&'k str, fn(u64) -> When);

fn make(setup: &Setup<'_>) -> Result<Box<dyn BuiltIn>, ElementError> {
    const NAMES: &[&str] = &["START_AFTER", "START_DELAY", "END_AFTER", "END_DELAY", "INTERVAL", "STOP", "END_CALL"];
    let args = Args::parse(setup.arguments, &["START", "END"], NAMES)?;
    args.at_most_one(&["START", "START_AFTER", "START_DELAY"])?;
    args.at_most_one(&["END", "END_AFTER", "END_DELAY", "INTERVAL"])?;
    let stop = args.boolean("STOP", false)?;
    if stop && args.has("END_CALL") {
        return Err(ElementError::argument("STOP and END_CALL exclude each other"));
    }
    let when = |at, after, delay| {
        let kinds: [Kind<'_>; 3] = [(at, When::At), (after, When::After), (delay, When::Delay)];
        let given = kinds.into_iter().find(|(name, _)| args.has(name));
        given.map(|(name, kind)| args.duration(name, 0).map(kind)).transpose()
    };
    let first = when("START", "START_AFTER", "START_DELAY")?.unwrap_or(When::At(0));
    let last = match args.has("INTERVAL") {
        true => When::Interval(args.duration("INTERVAL", 0)?),
        false => when("END", "END_AFTER", "END_DELAY")?.unwrap_or(When::At(u64::MAX)),
    };
    let ending = match args.raw("END_CALL") {
        Some(call) => Ending::Call(call.to_owned()),
        None if stop => Ending::Stop,
        None => Ending::Nothing,
    };
    let pushed = setup.pulled.first().is_none_or(|pulled| !pulled);
    Ok(Box::new(TimeFilter { first, last, from: 0, to: u64::MAX, ready: false, begun: 0, ending, called: false, pushed, held: None }))
}

struct TimeFilter {
    first: When,
    last: When,
    /// The first nanosecond whose packets pass, and the first whose do not.
    from: u64,
    to: u64,
    /// A packet has come, so that they are known.
    ready: bool,
    /// The beginning of the run.
    begun: u64,
    ending: Ending,
    /// The end was told.
    called: bool,
    /// Packets are pushed through.
    pushed: bool,
    /// The packet that it was told of, until it is known whether it passes.
    held: Option<Packet>,
}

impl TimeFilter {
    fn resolve(&self, when: When, packet: u64) -> u64 {
        match when {
            When::At(at) => at,
            When::After(after) => packet.saturating_add(after),
            When::Delay(delay) => self.begun.saturating_add(delay),
            When::Interval(interval) => self.from.saturating_add(interval),
        }
    }

    fn prepare(&mut self, time: u64) {
        if !self.ready {
            self.from = self.resolve(self.first, time);
            self.to = self.resolve(self.last, time);
            self.ready = true;
        }
    }

    fn contains(&self, packet: &Packet) -> bool {
        (self.from..self.to).contains(&packet.buffer.time_ns)
    }

    /// The packet if it passes, and is not held or gone another way.
    fn passing(&mut self, packet: Packet, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let time = packet.buffer.time_ns;
        self.prepare(time);
        if self.contains(&packet) {
            return Some(packet);
        }
        if time < self.to || std::mem::replace(&mut self.called, true) {
            ctx.emit_or_drop(1, packet, OUTSIDE);
            return None;
        }
        self.end(packet, ctx);
        None
    }

    /// The end has come with that packet.
    fn end(&mut self, packet: Packet, ctx: &mut Ctx<'_>) {
        let Ending::Call(call) = &self.ending else {
            if let Ending::Stop = self.ending {
                ctx.stop();
            }
            return ctx.emit_or_drop(1, packet, OUTSIDE);
        };
        let time = packet.buffer.time_ns;
        let shown = format!("{}.{:06}", time / 1_000_000_000, time / 1000 % 1_000_000);
        ctx.write_later(&call.replace("$t", &shown));
        self.held = Some(packet);
    }

    /// What was held, if it passes; otherwise it goes the other way.
    fn released(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let packet = self.held.take()?;
        if self.contains(&packet) {
            return Some(packet);
        }
        ctx.emit_or_drop(1, packet, OUTSIDE);
        None
    }

    /// The time was extended: the packet that was held passes, or the end has come once more.
    fn extended(&mut self, ctx: &mut Ctx<'_>) {
        self.called = false;
        let Some(packet) = self.held.take() else { return };
        if self.contains(&packet) {
            if self.pushed {
                ctx.emit(0, packet)
            } else {
                self.held = Some(packet)
            }
            return;
        }
        self.called = true;
        self.end(packet, ctx);
    }
}

impl BuiltIn for TimeFilter {
    fn held(&self) -> usize {
        self.held.iter().len()
    }

    fn start(&mut self, ctx: &mut Ctx<'_>) {
        self.begun = ctx.now();
    }

    fn push(&mut self, _: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        let before = self.released(ctx);
        let passing = self.passing(packet, ctx);
        before.into_iter().chain(passing).for_each(|packet| ctx.emit(0, packet));
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        if let Some(packet) = self.released(ctx) {
            return Some(packet);
        }
        let packet = ctx.pull(0)?;
        self.passing(packet, ctx)
    }

    gives!(handlers);

    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        if let Some(packet) = self.held.take() {
            ctx.drop_packet(&packet, OUTSIDE);
        }
        Ok(())
    }
}

impl Handlers for TimeFilter {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&[], &["extend_interval"], &["start", "end", "interval"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(text::seconds(match handler {
            "start" => self.from,
            "end" => self.to,
            _ => self.to.saturating_sub(self.from),
        }))
    }

    fn write(&mut self, handler: &str, value: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        let time = text::duration(value).ok_or_else(|| HandlerError::invalid(format!("expected a time, not '{value}'")))?;
        let before = self.to;
        match handler {
            "start" => (self.from, self.first) = (time, When::At(time)),
            "end" => (self.to, self.last) = (time, When::At(time)),
            "interval" => (self.to, self.last) = (self.from.saturating_add(time), When::Interval(time)),
            _ => self.to = self.to.saturating_add(time),
        }
        if self.to > before {
            self.extended(ctx);
        }
        Ok(())
    }
}
