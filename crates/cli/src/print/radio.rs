//! Headers that radios put before 802.11 frames: radiotap, Prism, AVS, and the per-packet
//! information header (PPI).
//!
//! Source: radiotap.org; layout of the text as tcpdump's. A radiotap field of unknown size ends the
//! fields, with its number shown.

use super::view::{Cut, Printed, View};
use super::wlan_texts::RATES;
use super::{Line, link, put, wlan};
use netvm::io::LinkType;

/// Radiotap: a version, a length, words of bits for the fields that follow, the fields.
pub(super) fn radiotap(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "802.11_radio";
    line.header = view.captured().len();
    let length = usize::from(u16::from_le_bytes(view.array(2)?));
    if length < 8 || view.captured().len() < length {
        return Err(Cut);
    }
    let header = view.first(length);
    let mut words = vec![word(header, 4)?];
    while words.last().is_some_and(|word| word & EXTENDED != 0) {
        words.push(word(header, 4 + 4 * words.len())?);
    }
    let mut fields = Fields { header, at: 4 + 4 * words.len(), flags: 0 };
    let mut space = Space::Radiotap { first: 0 };
    for present in words {
        let Some(next) = fields.word(line, present, space) else { break };
        space = next;
    }
    line.header = length;
    let check = if fields.flags & CHECKED != 0 { 4 } else { 0 };
    wlan::print(line, view.skip(length), fields.flags & PADDED != 0, check)
}

const EXTENDED: u32 = 1 << 31;
const VENDOR: u32 = 1 << 30;
const NAMESPACE: u32 = 1 << 29;
const XCHANNEL: u32 = 1 << 18;
const MCS: u32 = 1 << 19;
/// Bits of the flags field.
const CHECKED: u8 = 0x10;
const PADDED: u8 = 0x20;

fn word(view: View<'_>, at: usize) -> Result<u32, Cut> {
    view.array(at).map(u32::from_le_bytes)
}

/// Whose fields the bits of a word stand for.
#[derive(Clone, Copy)]
enum Space {
    Radiotap {
        first: u32,
    },
    /// A vendor's fields, with their length.
    Vendor {
        length: usize,
    },
}

/// The fields of a radiotap header; each stands at a multiple of its size.
struct Fields<'v> {
    header: View<'v>,
    at: usize,
    flags: u8,
}

