//! Arbitrary modules that pass the verifier, for differential tests, round trips and fuzz targets
//! of every crate.
//!
//! A module is a function of a byte string ([`arbitrary_module`], for fuzzers: similar strings give
//! similar modules) or of a seed ([`seeded_module`]). The generator keeps the types of the stack
//! and of the locals as it emits code, so that what it emits verifies; this is a test, not an
//! assumption (`tests/arbitrary.rs`, which also counts that every instruction occurs).
//!
//! - Constants lean to boundaries: 0, 1, −1, both ends of the sign, powers of two, one off; widths
//!   to 1, 8, 31…33, 63…65, 128, 2047, 2048.
//! - Control flow is structured: branches of every kind, `switch`, counted loops, subroutines with
//!   arguments and results, early ends. About one loop in fifty runs until the budget ends it.
//! - Results are stored, not popped, most of the time, so that a wrong one shows in packet, info,
//!   data or shared memory or in the verdict.
//! - What may trap (addresses, divisors, checked arithmetic, geometry) does so now and then, not at
//!   every second instruction.
//!
//! Not generated: unreachable code apart from subroutines nobody calls, and anything that the
//! verifier refuses.

mod body;
mod choices;
mod decisions;
mod ops;
mod statements;
mod tables;
mod values;

use crate::codec;
use crate::copro::{self, CoproError, Coprocessor, Registers, Views};
use crate::module::{CoproUse, Handler, HandlerKind, InfoField, Label, Module, Port, PortKind};
use crate::set::{Range, Set};
use crate::wide::{self, MAX_WIDTH};
use choices::Choices;
pub use decisions::{arbitrary_decisions, few_valued_packet, seeded_decisions};

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Modules may use coprocessors.
    pub coprocessors: bool,
    /// Modules may have pull handlers, which start without a packet.
    pub pull: bool,
    /// The most statements of a handler; one is 1 to about 10 instructions.
    pub statements: u32,
    /// The most bits of a value, at least 32; keys of tables have up to twice as many.
    pub widest: u16,
}

impl Default for Options {
    fn default() -> Self {
        Self { coprocessors: true, pull: true, statements: 40, widest: MAX_WIDTH }
    }
}

/// The module that the bytes stand for; when they are used up, zeros go on.
pub fn arbitrary_module(bytes: &[u8], options: &Options) -> Module {
    Builder::new(Choices::of_bytes(bytes), options).module()
}

/// The module with that number.
pub fn seeded_module(seed: u64, options: &Options) -> Module {
    Builder::new(Choices::of_seed(seed), options).module()
}

/// The packet with that number: 0 to 1,514 bytes, mostly few, of the lengths at which programs go
/// wrong.
pub fn seeded_packet(seed: u64) -> Vec<u8> {
    let mut c = Choices::of_seed(!seed);
    let len = match c.below(8) {
        0 => c.below(14),
        1 => 1514,
        2..=4 => *c.pick(&[14, 33, 34, 60, 63, 64, 65, 127, 128]),
        _ => 40 + c.below(200),
    };
    let plain = c.chance(1, 2);
    (0..len).map(|i| if plain { i as u8 } else { c.byte() }).collect()
}

/// A coprocessor for tests: every operation mixes the registers, all that it sees and what it did
/// before; now and then it refuses.
#[derive(Debug, Default)]
pub struct Mixer {
    state: u64,
}

impl Mixer {
    fn mix(&mut self, v: u64) -> u32 {
        self.state = (self.state ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        (self.state >> 32) as u32
    }
}

impl Coprocessor for Mixer {
    fn init(&mut self, data: &[u8]) -> u32 {
        data.iter().for_each(|b| {
            self.mix(u64::from(*b));
        });
        data.len() as u32 & 1
    }

    fn invoke(&mut self, operation: u32, registers: &mut Registers, views: Views<'_>) -> Result<(), CoproError> {
        let seen = views.packet.map_or(u64::MAX, |p| p.len() as u64);
        if self.mix(u64::from(operation) ^ seen) % 64 == 63 {
            return Err(CoproError::BadRegister);
        }
        let bytes = views.packet.into_iter().chain(views.info).flatten();
        bytes.for_each(|b| _ = self.mix(u64::from(*b)));
        registers.iter_mut().for_each(|r| *r = self.mix(u64::from(*r)));
        Ok(())
    }

    fn init_work(&self, data: &[u8]) -> u64 {
        data.len() as u64
    }

    fn work(&self, operation: u32, _: &Registers, views: Views<'_>) -> u64 {
        views.packet.map_or(0, |p| p.len() as u64 * u64::from(operation))
    }

