//! Elements of ASN.1 in the basic encoding (X.690), as SNMP uses them (RFC 2578): a tag, a length
//! and a value. Elements in pieces, whose length is not given, are left out.

use super::view::{Cut, View};
use super::{Line, put};

const CONSTRUCTED: u8 = 0x20;
const UNIVERSAL: &[&str] = &[
    "U-0",
    "Boolean",
    "Integer",
    "Bitstring",
    "String",
    "Null",
    "ObjID",
    "ObjectDes",
    "U-8",
    "U-9",
    "U-10",
    "U-11",
    "U-12",
    "U-13",
    "U-14",
    "U-15",
    "Sequence",
    "Set",
];
const APPLICATION: &[&str] = &["IpAddress", "Counter", "Gauge", "TimeTicks", "Opaque", "C-5", "Counter64"];
const CONTEXT: &[&str] = &["GetRequest", "GetNextRequest", "GetResponse", "SetRequest", "Trap", "GetBulk", "Inform", "V2Trap", "Report"];
const PRIVATE: &[&str] = &["P-0"];
const EXCEPTIONS: &[&str] = &["noSuchObject", "noSuchInstance", "endOfMibView"];

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Integer,
    String,
    Null,
    Object,
    Sequence,
    Address,
    Unsigned,
    Long,
    /// There is no value: an exception's number.
    Missing,
    /// A message, whose tag says which.
    Message,
    /// Bytes that have no meaning here.
    Bytes,
    /// Nothing that is printed.
    Other,
}

#[derive(Clone, Copy)]
pub(super) struct Element<'a> {
    pub kind: Kind,
    pub tag: u8,
    pub value: &'a [u8],
    /// Bytes with tag and length.
    pub size: usize,
}

/// Why a part cannot be read on.
pub(super) enum Stop {
    /// The captured bytes end.
    Cut,
    /// The line says why this part ends; what the part is in may say more.
    End,
}

impl From<Cut> for Stop {
    fn from(_: Cut) -> Self {
        Self::Cut
    }
}

/// Says why a part ends.
macro_rules! end {
    ($line:expr, $($arg:tt)*) => {{
        put!($line, $($arg)*);
        return Err(Stop::End);
    }};
}

impl<'a> Element<'a> {
    /// Reads the element at the beginning. Elements that have no meaning here are named on the
    /// line.
    pub(super) fn read(line: &mut Line<'_>, view: View<'a>) -> Result<Self, Stop> {
        if view.len() == 0 {
            end!(line, "[nothing to parse]");
        }
        let first = view.u8(0)?;
        let (tag, mut at) = tag(line, view, first)?;
        if view.len() <= at {
            end!(line, "[no asnlen]");
        }
        let short = view.u8(at)?;
        at += 1;
        let mut length = u32::from(short);
        if short & 0x80 != 0 {
            let bytes = usize::from(short & 0x7f);
            if view.len() - at < bytes {
                end!(line, "[asnlen? {}<{bytes}]", view.len() - at);
            }
            let digits = captured(line, view.skip(at), bytes)?;
            length = digits.iter().fold(0, |length, byte| length << 8 | u32::from(*byte));
            at += bytes;
        }
        let (there, length) = (view.len() - at, length as usize);
        if there < length {
            end!(line, "[len{there}<asnlen{length}]");
        }
        let (class, names) = class(first);
        let Some(name) = names.get(usize::from(tag)) else {
            end!(line, "[id?{}/{class}/{tag}]", if first & CONSTRUCTED != 0 { 'C' } else { 'P' });
        };
        let value = captured(line, view.skip(at), length)?;
        let kind = kind(first, tag);
        if kind == Kind::Bytes {
            unnamed(line, first, class, name);
        }
        if kind == Kind::Integer && value.is_empty() {
            end!(line, "[asnlen=0]");
        }
        Ok(Self { kind, tag, value, size: at + length })
    }

    /// The number of an integer; more than four bytes are the last four.
    pub(super) fn number(&self) -> i32 {
        let sign = if self.value.first().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
        self.value.iter().fold(sign, |number, byte| number << 8 | i32::from(*byte))
    }

