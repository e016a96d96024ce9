//! Packets as hexadecimal digits and as text, sixteen bytes a line.

use std::fmt::Write as _;

const PER_LINE: usize = 16;

/// `-x`: offset and digits.
pub(super) fn hex(out: &mut String, bytes: &[u8]) {
    for (row, chunk) in bytes.chunks(PER_LINE).enumerate() {
        offset(out, row);
        digits(out, chunk);
    }
}

/// Bytes of a packet's part that has no meaning here: offset and digits, each line behind that.
pub(super) fn indented(out: &mut String, bytes: &[u8], before: &str) {
    for (row, chunk) in bytes.chunks(PER_LINE).enumerate() {
        let _ = write!(out, "{before}0x{:04x}: ", row * PER_LINE);
        digits(out, chunk);
    }
}

/// `-X`: offset, digits and text.
pub(super) fn hex_and_text(out: &mut String, bytes: &[u8]) {
    indented_text(out, bytes, "\n\t");
}

/// Offset, digits and text, each line behind what is given.
pub(super) fn indented_text(out: &mut String, bytes: &[u8], before: &str) {
    for (row, chunk) in bytes.chunks(PER_LINE).enumerate() {
        let _ = write!(out, "{before}0x{:04x}: ", row * PER_LINE);
        let start = out.len();
        digits(out, chunk);
        // Two bytes take five columns.
        let width = PER_LINE / 2 * 5;
        let pad = (start + width).saturating_sub(out.len()) + 2;
        out.extend(std::iter::repeat_n(' ', pad));
        out.extend(chunk.iter().map(|&b| if b.is_ascii_graphic() { char::from(b) } else { '.' }));
    }
}

/// `-A`: text, with the packet's own line ends and tabs; a carriage return is left out before a
/// line end and at the packet's end.
pub(super) fn text(out: &mut String, bytes: &[u8]) {
    out.push('\n');
    for (i, &b) in bytes.iter().enumerate() {
        match b {
            b'\r' if bytes.len() < i + 3 || bytes[i + 1] == b'\n' => {}
            b'\r' => out.push('.'),
            b'\n' | b'\t' | b' '..=b'~' => out.push(char::from(b)),
            _ => out.push('.'),
        }
    }
}

fn offset(out: &mut String, row: usize) {
    let _ = write!(out, "\n\t0x{:04x}: ", row * PER_LINE);
}

fn digits(out: &mut String, chunk: &[u8]) {
    for (i, b) in chunk.iter().enumerate() {
        let space = if i % 2 == 0 { " " } else { "" };
        let _ = write!(out, "{space}{b:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(dump: fn(&mut String, &[u8]), bytes: &[u8]) -> String {
        let mut out = String::new();
        dump(&mut out, bytes);
        out
    }

    #[test]
    fn text_stands_in_one_column_however_short_the_line() {
        let bytes: Vec<u8> = (b'a'..b'a' + 19).collect();
        let text = made(hex_and_text, &bytes);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines[0], "\t0x0000:  6162 6364 6566 6768 696a 6b6c 6d6e 6f70  abcdefghijklmnop");
        assert_eq!(lines[1], "\t0x0010:  7172 73                                  qrs");
    }

    #[test]
    fn hexadecimal_alone_ends_with_the_last_byte() {
        assert_eq!(made(hex, &[1, 2, 3]), "\n\t0x0000:  0102 03");
        assert_eq!(made(hex, &[]), "");
    }

    #[test]
    fn lines_of_text_end_where_the_packet_says() {
        assert_eq!(made(text, b"GET /\r\n\x01\t\rab\r"), "\nGET /\n.\t.ab");
    }
}
