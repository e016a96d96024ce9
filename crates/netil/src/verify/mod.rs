//! The verifier: the one way from a [`Module`] to a [`Verified`] that may run.
//!
//! It checks, for every handler:
//!
//! - instructions stand where they may (init only, packet handlers only), immediates are in range,
//!   branch targets are instructions of the same handler, no path runs past the end;
//! - every path through the code, subroutines included: no stack underflow, no more elements than
//!   `.maxstacksize`, operands of the widths an instruction asks for, stacks of equal types where
//!   paths meet, locals written before they are read;
//! - an instruction that takes any type (`dup`, `pop`, …) sees one type, whoever calls the
//!   subroutine it is in;
//! - subroutines: no recursion, call depth at most [`Limits::call_depth`], code size with all calls
//!   inlined at most [`Limits::inlined_code`] (back ends inline them);
//! - accesses at constant addresses lie inside data, info, shared memory and initialised data;
//! - ports, coprocessors, their registers and operations, locals and sets exist; sends go to
//!   outputs, receives come from inputs;
//! - memories, code, stack, locals, sets and switches are within the declared limits; switch keys
//!   are distinct;
//! - references to entries of tables are used as such, and not behind an insertion into or a
//!   deletion from their table;
//! - tables are of a possible shape, and hold no more than they may; controls lie inside data
//!   memory;
//! - names of ports, coprocessors, info fields, sets, tables and controls are distinct.
//!
//! It does not check what only an execution can show: accesses at computed addresses, packet
//! accesses, divisors, overflow of checked arithmetic, termination (the budget ends a loop), what a
//! coprocessor makes of its registers. Those trap. It ignores code that no path reaches, apart from
//! its form.
//!
//! Source: NetVM paper, section 3.3; the list in the original's documentation.

mod effects;
mod error;
mod flow;
mod form;
mod tables;

pub use error::{Reason, VerifyError};
pub use tables::MAX_CAPACITY;

use crate::copro::{self, Descriptor};
use crate::module::{Handler, HandlerKind, Module};
use crate::table::{Op, Own, Sem, Space};

/// What a module may declare at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions in a handler.
    pub code: u32,
    /// Instructions of a handler with every call inlined.
    pub inlined_code: u32,
    /// Stack elements.
    pub stack: u32,
    /// Local variables.
    pub locals: u32,
    /// Nested calls.
    pub call_depth: u32,
    /// Data memory, bytes.
    pub data: u32,
    /// Info memory, bytes.
    pub info: u32,
    /// Shared memory, bytes.
    pub shared: u32,
    /// Initialised data, bytes.
    pub initialised: u32,
    /// Ranges in all sets together, and entries that all tables have from the start.
    pub set_ranges: u32,
    /// Cases in a switch.
    pub switch_cases: u32,
    /// Ports; controls.
    pub ports: u32,
    /// The coprocessors there are; if these are the built-in ones, those that were registered are
    /// there, too.
    pub coprocessors: &'static [Descriptor],
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            code: 1 << 20,
            inlined_code: 1 << 20,
            stack: 1024,
            locals: 1024,
            call_depth: 16,
            data: 64 << 20,
            info: 4096,
            shared: 64 << 20,
            initialised: 16 << 20,
            set_ranges: 1 << 22,
            switch_cases: 1 << 20,
            ports: 4096,
            coprocessors: copro::BUILTIN,
        }
    }
}

impl Limits {
    /// The coprocessor of that name.
    fn coprocessor(&self, name: &str) -> Option<&'static Descriptor> {
        if std::ptr::eq(self.coprocessors, copro::BUILTIN) { copro::find(name) } else { self.coprocessors.iter().find(|d| d.name == name) }
    }
}

/// A module that passed every check, with what the verifier learnt about it.
#[derive(Clone, Debug)]
pub struct Verified {
    module: Module,
    facts: [Option<Facts>; 3],
    uses: Uses,
    shared_size: u32,
    first_output: Option<u32>,
}

