//! DelayUnqueue: packets are pulled, and pushed some time after their own.

use super::super::{Args, HandlerError, Packet, text};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, Task, TaskResult, element_handlers};

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "DelayUnqueue",
    ports: "1/1",
    processing: "l/h",
    flow: "",
    facts: Facts { holds_packets: true, ..Facts::OWN },
    manual: "DelayUnqueue(DELAY) -- pulls packets and pushes each DELAY after its time\n\nIt holds one packet; what is given has the time of its leaving: its own and DELAY. Handlers: delay rw.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["DELAY"], &[])?;
        args.required("DELAY")?;
        Ok(Box::new(DelayUnqueue { delay: args.duration("DELAY", 0)?, held: None }))
    },
};

struct DelayUnqueue {
    delay: u64,
    /// With the time at which it leaves.
    held: Option<Packet>,
}

impl DelayUnqueue {
    fn fill(&mut self, ctx: &mut Ctx<'_>) {
        if self.held.is_none()
            && let Some(mut packet) = ctx.pull(0)
        {
            let time = if packet.buffer.time_ns < 1_000_000_000 { ctx.now() } else { packet.buffer.time_ns };
            packet.buffer.time_ns = time.saturating_add(self.delay);
            self.held = Some(packet);
        }
    }
}

impl BuiltIn for DelayUnqueue {
    fn held(&self) -> usize {
        self.held.iter().len()
    }

    fn task(&mut self) -> Option<&mut dyn Task> {
        Some(self)
    }

    gives!(handlers);
}

impl Handlers for DelayUnqueue {
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

impl Task for DelayUnqueue {
    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        self.fill(ctx);
        match self.held.take() {
            None => TaskResult::Idle,
            Some(packet) if packet.buffer.time_ns > ctx.now() => {
                ctx.wake_at(packet.buffer.time_ns);
                self.held = Some(packet);
                TaskResult::Idle
            }
            Some(packet) => {
                ctx.emit(0, packet);
                TaskResult::Done
            }
        }
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        self.held.is_some() || ctx.any_input()
    }
}
