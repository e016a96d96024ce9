//! The fuzz target of what prints packets as lines: no panic, bounded text, nothing but printable
//! ASCII, line ends and tabs.

use netvm_cli::print::{Dump, Packet, Printer, Style, Zone};
use runtime::io::{LinkType, Timestamp};

/// Link types that have printers.
const LINKS: [u32; 12] = [1, 1, 101, 101, 0, 108, 113, 276, 9, 50, 107, 104];
/// More text than any packet of so many bytes may give: a TLV of two bytes has a line, and packets
/// are within packets.
const TEXT_PER_BYTE: usize = 200;
/// A line's beginning.
const TEXT: usize = 4000;

/// The first byte chooses the link type, the second the style, the third how much of the packet was
/// not captured; the rest is the packet. It is printed twice, since a printer remembers
/// connections.
pub fn print_packet(bytes: &[u8]) {
    let [link, style, missing, packet @ ..] = bytes else { return };
    let dumps = [Dump::None, Dump::None, Dump::Hex { link: true }, Dump::Both { link: false }];
    let style = Style {
        verbose: style & 3,
        link: style & 4 != 0,
        quiet: style & 8 != 0,
        absolute: style & 16 != 0,
        dump: dumps[usize::from(style >> 5 & 3)],
        ..Style::default()
    };
    let link = LinkType::from_file(LINKS[usize::from(*link) % LINKS.len()]);
    let mut printer = Printer::new(style, Zone::utc());
    let wire_len = packet.len() as u32 + u32::from(*missing);
    for number in 1..=2 {
        let text = printer.print(&Packet { bytes: packet, wire_len, link, time: Timestamp::default(), number });
        assert!(text.ends_with('\n'), "{text}");
        assert!(text.len() <= TEXT + TEXT_PER_BYTE * packet.len(), "{} bytes of text for {} of packet", text.len(), packet.len());
        let printable = |byte: u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
        assert!(text.bytes().all(printable), "{text:?}");
    }
}