/// What the verifier learnt about a handler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// For each instruction that takes any type: the widths of the top and second element; 0
    /// otherwise.
    pub widths: Vec<[u16; 2]>,
    /// Instructions that some path reaches.
    pub reachable: Vec<bool>,
    /// Instructions with every call inlined.
    pub inlined_code: u32,
}

/// What the push and pull handlers can touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Writes packet bytes.
    pub packet_writes: bool,
    /// Changes the packet's length, or replaces or deletes it.
    pub geometry: bool,
    /// Reads or writes info memory.
    pub info: bool,
    /// Reads or writes data or shared memory, the exception table, a table, a coprocessor or
    /// another thing that lasts.
    pub state: bool,
    /// Sends copies.
    pub clones: bool,
    /// Asks for the length on the wire.
    pub wire_len: bool,
    /// Asks for the time.
    pub time: bool,
    /// Asks for random numbers.
    pub random: bool,
}

impl Uses {
    /// True where a packet's verdict depends on nothing but the packet and leaves no trace: a
    /// filter.
    pub fn is_filter(self) -> bool {
        !(self.packet_writes || self.geometry || self.info || self.state || self.clones || self.random)
    }

    fn add(&mut self, op: Op) {
        match op.row().sem {
            Sem::Load(space, ..) | Sem::WideLoad(space) => self.touch(space, false),
            Sem::Store(space, _) | Sem::WideStore(space) => self.touch(space, true),
            Sem::Copy(from, to) => {
                self.touch(from, false);
                self.touch(to, true);
            }
            Sem::Own(own) => self.add_own(own),
            Sem::Bin(_) | Sem::Checked(..) | Sem::Un(_) | Sem::JumpCmp(_) | Sem::JumpZero(_) | Sem::JumpField(_) | Sem::Scan(_) => {}
            Sem::WideBin(_) | Sem::WideUn(_) | Sem::WideCmp(_) => {}
        }
    }

    fn touch(&mut self, space: Space, write: bool) {
        match space {
            Space::Packet => self.packet_writes |= write,
            Space::Info => self.info = true,
            Space::Data | Space::Shared => self.state = true,
            Space::Initialised => {}
        }
    }

    fn add_own(&mut self, own: Own) {
        match own {
            Own::InfoClr => self.info = true,
            Own::PktHold | Own::PktTake | Own::PktAsk => (self.geometry, self.state) = (true, true),
            Own::PktUnpull
            | Own::PktPush
            | Own::PktPull
            | Own::PktTrim
            | Own::PktGrow
            | Own::PktReceive
            | Own::ExbufCreate
            | Own::ExbufDelete => self.geometry = true,
            Own::PktSendDup => self.clones = true,
            Own::PblOrig => self.wire_len = true,
            Own::TstampS | Own::TstampU | Own::TimeNs => self.time = true,
            Own::Rnd => self.random = true,
            Own::TimeSet | Own::WireSet | Own::TimerSet | Own::PktMoved | Own::PktPresent => self.state = true,
            Own::TFind | Own::TPeek | Own::TInsert | Own::TDelete | Own::TLoad | Own::TStore => (self.state, self.time) = (true, true),
            Own::TWalk | Own::TNext | Own::TKey | Own::TDue | Own::TDeadline => (self.state, self.time) = (true, true),
            Own::LoadE | Own::StoreE | Own::CoproIn | Own::CoproOut | Own::CoproInvoke | Own::CoproExbuf => self.state = true,
            // Values, control flow and the packet's bytes.
            Own::IpLen | Own::Pbl | Own::PktCheck | Own::ChksumCalc | Own::ChksumJump | Own::CrcCalcPkt => {}
            Own::Inc1 | Own::Inc2 | Own::Inc3 | Own::Inc4 | Own::Dec1 | Own::Dec2 | Own::Dec3 | Own::Dec4 => {}
            Own::Cmp | Own::MCmp | Own::CmpS | Own::MFindBit | Own::XFindBit | Own::XmFindBit => {}
            Own::SetBit | Own::ClearBit | Own::FlipBit | Own::TestBit | Own::TestNBit => {}
            Own::ChksumAdd | Own::ChksumSub | Own::CrcCalc | Own::Hash32 | Own::Hash | Own::SetHas => {}
            Own::Push | Own::Push2 | Own::Pop | Own::PopI | Own::PushC1 | Own::PushC2 | Own::PushC0 | Own::PushCm1 => {}
            Own::Dup | Own::Swap | Own::LocLoad | Own::LocStore | Own::Nop | Own::Break | Own::Sleep => {}
            Own::WPush | Own::WZext | Own::WSext | Own::WTrunc | Own::WSlice | Own::WConcat | Own::WSelect => {}
            Own::Jump | Own::JumpW | Own::Switch | Own::Call | Own::CallW | Own::Ret | Own::Exit => {}
            Own::PktSend | Own::PktSendBy | Own::PktDrop | Own::TNone | Own::TValid => {}
            // Of init handlers.
            Own::SetShare | Own::CoproInit => {}
        }
    }
}

