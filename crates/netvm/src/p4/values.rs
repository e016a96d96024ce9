//! Numbers, keys and calls as commands write them.

use super::BigInt;
use super::control::find;
use super::error::{SwitchError, invalid};
use p4::Sign;
use p4::entries::KeyMatch;
use p4::pipeline::{KeyMeta, Match, TableMeta};

/// The most digits of a number.
const MAX_DIGITS: usize = 4096;

/// A number of a fixed size: decimal or hexadecimal.
pub(super) fn number<T: TryFrom<u64>>(word: Option<&str>, what: &str) -> Result<T, SwitchError> {
    let word = word.ok_or_else(|| invalid(format!("{what} is missing")))?;
    let value = match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => word.parse(),
    };
    value.ok().and_then(|v| T::try_from(v).ok()).ok_or_else(|| invalid(format!("`{word}` is no {what}")))
}

/// A name without its quotes, `a$0` as `a[0]`.
pub(super) fn name(text: &str) -> String {
    let text = text.trim_matches('"');
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let digits = rest[at + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - at - 1);
        out.push_str(&rest[..at]);
        if digits > 0 {
            out.push_str(&format!("[{}]", &rest[at + 1..at + 1 + digits]));
        } else {
            out.push('$');
        }
        rest = &rest[at + 1 + digits..];
    }
    out + rest
}

/// The key of a table that a name means.
pub(super) fn key_of(meta: &TableMeta, key: &str) -> Result<usize, SwitchError> {
    let ends = |k: &str| k == key || k.strip_suffix(key).is_some_and(|rest| rest.ends_with('.'));
    let valid = |k: &str| k.strip_suffix(".$valid$").is_some_and(ends) || ends(k.trim_end_matches('$'));
    let mut found = meta.keys.iter().enumerate().filter(|(_, k)| k.name == key || valid(&k.name));
    if let (Some((at, _)), None) = (found.next(), found.next()) {
        return Ok(at);
    }
    find(&meta.keys, |k| &k.name, key, "key").map(|k| k.0)
}

/// An action or member with its arguments, which may have names.
pub(super) type Call = (String, Vec<(String, BigInt)>);

/// `ACTION(ARG:NUMBER, ...)`.
pub(super) fn action_of(text: &str) -> Result<Call, SwitchError> {
    let (action, args) = text.split_once('(').unwrap_or((text, ")"));
    let args = args.split(')').next().unwrap_or("");
    let mut out = Vec::new();
    for arg in args.split(',').map(str::trim).filter(|a| !a.is_empty()) {
        let (param, value) = match address(arg) {
            Some(_) => ("", arg),
            None => arg.split_once(':').unwrap_or(("", arg)),
        };
        out.push((param.trim().to_owned(), plain(value.trim())?));
    }
    Ok((name(action.trim()), out))
}

/// Arguments in a row.
pub(super) fn arguments<'a>(words: impl Iterator<Item = &'a str>) -> Result<Vec<(String, BigInt)>, SwitchError> {
    words.map(|w| plain(w).map(|value| (String::new(), value))).collect()
}

/// A number without wild digits.
fn plain(text: &str) -> Result<BigInt, SwitchError> {
    match wild(text)? {
        (value, None) => Ok(value),
        _ => Err(invalid(format!("`{text}` is no number"))),
    }
}

/// A hardware address, or one of IPv4 or IPv6.
fn address(text: &str) -> Option<BigInt> {
    if let Ok(address) = text.parse::<std::net::Ipv4Addr>() {
        return Some(BigInt::from(u32::from(address)));
    }
    let parts: Vec<&str> = text.split(':').collect();
    let two = |p: &&str| p.len() == 2 && p.chars().all(|c| c.is_ascii_hexdigit());
    if parts.len() == 6 && parts.iter().all(two) {
        let bytes: Vec<u8> = parts.iter().filter_map(|p| u8::from_str_radix(p, 16).ok()).collect();
        return Some(BigInt::from_bytes_be(Sign::Plus, &bytes));
    }
    text.parse::<std::net::Ipv6Addr>().ok().map(|a| BigInt::from_bytes_be(Sign::Plus, &a.octets()))
}

/// A number or address, and the mask of the digits that are written where some are `*`.
fn wild(text: &str) -> Result<(BigInt, Option<BigInt>), SwitchError> {
    if let Some(address) = address(text) {
        return Ok((address, None));
    }
    let (radix, bits, digits) = match text.get(..2) {
        Some("0x" | "0X") => (16, 4, &text[2..]),
        Some("0b" | "0B") => (2, 1, &text[2..]),
        _ => (10, 0, text),
    };
    let bad = || invalid(format!("`{text}` is no number"));
    if digits.len() > MAX_DIGITS {
        return Err(bad());
    }
    if !digits.contains('*') {
        return BigInt::parse_bytes(digits.as_bytes(), radix).map(|n| (n, None)).ok_or_else(bad);
    }
    if bits == 0 {
        return Err(bad());
    }
    let (mut value, mut mask) = (BigInt::from(0), BigInt::from(0));
    for c in digits.chars() {
        let (digit, known) = if c == '*' { (0, 0) } else { (c.to_digit(radix).ok_or_else(bad)?, (1 << bits) - 1) };
        value = (value << bits) + digit;
        mask = (mask << bits) + known;
    }
    Ok((value, Some(mask)))
}

