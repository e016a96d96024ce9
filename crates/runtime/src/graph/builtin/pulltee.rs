//! PullTee: copies of what is pulled through.

use super::super::{Args, ElementError, Packet};
use super::{BuiltIn, BuiltInClass, Ctx, Facts};

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "PullTee",
    ports: "1/1-",
    processing: "l/lh",
    flow: "",
    facts: Facts::OWN,
    manual: "PullTee([N]) -- copies of packets that are pulled\n\nWhat is pulled at output 0 comes from the input; a copy is pushed to each of the other outputs. N says how \
             many outputs there are.",
    make: |setup| {
        let outputs = Args::parse(setup.arguments, &["N"], &[])?.count("N", setup.outputs, 1 << 16)?;
        match outputs == setup.outputs {
            true => Ok(Box::new(PullTee { outputs })),
            false => Err(ElementError::argument(format!("N is {outputs}, and there are {} outputs", setup.outputs))),
        }
    },
};

struct PullTee {
    outputs: u32,
}

impl BuiltIn for PullTee {
    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let mut packet = ctx.pull(0)?;
        for port in 1..self.outputs {
            let copy = packet.copied();
            ctx.emit(port, copy);
        }
        Some(packet)
    }
}
