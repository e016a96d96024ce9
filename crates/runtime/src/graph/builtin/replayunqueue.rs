//! ReplayUnqueue: packets are pulled until none comes, and pushed several times.
//!
//! What is held is bounded: at most [`MOST`] packets and [`MOST_BYTES`] bytes; what comes behind
//! that is not pulled. Source: the manual of FastClick's element. Leaves out TIMING: a round is
//! pushed as fast as it is taken.

use super::super::{Args, ElementError, HandlerError, Packet, text};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, Task, TaskResult, element_handlers};

/// Packets that are held.
const MOST: usize = 1 << 20;
/// Bytes of them.
const MOST_BYTES: usize = 256 << 20;

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "ReplayUnqueue",
    ports: "1-/=",
    processing: "l/h",
    flow: "#/#",
    facts: Facts { holds_packets: true, ..Facts::OTHER },
    manual: "ReplayUnqueue([STOP, ACTIVE, QUICK_CLONE, VERBOSE, LIMIT]) -- pulls packets until none comes, and pushes all of them STOP times\n\n\
             Those of an input leave by the output of its number, in the order in which they were pulled, one of each input in turn. STOP (1) is how often; -1: without end. Then it asks for \
             the end of the run. LIMIT is how many packets are pulled at most. QUICK_CLONE and VERBOSE have no effect.\nHandlers: count r, active stop rw, reset w: packets are pushed from the first on.",
    make: |setup| {
        let args = Args::parse(
            setup.arguments,
            &["STOP"],
            &["ACTIVE", "QUICK_CLONE", "VERBOSE", "LIMIT", "USE_SIGNAL", "FREEONTERM", "TIMING", "STOP_TIME"],
        )?;
        if args.boolean("TIMING", false)? {
            return Err(ElementError::argument("TIMING is not there: packets are pushed as fast as they are taken"));
        }
        if args.duration("STOP_TIME", 0)? > 0 {
            return Err(ElementError::argument("STOP_TIME is not there: STOP says how often"));
        }
        let stop = args.integer("STOP", 1)?;
        let limit = args.count("LIMIT", MOST as u32, MOST as u32)? as usize;
        Ok(Box::new(ReplayUnqueue {
            stop,
            limit,
            active: args.boolean("ACTIVE", true)?,
            inputs: setup.inputs,
            held: Vec::new(),
            bytes: 0,
            full: false,
            next: 0,
            round: 0,
            count: 0,
        }))
    },
};

pub(super) static MULTI: BuiltInClass = BuiltInClass {
    name: "MultiReplayUnqueue",
    manual: "MultiReplayUnqueue([STOP, ACTIVE, QUICK_CLONE, VERBOSE, LIMIT]) -- the same as ReplayUnqueue\n\nIn FastClick a core serves each output.",
    ..CLASS
};

struct ReplayUnqueue {
    stop: i64,
    limit: usize,
    active: bool,
    inputs: u32,
    /// With the ports that they came by.
    held: Vec<(u32, Packet)>,
    bytes: usize,
    /// All are there.
    full: bool,
    next: usize,
    round: i64,
    count: u64,
}

impl ReplayUnqueue {
    /// Pulls one of each input; false if there was none.
    fn pull_some(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let before = self.held.len();
        for port in 0..self.inputs {
            if self.held.len() >= self.limit || self.bytes >= MOST_BYTES {
                return false;
            }
            if let Some(packet) = ctx.pull(port) {
                self.bytes += packet.len();
                self.held.push((port, packet));
            }
        }
        self.held.len() > before
    }

    fn is_over(&self) -> bool {
        self.stop >= 0 && self.round >= self.stop
    }
}

impl BuiltIn for ReplayUnqueue {
    fn held(&self) -> usize {
        self.held.len()
    }

    fn task(&mut self) -> Option<&mut dyn Task> {
        Some(self)
    }

    gives!(handlers);
}

impl Handlers for ReplayUnqueue {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count"], &["reset"], &["active", "stop"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "active" => self.active.to_string(),
            "stop" => self.stop.to_string(),
            _ => self.count.to_string(),
        })
    }

    fn write(&mut self, handler: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        match handler {
            "active" => self.active = super::boolean(value)?,
            "stop" => self.stop = text::integer(value).ok_or_else(|| HandlerError::invalid("expected a number"))?,
            _ => (self.next, self.round) = (0, 0),
        }
        Ok(())
    }
}

impl Task for ReplayUnqueue {
    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        if !self.active || self.is_over() {
            return TaskResult::Idle;
        }
        if !self.full {
            if self.pull_some(ctx) {
                return TaskResult::Done;
            }
            self.full = !self.held.is_empty();
            if !self.full {
                return TaskResult::Idle;
            }
        }
        if let Some((port, packet)) = self.held.get(self.next).cloned() {
            self.next += 1;
            self.count += 1;
            ctx.emit(port, packet);
        }
        if self.next == self.held.len() {
            (self.next, self.round) = (0, self.round.saturating_add(1));
            if self.is_over() {
                ctx.stop();
            }
        }
        TaskResult::Done
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        self.active && !self.is_over() && (!self.held.is_empty() || ctx.any_input())
    }
}
