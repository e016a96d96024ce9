//! IP and TCP options as text: `rr{1.0.0.1}+3;ssrr{1.0.0.1^2.0.0.2};ts{1,!45}+2++3;148=0:0`,
//! `mss1400;wscale10;sackok;sack95-98;ts1:2`.
//!
//! `.` is no options but no-operations and ends of list, `?` what is damaged.

mod timestamp;

use super::super::text;
use super::Field;
use std::net::Ipv4Addr;

/// The most bytes that options take.
const ROOM: usize = 40;
const RECORD_ROUTE: u8 = 7;
/// Options with source routes.
const ROUTES: [(&str, u8); 3] = [("rr", RECORD_ROUTE), ("lsrr", 131), ("ssrr", 137)];

/// Options one after the other: kind and data; `None` where they are damaged.
fn split(bytes: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let (mut options, mut at) = (Vec::new(), 0);
    while let Some(&kind) = bytes.get(at).filter(|kind| **kind != 0) {
        if kind == 1 {
            at += 1;
            continue;
        }
        let length = usize::from(*bytes.get(at + 1)?);
        if length < 2 {
            return None;
        }
        options.push((kind, bytes.get(at + 2..at + length)?));
        at += length;
    }
    Some(options)
}

fn joined(texts: Option<Vec<String>>) -> String {
    match texts {
        None => "?".to_owned(),
        Some(texts) if texts.is_empty() => ".".to_owned(),
        Some(texts) => texts.join(";"),
    }
}

fn other(kind: u8, data: &[u8]) -> String {
    let data: Vec<_> = data.iter().map(u8::to_string).collect();
    if data.is_empty() { kind.to_string() } else { format!("{kind}={}", data.join(":")) }
}

/// IP options as text.
pub(super) fn show_ip(bytes: &[u8]) -> String {
    let show = |(kind, data): (u8, &[u8])| match ROUTES.iter().find(|(_, known)| *known == kind) {
        Some((name, _)) => route(name, data),
        None if kind == timestamp::KIND => timestamp::show(data),
        None => Some(other(kind, data)),
    };
    joined(split(bytes).and_then(|options| options.into_iter().map(show).collect()))
}

/// A route: a pointer, then addresses.
fn route(name: &str, data: &[u8]) -> Option<String> {
    let (pointer, addresses) = data.split_first()?;
    let before = usize::from(pointer.checked_sub(4)?) / 4;
    let all: Vec<_> =
        addresses.chunks(4).map(|a| <[u8; 4]>::try_from(a).ok().map(|a| Ipv4Addr::from(a).to_string())).collect::<Option<_>>()?;
    if pointer % 4 != 0 || before > all.len() {
        return None;
    }
    let (past, next) = all.split_at(before);
    Some(match (name, next.len()) {
        ("rr", 0) => format!("rr{{{}}}", past.join(",")),
        ("rr", free) => format!("rr{{{}}}+{free}", past.join(",")),
        (_, 0) => format!("{name}{{{}}}", past.join(",")),
        _ => format!("{name}{{{}^{}}}", past.join(","), next.join(",")),
    })
}

/// IP options from text; `None` where it is none.
pub(super) fn read_ip(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for option in text.split(';').filter(|option| *option != "." && !option.is_empty()) {
        match (option, option.split_once('{')) {
            ("eol", _) => bytes.push(0),
            ("nop", _) => bytes.push(1),
            (_, Some((name, rest))) if name.starts_with("ts") => bytes.extend(timestamp::read(name, rest)?),
            (_, Some((name, rest))) => bytes.extend(read_route(name, rest)?),
            (_, None) => bytes.extend(read_other(option)?),
        }
    }
    (bytes.len() <= ROOM).then_some(bytes)
}