    fn fingerprint(&self) -> u64 {
        self.state
    }
}

/// A [`Mixer`] for every coprocessor there is; what [`crate::exec::State::new`] asks for.
pub fn mixer(name: &str) -> Option<Box<dyn Coprocessor>> {
    copro::builtin(name).map(|_| Box::new(Mixer::default()) as Box<dyn Coprocessor>)
}

/// A module under construction.
struct Builder<'a> {
    c: Choices<'a>,
    options: &'a Options,
    module: Module,
    shared: u32,
    /// Widths that this module's values have; 32 is the first.
    widths: Vec<u16>,
}

impl<'a> Builder<'a> {
    fn new(c: Choices<'a>, options: &'a Options) -> Self {
        Self { c, options, module: Module::default(), shared: 0, widths: vec![32] }
    }

    fn module(mut self) -> Module {
        self.declarations();
        let pull = self.options.pull && self.c.chance(1, 4);
        let init = self.c.chance(3, 4);
        for (kind, wanted) in [(HandlerKind::Init, init), (HandlerKind::Push, true), (HandlerKind::Pull, pull)] {
            if wanted {
                let handler = self.handler(kind);
                *self.module.handler_mut(kind) = Some(handler);
            }
        }
        self.module
    }

    fn declarations(&mut self) {
        let c = &mut self.c;
        self.module.name = (*c.pick(&["", "Arbitrary", "a b"])).to_owned();
        self.module.data_size = *c.pick(&[64, 300, 4096]);
        self.module.info_size = *c.pick(&[16, 64, 300]);
        self.module.data = (0..*c.pick(&[0, 8, 40, 300])).map(|_| c.byte()).collect();
        for _ in 0..self.c.below(5) {
            let width = self.width();
            self.widths.push(width);
        }
        self.names();
        for i in 0..self.c.below(4) {
            let set = self.set(i);
            self.module.sets.push(set);
        }
        self.tables();
    }

    fn names(&mut self) {
        let c = &mut self.c;
        if c.chance(1, 2) {
            let kinds = [PortKind::PushInput, PortKind::PushOutput, PortKind::PushOutput, PortKind::PullInput, PortKind::PullOutput];
            let port = |(i, kind): (usize, PortKind)| Port { name: format!("p{i}"), kind };
            self.module.ports = kinds.into_iter().enumerate().map(port).collect();
        }
        if self.options.coprocessors && c.chance(1, 3) {
            for i in 0..1 + c.below(3) {
                let name = c.pick(copro::BUILTIN).name.to_owned();
                self.module.coprocessors.push(CoproUse { alias: format!("c{i}"), name });
            }
        }
        if c.chance(1, 2) {
            self.module.info_fields.push(InfoField { name: "mark".to_owned(), offset: 4, size: 4 });
            let at = c.below(self.module.data.len() as u32 + 1);
            self.module.data_labels.push(Label { name: "place".to_owned(), at });
        }
    }

    fn set(&mut self, number: u32) -> Set {
        let width = if self.c.chance(1, 2) { *self.c.pick(&self.widths) } else { self.width() };
        let n = if self.c.chance(1, 40) { 5000 } else { self.c.below(9) };
        let mut ranges = Vec::new();
        for _ in 0..n {
            let (a, b) = (self.c.value(width), self.c.value(width));
            let single = self.c.chance(2, 3);
            let (low, high) = if wide::compare(&a, &b).is_le() { (a, b) } else { (b, a) };
            ranges.push(Range { high: if single { low.clone() } else { high }, low });
        }
        // The ranges fit the width, so that this cannot fail.
        Set::new(&format!("s{number}"), width, ranges).unwrap_or_else(|e| unreachable!("generated set: {e:?}"))
    }

    fn handler(&mut self, kind: HandlerKind) -> Handler {
        if kind == HandlerKind::Init {
            self.shared = *self.c.pick(&[64, 300, 0]);
        }
        let mut handler = body::handler(self, kind);
        codec::relax(&mut handler);
        let n = handler.code.len() as u32;
        handler.lines = (0..self.c.below(2) * n).map(|i| 3 + i / 2).collect();
        handler.labels = (0..self.c.below(3)).map(|i| Label { name: format!("l{i}"), at: i * (n / 3) }).collect();
        handler
    }

    /// Any width.
    fn width(&mut self) -> u16 {
        let width = self.c.width();
        if width <= self.options.widest { width } else { 1 + width % self.options.widest }
    }

    /// A width that values of this module have, now and then another one.
    fn some_width(&mut self) -> u16 {
        if self.c.chance(1, 8) { self.width() } else { *self.c.pick(&self.widths) }
    }

    /// A width of whole bytes, at most that many.
    fn byte_width(&mut self, bytes: u32) -> u16 {
        let width = self.some_width().next_multiple_of(8).min(self.options.widest);
        if u32::from(width) <= 8 * bytes { width } else { 8 * (1 + self.c.below(bytes.clamp(1, 16)) as u16) }
    }
}
