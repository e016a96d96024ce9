//! The instruction table: one row says everything about an instruction.
//!
//! From it come the encoder and decoder, the assembler and disassembler, the verifier's stack
//! effects, the interpreter's dispatch and `docs/netil.md`; a back end matches [`Op`] or [`Sem`]
//! and the compiler names the arm that is missing.
//!
//! A row is
//! `Variant = opcode "mnemonic" [immediates] (pops) -> (pushes) place semantics "description"`.
//! Pops and pushes are written bottom to top. Opcodes below 0x100 are the original's; those written
//! 0xefNN are ours and are encoded as the byte 0xef followed by NN. Where the stack effect depends
//! on more than the immediates, it is `special` and the verifier has an arm for it.
//!
//! Source: the NetVM paper, section 3.1.1 (language), 3.1.2 (memories), 3.1.3 (coprocessors).

use crate::ops::{BinOp, CmpOp, UnOp};

/// The memory that an access goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The packet, network byte order, from its first byte to its captured length.
    Packet,
    /// Annotations that travel with the packet, little-endian.
    Info,
    /// Private to the NetPE and persistent, little-endian.
    Data,
    /// Shared by the NetPEs of an application, little-endian.
    Shared,
    /// Initialised data of the module, read-only, network byte order.
    Initialised,
}

/// What follows the opcode, in source as in the binary form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imm {
    /// One byte.
    U8,
    /// A 32-bit number.
    U32,
    /// A width in bits, 1 to 2,048.
    Width,
    /// A branch target; 32-bit displacement from the instruction's end.
    Label,
    /// A branch target within ±127 bytes; 8-bit displacement.
    ShortLabel,
    /// A port.
    Port,
    /// A coprocessor that the module uses.
    Copro,
    /// A coprocessor register.
    Reg,
    /// A coprocessor operation.
    CoproOp,
    /// An offset into initialised data.
    Offset,
    /// A local variable.
    Local,
    /// A read-only set of the module.
    Set,
    /// A table of the module.
    Table,
    /// A timer of the NetPE.
    Timer,
    /// A constant of the width that the first immediate gives.
    Const,
    /// The pairs and default of a `switch`.
    Switch,
}

/// The type of one stack element in a stack effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A classic 32-bit value.
    I32,
    /// A value whose width is the given immediate.
    W(usize),
}

/// What an instruction does to the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Pops and pushes, bottom to top.
    Fixed(&'static [Slot], &'static [Slot]),
    /// Depends on the stack's types or on other declarations.
    Special,
}

/// Where an instruction may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerScope {
    /// In any handler.
    Any,
    /// Only in the init handler.
    Init,
    /// Only in push and pull handlers, since it needs an exchange buffer.
    Packet,
}

/// The meaning, as far as a family of instructions shares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sem {
    /// Pop an address, push `bytes` bytes extended to 32 bits.
    Load(Space, u8, bool),
    /// Pop a value, pop an address, store the low `bytes` bytes.
    Store(Space, u8),
    /// Pop two 32-bit values, push the result (second op top).
    Bin(BinOp),
    /// Pop two 32-bit values, push the result (second op top), trapping where the exact result does
    /// not fit; signed if true.
    Checked(BinOp, bool),
    /// Replace the top of the stack.
    Un(UnOp),
    /// Pop two 32-bit values, branch if the comparison of second with top holds.
    JumpCmp(CmpOp),
    /// Pop one 32-bit value, branch if its comparison with 0 holds.
    JumpZero(CmpOp),
    /// Compare two packet fields, branch if the comparison holds.
    JumpField(CmpOp),
    /// Find a value of that many bytes in the packet.
    Scan(u8),
    /// Copy bytes from one memory to another.
    Copy(Space, Space),
    /// [`BinOp`] on values of the width given.
    WideBin(BinOp),
    /// [`UnOp`] on a value of the width given.
    WideUn(UnOp),
    /// [`CmpOp`] on values of the width given; pushes 1 or 0.
    WideCmp(CmpOp),
    /// Pop an address, push a value of the width given.
    WideLoad(Space),
    /// Pop a value of the width given, pop an address, store.
    WideStore(Space),
    /// No other has it: who gives instructions a meaning has an arm for each of these.
    Own(Own),
}

/// All about one instruction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The instruction.
    pub op: Op,
    /// Opcode: one byte, or 0xefNN for an extension.
    pub code: u16,
    /// Name in source.
    pub mnemonic: &'static str,
    /// What follows the opcode.
    pub imms: &'static [Imm],
    /// Stack effect.
    pub effect: Effect,
    /// Where it may stand.
    pub place: HandlerScope,
    /// Shared meaning.
    pub sem: Sem,
    /// Description for the manual.
    pub doc: &'static str,
}

/// The first byte of every extension.
pub const EXTENSION: u8 = 0xef;

macro_rules! effect {
    (special) => { Effect::Special };
    (($($pop:tt)*) -> ($($push:tt)*)) => { Effect::Fixed(&[$(slot!($pop)),*], &[$(slot!($push)),*]) };
}

macro_rules! slot {
    (i) => {
        Slot::I32
    };
    (w) => {
        Slot::W(0)
    };
    (v) => {
        Slot::W(1)
    };
}

macro_rules! sem {
    ($op:ident Own) => { Sem::Own(Own::$op) };
    ($op:ident $sem:ident $($of:tt)*) => { $sem $($of)* };
}

/// The rows whose meaning is their own.
macro_rules! own {
    ([$($own:ident)*]) => {
        /// The instructions whose meaning is not a family's, so that a `match` without one of them
        /// does not compile.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "they are described where they are instructions")]
        pub enum Own { $($own),* }
    };
    ([$($own:ident)*] $op:ident Own; $($rows:tt)*) => { own! { [$($own)* $op] $($rows)* } };
    ([$($own:ident)*] $op:ident $sem:ident; $($rows:tt)*) => { own! { [$($own)*] $($rows)* } };
}