fn read_route(name: &str, rest: &str) -> Option<Vec<u8>> {
    let kind = ROUTES.iter().find(|(known, _)| *known == name)?.1;
    let (inside, behind) = rest.split_once('}')?;
    let free = if behind.is_empty() { 0 } else { behind.strip_prefix('+')?.parse::<usize>().ok().filter(|n| *n < ROOM)? };
    let (past, next) = inside.split_once('^').unwrap_or((inside, ""));
    let addresses = |text: &str| {
        text.split(',').filter(|a| !a.is_empty()).map(|a| a.parse::<Ipv4Addr>().ok().map(|a| a.octets())).collect::<Option<Vec<_>>>()
    };
    let (past, next) = (addresses(past)?, addresses(next)?);
    let pointer =
        if inside.contains('^') || free > 0 || kind == RECORD_ROUTE { past.len() * 4 + 4 } else { (past.len() + next.len()) * 4 + 4 };
    let data = [past, next, vec![[0; 4]; free]].concat().concat();
    Some([vec![kind, u8::try_from(data.len() + 3).ok()?, u8::try_from(pointer).ok()?], data].concat())
}

fn read_other(option: &str) -> Option<Vec<u8>> {
    let (kind, data) = option.split_once('=').unwrap_or((option, ""));
    let data: Vec<u8> = data
        .split(':')
        .filter(|part| !part.is_empty())
        .map(|part| text::integer(part).and_then(|n| u8::try_from(n).ok()))
        .collect::<Option<_>>()?;
    let kind = text::integer(kind).and_then(|n| u8::try_from(n).ok()).filter(|kind| *kind > 1)?;
    Some([vec![kind, u8::try_from(data.len() + 2).ok()?], data].concat())
}

/// TCP options as text; those that the field is about.
pub(super) fn show_tcp(bytes: &[u8], field: Field) -> String {
    let wanted = |kind: u8| match field {
        Field::Sack => kind == 4 || kind == 5,
        Field::TcpNoTime => kind != 8,
        _ => true,
    };
    let options = split(bytes).map(|options| options.into_iter().filter(|(kind, _)| wanted(*kind)).collect::<Vec<_>>());
    joined(options.map(|options| options.into_iter().flat_map(|(kind, data)| show_one(kind, data)).collect()))
}

fn show_one(kind: u8, data: &[u8]) -> Vec<String> {
    let word = |at: usize| data.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    match (kind, data.len()) {
        (2, 2) => vec![format!("mss{}", u16::from_be_bytes([data[0], data[1]]))],
        (3, 1) => vec![format!("wscale{}", data[0])],
        (4, 0) => vec!["sackok".to_owned()],
        (5, n) if n % 8 == 0 => (0..n / 8).map(|block| format!("sack{}-{}", word(block * 8), word(block * 8 + 4))).collect(),
        (8, 8) => vec![format!("ts{}:{}", word(0), word(4))],
        _ => vec![other(kind, data)],
    }
}

