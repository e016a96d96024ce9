//! Where packets end: Discard, TimedSink, and Idle, which has none.

use super::super::{Args, ElementError, HandlerError, Packet};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, Setup, Task, TaskKind, TaskResult, element_handlers};

pub(super) static DISCARD: BuiltInClass = BuiltInClass {
    name: "Discard",
    ports: "1/0",
    processing: "a/a",
    flow: "",
    facts: Facts { takes_bursts: true, looks_at_annotations: false, ends: true, ..Facts::OWN },
    manual: "Discard([ACTIVE, BURST]) -- drops all packets\n\nBehind a pull output it pulls up to BURST packets (1) a turn while ACTIVE (true).\n\
             Handlers: count r, active rw, reset_counts w.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &[], &["ACTIVE", "BURST"])?;
        Ok(Box::new(Discard {
            pulls: setup.pulled.first() == Some(&true),
            active: args.boolean("ACTIVE", true)?,
            burst: args.count("BURST", 1, 1 << 16)?.max(1),
            turn: 0,
            count: 0,
            slots: Vec::new(),
        }))
    },
};

struct Discard {
    pulls: bool,
    active: bool,
    burst: u32,
    turn: u32,
    count: u64,
    /// Packets just pulled.
    slots: Vec<u32>,
}

impl Discard {
    fn discard_slots(&mut self, slots: &[u32], ctx: &mut Ctx<'_>) {
        self.count += slots.len() as u64;
        ctx.pool().give_back(slots);
    }

    /// Takes all packets in the pool that are next. False if there are none.
    fn take_slots(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let mut slots = std::mem::take(&mut self.slots);
        ctx.pull_slots(0, &mut slots, usize::MAX);
        self.discard_slots(&slots, ctx);
        let some = !slots.is_empty();
        slots.clear();
        self.slots = slots;
        some
    }
}

impl BuiltIn for Discard {
    fn push(&mut self, _: u32, _: Packet, _: &mut Ctx<'_>) {
        self.count += 1;
    }

    fn push_slots(&mut self, _: u32, slots: &[u32], ctx: &mut Ctx<'_>) {
        self.discard_slots(slots, ctx);
    }

    fn task(&mut self) -> Option<&mut dyn Task> {
        if self.pulls { Some(self) } else { None }
    }

    gives!(handlers);
}

impl Handlers for Discard {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count"], &["reset_counts"], &["active"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(if handler == "active" { self.active.to_string() } else { self.count.to_string() })
    }

    fn write(&mut self, handler: &str, text: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        match handler {
            "active" => self.active = super::boolean(text)?,
            _ => self.count = 0,
        }
        Ok(())
    }
}

impl Task for Discard {
    fn kind(&self) -> TaskKind {
        TaskKind::Empties
    }

    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        if self.active && self.take_slots(ctx) {
            return TaskResult::Again;
        }
        if !self.active || ctx.pull(0).is_none() {
            self.turn = 0;
            return TaskResult::Idle;
        }
        self.count += 1;
        self.turn = (self.turn + 1) % self.burst;
        if self.turn == 0 { TaskResult::Done } else { TaskResult::Again }
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        self.active && ctx.any_input()
    }
}

pub(super) static TIMED_SINK: BuiltInClass = BuiltInClass {
    name: "TimedSink",
    ports: "1/0",
    processing: "l/a",
    flow: "",
    facts: Facts::OWN,
    manual: "TimedSink([INTERVAL]) -- pulls a packet every INTERVAL (0.5 s) and drops it\n\nHandlers: interval rw.",
    make: |setup| {
        let interval = Args::parse(setup.arguments, &["INTERVAL"], &[])?.duration("INTERVAL", 500_000_000)?;
        Ok(Box::new(TimedSink { interval: interval.max(1) }))
    },
};

struct TimedSink {
    interval: u64,
}

impl BuiltIn for TimedSink {
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        ctx.wake_at(ctx.now().saturating_add(self.interval));
        Ok(())
    }

    fn timer(&mut self, when: u64, ctx: &mut Ctx<'_>) {
        ctx.pull(0);
        ctx.wake_at(when.saturating_add(self.interval));
    }

    gives!(handlers);
}

impl Handlers for TimedSink {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&[], &[], &["interval"])
    }

    fn read(&mut self, _: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(super::super::text::seconds(self.interval))
    }

    fn write(&mut self, _: &str, text: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        self.interval = super::super::text::duration(text).ok_or_else(|| HandlerError::invalid("expected a time"))?.max(1);
        Ok(())
    }
}

pub(super) static IDLE: BuiltInClass = BuiltInClass {
    name: "Idle",
    ports: "-/-",
    processing: "a/a",
    flow: "x/y",
    facts: Facts { takes_bursts: true, looks_at_annotations: false, ends: true, ..Facts::OWN },
    manual: "Idle -- drops what comes in and gives nothing",
    make: |setup: &Setup<'_>| {
        Args::parse(setup.arguments, &[], &[])?;
        Ok(Box::new(Idle))
    },
};

struct Idle;

impl BuiltIn for Idle {
    fn push(&mut self, _: u32, _: Packet, _: &mut Ctx<'_>) {}

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        false
    }
}