impl Verified {
    /// The module, which cannot be changed any more.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// A handler and what is known of it.
    pub fn handler(&self, kind: HandlerKind) -> Option<(&Handler, &Facts)> {
        self.module.handler(kind).zip(self.facts[kind as usize].as_ref())
    }

    /// [`Module::shared_size`], known without a walk over the code.
    pub fn shared_size(&self) -> u32 {
        self.shared_size
    }

    /// [`Module::first_output`], known without a walk over the ports.
    pub fn first_output(&self) -> Option<u32> {
        self.first_output
    }

    /// What the packet handlers can touch.
    pub fn uses(&self) -> Uses {
        self.uses
    }

    /// True if there is a push handler and it is a filter; no init handler then matters.
    pub fn is_filter(&self) -> bool {
        self.module.push.is_some() && self.uses.is_filter()
    }

    /// An instruction in words: handler, index, mnemonic, nearest label and source line.
    pub fn place(&self, handler: HandlerKind, inst: u32) -> String {
        error::place(&self.module, handler, inst)
    }

    /// A trap in words: kind, NetPE, handler, instruction, nearest label and source line.
    pub fn describe(&self, trap: &crate::trap::Trap) -> String {
        self.describe_of(if self.module.name.is_empty() { "netpe" } else { &self.module.name }, trap)
    }

    /// A trap in words, with the name of the element that runs the program: several may have it in
    /// common.
    pub fn describe_of(&self, element: &str, trap: &crate::trap::Trap) -> String {
        format!("{element}: {}: {}", trap.kind, error::place(&self.module, trap.handler, trap.inst))
    }
}

/// Checks a module with the default limits.
pub fn verify(module: Module) -> Result<Verified, Vec<VerifyError>> {
    verify_with(module, &Limits::default())
}

/// Checks a module. Errors of form are reported, the first hundred of declarations and of each
/// handler; and of each handler the first on a path through it. Time and memory are bounded
/// whatever the module holds.
pub fn verify_with(module: Module, limits: &Limits) -> Result<Verified, Vec<VerifyError>> {
    let mut errors = form::check_declarations(&module, limits);
    let mut facts = [None, None, None];
    for kind in HandlerKind::ALL {
        let Some(handler) = module.handler(kind) else { continue };
        let found = form::check_handler(&module, kind, handler, limits);
        if !found.is_empty() || !errors.is_empty() {
            errors.extend(found);
            continue;
        }
        match flow::check(&module, kind, handler, limits) {
            Ok(known) => facts[kind as usize] = Some(known),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let (uses, shared_size, first_output) = (uses(&module, &facts), module.shared_size(), module.first_output());
    Ok(Verified { module, facts, uses, shared_size, first_output })
}

fn uses(module: &Module, facts: &[Option<Facts>; 3]) -> Uses {
    let mut uses = Uses::default();
    for kind in [HandlerKind::Push, HandlerKind::Pull] {
        let (Some(handler), Some(facts)) = (module.handler(kind), &facts[kind as usize]) else { continue };
        let reached = handler.code.iter().zip(&facts.reachable).filter(|(_, r)| **r);
        reached.for_each(|(inst, _)| uses.add(inst.op));
    }
    uses
}