/// TCP options from text; blocks of selective acknowledgements in a row are one option.
pub(super) fn read_tcp(text: &str) -> Option<Vec<u8>> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut sack: Option<usize> = None;
    for option in text.split(';').filter(|option| *option != "." && !option.is_empty()) {
        let number = |name: &str| option.strip_prefix(name).and_then(text::integer);
        let pair = |name: &str| {
            let (a, b) = option.strip_prefix(name)?.split_once([':', '-'])?;
            let word = |text: &str| text::integer(text).and_then(|n| u32::try_from(n).ok()).map(u32::to_be_bytes);
            Some([word(a)?, word(b)?].concat())
        };
        if let Some(block) = pair("sack") {
            let at = *sack.get_or_insert_with(|| {
                bytes.extend([5, 2]);
                bytes.len() - 1
            });
            bytes[at] = bytes[at].checked_add(8)?;
            bytes.extend(block);
            continue;
        }
        sack = None;
        match option {
            "eol" => bytes.push(0),
            "nop" => bytes.push(1),
            "sackok" => bytes.extend([4, 2]),
            _ if pair("ts").is_some() => bytes.extend([vec![8, 10], pair("ts")?].concat()),
            _ if number("mss").is_some() => bytes.extend([vec![2, 4], u16::try_from(number("mss")?).ok()?.to_be_bytes().to_vec()].concat()),
            _ if number("wscale").is_some() => bytes.extend([3, 3, u8::try_from(number("wscale")?).ok()?]),
            other => bytes.extend(read_other(other)?),
        }
    }
    (bytes.len() <= ROOM).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_they_are_shown() {
        for text in [
            "rr{2.3.4.5}+3",
            "rr{}+1",
            "ssrr{128.4.45.60,128.4.49.61^1.1.1.1,2.2.2.2}",
            "lsrr{^1.0.0.1}",
            "ssrr{1.0.0.1}",
            "148=0:0;98",
            "ts{1,10000,!45}+2++3",
            "ts{}+4",
            "ts{7^}",
            "ts.ip{1.0.0.1=1,1.0.0.2=!2}+2",
            "ts.preip{1.0.0.1=1^1.0.0.2,1.0.0.3}",
            "ts.preip{^1.0.0.2}++15",
            "ts.preip{1.0.0.1=9^}",
            "ts.2{1.0.0.1=1^}",
            "ts.9{3}+1",
            ".",
        ] {
            assert_eq!(show_ip(&read_ip(text).unwrap()), text);
        }
        for (text, shown) in [
            ("ts{1.0.0.1=!8320,1.0.0.2=8321}++5", "ts.ip{1.0.0.1=!8320,1.0.0.2=8321^}++5"),
            ("ts.3{1.0.0.1=1,^1.0.0.3,1.0.0.4=?}+1", "ts.preip{1.0.0.1=1^1.0.0.3,1.0.0.4,0.0.0.0}"),
            ("ts{1.0.0.1=1^1.0.0.3}", "ts.preip{1.0.0.1=1^1.0.0.3}"),
            ("ts{1,10000,!45,^0,0}", "ts{1,10000,!45}+2"),
            ("ssrr{1.0.0.1,^1.0.0.2}", "ssrr{1.0.0.1^1.0.0.2}"),
        ] {
            assert_eq!(read_ip(text).map(|bytes| show_ip(&bytes)).as_deref(), Some(shown), "{text}");
        }
        for text in ["mss1400;wscale10;sackok;ts669063908:38382731", "sack1-10;sack1-30;sack30-32", "99=0:5:10", "."] {
            assert_eq!(show_tcp(&read_tcp(text).unwrap(), Field::TcpOptions), text);
        }
        assert_eq!(show_tcp(&read_tcp("mss1;sack1:18;ts1:2").unwrap(), Field::Sack), "sack1-18");
    }

    #[test]
    fn damaged_options_are_a_question_mark() {
        for bytes in [&[7, 1][..], &[7, 9, 4], &[7, 3, 3], &[7, 7, 20, 0, 0, 0, 0], &[7, 6, 4, 1, 2, 3]] {
            assert_eq!(show_ip(bytes), "?", "{bytes:?}");
        }
        assert_eq!(show_tcp(&[2], Field::TcpOptions), "?");
        for bytes in [&[68, 3, 5][..], &[68, 4, 4, 0], &[68, 4, 6, 0], &[68, 6, 5, 0, 1, 2], &[68, 8, 13, 0, 1, 2, 3, 4]] {
            assert_eq!(show_ip(bytes), "?", "{bytes:?}");
        }
        for text in ["ts{x}", "ts{1", "ts.16{}", "ts.ip{1.0.0.1}", "ts{1}+a", "ts{1}++16", "tsx{1}", "ts{1}+99"] {
            assert_eq!(read_ip(text), None, "{text}");
        }
        for text in ["rr{1.0.0}", "rr{1.0.0.1", "x", "999", "98=1:256", "rr{}+99"] {
            assert_eq!(read_ip(text), None, "{text}");
        }
        assert_eq!(read_tcp("mss70000"), None);
    }
}
