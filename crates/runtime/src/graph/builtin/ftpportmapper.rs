//! FTPPortMapper: the addresses in FTP's PORT commands, as a rewriter behind makes them.
//!
//! A client of FTP says in the text of its connection where the server is to connect to (RFC 959).
//! Behind address translation that has to be the translated address, and there has to be a mapping
//! for the connection. The command may become longer or shorter: TCPRewriter shifts sequence
//! numbers. What is done with rewriters is done by their handlers. Source: Click's manual of
//! FTPPortMapper, RFC 1624. Leaves out: EPRT (RFC 2428), and commands that are cut by the ends of
//! segments.

use super::super::{Args, HandlerError, Packet, text};
use super::facts::HEADERS;
use super::{BuiltIn, BuiltInClass, Ctx, Facts};
use std::net::Ipv4Addr;

/// The longest that an address in a command may be.
const LONGEST: usize = 30;
const IP: usize = 20;
const TCP: usize = 20;

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "FTPPortMapper",
    ports: "1/1",
    processing: "a/a",
    flow: "",
    facts: Facts { annotations: HEADERS, ..Facts::OTHER },
    manual: "FTPPortMapper(CONTROL_REWRITER, DATA_REWRITER, DATA_REWRITER_INPUT) -- puts translated addresses into FTP's PORT commands\n\nTCP packets come in, their IP header marked, which then go through \
             the TCPRewriter CONTROL_REWRITER. If it knows their connection, and a PORT command is in them, a mapping of the connection that the command asks for is made in \
             DATA_REWRITER, an IPRewriter or TCPRewriter, as if its first packet came in at DATA_REWRITER_INPUT; what it becomes is put into the command. Then the length of the packet changes: the TCPRewriter \
             shifts sequence numbers. Other packets leave unchanged.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["CONTROL_REWRITER", "DATA_REWRITER", "DATA_REWRITER_INPUT"], &[])?;
        args.required("DATA_REWRITER_INPUT")?;
        Ok(Box::new(FtpPortMapper {
            control: args.required("CONTROL_REWRITER")?,
            data: args.required("DATA_REWRITER")?,
            input: args.count("DATA_REWRITER_INPUT", 0, u32::from(u16::MAX))?,
        }))
    },
};

struct FtpPortMapper {
    control: String,
    data: String,
    input: u32,
}

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TransportAddress(Ipv4Addr, u16);

/// A segment with a command.
struct Command {
    /// Where headers begin, and the data.
    ip: usize,
    tcp: usize,
    data: usize,
    source: TransportAddress,
    destination: TransportAddress,
    sequence: u32,
    /// Where the address is in the packet.
    from: usize,
    to: usize,
    wanted: TransportAddress,
}

fn place(ip: &[u8], port: &[u8]) -> Option<TransportAddress> {
    Some(TransportAddress(Ipv4Addr::from(u32::from_be_bytes(ip.try_into().ok()?)), u16::from_be_bytes(port.try_into().ok()?)))
}

/// The command of a packet whose IP header is there.
fn command(bytes: &[u8], ip: usize) -> Option<Command> {
    let header = bytes.get(ip..).filter(|header| header.len() >= IP && header[9] == 6)?;
    let tcp = ip + usize::from(header[0] & 15) * 4;
    let segment = bytes.get(tcp..).filter(|segment| segment.len() >= TCP)?;
    let data = tcp + usize::from(segment[12] >> 4) * 4;
    let text = bytes.get(data..)?;
    let blanks = text
        .get(..5)
        .filter(|word| word.eq_ignore_ascii_case(b"PORT "))
        .map(|_| text[5..].iter().take_while(|byte| **byte == b' ').count())?;
    let from = data + 5 + blanks;
    let length = bytes.get(from..)?.iter().take(LONGEST).take_while(|byte| byte.is_ascii_digit() || **byte == b',').count();
    let to = from + length;
    let ends = matches!(bytes.get(to), Some(b'\r' | b'\n'));
    let wanted = address(std::str::from_utf8(&bytes[from..to]).ok()?).filter(|_| ends)?;
    let source = place(&header[12..16], &segment[..2])?;
    let destination = place(&header[16..20], &segment[2..4])?;
    let sequence = u32::from_be_bytes(segment[4..8].try_into().ok()?);
    Some(Command { ip, tcp, data, source, destination, sequence, from, to, wanted })
}

/// `h1,h2,h3,h4,p1,p2`
fn address(text: &str) -> Option<TransportAddress> {
    let numbers: Vec<u8> = text.split(',').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let &[a, b, c, d, high, low] = numbers.as_slice() else { return None };
    Some(TransportAddress(Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low])))
}

fn shown(TransportAddress(ip, port): TransportAddress) -> String {
    let ([a, b, c, d], [high, low]) = (ip.octets(), port.to_be_bytes());
    format!("{a},{b},{c},{d},{high},{low}")
}

/// As rewriters take an address and a port in one number.
fn number(TransportAddress(ip, port): TransportAddress) -> String {
    (u64::from(u32::from(ip)) << 16 | u64::from(port)).to_string()
}

/// The Internet's checksum of bytes and what was summed before.
fn checksum(bytes: &[u8], before: u32) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)));
    let mut sum = words.fold(u64::from(before), |sum, word| sum + u64::from(word));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