    pub(super) fn print(&self, line: &mut Line<'_>) {
        match self.kind {
            Kind::Integer => put!(line, "{}", self.number()),
            Kind::String => self.text(line),
            Kind::Null => {}
            Kind::Object => object(line, self.value),
            Kind::Sequence => put!(line, "Seq({})", self.value.len()),
            Kind::Address => {
                line.put(if self.value.len() == 4 { "" } else { "[inetaddr len!=4]" });
                for (i, byte) in self.value.iter().enumerate() {
                    put!(line, "{}{byte}", if i == 0 { "" } else { "." });
                }
            }
            Kind::Unsigned => put!(line, "{}", self.long() as u32),
            Kind::Long => put!(line, "{}", self.long()),
            Kind::Missing => put!(line, "[{}]", EXCEPTIONS.get(usize::from(self.tag)).unwrap_or(&"")),
            Kind::Message => put!(line, "{}({})", CONTEXT.get(usize::from(self.tag)).unwrap_or(&""), self.value.len()),
            Kind::Bytes => self.bytes(line),
            Kind::Other => line.put("[BE_ANY!?]"),
        }
    }

    fn long(&self) -> u64 {
        self.value.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    pub(super) fn bytes(&self, line: &mut Line<'_>) {
        for byte in self.value {
            put!(line, "_{byte:02x}");
        }
    }

    /// Text in quotes if it is printable, else digits.
    pub(super) fn text(&self, line: &mut Line<'_>) {
        match std::str::from_utf8(self.value) {
            Ok(text) if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) => put!(line, "\"{text}\""),
            _ => {
                for (i, byte) in self.value.iter().enumerate() {
                    put!(line, "{}{byte:02x}", if i == 0 { "" } else { "_" });
                }
            }
        }
    }
}

/// The tag's number, and where the length begins.
fn tag(line: &mut Line<'_>, view: View<'_>, first: u8) -> Result<(u8, usize), Stop> {
    let short = first & 0x1f;
    if short != 0x1f {
        return Ok((short, 1));
    }
    let (mut number, mut at) = (0u8, 1);
    loop {
        let byte = view.u8(at)?;
        if view.len() <= at {
            end!(line, "[Xtagfield?]");
        }
        number = number << 7 | byte & 0x7f;
        at += 1;
        if byte & 0x80 == 0 {
            return Ok((number, at));
        }
    }
}

/// Bytes at the beginning. If they are not captured, the line says so, and what these bytes are in
/// may say more.
fn captured<'a>(line: &mut Line<'_>, view: View<'a>, n: usize) -> Result<&'a [u8], Stop> {
    view.take(0, n).map_err(|Cut| {
        line.cut();
        Stop::End
    })
}

fn class(first: u8) -> (&'static str, &'static [&'static str]) {
    match first >> 6 {
        0 => ("Universal", UNIVERSAL),
        1 => ("Application", APPLICATION),
        2 => ("Context", CONTEXT),
        _ => ("Private", PRIVATE),
    }
}

fn kind(first: u8, tag: u8) -> Kind {
    match (first & CONSTRUCTED != 0, first >> 6, tag) {
        (false, 0, 2) => Kind::Integer,
        (false, 0, 4) => Kind::String,
        (false, 0, 5) => Kind::Null,
        (false, 0, 6) => Kind::Object,
        (false, 1, 0) => Kind::Address,
        (false, 1, 1..=3) => Kind::Unsigned,
        (false, 1, 6) => Kind::Long,
        (false, 2, 0..=2) => Kind::Missing,
        (false, 2, _) => Kind::Other,
        (true, 0, 16) => Kind::Sequence,
        (true, 2, _) => Kind::Message,
        _ => Kind::Bytes,
    }
}

/// An element that has no meaning here: its form, class and tag.
fn unnamed(line: &mut Line<'_>, first: u8, class: &str, name: &str) {
    let short = match first >> 6 {
        0 => "U",
        1 if first & CONSTRUCTED == 0 => "A",
        _ => class,
    };
    match first & CONSTRUCTED {
        0 => put!(line, "[P/{short}/{name}]"),
        _ => put!(line, "C/{short}/{name}"),
    }
}

/// An object's numbers. The first two are one number in the packet.
fn object(line: &mut Line<'_>, value: &[u8]) {
    let (mut number, mut is_first) = (0u32, true);
    for byte in value {
        number = number << 7 | u32::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            continue;
        }
        if is_first {
            let root = (number / 40).min(2);
            put!(line, ".{root}");
            number -= root * 40;
            is_first = false;
        }
        put!(line, ".{number}");
        number = 0;
    }
}