macro_rules! table {
    ($($op:ident = $code:literal $name:literal [$($imm:ident)*] { $($effect:tt)* } $place:ident $sem:ident $(($($of:tt)*))?; $doc:literal)*) => {
        /// The instructions, in the order of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op { $(#[doc = $doc] $op),* }

        /// The table, indexed by `Op as usize`.
        pub static TABLE: &[Row] = &[$(Row {
            op: Op::$op, code: $code, mnemonic: $name, imms: &[$(Imm::$imm),*],
            effect: effect!($($effect)*), place: HandlerScope::$place, sem: sem!($op $sem $(($($of)*))?), doc: $doc,
        }),*];

        own! { [] $($op $sem;)* }
    };
}

use Sem::{Bin, Checked, Copy as Cp, JumpCmp, JumpField, JumpZero, Load, Scan, Store, Un, WideBin, WideCmp, WideLoad, WideStore, WideUn};
use Space::{Data, Info, Initialised, Packet, Shared};

table! {
    // Load and store.
    SpLoad8  = 0x00 "spload.8"  [] { (i) -> (i) } Packet Load(Packet, 1, true); "Load a signed byte of the packet."
    UpLoad8  = 0x01 "upload.8"  [] { (i) -> (i) } Packet Load(Packet, 1, false); "Load an unsigned byte of the packet."
    SpLoad16 = 0x02 "spload.16" [] { (i) -> (i) } Packet Load(Packet, 2, true); "Load a signed 16-bit field of the packet."
    UpLoad16 = 0x03 "upload.16" [] { (i) -> (i) } Packet Load(Packet, 2, false); "Load an unsigned 16-bit field of the packet."
    SpLoad32 = 0x04 "spload.32" [] { (i) -> (i) } Packet Load(Packet, 4, true); "Load a 32-bit field of the packet."
    SmLoad8  = 0x05 "smload.8"  [] { (i) -> (i) } Any Load(Data, 1, true); "Load a signed byte of data memory."
    UmLoad8  = 0x06 "umload.8"  [] { (i) -> (i) } Any Load(Data, 1, false); "Load an unsigned byte of data memory."
    SmLoad16 = 0x07 "smload.16" [] { (i) -> (i) } Any Load(Data, 2, true); "Load a signed 16-bit value of data memory."
    UmLoad16 = 0x08 "umload.16" [] { (i) -> (i) } Any Load(Data, 2, false); "Load an unsigned 16-bit value of data memory."
    UmLoad32 = 0x09 "umload.32" [] { (i) -> (i) } Any Load(Data, 4, false); "Load a 32-bit value of data memory."
    SsLoad8  = 0x46 "ssload.8"  [] { (i) -> (i) } Any Load(Shared, 1, true); "Load a signed byte of shared memory."
    UsLoad8  = 0x47 "usload.8"  [] { (i) -> (i) } Any Load(Shared, 1, false); "Load an unsigned byte of shared memory."
    SsLoad16 = 0x48 "ssload.16" [] { (i) -> (i) } Any Load(Shared, 2, true); "Load a signed 16-bit value of shared memory."
    UsLoad16 = 0x49 "usload.16" [] { (i) -> (i) } Any Load(Shared, 2, false); "Load an unsigned 16-bit value of shared memory."
    SsLoad32 = 0x4a "ssload.32" [] { (i) -> (i) } Any Load(Shared, 4, false); "Load a 32-bit value of shared memory."
    IpLen    = 0x0f "iplen"     [] { (i) -> (i) } Packet Own; "Pop an address and push 4·(byte & 15): the length in bytes of the IPv4 header that starts there (RFC 791)."
    MStore8  = 0x10 "mstore.8"  [] { (i i) -> () } Any Store(Data, 1); "Pop an address, then a value, and store its low byte into data memory."
    MStore16 = 0x12 "mstore.16" [] { (i i) -> () } Any Store(Data, 2); "Pop an address, then a value, and store its low 16 bits into data memory."
    MStore32 = 0x14 "mstore.32" [] { (i i) -> () } Any Store(Data, 4); "Pop an address, then a value, and store it into data memory."
    PStore8  = 0x15 "pstore.8"  [] { (i i) -> () } Packet Store(Packet, 1); "Pop an address, then a value, and store its low byte into the packet."
    PStore16 = 0x18 "pstore.16" [] { (i i) -> () } Packet Store(Packet, 2); "Pop an address, then a value, and store its low 16 bits into the packet."
    PStore32 = 0x19 "pstore.32" [] { (i i) -> () } Packet Store(Packet, 4); "Pop an address, then a value, and store it into the packet."
    SStore8  = 0x4c "sstore.8"  [] { (i i) -> () } Any Store(Shared, 1); "Pop an address, then a value, and store its low byte into shared memory."
    SStore16 = 0x4d "sstore.16" [] { (i i) -> () } Any Store(Shared, 2); "Pop an address, then a value, and store its low 16 bits into shared memory."
    SStore32 = 0x4f "sstore.32" [] { (i i) -> () } Any Store(Shared, 4); "Pop an address, then a value, and store it into shared memory."
    IStore8  = 0xf0 "istore.8"  [] { (i i) -> () } Packet Store(Info, 1); "Pop an address, then a value, and store its low byte into info memory."
    IStore16 = 0xf1 "istore.16" [] { (i i) -> () } Packet Store(Info, 2); "Pop an address, then a value, and store its low 16 bits into info memory."
    IStore32 = 0xf2 "istore.32" [] { (i i) -> () } Packet Store(Info, 4); "Pop an address, then a value, and store it into info memory."
    UiLoad8  = 0xf3 "uiload.8"  [] { (i) -> (i) } Packet Load(Info, 1, false); "Load an unsigned byte of info memory."
    UiLoad16 = 0xf4 "uiload.16" [] { (i) -> (i) } Packet Load(Info, 2, false); "Load an unsigned 16-bit value of info memory."
    SiLoad8  = 0xf5 "siload.8"  [] { (i) -> (i) } Packet Load(Info, 1, true); "Load a signed byte of info memory."
    SiLoad16 = 0xf6 "siload.16" [] { (i) -> (i) } Packet Load(Info, 2, true); "Load a signed 16-bit value of info memory."
    SiLoad32 = 0xf7 "siload.32" [] { (i) -> (i) } Packet Load(Info, 4, true); "Load a 32-bit value of info memory."
    InfoClr  = 0xb2 "info.clr"  [] { () -> () } Packet Own; "Fill info memory with zeros."

    // Arithmetic and logic.
    Add      = 0x20 "add"      [] { (i i) -> (i) } Any Bin(BinOp::Add); "Sum modulo 2^32."
    AddS     = 0x21 "add.s"    [] { (i i) -> (i) } Any Checked(BinOp::Add, true); "Signed sum; traps `overflow` where it does not fit."
    AddU     = 0x22 "add.u"    [] { (i i) -> (i) } Any Checked(BinOp::Add, false); "Unsigned sum; traps `overflow` where it does not fit."
    Sub      = 0x23 "sub"      [] { (i i) -> (i) } Any Bin(BinOp::Sub); "Second minus top, modulo 2^32."
    SubS     = 0x24 "sub.s"    [] { (i i) -> (i) } Any Checked(BinOp::Sub, true); "Signed difference; traps `overflow` where it does not fit."
    SubU     = 0x25 "sub.u"    [] { (i i) -> (i) } Any Checked(BinOp::Sub, false); "Unsigned difference; traps `overflow` where it is negative."
    Mul      = 0x26 "mul"      [] { (i i) -> (i) } Any Bin(BinOp::Mul); "Product modulo 2^32."
    MulS     = 0x27 "muls.ovf" [] { (i i) -> (i) } Any Checked(BinOp::Mul, true); "Signed product; traps `overflow` where it does not fit."
    MulU     = 0x28 "mul.ovf"  [] { (i i) -> (i) } Any Checked(BinOp::Mul, false); "Unsigned product; traps `overflow` where it does not fit."
    Mod      = 0x3f "mod"      [] { (i i) -> (i) } Any Bin(BinOp::Mod); "Unsigned remainder of second by top; traps `division by zero`."
    Neg      = 0x29 "neg"      [] { (i) -> (i) } Any Un(UnOp::Neg); "Two's complement."
    Or       = 0x2a "or"       [] { (i i) -> (i) } Any Bin(BinOp::Or); "Bitwise or."
    And      = 0x2b "and"      [] { (i i) -> (i) } Any Bin(BinOp::And); "Bitwise and."
    Xor      = 0x2c "xor"      [] { (i i) -> (i) } Any Bin(BinOp::Xor); "Bitwise exclusive or."
    Not      = 0x3e "not"      [] { (i) -> (i) } Any Un(UnOp::Not); "Bitwise complement."
    Inc1     = 0x2d "inc1"     [] { (i) -> (i) } Any Own; "Add 1 to the top of the stack."
    Inc2     = 0x2e "inc2"     [] { special } Any Own; "Add 1 to the second element."
    Inc3     = 0x2f "inc3"     [] { special } Any Own; "Add 1 to the third element."
    Inc4     = 0xea "inc4"     [] { special } Any Own; "Add 1 to the fourth element."
    Dec1     = 0xeb "dec1"     [] { (i) -> (i) } Any Own; "Subtract 1 from the top of the stack."
    Dec2     = 0xec "dec2"     [] { special } Any Own; "Subtract 1 from the second element."
    Dec3     = 0xed "dec3"     [] { special } Any Own; "Subtract 1 from the third element."
    Dec4     = 0x30 "dec4"     [] { special } Any Own; "Subtract 1 from the fourth element."
    Shl      = 0x31 "shl"      [] { (i i) -> (i) } Any Bin(BinOp::Shl); "Shift second left by top; 0 from 32 on."
    Shr      = 0x32 "shr"      [] { (i i) -> (i) } Any Bin(BinOp::Shr); "Arithmetic shift of second right by top; copies of the sign from 32 on."
    UShr     = 0x34 "ushr"     [] { (i i) -> (i) } Any Bin(BinOp::UShr); "Logical shift of second right by top; 0 from 32 on."
    Rol      = 0x44 "rol"      [] { (i i) -> (i) } Any Bin(BinOp::Rol); "Rotate second left by top modulo 32."
    Ror      = 0x45 "ror"      [] { (i i) -> (i) } Any Bin(BinOp::Ror); "Rotate second right by top modulo 32."
    Rnd      = 0x35 "rnd"      [] { () -> (i) } Any Own; "Push a random number: a function of the seed, the packet's number and the place in the program."
    Cmp      = 0x36 "cmp"      [] { (i i) -> (i) } Any Own; "Unsigned comparison: push 0 if equal, 1 if top is greater than second, −1 if less."
    MCmp     = 0x37 "mcmp"     [] { (i i i) -> (i) } Any Own; "As `cmp`, after both values are and-ed with the mask below them."
    CmpS     = 0xc4 "cmp.s"    [] { (i i) -> (i) } Any Own; "Signed comparison: push 0 if equal, 1 if top is greater than second, −1 if less."
    IeSwap   = 0x5d "ieswap"   [] { (i) -> (i) } Any Un(UnOp::Bswap); "Reverse the four bytes."

    // Flow control.
    JCmpEq  = 0x38 "jcmp.eq"  [Label] { (i i) -> () } Any JumpCmp(CmpOp::Eq); "Branch if equal."
    JCmpNeq = 0x39 "jcmp.neq" [Label] { (i i) -> () } Any JumpCmp(CmpOp::Ne); "Branch if not equal."
    JCmpG   = 0x3a "jcmp.g"   [Label] { (i i) -> () } Any JumpCmp(CmpOp::Gt); "Branch if second > top, unsigned."
    JCmpGe  = 0x3b "jcmp.ge"  [Label] { (i i) -> () } Any JumpCmp(CmpOp::Ge); "Branch if second ≥ top, unsigned."
    JCmpL   = 0x3c "jcmp.l"   [Label] { (i i) -> () } Any JumpCmp(CmpOp::Lt); "Branch if second < top, unsigned."
    JCmpLe  = 0x3d "jcmp.le"  [Label] { (i i) -> () } Any JumpCmp(CmpOp::Le); "Branch if second ≤ top, unsigned."
    JCmpGs  = 0xc0 "jcmp.gts" [Label] { (i i) -> () } Any JumpCmp(CmpOp::Gts); "Branch if second > top, signed."
    JCmpGes = 0xc1 "jcmp.ges" [Label] { (i i) -> () } Any JumpCmp(CmpOp::Ges); "Branch if second ≥ top, signed."
    JCmpLs  = 0xc2 "jcmp.lts" [Label] { (i i) -> () } Any JumpCmp(CmpOp::Lts); "Branch if second < top, signed."
    JCmpLes = 0xc3 "jcmp.les" [Label] { (i i) -> () } Any JumpCmp(CmpOp::Les); "Branch if second ≤ top, signed."
    JEq     = 0x60 "j.eq"     [Label] { (i) -> () } Any JumpZero(CmpOp::Eq); "Branch if the top is 0."
    JNe     = 0x61 "j.ne"     [Label] { (i) -> () } Any JumpZero(CmpOp::Ne); "Branch if the top is not 0."
    Jump    = 0x67 "jump"     [ShortLabel] { () -> () } Any Own; "Branch, 8-bit displacement."
    JumpW   = 0x68 "jump.w"   [Label] { () -> () } Any Own; "Branch, 32-bit displacement."
    Switch  = 0x6f "switch"   [Switch] { (i) -> () } Any Own; "Pop a key and branch to its label, or to the default's."
    Call    = 0x69 "call"     [Label] { special } Any Own; "Call a subroutine; it works on the caller's stack and locals, and its `ret` comes back here. Recursion is refused."
    CallW   = 0x6a "call.w"   [Label] { special } Any Own; "As `call`."
    Ret     = 0x6b "ret"      [] { special } Any Own; "Return from a subroutine; outside one, end the handler with the verdict on top of the stack: 0 or none drops the packet, any other value sends it to the first output port."
    Exit    = 0xff "exit"     [U32] { () -> () } Any Own; "End the handler and drop the packet with the number as the reason."

    // Stack.
    Push    = 0x50 "push"     [U32] { () -> (i) } Any Own; "Push a constant."
    Push2   = 0x51 "push2"    [U32 U32] { () -> (i i) } Any Own; "Push two constants, the second on top."
    Pop     = 0x52 "pop"      [] { special } Any Own; "Remove the top of the stack, whatever its type."
    PopI    = 0x53 "popi"     [U8] { special } Any Own; "Remove that many elements."
    PushC1  = 0x54 "push_1"   [] { () -> (i) } Any Own; "Push 1."
    PushC2  = 0x55 "push_2"   [] { () -> (i) } Any Own; "Push 2."
    PushC0  = 0x56 "push_0"   [] { () -> (i) } Any Own; "Push 0."
    PushCm1 = 0x57 "push__1"  [] { () -> (i) } Any Own; "Push −1."
    Dup     = 0x5a "dup"      [] { special } Any Own; "Push the top of the stack again, whatever its type."
    Swap    = 0x5c "swap"     [] { special } Any Own; "Exchange the two topmost elements, whatever their types."
    TstampS = 0x58 "tstamp_s" [] { () -> (i) } Packet Own; "Push the packet's arrival time in seconds since 1970, modulo 2^32."
    TstampU = 0x59 "tstamp_us" [] { () -> (i) } Packet Own; "Push the microseconds within the second of the packet's arrival time."
    Pbl     = 0xe0 "pbl"      [] { () -> (i) } Packet Own; "Push the packet's captured length in bytes."
    Sleep   = 0xd6 "sleep"    [] { (i) -> () } Any Own; "Pop a time in microseconds. A handler never blocks and the virtual clock is the packet's, so nothing else happens."
    LocLoad = 0xd9 "locload"  [Local] { special } Any Own; "Push a local variable."
    LocStore = 0xda "locstore" [Local] { special } Any Own; "Pop into a local variable."

    // Fields and scans.
    JFieldEq = 0x70 "jfield.eq" [Label] { (i i i) -> () } Packet JumpField(CmpOp::Eq); "Pop length, offset 2, offset 1; branch if the two packet fields are equal."
    JFieldNe = 0x71 "jfield.ne" [Label] { (i i i) -> () } Packet JumpField(CmpOp::Ne); "As `jfield.eq`, if they differ."
    JFieldLt = 0x72 "jfield.lt" [Label] { (i i i) -> () } Packet JumpField(CmpOp::Lt); "As `jfield.eq`, if field 1 < field 2, byte by byte."
    JFieldGt = 0x73 "jfield.gt" [Label] { (i i i) -> () } Packet JumpField(CmpOp::Gt); "As `jfield.eq`, if field 1 > field 2, byte by byte."
    PScan8   = 0x74 "pscan.8"  [] { (i i) -> (i) } Packet Scan(1); "Pop value, offset; push the offset of the first such byte from there on, or 0xffffffff. The offset must lie inside the packet."
    PScan16  = 0x75 "pscan.16" [] { (i i) -> (i) } Packet Scan(2); "As `pscan.8` for a 16-bit value at any byte offset."
    PScan32  = 0x76 "pscan.32" [] { (i i) -> (i) } Packet Scan(4); "As `pscan.8` for a 32-bit value at any byte offset."

    // Packet and data transfer.
    PktSend    = 0xa4 "pkt.send"     [Port] { () -> () } Packet Own; "Send the packet to an output port; ends the handler."
    PktSendDup = 0xb1 "pkt.senddup"  [Port] { () -> () } Packet Own; "Send a copy of the packet, info memory included, and go on."
    PktReceive = 0xa5 "pkt.receive"  [Port] { () -> () } Packet Own; "Replace the exchange buffer by the next one of an input port; if there is none, the handler ends."
    ExbufCreate = 0xad "exbuf.create" [] { (i) -> () } Packet Own; "Pop a length (at most 65,535) and replace the exchange buffer by a new one of zeros."
    ExbufDelete = 0xae "exbuf.delete" [] { () -> () } Packet Own; "Give the exchange buffer up: its length is 0 and sending it traps `no packet`."
    DpCopy = 0xa7 "dpcopy" [] { (i i i) -> () } Packet Cp(Data, Packet); "Pop length, destination, source; copy from data memory to the packet."
    PdCopy = 0xa8 "pdcopy" [] { (i i i) -> () } Packet Cp(Packet, Data); "Pop length, destination, source; copy from the packet to data memory."
    DsCopy = 0xa9 "dscopy" [] { (i i i) -> () } Any Cp(Data, Shared); "Pop length, destination, source; copy from data memory to shared memory."
    SdCopy = 0xaa "sdcopy" [] { (i i i) -> () } Any Cp(Shared, Data); "Pop length, destination, source; copy from shared memory to data memory."
    SpCopy = 0xab "spcopy" [] { (i i i) -> () } Packet Cp(Shared, Packet); "Pop length, destination, source; copy from shared memory to the packet."
    PsCopy = 0xac "pscopy" [] { (i i i) -> () } Packet Cp(Packet, Shared); "Pop length, destination, source; copy from the packet to shared memory."
    IpCopy = 0xbd "ipcopy" [] { (i i i) -> () } Packet Cp(Initialised, Packet); "Pop length, destination, source; copy from initialised data to the packet."

    // Bits.
    FindBit   = 0xa0 "find.bit"   [] { (i) -> (i) } Any Un(UnOp::FindBit); "Index of the highest one bit, 0xffffffff if none."
    MFindBit  = 0xa1 "mfind.bit"  [] { (i i) -> (i) } Any Own; "As `find.bit` of the and of the two topmost values."
    XFindBit  = 0xa2 "xfind.bit"  [U8] { special } Any Own; "As `find.bit` on each of the N topmost values, in place."
    XmFindBit = 0xa3 "xmfind.bit" [U8] { special } Any Own; "Pop a mask; then `find.bit` of each of the N topmost values and-ed with it, in place."
    SetBit    = 0xe4 "set.bit"    [] { (i i) -> (i) } Any Own; "Set the bit of second whose index is top; no change from 32 on."
    ClearBit  = 0xe5 "clear.bit"  [] { (i i) -> (i) } Any Own; "Clear the bit of second whose index is top; no change from 32 on."
    FlipBit   = 0xe6 "flip.bit"   [] { (i i) -> (i) } Any Own; "Flip the bit of second whose index is top; no change from 32 on."
    TestBit   = 0xe7 "test.bit"   [] { (i i) -> (i) } Any Own; "Push the bit of second whose index is top; 0 from 32 on."
    TestNBit  = 0xe8 "testn.bit"  [] { (i i) -> (i) } Any Own; "Push the complement of the bit of second whose index is top; 1 from 32 on."
    Clz       = 0xaf "clz"        [] { (i) -> (i) } Any Un(UnOp::Clz); "Number of zero bits above the highest one; 32 if the value is 0."

    // Checksum, CRC, hash.
    ChksumAdd  = 0xd1 "chksum.add"  [] { (i i) -> (i) } Any Own; "Pop a 16-bit value and an Internet checksum; push the checksum of the data with that value added (RFC 1624)."
    ChksumSub  = 0xd2 "chksum.sub"  [] { (i i) -> (i) } Any Own; "Pop a 16-bit value and an Internet checksum; push the checksum of the data with that value taken out (RFC 1624)."
    ChksumCalc = 0xd3 "chksum.calc" [] { (i i) -> (i) } Packet Own; "Pop length, offset; push the Internet checksum of those packet bytes (RFC 1071)."
    ChksumJump = 0xd4 "chksum.jump" [Label] { (i i) -> () } Packet Own; "Pop length, offset; branch if those packet bytes, checksum field included, sum to 0xffff."
    CrcCalc    = 0xd5 "crc.calc"    [U8] { (i) -> (i) } Any Own; "CRC of the value's four bytes, most significant first: 0 CRC-32 (IEEE 802.3), 1 CRC-16/CCITT (X.25), 2 CRC-32C (RFC 3720)."
    CrcCalcPkt = 0xd0 "crc.calcpkt" [U8] { (i i) -> (i) } Packet Own; "Pop length, offset; push the CRC of those packet bytes."
    Hash32     = 0xfa "hash.32"     [] { (i) -> (i) } Any Own; "MurmurHash3 (32-bit, seed 0) of the value's four bytes, least significant first."
    Hash       = 0xfb "hash"        [U8] { special } Any Own; "Pop N values; push MurmurHash3 (32-bit, seed 0) of their bytes, the deepest value first."

    // Initialisation and miscellany.
    SetShare = 0xb5 "set.share" [U32] { () -> () } Init Own; "Declare the size of shared memory in bytes."
    LoadE    = 0xb6 "loade"     [U32] { () -> (i) } Any Own; "Push an entry of the NetPE's exception table (16 words, 0 at start)."
    StoreE   = 0xb7 "storee"    [U32] { (i) -> () } Any Own; "Pop into an entry of the exception table."
    Nop      = 0xd7 "nop"       [] { () -> () } Any Own; "Do nothing."
    Break    = 0xd8 "break"     [] { () -> () } Any Own; "Do nothing; a debugger may stop here."

    // Coprocessors.
    CoproInit   = 0xfd "copro.init"   [Copro Offset] { () -> (i) } Init Own; "Initialise a coprocessor from initialised data; push 0 if that went well."
    CoproIn     = 0xf8 "copro.in"     [Copro Reg] { () -> (i) } Any Own; "Push a coprocessor register."
    CoproOut    = 0xf9 "copro.out"    [Copro Reg] { (i) -> () } Any Own; "Pop into a coprocessor register."
    CoproInvoke = 0xfc "copro.invoke" [Copro CoproOp] { () -> () } Any Own; "Run a coprocessor operation."
    CoproExbuf  = 0xfe "copro.exbuf"  [Copro U32] { () -> () } Packet Own; "Show the exchange buffer to a coprocessor for the rest of this handler; the second operand is 0."

    // Extensions.
    PblOrig = 0xef00 "pbl.orig" [] { () -> (i) } Packet Own; "Push the length in bytes that the packet has on the wire: its own and that of what was not captured, which is missing still when the packet grows or shrinks."
    TimeNs   = 0xef02 "time.ns"   [] { special } Packet Own; "Push the packet's arrival time in nanoseconds since 1970, an i64."
    TimeSet  = 0xef03 "time.set"  [] { special } Packet Own; "Pop an i64 and make it the packet's arrival time."
    TimerSet = 0xef04 "timer.set" [Timer] { special } Any Own; "Pop an i64: the timer is due when the clock has reached that time in nanoseconds since 1970; 0 turns it off."
    WireSet  = 0xef06 "wire.set"  [] { (i) -> () } Packet Own; "Pop a length and make it the packet's on the wire, which is at least its own."
    PktMoved = 0xef05 "pkt.moved" [] { () -> (i) } Packet Own; "Push the bytes pulled from the packet's head less those pushed since it came into being, modulo 2^32."
    Div     = 0xef01 "div"      [] { (i i) -> (i) } Any Bin(BinOp::Div); "Unsigned quotient of second by top; traps `division by zero`."
    PktPush = 0xef10 "pkt.push" [] { (i) -> () } Packet Own; "Pop a length; grow the packet at its head by that many zero bytes. Traps `no room` past 65,535 bytes."
    PktPull = 0xef11 "pkt.pull" [] { (i) -> () } Packet Own; "Pop a length; remove that many bytes from the packet's head."
    PktTrim = 0xef12 "pkt.trim" [] { (i) -> () } Packet Own; "Pop a length; remove that many bytes from the packet's tail."
    PktGrow = 0xef13 "pkt.grow" [] { (i) -> () } Packet Own; "Pop a length; grow the packet at its tail by that many zero bytes. Traps `no room` past 65,535 bytes."
    PktDrop = 0xef14 "pkt.drop" [U32] { () -> () } Packet Own; "Drop the packet with the number as the reason; ends the handler."
    PktHold = 0xef15 "pkt.hold" [] { (i) -> (i) } Packet Own; "Pop the number of a holding queue and put the packet at its end; push 1, or 0 if 65,536 packets or 256 MiB are held, which leaves the packet where it is."
    PktTake = 0xef16 "pkt.take" [] { (i) -> (i) } Packet Own; "Pop the number of a holding queue and replace the exchange buffer by its first packet; push 1, or 0 if it is empty."
    PktCheck = 0xef17 "pkt.check" [] { (i i) -> () } Packet Own; "Pop length, offset; trap unless those bytes lie inside the packet."
    PktUnpull = 0xef18 "pkt.unpull" [] { (i) -> () } Packet Own; "Pop a length; bring back that many bytes that were pulled from the head, were not overwritten by `pkt.push`, and are among the last 1,024 such. Traps out of bounds if there are not so many."
    PktPresent = 0xef19 "pkt.present" [] { () -> (i) } Packet Own; "Push 1 if there is a packet, else 0."
    PktAsk = 0xef1a "pkt.ask" [Port] { () -> (i) } Packet Own; "Ask what is before an input port for a packet and replace the exchange buffer by it; push 1, or 0 if there is none, which leaves the exchange buffer as it is. Ends references to entries of tables."
    PktSendBy = 0xef1b "pkt.sendby" [Port U32] { (i) -> () } Packet Own; "Pop a number n. If it is less than the second operand, send the packet to the output port n places after the first operand's; ends the handler. Else go on. All of these ports are outputs."
    PpCopy  = 0xef20 "ppcopy"   [] { (i i i) -> () } Packet Cp(Packet, Packet); "Pop length, destination, source; copy within the packet, overlap allowed."
    PiCopy  = 0xef21 "picopy"   [] { (i i i) -> () } Packet Cp(Packet, Info); "Pop length, destination, source; copy from the packet to info memory."
    NpCopy  = 0xef22 "npcopy"   [] { (i i i) -> () } Packet Cp(Info, Packet); "Pop length, destination, source; copy from info memory to the packet."
    SetHas  = 0xef30 "set.has"  [Set] { special } Any Own; "Pop a value of the set's width; push 1 if the set holds it, else 0."
    TFind   = 0xef90 "t.find"   [Table] { special } Any Own; "Pop a key; push the entry that it finds, or none. The entry is used now."
    TPeek   = 0xef91 "t.peek"   [Table] { special } Any Own; "As `t.find`, without using the entry."
    TInsert = 0xef92 "t.insert" [Table] { special } Any Own; "Pop a key; push the entry of that key, new and zero if there was none, or none if the table is full. Only of exact tables. Ends other references to entries of the table."
    TDelete = 0xef93 "t.delete" [Table] { special } Any Own; "Pop a key and take its entry out; push 1, or 0 if there was none. Only of exact tables. Ends references to entries of the table."
    TNone   = 0xef94 "t.none"   [Table] { special } Any Own; "Push no entry of the table."
    TValid  = 0xef95 "t.valid"  [Table] { special } Any Own; "Pop an entry; push 1, or 0 if it is none."
    TLoad   = 0xef96 "t.load"   [Table Width U32] { special } Any Own; "Pop an entry; push the value of that width (a multiple of 8) that begins at that byte of it, little-endian. Traps `no entry` on none."
    TStore  = 0xef97 "t.store"  [Table Width U32] { special } Any Own; "Pop an entry, then a value of that width (a multiple of 8), and store it at that byte of the entry. Traps `no entry` on none."
    TWalk   = 0xef98 "t.walk" [Table] { special } Any Own; "Begin a walk over the entries that are live now, in ascending order of their keys; push how many they are. Only of exact tables. Costs 1 for each."
    TNext   = 0xef99 "t.next" [Table] { special } Any Own; "Go on to the walk's next entry that is live; push 1, or 0 if there is none."
    TKey    = 0xef9a "t.key" [Table] { special } Any Own; "Push the key that the walk has come to, 0 if it has come to none."
    TDue    = 0xef9b "t.due" [Table Timer] { special } Packet Own; "Begin a walk over the entries that are live now and a nanosecond later not, as `t.walk`, of the 512 with the least keys. Costs 1 for each, and 1 for every 4 of all of them. The timer is the one that the program sets for this. Ends references to entries of the table."
    TDeadline = 0xef9c "t.deadline" [Table] { special } Packet Own; "Push the time at which the first of the entries that are live now ends, an i64; all ones if none does. Only of exact tables. Ends references to entries of the table."
    WPush   = 0xef40 "w.push"   [Width Const] { () -> (w) } Any Own; "Push a constant of that width."
    WZext   = 0xef41 "w.zext"   [Width Width] { (w) -> (v) } Any Own; "Extend from the first width to the second, larger one with zeros."
    WSext   = 0xef42 "w.sext"   [Width Width] { (w) -> (v) } Any Own; "Extend from the first width to the second, larger one with copies of the sign."
    WTrunc  = 0xef43 "w.trunc"  [Width Width] { (w) -> (v) } Any Own; "Cut from the first width to the second, smaller one."
    WSlice  = 0xef44 "w.slice"  [Width U32 U32] { special } Any Own; "Bits high..=low (second and third operand) as a value of high − low + 1 bits."
    WConcat = 0xef45 "w.concat" [Width Width] { special } Any Own; "Second ‖ top: second has the first width and becomes the high bits, top has the second width."
    WSelect = 0xef46 "w.select" [Width] { (i w w) -> (w) } Any Own; "Pop top, second and a condition; push second if the condition is not 0, else top."
    WAdd    = 0xef50 "w.add"    [Width] { (w w) -> (w) } Any WideBin(BinOp::Add); "Sum modulo 2^width."
    WSub    = 0xef51 "w.sub"    [Width] { (w w) -> (w) } Any WideBin(BinOp::Sub); "Second minus top, modulo 2^width."
    WMul    = 0xef52 "w.mul"    [Width] { (w w) -> (w) } Any WideBin(BinOp::Mul); "Product modulo 2^width."
    WDiv    = 0xef53 "w.div"    [Width] { (w w) -> (w) } Any WideBin(BinOp::Div); "Unsigned quotient; traps `division by zero`."
    WMod    = 0xef54 "w.mod"    [Width] { (w w) -> (w) } Any WideBin(BinOp::Mod); "Unsigned remainder; traps `division by zero`."
    WAnd    = 0xef55 "w.and"    [Width] { (w w) -> (w) } Any WideBin(BinOp::And); "Bitwise and."
    WOr     = 0xef56 "w.or"     [Width] { (w w) -> (w) } Any WideBin(BinOp::Or); "Bitwise or."
    WXor    = 0xef57 "w.xor"    [Width] { (w w) -> (w) } Any WideBin(BinOp::Xor); "Bitwise exclusive or."
    WShl    = 0xef58 "w.shl"    [Width] { (w i) -> (w) } Any WideBin(BinOp::Shl); "Shift left by a 32-bit amount; 0 from width on."
    WShr    = 0xef59 "w.shr"    [Width] { (w i) -> (w) } Any WideBin(BinOp::Shr); "Arithmetic shift right by a 32-bit amount."
    WUShr   = 0xef5a "w.ushr"   [Width] { (w i) -> (w) } Any WideBin(BinOp::UShr); "Logical shift right by a 32-bit amount; 0 from width on."
    WRol    = 0xef5b "w.rol"    [Width] { (w i) -> (w) } Any WideBin(BinOp::Rol); "Rotate left by a 32-bit amount modulo width."
    WRor    = 0xef5c "w.ror"    [Width] { (w i) -> (w) } Any WideBin(BinOp::Ror); "Rotate right by a 32-bit amount modulo width."
    WAddSat  = 0xef5d "w.addsat"   [Width] { (w w) -> (w) } Any WideBin(BinOp::AddSatU); "Unsigned sum, saturating."
    WAddSatS = 0xef5e "w.addsat.s" [Width] { (w w) -> (w) } Any WideBin(BinOp::AddSatS); "Signed sum, saturating."
    WSubSat  = 0xef5f "w.subsat"   [Width] { (w w) -> (w) } Any WideBin(BinOp::SubSatU); "Unsigned difference, saturating at 0."
    WSubSatS = 0xef60 "w.subsat.s" [Width] { (w w) -> (w) } Any WideBin(BinOp::SubSatS); "Signed difference, saturating."
    WNeg    = 0xef61 "w.neg"    [Width] { (w) -> (w) } Any WideUn(UnOp::Neg); "Two's complement."
    WNot    = 0xef62 "w.not"    [Width] { (w) -> (w) } Any WideUn(UnOp::Not); "Bitwise complement."
    WBswap  = 0xef63 "w.bswap"  [Width] { (w) -> (w) } Any WideUn(UnOp::Bswap); "Reverse the bytes; the width is a multiple of 8."
    WClz    = 0xef64 "w.clz"    [Width] { (w) -> (w) } Any WideUn(UnOp::Clz); "Number of zero bits above the highest one, as a value of the same width (modulo 2^width)."
    WEq     = 0xef70 "w.eq"     [Width] { (w w) -> (i) } Any WideCmp(CmpOp::Eq); "Push 1 if equal, else 0."
    WNe     = 0xef71 "w.ne"     [Width] { (w w) -> (i) } Any WideCmp(CmpOp::Ne); "Push 1 if not equal, else 0."
    WLt     = 0xef72 "w.lt"     [Width] { (w w) -> (i) } Any WideCmp(CmpOp::Lt); "Push 1 if second < top, unsigned, else 0."
    WLe     = 0xef73 "w.le"     [Width] { (w w) -> (i) } Any WideCmp(CmpOp::Le); "Push 1 if second ≤ top, unsigned, else 0."
    WGt     = 0xef74 "w.gt"     [Width] { (w w) -> (i) } Any WideCmp(CmpOp::Gt); "Push 1 if second > top, unsigned, else 0."
    WGe     = 0xef75 "w.ge"     [Width] { (w w) -> (i) } Any WideCmp(CmpOp::Ge); "Push 1 if second ≥ top, unsigned, else 0."
    WLts    = 0xef76 "w.lts"    [Width] { (w w) -> (i) } Any WideCmp(CmpOp::Lts); "Push 1 if second < top, signed, else 0."
    WLes    = 0xef77 "w.les"    [Width] { (w w) -> (i) } Any WideCmp(CmpOp::Les); "Push 1 if second ≤ top, signed, else 0."
    WGts    = 0xef78 "w.gts"    [Width] { (w w) -> (i) } Any WideCmp(CmpOp::Gts); "Push 1 if second > top, signed, else 0."
    WGes    = 0xef79 "w.ges"    [Width] { (w w) -> (i) } Any WideCmp(CmpOp::Ges); "Push 1 if second ≥ top, signed, else 0."
    WpLoad  = 0xef80 "w.pload"  [Width] { (i) -> (w) } Packet WideLoad(Packet); "Load a field of the packet; the width is a multiple of 8."
    WmLoad  = 0xef81 "w.mload"  [Width] { (i) -> (w) } Any WideLoad(Data); "Load a value of data memory; the width is a multiple of 8."
    WsLoad  = 0xef82 "w.sload"  [Width] { (i) -> (w) } Any WideLoad(Shared); "Load a value of shared memory; the width is a multiple of 8."
    WiLoad  = 0xef83 "w.iload"  [Width] { (i) -> (w) } Packet WideLoad(Info); "Load a value of info memory; the width is a multiple of 8."
    WcLoad  = 0xef84 "w.cload"  [Width] { (i) -> (w) } Any WideLoad(Initialised); "Load a constant of initialised data; the width is a multiple of 8."
    WpStore = 0xef88 "w.pstore" [Width] { (w i) -> () } Packet WideStore(Packet); "Pop an address, then a field, and store it into the packet; the width is a multiple of 8."
    WmStore = 0xef89 "w.mstore" [Width] { (w i) -> () } Any WideStore(Data); "Pop an address, then a value, and store it into data memory; the width is a multiple of 8."
    WsStore = 0xef8a "w.sstore" [Width] { (w i) -> () } Any WideStore(Shared); "Pop an address, then a value, and store it into shared memory; the width is a multiple of 8."
    WiStore = 0xef8b "w.istore" [Width] { (w i) -> () } Packet WideStore(Info); "Pop an address, then a value, and store it into info memory; the width is a multiple of 8."
}

