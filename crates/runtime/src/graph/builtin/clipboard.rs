//! Clipboard: bytes of one packet are put into others.

use super::super::{ElementError, Packet};
use super::{BuiltIn, BuiltInClass, Ctx, Facts};

/// Bytes that are kept at most, which is more than packets have.
const MOST: usize = 1 << 16;

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "Clipboard",
    ports: "2/2",
    processing: "a/a",
    flow: "#/#",
    facts: Facts::OTHER,
    manual: "Clipboard(OFFSET/LENGTH, ...) -- copies bytes of one packet into others\n\n\
             The bytes at each OFFSET of a packet at input 0 are kept, and put into the packets at input 1 that come behind it. A packet that ends before one of the places is dropped. A \
             packet at input 1 before there was one at input 0 stays as it is.",
    make: |setup| {
        let ranges: Vec<_> = setup.arguments.iter().map(|text| range(text)).collect::<Result<_, _>>()?;
        if ranges.is_empty() {
            return Err(ElementError::argument("OFFSET/LENGTH is missing"));
        }
        if ranges.iter().map(|(_, length)| length).sum::<usize>() > MOST {
            return Err(ElementError::argument(format!("there are more than {MOST} bytes to copy")));
        }
        Ok(Box::new(Clipboard { ranges, bytes: None }))
    },
};

fn range(text: &str) -> Result<(usize, usize), ElementError> {
    let number = |text: &str| text.trim().parse::<u16>().ok().map(usize::from);
    let both = text.split_once('/').and_then(|(offset, length)| Some((number(offset)?, number(length)?)));
    both.filter(|(_, length)| *length > 0)
        .ok_or_else(|| ElementError::argument(format!("expected OFFSET/LENGTH, numbers up to 65535, not '{text}'")))
}

struct Clipboard {
    /// Offset and length.
    ranges: Vec<(usize, usize)>,
    /// What is kept, in the order of the ranges.
    bytes: Option<Vec<u8>>,
}

impl Clipboard {
    /// The packet, unless it is dropped.
    fn pass(&mut self, port: u32, mut packet: Packet, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let end = self.ranges.iter().map(|(offset, length)| offset + length).max().unwrap_or(0);
        if packet.len() < end {
            ctx.drop_packet(&packet, "packet too short");
            return None;
        }
        match (port, &self.bytes) {
            (0, _) => {
                let bytes = packet.buffer.bytes();
                self.bytes = Some(self.ranges.iter().flat_map(|(at, length)| &bytes[*at..at + length]).copied().collect());
            }
            (_, None) => {}
            (_, Some(kept)) => {
                let (mut rest, bytes) = (kept.as_slice(), packet.buffer.bytes_mut());
                for (at, length) in &self.ranges {
                    let (part, others) = rest.split_at(*length);
                    bytes[*at..at + length].copy_from_slice(part);
                    rest = others;
                }
            }
        }
        Some(packet)
    }
}

impl BuiltIn for Clipboard {
    fn push(&mut self, port: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.pass(port, packet, ctx) {
            ctx.emit(port, packet);
        }
    }

    fn pull(&mut self, port: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let packet = ctx.pull(port)?;
        self.pass(port, packet, ctx)
    }
}
