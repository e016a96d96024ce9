//! Bypass: another way for packets, which can be switched on.

use super::super::{Args, HandlerError, Packet};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, element_handlers};

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "Bypass",
    ports: "1-2/1-2",
    processing: "a/a",
    flow: "",
    facts: Facts::OTHER,
    manual: "Bypass([ACTIVE, INLINE]) -- sends packets another way while that is wanted\n\nPackets go straight on, from input 0 to output 0. While ACTIVE is true (false), pushed packets leave by output 1, and \
             packets are pulled from input 1. What comes back goes on as if it had never been away: packets pushed into input 1 leave by output 0. Packets pulled at output 1 come from input 0, \
             but not by a way that leads back to input 1: an element that is asked cannot be asked. Without a second port there is no other way. INLINE has no effect.\nHandlers: active rw.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["ACTIVE"], &["INLINE"])?;
        args.boolean("INLINE", false)?;
        Ok(Box::new(Bypass { active: args.boolean("ACTIVE", false)?, inputs: setup.inputs, outputs: setup.outputs }))
    },
};

struct Bypass {
    active: bool,
    inputs: u32,
    outputs: u32,
}

impl Bypass {
    /// Where a packet of a port goes, if there are so many ports there.
    fn other(&self, port: u32, ports: u32) -> u32 {
        u32::from(self.active && port == 0 && ports > 1)
    }
}

impl BuiltIn for Bypass {
    fn push(&mut self, port: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        ctx.emit(self.other(port, self.outputs), packet);
    }

    fn pull(&mut self, port: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        ctx.pull(self.other(port, self.inputs))
    }

    gives!(handlers);
}

impl Handlers for Bypass {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&[], &[], &["active"])
    }

    fn read(&mut self, _: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(self.active.to_string())
    }

    fn write(&mut self, _: &str, text: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        self.active = super::boolean(text)?;
        Ok(())
    }
}