impl Op {
    /// The instruction's row.
    pub fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// The instruction with that opcode.
    pub fn from_code(code: u16) -> Option<Self> {
        TABLE.iter().find(|row| row.code == code).map(|row| row.op)
    }

    /// The instruction with that name in source.
    pub fn from_mnemonic(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.mnemonic == name).map(|row| row.op)
    }

    /// True where the first immediate is a branch target.
    pub fn branches(self) -> bool {
        matches!(self.row().imms.first(), Some(Imm::Label | Imm::ShortLabel))
    }

    /// For `inc1` to `dec4`: the element, 1 being the top of the stack, and what is added to it
    /// modulo 2^32.
    pub fn step(self) -> Option<(usize, u32)> {
        Some(match self {
            Self::Inc1 => (1, 1),
            Self::Inc2 => (2, 1),
            Self::Inc3 => (3, 1),
            Self::Inc4 => (4, 1),
            Self::Dec1 => (1, u32::MAX),
            Self::Dec2 => (2, u32::MAX),
            Self::Dec3 => (3, u32::MAX),
            Self::Dec4 => (4, u32::MAX),
            _ => return None,
        })
    }

    /// True where control never passes to the next instruction.
    pub fn ends_block(self) -> bool {
        matches!(self, Self::Jump | Self::JumpW | Self::Switch | Self::Ret | Self::Exit | Self::PktSend | Self::PktDrop)
    }

    /// True for `call` and `call.w`.
    pub fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::CallW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn rows_are_in_order_and_unique() {
        let (mut codes, mut names) = (HashSet::new(), HashSet::new());
        for (i, row) in TABLE.iter().enumerate() {
            assert_eq!(row.op as usize, i);
            assert!(codes.insert(row.code), "opcode {:#x} twice", row.code);
            assert!(names.insert(row.mnemonic), "mnemonic {} twice", row.mnemonic);
            assert!(row.code < 0x100 && row.code != u16::from(EXTENSION) || row.code >> 8 == u16::from(EXTENSION));
        }
    }

    #[test]
    fn the_widths_of_an_effect_are_immediates() {
        for row in TABLE {
            let Effect::Fixed(pops, pushes) = row.effect else { continue };
            for slot in pops.iter().chain(pushes) {
                if let Slot::W(k) = slot {
                    assert_eq!(row.imms.get(*k), Some(&Imm::Width), "{}", row.mnemonic);
                }
            }
        }
    }
}