impl FtpPortMapper {
    /// What a flow becomes at a rewriter, if it knows it.
    fn looked_up(rewriter: &str, from: TransportAddress, to: TransportAddress, ctx: &mut Ctx<'_>) -> Option<TransportAddress> {
        let flow = format!("{} {} {} {}", from.0, from.1, to.0, to.1);
        let found = ctx.read_handler(&format!("{rewriter}.tcp_lookup"), &flow).ok()?;
        let words = text::words(&found);
        Some(TransportAddress(words.first()?.parse().ok()?, words.get(1)?.parse().ok()?))
    }

    fn name(rewriter: &str, from: TransportAddress, to: TransportAddress, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        ctx.write_handler(&format!("{rewriter}.map_source"), &number(from))?;
        ctx.write_handler(&format!("{rewriter}.map_destination"), &number(to))
    }

    /// Where the server is to connect to: the wanted place as it is behind the rewriter.
    fn mapped(&self, command: &Command, ctx: &mut Ctx<'_>) -> Result<Option<TransportAddress>, HandlerError> {
        if Self::looked_up(&self.control, command.source, command.destination, ctx).is_none() {
            return Ok(None);
        }
        let server = TransportAddress(command.destination.0, command.destination.1.wrapping_sub(1));
        Self::name(&self.data, command.wanted, server, ctx)?;
        ctx.write_handler(&format!("{}.map", self.data), &self.input.to_string())?;
        Ok(Self::looked_up(&self.data, command.wanted, server, ctx))
    }

    fn shift(&self, command: &Command, end: u32, by: i64, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        Self::name(&self.control, command.source, command.destination, ctx)?;
        ctx.write_handler(&format!("{}.shift_place", self.control), &end.to_string())?;
        ctx.write_handler(&format!("{}.shift", self.control), &by.to_string())
    }

    fn change(&self, packet: &mut Packet, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        let Some(ip) = packet.header(ctx.info(), "network_header", "has_network_header") else { return Ok(()) };
        let Some(command) = command(packet.buffer.bytes(), ip) else { return Ok(()) };
        let Some(place) = self.mapped(&command, ctx)? else { return Ok(()) };
        let end = command.sequence.wrapping_add((packet.len() - command.data) as u32);
        let text = shown(place);
        if !replace(packet, &command, text.as_bytes()) {
            return Ok(());
        }
        self.shift(&command, end, text.len() as i64 - (command.to - command.from) as i64, ctx)
    }
}

/// Puts another address into the command, and lengths and checksums right. False if the packet
/// cannot become so long.
fn replace(packet: &mut Packet, command: &Command, text: &[u8]) -> bool {
    let &Command { ip, tcp, from, to, .. } = command;
    let whole = [&packet.buffer.bytes()[..from], text, &packet.buffer.bytes()[to..]].concat();
    let before = packet.len();
    let fits = match whole.len().checked_sub(before) {
        Some(more) => packet.buffer.grow(more as u32).is_ok(),
        None => packet.buffer.trim((before - whole.len()) as u32).is_ok(),
    };
    let Some(total) = u16::try_from(whole.len() - ip).ok().filter(|_| fits) else { return false };
    let bytes = packet.buffer.bytes_mut();
    bytes.copy_from_slice(&whole);
    bytes[ip + 2..ip + 4].copy_from_slice(&total.to_be_bytes());
    bytes[ip + 10..ip + 12].fill(0);
    let sum = checksum(&bytes[ip..tcp], 0);
    bytes[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
    bytes[tcp + 16..tcp + 18].fill(0);
    let addresses = bytes[ip + 12..ip + 20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>();
    let sum = checksum(&bytes[tcp..], addresses + 6 + (bytes.len() - tcp) as u32);
    bytes[tcp + 16..tcp + 18].copy_from_slice(&sum.to_be_bytes());
    true
}

impl BuiltIn for FtpPortMapper {
    fn push(&mut self, _: u32, mut packet: Packet, ctx: &mut Ctx<'_>) {
        if let Err(error) = self.change(&mut packet, ctx) {
            ctx.tell(error.text());
        }
        ctx.emit(0, packet);
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let mut packet = ctx.pull(0)?;
        if let Err(error) = self.change(&mut packet, ctx) {
            ctx.tell(error.text());
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        assert_eq!(address("10,0,0,1,4,210"), Some(TransportAddress(Ipv4Addr::new(10, 0, 0, 1), 1234)));
        assert_eq!(shown(TransportAddress(Ipv4Addr::new(10, 0, 0, 1), 1234)), "10,0,0,1,4,210");
        assert!(["", "1,2,3,4,5", "1,2,3,4,5,6,7", "256,0,0,1,1,1", "1,2,3,4,5,"].iter().all(|text| address(text).is_none()));
    }

    #[test]
    fn damaged_packets_have_no_command() {
        let mut bytes = [0; 40];
        (bytes[0], bytes[9], bytes[32]) = (0x45, 6, 0x50);
        let with = |text: &[u8]| [&bytes[..], text].concat();
        assert_eq!(
            command(&with(b"port  1,2,3,4,5,6\r\n"), 0).map(|command| command.wanted),
            Some(TransportAddress(Ipv4Addr::new(1, 2, 3, 4), 0x506))
        );
        for text in [&b""[..], b"PORT ", b"PORT 1,2,3,4,5,6", b"PORT 1,2,3,4,5,6x", b"QUIT 1,2,3,4,5,6\n", b"PORT 1,2,3,4,5,666\n"] {
            assert!(command(&with(text), 0).is_none());
        }
        let whole = with(b"PORT 1,2,3,4,5,6\n");
        assert!((0..whole.len()).all(|length| command(&whole[..length], 0).is_none()));
        assert!(command(&whole, 100).is_none());
    }
}
