//! Names of types, subtypes and directions of 802.11 frames, as bits of the frame control field
//! (IEEE 802.11-2020, 9.2.4.1).

/// Bits of the first byte that are the type.
pub(super) const TYPE: u32 = 0x0c;
/// Bits of the first byte that are the subtype.
pub(super) const SUBTYPE: u32 = 0xf0;
/// Bits of the second byte that are the direction.
pub(super) const DIRECTION: u32 = 0x03;

pub(super) const TYPES: &[(&str, u32)] = &[("data", 0x08), ("mgt", 0x00), ("management", 0x00), ("ctl", 0x04), ("control", 0x04)];
pub(super) const DIRECTIONS: &[(&str, u32)] = &[("nods", 0), ("tods", 1), ("fromds", 2), ("dstods", 3)];

const MANAGEMENT: &[(&str, u32)] = &[
    ("assocreq", 0x00),
    ("assoc-req", 0x00),
    ("assocresp", 0x10),
    ("assoc-resp", 0x10),
    ("reassocreq", 0x20),
    ("reassoc-req", 0x20),
    ("reassocresp", 0x30),
    ("reassoc-resp", 0x30),
    ("probereq", 0x40),
    ("probe-req", 0x40),
    ("proberesp", 0x50),
    ("probe-resp", 0x50),
    ("beacon", 0x80),
    ("atim", 0x90),
    ("disassoc", 0xa0),
    ("disassociation", 0xa0),
    ("auth", 0xb0),
    ("authentication", 0xb0),
    ("deauth", 0xc0),
    ("deauthentication", 0xc0),
];

const CONTROL: &[(&str, u32)] =
    &[("bar", 0x80), ("ba", 0x90), ("ps-poll", 0xa0), ("rts", 0xb0), ("cts", 0xc0), ("ack", 0xd0), ("cf-end", 0xe0), ("cf-end-ack", 0xf0)];

const DATA: &[(&str, u32)] = &[
    ("data", 0x00),
    ("data-cf-ack", 0x10),
    ("data-cf-poll", 0x20),
    ("data-cf-ack-poll", 0x30),
    ("null", 0x40),
    ("cf-ack", 0x50),
    ("cf-poll", 0x60),
    ("cf-ack-poll", 0x70),
    ("qos-data", 0x80),
    ("qos-data-cf-ack", 0x90),
    ("qos-data-cf-poll", 0xa0),
    ("qos-data-cf-ack-poll", 0xb0),
    ("qos", 0xc0),
    ("qos-cf-poll", 0xe0),
    ("qos-cf-ack-poll", 0xf0),
];

/// The subtypes of a type.
pub(super) fn subtypes(kind: u32) -> &'static [(&'static str, u32)] {
    match kind {
        0x00 => MANAGEMENT,
        0x04 => CONTROL,
        0x08 => DATA,
        _ => &[],
    }
}

/// Type and subtype of the first subtype of that name.
pub(super) fn subtype(name: &str) -> Option<u32> {
    [0x00, 0x04, 0x08].into_iter().find_map(|kind| {
        let found = subtypes(kind).iter().find(|(known, _)| *known == name)?;
        Some(kind | found.1)
    })
}
