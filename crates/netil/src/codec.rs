//! The binary form of a module.
//!
//! ```text
//! file     = magic "NVM\0", u16 version (1), u16 0, u32 length of all sections, u32 CRC-32 of the first 12 bytes and all sections
//! section  = u16 id, u32 length, payload        ids rise; a loader skips unknown ids with bit 15 set and refuses other ones
//! metadata = text name, u32 data size, u32 info size                              always there; the others only if not empty
//! ports    = u32 n, n × (u8 kind, text name)
//! coprocs  = u32 n, n × (text alias, text name)
//! data     = bytes
//! sets     = u32 n, n × (text name, u16 width, u32 m, m × (low, high))            values of ceil(width / 8) bytes
//! tables   = u32 n, n × (text name, u8 kind, u16 key bits, u32 value bytes, u32 capacity, u64 timeout, u32 m, m × (key, mask, u32 priority, value))
//!            keys and masks of key bits / 8 bytes; no mask in exact tables
//! handler  = u32 max stack, u32 locals, locals × u16 width, u32 n, bytes of n instructions       one section per handler
//! controls = u32 n, n × (text name, u8 bits: 1 read, 2 write, 4 call, u8 type, u16 width, u32 offset)
//! reasons  = u32 n, n × (text name, u32 number)                                                  skippable, as the following
//! source   = text                     fields = u32 n, n × (text name, u32 offset, u32 size)      skippable, as the following
//! lines    = u32 n, n × u32           labels = u32 n, n × (text name, u32 at)      one per handler; labels also for the data
//! text     = u32 length, UTF-8        all numbers little-endian
//! ```
//!
//! An instruction is its opcode (one byte of the original's, or 0xef and a second byte) and its
//! immediates. Displacements count from the end of the instruction. `switch` is i32 default
//! displacement, i32 n, n × (u32 key, i32 displacement), as in the original.
//!
//! A module has one encoding and decoding accepts no other, so both directions are identities (but
//! skipped sections are lost and a `jump` out of reach becomes `jump.w`). Decoding never allocates
//! for a count that the bytes behind it cannot fill or that [`DecodeLimits`] forbids. It says
//! nothing about whether the module may run: that is [`mod@crate::verify`]'s task.

mod decode;
mod encode;
mod error;
mod reader;
mod tables;

pub use error::{DecodeError, DecodeReason, EncodeError, EncodeReason};

use crate::module::{Extra, Handler, Inst, Module};
use crate::table::{Imm, Op};

/// The first bytes of every module.
pub const MAGIC: [u8; 4] = *b"NVM\0";
/// The version that is written, and the only one that is read.
pub const VERSION: u16 = 1;
/// Bytes before the first section.
pub const HEADER: usize = 16;

/// Bit 15 of a section id: a loader that does not know the section skips it.
pub const SKIPPABLE: u16 = 0x8000;

/// The ids of the sections.
mod section {
    pub const METADATA: u16 = 1;
    pub const PORTS: u16 = 2;
    pub const COPROCESSORS: u16 = 3;
    pub const DATA: u16 = 4;
    pub const SETS: u16 = 5;
    /// Plus the number of the handler, 0 to 2, here and below.
    pub const HANDLER: u16 = 6;
    pub const TABLES: u16 = 9;
    pub const CONTROLS: u16 = 10;
    pub const SOURCE: u16 = 0x8001;
    pub const FIELDS: u16 = 0x8002;
    pub const DATA_LABELS: u16 = 0x8003;
    pub const REASONS: u16 = 0x8004;
    pub const LINES: u16 = 0x8010;
    pub const LABELS: u16 = 0x8020;
}

/// What a binary module may contain at most; counts are over the whole module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Bytes of the file.
    pub bytes: usize,
    /// Instructions.
    pub instructions: u32,
    /// Cases of switches.
    pub switch_cases: u32,
    /// Ranges of sets and entries of tables.
    pub set_ranges: u32,
    /// Bytes of initialised data.
    pub data: u32,
    /// Ports, coprocessors, sets, tables, controls, fields, labels and locals.
    pub names: u32,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self { bytes: 256 << 20, instructions: 1 << 20, switch_cases: 1 << 20, set_ranges: 1 << 22, data: 16 << 20, names: 1 << 20 }
    }
}

impl Module {
    /// The binary form. A `jump` past its 8-bit range is written as `jump.w`, see [`relax`].
    ///
    /// # Errors
    /// A module built by hand may have targets outside its code or immediates that do not fit their
    /// fields.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        encode::module(self)
    }

    /// The module with that binary form.
    ///
    /// # Errors
    /// Anything but what [`Module::to_bytes`] writes, or more than the limits allow.
    pub fn from_bytes(bytes: &[u8], limits: &DecodeLimits) -> Result<Self, DecodeError> {
        decode::module(bytes, limits)
    }
}

/// Turns every `jump` whose target is out of reach into `jump.w`.
pub fn relax(handler: &mut Handler) {
    for round in 0.. {
        let starts = offsets(&handler.code);
        let mut changed = false;
        for i in 0..handler.code.len() {
            let inst = &handler.code[i];
            // Each round widens only what is out of reach; the last one whatever is left, so that
            // hostile code ends here too.
            if inst.op == Op::Jump && (round == 32 || !in_reach(&starts, i, inst.imm[0])) {
                handler.code[i].op = Op::JumpW;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

fn in_reach(starts: &[u64], index: usize, target: u32) -> bool {
    // A target outside the code is somebody else's error.
    starts.get(target as usize).is_none_or(|t| i8::try_from(*t as i64 - starts[index + 1] as i64).is_ok())
}

/// The byte offset of every instruction, and of the end.
fn offsets(code: &[Inst]) -> Vec<u64> {
    let mut at = 0;
    let mut starts = Vec::with_capacity(code.len() + 1);
    for inst in code {
        starts.push(at);
        at += size(inst);
    }
    starts.push(at);
    starts
}

/// Bytes that an instruction takes.
fn size(inst: &Inst) -> u64 {
    let row = inst.op.row();
    let opcode = if row.code > 0xff { 2 } else { 1 };
    let immediate = |imm: &Imm| match imm {
        Imm::U8 | Imm::ShortLabel => 1,
        Imm::Width => 2,
        Imm::Const => u64::from(inst.imm[0]).div_ceil(8),
        Imm::Switch => 8 + 8 * cases(inst),
        _ => 4,
    };
    opcode + row.imms.iter().map(immediate).sum::<u64>()
}

fn cases(inst: &Inst) -> u64 {
    match &inst.extra {
        Extra::Switch(s) => s.cases.len() as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
