//! The functions of netvm.h: names, types, meaning. A row here is all that a function needs whose
//! meaning is a few instructions; others have an arm in `lower::builtins`.

use super::types::{INT, Type, U16, U32, U64, U128};
use netil::table::Op;

/// What an argument must be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Takes {
    /// A value of that type.
    Value(Type),
    /// As the one before, any number of times up to this many altogether.
    More(usize),
    /// The name of a type.
    Type,
    Table,
    /// A name that STRINGS or REGEX has declared.
    Strings,
    Regex,
    /// The address of a key of the table before.
    Key,
    /// The address of a variable of that type, which is written to.
    KeyPlace,
    /// A u8 array of the element's own, which is written to.
    Array,
    /// A u8 array of the element's own, which is only read.
    Bytes,
    /// A string in quotes.
    Literal,
    /// A string parameter.
    Text,
    /// Values of one type, whatever it is.
    Any,
}

/// What a call is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Gives {
    Value(Type),
    /// A pointer to the type that is the first argument.
    View,
    /// A pointer to the value of the table, or 0.
    Entry,
}

/// How it is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Does {
    /// The arguments in order, then these instructions with their operand.
    Ops(&'static [(Op, u32)]),
    Own(Own),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    Header,
    HeaderArray,
    Clone,
    PacketCopy,
    PacketRead,
    PacketWrite,
    ChecksumUpdate,
    Hash,
    Equal,
    Find,
    Peek,
    Insert,
    Delete,
    Walk,
    Next,
    TimerSet,
    Ask,
    Search,
    SearchAt,
    SearchEnd,
    UnitLoad,
    UnitPut,
    UnitShow,
    UnitRun,
    UnitGet,
    TextIs,
    OutputIsPush,
    InputIsPush,
    Print,
    PrintText,
    PrintUint,
    PrintInt,
    PrintHex,
    PrintIp,
    PrintIp6,
    PrintMac,
    PrintBytes,
    PrintAscii,
    PrintTime,
}

/// A function of netvm.h.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) takes: &'static [Takes],
    pub(super) gives: Gives,
    pub(super) does: Does,
    /// It moves the packet's bytes, so that views of it end.
    pub(super) moves: bool,
}

const BOOL: Type = Type::Bool;
const BE16: Type = Type::Be(16);
const BE32: Type = Type::Be(32);
const BE64: Type = Type::Be(64);

macro_rules! takes {
    () => { &[] };
    ($($take:expr),+) => { &[$($take),+] };
}

macro_rules! rows {
    ($($name:ident ($($take:expr),*) $gives:expr, $does:expr $(, $moves:ident)?;)*) => {
        /// All of them.
        pub(super) static ROWS: &[Row] = &[$(Row {
            name: stringify!($name), takes: takes!($($take),*), gives: $gives, does: $does, moves: false $(|| stringify!($moves).len() == 5)?,
        }),*];
    };
}

use Does::{Ops, Own as O};
use Gives::{Entry, Value as G, View};
use Takes::{Any, Array, Bytes, Key, KeyPlace, Literal, More, Regex, Strings, Table, Text, Type as T, Value as V};

const VOID: Gives = G(Type::Void);

