//! TimedUnqueue: pulls so many packets at a time, and pushes them.
//!
//! Source: the manual of FastClick's element.

use super::super::{Args, ElementError, HandlerError, text};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, Task, TaskResult, element_handlers};

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "TimedUnqueue",
    ports: "1/1",
    processing: "l/h",
    flow: "",
    facts: Facts::OTHER,
    manual: "TimedUnqueue(INTERVAL [, BURST]) -- pulls BURST packets every INTERVAL and pushes them\n\nBURST is 1 without it. The first go as soon as they are there; when none was there, the \
             next ones do, too.\nHandlers: interval rw, count r.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["INTERVAL", "BURST"], &[])?;
        args.required("INTERVAL")?;
        let burst = args.count("BURST", 1, 1 << 16)?;
        if burst == 0 {
            return Err(ElementError::argument("BURST should be at least 1"));
        }
        Ok(Box::new(TimedUnqueue { interval: args.duration("INTERVAL", 0)?.max(1), burst, waits: false, count: 0 }))
    },
};

struct TimedUnqueue {
    interval: u64,
    burst: u32,
    /// For its timer.
    waits: bool,
    count: u64,
}

impl BuiltIn for TimedUnqueue {
    fn task(&mut self) -> Option<&mut dyn Task> {
        Some(self)
    }

    fn timer(&mut self, _: u64, _: &mut Ctx<'_>) {
        self.waits = false;
    }

    gives!(handlers);
}

impl Handlers for TimedUnqueue {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count"], &[], &["interval"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(if handler == "count" { self.count.to_string() } else { text::seconds(self.interval) })
    }

    fn write(&mut self, _: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        self.interval = text::duration(value).ok_or_else(|| HandlerError::invalid("expected a time"))?.max(1);
        Ok(())
    }
}

impl Task for TimedUnqueue {
    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        if self.waits {
            return TaskResult::Idle;
        }
        let before = self.count;
        for _ in 0..self.burst {
            let Some(packet) = ctx.pull(0) else { break };
            self.count += 1;
            ctx.emit(0, packet);
        }
        if self.count == before {
            return TaskResult::Idle;
        }
        self.waits = true;
        ctx.wake_at(ctx.now().saturating_add(self.interval));
        TaskResult::Done
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        !self.waits && ctx.any_input()
    }
}
