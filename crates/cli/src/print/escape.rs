//! Bytes of packets as text that cannot harm a terminal: control characters as `^X`, bytes above
//! 127 as `M-` and what is left.

/// Appends bytes.
pub(super) fn text(out: &mut String, bytes: &[u8]) {
    for &byte in bytes {
        if byte >= 0x80 {
            out.push_str("M-");
        }
        match byte & 0x7f {
            b @ b' '..=b'~' => out.push(char::from(b)),
            b => {
                out.push('^');
                out.push(char::from(b ^ 0x40));
            }
        }
    }
}

/// Appends the bytes before the first that is zero.
pub(super) fn until_zero(out: &mut String, bytes: &[u8]) {
    text(out, bytes.split(|byte| *byte == 0).next().unwrap_or_default());
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_but_printable_ascii_is_left() {
        let mut out = String::new();
        super::text(&mut out, b"a\x1b\x7f\x80\xe9 ");
        assert_eq!(out, "a^[^?M-^@M-i ");
        let all: Vec<u8> = (0..=255).collect();
        super::text(&mut out, &all);
        assert!(out.bytes().all(|b| (b' '..=b'~').contains(&b)));
    }
}