rows! {
    packet_length() G(U32), Ops(&[(Op::Pbl, 0)]);
    wire_length() G(U32), Ops(&[(Op::PblOrig, 0)]);
    set_wire_length(V(U32)) VOID, Ops(&[(Op::WireSet, 0)]);
    now() G(U64), Ops(&[(Op::TimeNs, 0)]);
    set_time(V(U64)) VOID, Ops(&[(Op::TimeSet, 0)]);
    random32() G(U32), Ops(&[(Op::Rnd, 0)]);
    header(T, V(U32)) View, O(Own::Header);
    header_array(T, V(U32), V(U32)) View, O(Own::HeaderArray);
    packet_pull(V(U32)) VOID, Ops(&[(Op::PktPull, 0)]), moves;
    packet_unpull(V(U32)) VOID, Ops(&[(Op::PktUnpull, 0)]), moves;
    packet_push(V(U32)) VOID, Ops(&[(Op::PktPush, 0)]), moves;
    packet_trim(V(U32)) VOID, Ops(&[(Op::PktTrim, 0)]), moves;
    packet_put(V(U32)) VOID, Ops(&[(Op::PktGrow, 0)]), moves;
    packet_create(V(U32)) VOID, Ops(&[(Op::ExbufCreate, 0)]), moves;
    packet_moved() G(INT), Ops(&[(Op::PktMoved, 0)]);
    packet_present() G(BOOL), Ops(&[(Op::PktPresent, 0)]);
    packet_hold(V(U32)) G(BOOL), Ops(&[(Op::PktHold, 0)]), moves;
    packet_take(V(U32)) G(BOOL), Ops(&[(Op::PktTake, 0)]), moves;
    packet_ask(V(INT)) G(BOOL), O(Own::Ask), moves;
    packet_copy(V(U32), V(U32), V(U32)) VOID, O(Own::PacketCopy);
    packet_read(Array, V(U32), V(U32)) VOID, O(Own::PacketRead);
    packet_write(V(U32), Bytes, V(U32)) VOID, O(Own::PacketWrite);
    clone(V(INT)) VOID, O(Own::Clone);
    checksum(V(U32), V(U32)) G(U16), Ops(&[(Op::ChksumCalc, 0)]);
    checksum_ok(V(U32), V(U32)) G(BOOL), Ops(&[(Op::ChksumCalc, 0), (Op::PushC0, 0), (Op::WEq, 32)]);
    checksum_update(V(U16), V(U16), V(U16)) G(U16), O(Own::ChecksumUpdate);
    crc32(V(U32), V(U32)) G(U32), Ops(&[(Op::CrcCalcPkt, 0)]);
    crc32c(V(U32), V(U32)) G(U32), Ops(&[(Op::CrcCalcPkt, 2)]);
    crc16(V(U32), V(U32)) G(U16), Ops(&[(Op::CrcCalcPkt, 1)]);
    hash32(V(U32), More(8)) G(U32), O(Own::Hash);
    ntohs(V(BE16)) G(U16), Ops(&[]);
    ntohl(V(BE32)) G(U32), Ops(&[]);
    ntohll(V(BE64)) G(U64), Ops(&[]);
    htons(V(U16)) G(BE16), Ops(&[]);
    htonl(V(U32)) G(BE32), Ops(&[]);
    htonll(V(U64)) G(BE64), Ops(&[]);
    ntoh128(V(Type::In6)) G(U128), Ops(&[]);
    hton128(V(U128)) G(Type::In6), Ops(&[]);
    equal(Any, Any) G(INT), O(Own::Equal);
    text_is(Text, Literal) G(INT), O(Own::TextIs);
    table_find(Table, Key) Entry, O(Own::Find);
    table_peek(Table, Key) Entry, O(Own::Peek);
    table_insert(Table, Key) Entry, O(Own::Insert);
    table_delete(Table, Key) G(BOOL), O(Own::Delete);
    table_walk(Table) G(U32), O(Own::Walk);
    table_next(Table, KeyPlace) G(BOOL), O(Own::Next);
    strings_find(Strings, V(U32), V(U32)) G(INT), O(Own::Search);
    regex_found(Regex, V(U32), V(U32)) G(BOOL), O(Own::Search);
    strings_at(Strings, V(U32), V(U32)) G(INT), O(Own::SearchAt);
    strings_end(Strings, V(U32), V(U32)) G(INT), O(Own::SearchEnd);
    regex_at(Regex, V(U32), V(U32)) G(INT), O(Own::SearchAt);
    regex_end(Regex, V(U32), V(U32)) G(INT), O(Own::SearchEnd);
    coprocessor_load(Literal, Literal) G(U32), O(Own::UnitLoad);
    coprocessor_put(Literal, V(U32), V(U32)) VOID, O(Own::UnitPut);
    coprocessor_show(Literal) VOID, O(Own::UnitShow);
    coprocessor_run(Literal, Literal) VOID, O(Own::UnitRun);
    coprocessor_get(Literal, V(U32)) G(U32), O(Own::UnitGet);
    timer_set(V(U32), V(U64)) VOID, O(Own::TimerSet);
    output_is_push(V(INT)) G(BOOL), O(Own::OutputIsPush);
    input_is_push(V(INT)) G(BOOL), O(Own::InputIsPush);
    print(Literal) VOID, O(Own::Print);
    print_text(Text) VOID, O(Own::PrintText);
    print_uint(V(U64)) VOID, O(Own::PrintUint);
    print_int(V(Type::Int { bits: 64, signed: true })) VOID, O(Own::PrintInt);
    print_hex(V(U64), V(INT)) VOID, O(Own::PrintHex);
    print_ip(V(BE32)) VOID, O(Own::PrintIp);
    print_ip6(V(Type::In6)) VOID, O(Own::PrintIp6);
    print_mac(V(Type::Mac)) VOID, O(Own::PrintMac);
    print_bytes(V(U32), V(U32)) VOID, O(Own::PrintBytes);
    print_ascii(V(U32), V(U32)) VOID, O(Own::PrintAscii);
    print_time(V(U64)) VOID, O(Own::PrintTime);
}

/// Words of netvm.h that are no functions but look like them.
pub(super) const FORMS: [&str; 3] = ["emit", "drop", "info"];

/// It is a function or looks like one.
pub(super) fn is_function(name: &str) -> bool {
    find(name).is_some() || FORMS.contains(&name)
}

/// The function with that name.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}
