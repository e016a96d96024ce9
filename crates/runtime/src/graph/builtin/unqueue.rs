//! Unqueue: pulls packets and pushes them.

use super::super::{Args, HandlerError, text};
use super::{
    BuiltIn, BuiltInClass, Ctx, CutThrough, ElementHandler, Facts, Handlers, Passage, Ready, Task, TaskKind, TaskResult, element_handlers,
};
use netil::cut_through::Role;

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "Unqueue",
    ports: "1/1",
    processing: "l/h",
    flow: "",
    facts: Facts { takes_bursts: true, moves: true, role: |_| Some(Role::Task), ..Facts::OWN },
    manual: "Unqueue([BURST, ACTIVE, LIMIT]) -- pulls packets and pushes them\n\nUp to BURST packets (1; 0: none; negative: all there are) a turn while ACTIVE (true), LIMIT (-1: \
             no end) in all.\nHandlers: count r, reset reset_counts w, active limit burst rw.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["BURST"], &["ACTIVE", "LIMIT"])?;
        Ok(Box::new(Unqueue {
            burst: args.integer("BURST", 1)?,
            limit: args.integer("LIMIT", -1)?,
            active: args.boolean("ACTIVE", true)?,
            turn: 0,
            count: 0,
        }))
    },
};

struct Unqueue {
    burst: i64,
    limit: i64,
    active: bool,
    turn: i64,
    count: u64,
}

impl Unqueue {
    fn may(&self) -> bool {
        self.active && self.burst != 0 && (self.limit < 0 || self.count < self.limit as u64)
    }
}

impl Unqueue {
    /// Takes all packets of the pool that are next: nobody can tell in how many turns. False if
    /// there are none.
    fn take_slots(&mut self, ctx: &mut Ctx<'_>) -> bool {
        if !self.may() || self.limit >= 0 {
            return false;
        }
        let mut slots = Vec::new();
        ctx.pull_slots(0, &mut slots, usize::MAX);
        if slots.is_empty() {
            return false;
        }
        self.count += slots.len() as u64;
        self.turn = 0;
        ctx.emit_slots(0, slots);
        true
    }
}

impl BuiltIn for Unqueue {
    fn task(&mut self) -> Option<&mut dyn Task> {
        Some(self)
    }

    gives!(cut_through);

    gives!(handlers);
}

impl Handlers for Unqueue {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count"], &["reset", "reset_counts"], &["active", "limit", "burst"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "count" => self.count.to_string(),
            "active" => self.active.to_string(),
            "limit" => self.limit.to_string(),
            _ => self.burst.to_string(),
        })
    }

    fn write(&mut self, handler: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        let number = || text::integer(value).ok_or_else(|| HandlerError::invalid(format!("expected a number, not '{value}'")));
        match handler {
            "active" => self.active = super::boolean(value)?,
            "limit" => self.limit = number()?,
            "burst" => self.burst = number()?,
            _ => self.count = 0,
        }
        Ok(())
    }
}

impl CutThrough for Unqueue {
    fn passage(&self) -> Option<Passage<'_>> {
        (self.may() && self.limit < 0).then_some(Passage::On)
    }

    fn passed(&mut self, packets: u64) {
        self.count += packets;
    }
}

impl Task for Unqueue {
    fn kind(&self) -> TaskKind {
        TaskKind::Empties
    }

    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        if self.take_slots(ctx) {
            return TaskResult::Done;
        }
        let packet = if self.may() { ctx.pull(0) } else { None };
        let Some(packet) = packet else {
            self.turn = 0;
            return TaskResult::Idle;
        };
        self.count += 1;
        self.turn += 1;
        ctx.emit(0, packet);
        if self.burst >= 0 && self.turn >= self.burst {
            self.turn = 0;
            return TaskResult::Done;
        }
        TaskResult::Again
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        self.may() && ctx.any_input()
    }
}
