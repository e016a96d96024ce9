//! Shapes of addresses and numbers: how many bytes at the start of a text have a given form.
//!
//! The scanner takes the longest of these, as libpcap's does; so `1.2.3.4.5.6` is a MAC address,
//! `1.2.3.4.5` a name, and `80-90` a name (a port range) rather than a subtraction. Each function
//! gives the longest match, 0 for none.

/// Longest text ever tried as an IPv6 address (8 groups of 4, separators, and room for an overlong
/// dotted tail).
const V6_LONGEST: usize = 64;

fn run(text: &[u8], test: impl Fn(&u8) -> bool) -> usize {
    text.iter().take_while(|&b| test(b)).count()
}

/// A name: letters and digits, with `-`, `_` and `.` inside and `.` at the end.
pub(crate) fn name(text: &[u8]) -> usize {
    if !text.first().is_some_and(u8::is_ascii_alphanumeric) {
        return 0;
    }
    let inside = run(text, |b| b.is_ascii_alphanumeric() || b"-_.".contains(b));
    let ends = |b: &u8| b.is_ascii_alphanumeric() || *b == b'.';
    text[..inside].iter().rposition(ends).map_or(1, |last| last + 1)
}

/// A number: decimal digits, or `0x` and hexadecimal digits.
pub(crate) fn number(text: &[u8]) -> usize {
    if matches!(text, [b'0', b'x' | b'X', d, ..] if d.is_ascii_hexdigit()) {
        return 2 + run(&text[2..], u8::is_ascii_hexdigit);
    }
    run(text, u8::is_ascii_digit)
}

/// Two to four numbers with dots between.
pub(crate) fn dotted(text: &[u8]) -> usize {
    let mut end = number(text);
    let mut parts = 1;
    while end > 0 && parts < 4 && text.get(end) == Some(&b'.') {
        let more = number(&text[end + 1..]);
        if more == 0 {
            break;
        }
        end += 1 + more;
        parts += 1;
    }
    if parts > 1 { end } else { 0 }
}

/// A MAC address: six bytes with `:`, `-` or `.` between, three groups of four digits with dots, or
/// twelve digits.
pub(crate) fn mac(text: &[u8]) -> usize {
    let separated = [b':', b'-', b'.'].map(|s| six_bytes(text, s));
    let best = separated.into_iter().max().unwrap_or(0);
    best.max(three_groups(text)).max(twelve_digits(text))
}

fn hex_byte(text: &[u8]) -> usize {
    run(text, u8::is_ascii_hexdigit).min(2)
}

fn six_bytes(text: &[u8], separator: u8) -> usize {
    let mut end = 0;
    for part in 0..6 {
        if part > 0 {
            if text.get(end) != Some(&separator) {
                return 0;
            }
            end += 1;
        }
        let digits = hex_byte(&text[end..]);
        if digits == 0 {
            return 0;
        }
        end += digits;
    }
    end
}

fn three_groups(text: &[u8]) -> usize {
    let group = |at: usize| text.get(at..at + 4).is_some_and(|g| g.iter().all(u8::is_ascii_hexdigit));
    let dots = text.get(4) == Some(&b'.') && text.get(9) == Some(&b'.');
    if dots && group(0) && group(5) && group(10) { 14 } else { 0 }
}

fn twelve_digits(text: &[u8]) -> usize {
    if run(text, u8::is_ascii_hexdigit) >= 12 { 12 } else { 0 }
}

/// The beginning of something like a MAC address that is none: at least two groups, each followed
/// by colons.
pub(crate) fn colon_groups(text: &[u8]) -> usize {
    let (mut end, mut groups) = (0, 0);
    loop {
        let digits = hex_byte(&text[end..]);
        let colons = run(&text[end + digits..], |&b| b == b':');
        if digits == 0 || colons == 0 {
            break;
        }
        end += digits + colons;
        groups += 1;
    }
    if groups > 1 { end } else { 0 }
}

/// Something of an IPv6 address's shape (which may still be no address: `::300.1.1.1`).
pub(crate) fn ipv6(text: &[u8]) -> usize {
    let belongs = |b: &u8| b.is_ascii_hexdigit() || b":.xX".contains(b);
    let longest = run(&text[..text.len().min(V6_LONGEST)], belongs);
    let Some(colon) = text[..longest].iter().position(|&b| b == b':') else { return 0 };
    if colon > 4 {
        return 0;
    }
    (2..=longest).rev().find(|&end| is_ipv6(&text[..end])).unwrap_or(0)
}

fn is_ipv6(text: &[u8]) -> bool {
    let Some(gap) = text.windows(2).position(|w| w == b"::") else {
        return matches!(groups(text), Some((8, false) | (6, true)));
    };
    let (left, right) = (side(&text[..gap]), side(&text[gap + 2..]));
    match (left, right) {
        (Some((l, false)), Some((r, false))) => l + r <= 7,
        (Some((l, false)), Some((r, true))) => l + r <= 5,
        _ => false,
    }
}

fn side(text: &[u8]) -> Option<(usize, bool)> {
    if text.is_empty() { Some((0, false)) } else { groups(text) }
}

/// Groups of up to four digits with colons between; how many, and whether a dotted quad follows
/// them.
fn groups(text: &[u8]) -> Option<(usize, bool)> {
    let mut count = 0;
    let mut parts = text.split(|&b| b == b':').peekable();
    while let Some(part) = parts.next() {
        let group = (1..=4).contains(&part.len()) && part.iter().all(u8::is_ascii_hexdigit);
        if group {
            count += 1;
        } else if parts.peek().is_none() && is_quad(part) {
            return Some((count, true));
        } else {
            return None;
        }
    }
    Some((count, false))
}

fn is_quad(text: &[u8]) -> bool {
    dotted(text) == text.len() && text.iter().filter(|&&b| b == b'.').count() == 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_form_is_taken() {
        assert_eq!(name(b"ftp-data "), 8);
        assert_eq!(name(b"foo-"), 3);
        assert_eq!(name(b"foo_ "), 3);
        assert_eq!(number(b"0x1fg"), 4);
        assert_eq!(number(b"0xg"), 1);
        assert_eq!(dotted(b"10.0.0.0/8"), 8);
        assert_eq!(dotted(b"10"), 0);
        assert_eq!(dotted(b"1.2.3.4.5"), 7);
        assert_eq!(mac(b"0:1:2:3:4:5 "), 11);
        assert_eq!(mac(b"0011.2233.4455"), 14);
        assert_eq!(mac(b"001122334455"), 12);
        assert_eq!(mac(b"0:1:2:3:4"), 0);
        assert_eq!(colon_groups(b"1:2:3"), 4);
        assert_eq!(colon_groups(b"2:2]"), 0);
    }

    #[test]
    fn ipv6_forms() {
        for (text, want) in [
            ("::", 2),
            ("::1", 3),
            ("2001:db8::/32", 10),
            ("1:2:3:4:5:6:7:8", 15),
            ("1:2:3:4:5:6:7", 0),
            ("::ffff:1.2.3.4", 14),
            ("1:2:3:4:5:6:7::", 15),
            ("2:2]", 0),
            ("fe80::1 and", 7),
            ("1:2:3:4:5:6:1.2.3.4", 19),
            ("1::2::3", 4),
        ] {
            assert_eq!(ipv6(text.as_bytes()), want, "{text}");
        }
    }
}