fn fits(value: BigInt, key: &KeyMeta) -> Result<BigInt, SwitchError> {
    if value.sign() != Sign::Minus && value.bits() <= u64::from(key.width) {
        return Ok(value);
    }
    Err(invalid(format!("{value} does not fit the {} bits of `{}`", key.width, key.name)))
}

/// What a key matches, in any of the ways to write that.
pub(super) fn value_of(text: &str, key: &KeyMeta) -> Result<KeyMatch, SwitchError> {
    if let Some((value, mask)) = text.split_once("&&&") {
        return Ok(KeyMatch::Mask(fits(plain(value)?, key)?, fits(plain(mask)?, key)?));
    }
    if let Some((value, bits)) = text.split_once('/') {
        let bits = number(Some(bits), "prefix length")?;
        if bits > key.width {
            return Err(invalid(format!("`{}` has {} bits, and no prefix of {bits}", key.name, key.width)));
        }
        return Ok(KeyMatch::Prefix(fits(wild(value)?.0, key)?, bits));
    }
    if let Some((low, high)) = text.split_once("->") {
        return Ok(KeyMatch::Range(fits(plain(low)?, key)?, fits(plain(high)?, key)?));
    }
    let (value, mask) = wild(text)?;
    let value = fits(value, key)?;
    let width = key.width;
    Ok(match (key.kind, mask) {
        (Match::Exact | Match::Optional | Match::Selector, None) => KeyMatch::Value(value),
        (Match::Lpm, None) => KeyMatch::Prefix(value, width),
        (Match::Range, None) => KeyMatch::Range(value.clone(), value),
        (_, Some(mask)) => KeyMatch::Mask(value, mask),
        (Match::Ternary, None) => {
            // The mask is as wide as the digits that are written.
            let bits = match text.get(..2) {
                Some("0x" | "0X") => (text.len() as u32 - 2) * 4,
                Some("0b" | "0B") => text.len() as u32 - 2,
                _ => width,
            };
            let mask = (BigInt::from(1) << bits) - 1;
            KeyMatch::Mask(value, mask)
        }
    })
}

/// A member's part: a number, `NUMBER&&&MASK` or `LOW->HIGH`.
pub(super) fn part(text: &str) -> Result<KeyMatch, SwitchError> {
    if let Some((value, mask)) = text.split_once("&&&") {
        return Ok(KeyMatch::Mask(plain(value)?, plain(mask)?));
    }
    if let Some((low, high)) = text.split_once("->") {
        return Ok(KeyMatch::Range(plain(low)?, plain(high)?));
    }
    Ok(match wild(text)? {
        (value, Some(mask)) => KeyMatch::Mask(value, mask),
        (value, None) => KeyMatch::Value(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: Match, width: u32) -> KeyMeta {
        KeyMeta { name: "k".to_owned(), width, kind, shift: 0, mask: None }
    }

    #[test]
    fn addresses_are_numbers() {
        assert_eq!(value_of("10.0.1.0/24", &key(Match::Lpm, 32)), Ok(KeyMatch::Prefix(0x0a00_0100.into(), 24)));
        assert_eq!(value_of("08:00:00:00:01:11", &key(Match::Exact, 48)), Ok(KeyMatch::Value(0x0800_0000_0111u64.into())));
        assert_eq!(value_of("::1", &key(Match::Exact, 128)), Ok(KeyMatch::Value(1.into())));
        let call = ("a.b".to_owned(), vec![("mac".to_owned(), 0x0800_0000_0111u64.into()), ("port".to_owned(), 2.into())]);
        assert_eq!(action_of("a.b(mac:08:00:00:00:01:11, port:2)"), Ok(call));
        assert_eq!(action_of("a(08:00:00:00:01:11)"), Ok(("a".to_owned(), vec![(String::new(), 0x0800_0000_0111u64.into())])));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(value_of("256", &key(Match::Exact, 8)).is_err());
        assert!(value_of("1/9", &key(Match::Lpm, 8)).is_err());
        assert!(value_of("-1", &key(Match::Exact, 8)).is_err());
        assert!(value_of("", &key(Match::Exact, 8)).is_err());
        assert_eq!(value_of("255", &key(Match::Exact, 8)), Ok(KeyMatch::Value(255.into())));
    }
}
