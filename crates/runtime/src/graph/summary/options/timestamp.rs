//! The IP timestamp option as text: `ts{1,10000,!45}+2++3` has three times, of which one is not in
//! milliseconds since midnight, room for two more, and an overflow count of 3; `ts.ip{1.0.0.1=1}`
//! has addresses with the times, `ts.preip{1.0.0.1=1^1.0.0.2}` addresses that were given before.
//! Without a name, an address in the first place tells which of these it is. Of an address whose
//! time is still to come `=?` may stand behind.
//!
//! Source: RFC 791, 3.1; Click's manual of ToIPSummaryDump.

use std::net::Ipv4Addr;

pub(super) const KIND: u8 = 68;
/// Each time has an address with it.
const WITH: u8 = 1;
/// Each time has an address with it, and the addresses were given before.
const GIVEN: u8 = 3;
/// The bit that says that a time is not in milliseconds since midnight.
const OTHER: u32 = 1 << 31;
/// What stands before the times: kind, length, pointer, overflow count and flag.
const HEAD: usize = 4;

/// Bytes of a time, with its address if it has one.
fn slot(flag: u8) -> usize {
    if (WITH..=GIVEN).contains(&flag) { 8 } else { 4 }
}

/// The option's data, that is what is behind its kind and length; `None` where it is damaged.
pub(super) fn show(data: &[u8]) -> Option<String> {
    let (&[pointer, flags], slots) = data.split_first_chunk::<2>()?;
    let (flag, overflow) = (flags & 15, flags >> 4);
    let taken = usize::from(pointer).checked_sub(HEAD + 1)?;
    if taken % slot(flag) != 0 || slots.len() % slot(flag) != 0 || taken > slots.len() {
        return None;
    }
    let (past, next) = slots.split_at(taken);
    let past: Vec<_> = past.chunks(slot(flag)).map(|slot| shown(slot, true)).collect();
    let next: Vec<_> = next.chunks(slot(flag)).map(|slot| shown(slot, false)).collect();
    let mut text = format!("ts{}{{{}", name(flag), past.join(","));
    match (flag, next.len()) {
        (GIVEN, _) => text += &format!("^{}}}", next.join(",")),
        (_, 0) => text += "^}",
        (_, free) => text += &format!("}}+{free}"),
    }
    Some(if overflow > 0 { format!("{text}++{overflow}") } else { text })
}

fn name(flag: u8) -> String {
    match flag {
        0 => String::new(),
        WITH => ".ip".to_owned(),
        GIVEN => ".preip".to_owned(),
        other => format!(".{other}"),
    }
}

/// A time, behind its address if it has one; or only the address.
fn shown(slot: &[u8], has_time: bool) -> String {
    let words: Vec<u32> = slot.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
    let time = |word: u32| if word & OTHER != 0 { format!("!{}", word & !OTHER) } else { word.to_string() };
    match (words.as_slice(), has_time) {
        ([address, word], true) => format!("{}={}", Ipv4Addr::from(*address), time(*word)),
        ([address, _], false) => Ipv4Addr::from(*address).to_string(),
        _ => words.first().map_or_else(String::new, |word| time(*word)),
    }
}

/// The option from its name and what is behind the brace; `None` where it is none.
pub(super) fn read(name: &str, rest: &str) -> Option<Vec<u8>> {
    let (inside, behind) = rest.split_once('}')?;
    let (free, overflow) = numbers(behind)?;
    let (past, next) = inside.split_once('^').unwrap_or((inside, ""));
    let flag = match name.strip_prefix("ts")?.strip_prefix('.') {
        None if name == "ts" => flag_of(past, next),
        Some("ip") => WITH,
        Some("preip") => GIVEN,
        number => number?.parse::<u8>().ok().filter(|flag| *flag < 16)?,
    };
    let slots = |text: &str, has_time: bool| {
        let each = text.split(',').filter(|part| !part.is_empty());
        Some(each.map(|part| one(part, flag, has_time)).collect::<Option<Vec<_>>>()?.concat())
    };
    let (past, next) = (slots(past, true)?, slots(next, false)?);
    let length = HEAD + past.len() + next.len() + free * slot(flag);
    let mut bytes = vec![KIND, u8::try_from(length).ok()?, u8::try_from(HEAD + past.len() + 1).ok()?, overflow << 4 | flag];
    bytes.extend([past, next].concat());
    bytes.resize(length, 0);
    Some(bytes)
}

/// What times are that have no name: with addresses if there is one.
fn flag_of(past: &str, next: &str) -> u8 {
    match [past, next].map(|part| part.contains('.')) {
        [_, true] => GIVEN,
        [true, false] => WITH,
        [false, false] => 0,
    }
}

/// `+2++3`: how many are free, and the overflow count.
fn numbers(text: &str) -> Option<(usize, u8)> {
    let (free, overflow) = match text.split_once("++") {
        Some((free, overflow)) => (free, overflow.parse().ok().filter(|count| *count < 16)?),
        None => (text, 0),
    };
    let free = if free.is_empty() { 0 } else { free.strip_prefix('+')?.parse().ok().filter(|free| *free < super::ROOM)? };
    Some((free, overflow))
}

fn one(text: &str, flag: u8, has_time: bool) -> Option<Vec<u8>> {
    let (address, time) = match (slot(flag), has_time) {
        (8, true) => text.split_once('=').map(|(address, time)| (Some(address), time))?,
        (8, false) => match text.split_once('=') {
            None => (Some(text), "0"),
            Some((address, "?")) => (Some(address), "0"),
            Some((address, time)) => (Some(address), time),
        },
        _ => (None, text),
    };
    let (bit, digits) = time.strip_prefix('!').map_or((0, time), |digits| (OTHER, digits));
    let time = digits.parse::<u32>().ok().filter(|time| time & OTHER == 0)? | bit;
    let address = address.map(|text| text.parse::<Ipv4Addr>().map(|address| address.octets().to_vec())).transpose().ok()?;
    Some([address.unwrap_or_default(), time.to_be_bytes().to_vec()].concat())
}