impl Fields<'_> {
    /// Prints the fields of a word; `None` where they cannot be followed further.
    fn word(&mut self, line: &mut Line<'_>, present: u32, space: Space) -> Option<Space> {
        let first = match space {
            Space::Vendor { length } => {
                self.at += length;
                if self.at > self.header.len() {
                    return None;
                }
                0
            }
            Space::Radiotap { first } => {
                for bit in (0..29).filter(|bit| present >> bit & 1 != 0) {
                    match self.field(line, first + bit, present) {
                        Ok(true) => {}
                        Ok(false) => return None,
                        Err(Cut) => {
                            line.cut();
                            return None;
                        }
                    }
                }
                first
            }
        };
        Some(match (present & (NAMESPACE | VENDOR), space) {
            (NAMESPACE, _) => Space::Radiotap { first: 0 },
            (VENDOR, _) => Space::Vendor { length: self.vendor(line) },
            (_, Space::Vendor { .. }) => Space::Vendor { length: 0 },
            (0, _) => Space::Radiotap { first: first.saturating_add(32) },
            _ => Space::Radiotap { first },
        })
    }

    /// The length of a vendor's fields.
    fn vendor(&mut self, line: &mut Line<'_>) -> usize {
        self.at = self.at.next_multiple_of(2);
        let length = self.take::<4>(1).and_then(|_| self.u16());
        length.map_or_else(
            |Cut| {
                line.cut();
                0
            },
            usize::from,
        )
    }

    fn take<const N: usize>(&mut self, align: usize) -> Result<[u8; N], Cut> {
        self.at = self.at.next_multiple_of(align);
        let bytes = self.header.array(self.at)?;
        self.at += N;
        Ok(bytes)
    }

    fn u8(&mut self) -> Result<u8, Cut> {
        self.take(1).map(u8::from_le_bytes)
    }

    fn i8(&mut self) -> Result<i8, Cut> {
        self.take(1).map(i8::from_le_bytes)
    }

    fn u16(&mut self) -> Result<u16, Cut> {
        self.take(2).map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Cut> {
        self.take(4).map(u32::from_le_bytes)
    }

    /// Prints one field; false if its size is not known.
    fn field(&mut self, line: &mut Line<'_>, number: u32, present: u32) -> Result<bool, Cut> {
        match number {
            0 => put!(line, "{}us tsft ", self.take(8).map(u64::from_le_bytes)?),
            1 => self.flags(line)?,
            2 => rate(line, self.u8()?),
            3 => {
                let (frequency, flags) = (self.u16()?, self.u16()?);
                if present & XCHANNEL == 0 {
                    channel(line, frequency, flags.into(), present);
                }
            }
            4 => put!(line, "fhset {} fhpat {} ", self.u8()?, self.u8()?),
            5 => put!(line, "{}dBm signal ", self.i8()?),
            6 => put!(line, "{}dBm noise ", self.i8()?),
            7 => put!(line, "{} sq ", self.u16()?),
            8 => put!(line, "{} tx power ", -i32::from(self.take(2).map(i16::from_le_bytes)?)),
            9 => put!(line, "{}dB tx attenuation ", -i32::from(self.i8()?)),
            10 => put!(line, "{}dBm tx power ", self.i8()?),
            11 => put!(line, "antenna {} ", self.u8()?),
            12 => put!(line, "{}dB signal ", self.u8()?),
            13 => put!(line, "{}dB noise ", self.u8()?),
            14 => drop(self.u16()?),
            18 => {
                let (flags, frequency) = (self.u32()?, self.u16()?);
                self.take::<2>(1)?;
                channel(line, frequency, flags, present);
            }
            19 => self.modulation(line)?,
            20 => {
                self.u32()?;
                self.take::<4>(2)?;
            }
            21 => self.very_high(line)?,
            number => {
                put!(line, "[bit {number}] ");
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn flags(&mut self, line: &mut Line<'_>) -> Printed {
        self.flags = self.u8()?;
        let known = [(0x01, "cfp "), (0x02, "short preamble "), (0x04, "wep "), (0x08, "fragmented "), (0x40, "bad-fcs ")];
        known.iter().filter(|flag| self.flags & flag.0 != 0).for_each(|flag| line.put(flag.1));
        Ok(())
    }

    /// The modulation and coding scheme of 802.11n.
    fn modulation(&mut self, line: &mut Line<'_>) -> Printed {
        let [known, flags, index] = self.take(1)?;
        let column = usize::from(flags & 3 == 1) * 2 + usize::from(flags & 4 != 0);
        let rate = RATES.get(usize::from(index)).map_or(0, |rates| rates[column]);
        if known & 0x02 != 0 {
            if rate != 0 && known & 0x05 != 0 {
                put!(line, "{}.{} Mb/s ", rate / 10, rate % 10);
            }
            put!(line, "MCS {index} ");
        }
        if known & 0x01 != 0 {
            put!(line, "{} ", BANDWIDTHS[usize::from(flags & 3)]);
        }
        if known & 0x04 != 0 {
            line.put(if flags & 0x04 != 0 { "short GI " } else { "long GI " });
        }
        if known & 0x08 != 0 {
            line.put(if flags & 0x08 != 0 { "greenfield " } else { "mixed " });
        }
        if known & 0x10 != 0 {
            line.put(if flags & 0x10 != 0 { "LDPC FEC " } else { "BCC FEC " });
        }
        if known & 0x20 != 0 {
            put!(line, "RX-STBC{} ", flags >> 5 & 3);
        }
        Ok(())
    }

    /// The modulation of 802.11ac, for up to four stations.
    fn very_high(&mut self, line: &mut Line<'_>) -> Printed {
        let known = self.u16()?;
        let [flags, bandwidth] = self.take(1)?;
        let users: [u8; 4] = self.take(1)?;
        let [coding, _] = self.take(1)?;
        self.u16()?;
        for (i, user) in users.into_iter().enumerate().filter(|(_, user)| user & 0xf != 0) {
            put!(line, "User {i} MCS {} {} FEC ", user >> 4, if coding >> i & 1 != 0 { "LDPC" } else { "BCC" });
        }
        if known & 0x40 != 0 {
            match BANDWIDTHS.get(usize::from(bandwidth & 0x1f)) {
                Some(name) => put!(line, "{name} "),
                None => put!(line, "unknown ({}) ", bandwidth & 0x1f),
            }
        }
        if known & 0x04 != 0 {
            line.put(if flags & 0x04 != 0 { "short GI " } else { "long GI " });
        }
        Ok(())
    }
}

/// The name of number 21 is what tcpdump prints; it is (LUU).
const BANDWIDTHS: [&str; 26] = [
    "20 MHz",
    "40 MHz",
    "20 MHz (L)",
    "20 MHz (U)",
    "80 MHz",
    "80 MHz (L)",
    "80 MHz (U)",
    "80 MHz (LL)",
    "80 MHz (LU)",
    "80 MHz (UL)",
    "80 MHz (UU)",
    "160 MHz",
    "160 MHz (L)",
    "160 MHz (U)",
    "160 MHz (LL)",
    "160 MHz (LU)",
    "160 MHz (UL)",
    "160 MHz (UU)",
    "160 MHz (LLL)",
    "160 MHz (LLU)",
    "160 MHz (LUL)",
    "160 MHz (UUU)",
    "160 MHz (ULL)",
    "160 MHz (ULU)",
    "160 MHz (UUL)",
    "160 MHz (UUU)",
];

fn rate(line: &mut Line<'_>, rate: u8) {
    match rate {
        0x80..=0x8f => put!(line, "MCS {} ", rate & 0x7f),
        _ => put!(line, "{}.{} Mb/s ", rate / 2, rate % 2 * 5),
    }
}

fn channel(line: &mut Line<'_>, frequency: u16, flags: u32, present: u32) {
    let all = |bits: u32| flags & bits == bits;
    let narrow = match flags {
        _ if flags & 0x4000 != 0 => "/10Mhz",
        _ if flags & 0x8000 != 0 => "/5Mhz",
        _ => "",
    };
    put!(line, "{frequency} MHz");
    if present & MCS != 0 {
        line.put(" 11n");
    } else {
        if all(0x0880) {
            line.put(" FHSS");
        }
        if all(0x0140) {
            put!(line, " 11a{narrow}");
        }
        if all(0x00c0) || all(0x0480) {
            put!(line, " 11g{narrow}");
        } else if all(0x00a0) {
            line.put(" 11b");
        }
        if all(0x0010) {
            line.put(" Turbo");
        }
    }
    match flags {
        _ if flags & 0x1_0000 != 0 => line.put(" ht/20"),
        _ if flags & 0x4_0000 != 0 => line.put(" ht/40-"),
        _ if flags & 0x2_0000 != 0 => line.put(" ht/40+"),
        _ => {}
    }
    line.put(" ");
}

/// AVS: a magic number, then the header's length.
pub(super) fn avs(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "802.11_radio_avs";
    behind(line, view, view.u32(4)? as usize, 8)
}

/// Prism's header, or AVS in its place.
pub(super) fn prism(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "prism";
    match view.u32(0)? {
        0x8021_1001 | 0x8021_1002 => avs(line, view),
        _ => behind(line, view, 144, 144),
    }
}

fn behind(line: &mut Line<'_>, view: View<'_>, length: usize, least: usize) -> Printed {
    line.header = view.captured().len();
    if length < least || view.captured().len() < length {
        return Err(Cut);
    }
    line.header = length;
    wlan::print(line, view.skip(length), false, 0)
}

/// PPI: version, flags, length, link type of what follows.
pub(super) fn ppi(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "ppi";
    line.header = view.captured().len();
    view.take(0, 8)?;
    let (length, number) = (usize::from(u16::from_le_bytes(view.array(2)?)), word(view, 4)?);
    if !(8..=65_532).contains(&length) {
        put!(line, " [length {length} < 8 or > 65532]");
        line.invalid();
        return Ok(());
    }
    if view.captured().len() < length {
        return Err(Cut);
    }
    let inner = u16::try_from(number).ok().map(|number| LinkType::from_file(number.into()));
    let title = |line: &mut Line<'_>| {
        let name = inner.and_then(LinkType::name).unwrap_or("UNKNOWN");
        if line.style.quiet {
            line.put(name);
        } else {
            put!(line, "V.{} DLT {name} ({number}) len {length}", view.captured().first().copied().unwrap_or(0));
        }
        put!(line, ", length {}: ", view.len());
    };
    if line.style.link {
        title(line);
    }
    line.header = 0;
    let rest = view.skip(length);
    match inner.filter(|inner| link::has_printer(*inner)) {
        Some(inner) => {
            let printed = line.nested(|line| link::print(line, inner, rest));
            line.header += length;
            printed
        }
        None => {
            if !line.style.link {
                title(line);
            }
            line.header = length;
            line.unknown(rest);
            Ok(())
        }
    }
}
