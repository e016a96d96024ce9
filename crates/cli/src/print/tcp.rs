//! TCP (RFC 9293): ports, flags, sequence numbers, window, options, length.

use super::flows::Shown;
use super::tcp_options;
use super::transport::Ip;
use super::view::{Cut, Printed, View};
use super::{Line, apps, checksum, names, put};
use netvm::netil::fields::{ip_protocol, tcp};

const MIN_HEADER: usize = tcp::HEADER.bytes() as usize;
pub(super) const FLAGS: &[(u16, &str)] =
    &[(0x01, "F"), (0x02, "S"), (0x04, "R"), (0x08, "P"), (0x10, "."), (0x20, "U"), (0x40, "E"), (0x80, "W")];
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;
const URG: u8 = 0x20;
/// FIN, SYN and RST: segments whose sequence number matters without data.
const CONTROL: u8 = 0x07;

/// A segment's fixed fields.
struct Segment {
    from: u16,
    to: u16,
    header: usize,
    flags: u8,
}

pub(super) fn print(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    line.protocol = "tcp";
    let Ok(ports) = view.u32(0) else {
        ip.addresses(line);
        while line.text.ends_with(' ') {
            line.text.pop();
        }
        return Err(Cut);
    };
    let (from, to) = ((ports >> 16) as u16, ports as u16);
    ip.ends(line, from, to);
    let header = usize::from(view.byte(tcp::DATA_OFFSET)? >> 4) * 4;
    if header < MIN_HEADER {
        let data = view.len().wrapping_sub(header) as u32;
        put!(line, " tcp {data} [bad hdr length {header} - too short, < {MIN_HEADER}]");
        return Ok(());
    }
    view.take(0, MIN_HEADER)?;
    let segment = Segment { from, to, header, flags: view.byte(tcp::FLAGS)? };
    match line.style.quiet {
        true => quiet(line, &segment, view),
        false => full(line, ip, &segment, view)?,
    }
    Ok(())
}

fn quiet(line: &mut Line<'_>, segment: &Segment, view: View<'_>) {
    put!(line, "tcp {}", view.len().wrapping_sub(segment.header) as u32);
    too_long(line, segment, view);
}

fn too_long(line: &mut Line<'_>, segment: &Segment, view: View<'_>) -> bool {
    let is = segment.header > view.len();
    if is {
        put!(line, " [bad hdr length {} - too long, > {}]", segment.header, view.len());
    }
    is
}

fn full(line: &mut Line<'_>, ip: &Ip, segment: &Segment, view: View<'_>) -> Printed {
    put!(line, "Flags [{}]", names::flags(FLAGS, segment.flags.into(), ""));
    let shown = numbers(line, ip, segment, view)?;
    if too_long(line, segment, view) {
        return Ok(());
    }
    if line.style.verbose > 0 && !ip.fragmented && !line.style.unchecked && view.is_whole() {
        sum(line, ip, view)?;
    }
    let data = view.len() - segment.header;
    if line.style.verbose > 1 || data > 0 || segment.flags & CONTROL != 0 {
        put!(line, ", seq {}", shown.seq);
        if data > 0 {
            put!(line, ":{}", shown.seq.wrapping_add(data as u32));
        }
    }
    if segment.flags & ACK != 0 {
        put!(line, ", ack {}", shown.ack);
    }
    put!(line, ", win {}", view.half(tcp::WINDOW)?);
    if segment.flags & URG != 0 {
        put!(line, ", urg {}", view.half(tcp::URGENT)?);
    }
    if segment.header > MIN_HEADER {
        let bad = tcp_options::print(line, view.first(segment.header).skip(MIN_HEADER), shown.sack_base, segment.flags)?;
        if bad {
            return Ok(());
        }
    }
    put!(line, ", length {data}");
    // With -v tcpdump shows why a connection was reset, not what the port announces.
    if data == 0 || segment.flags & RST != 0 && line.style.verbose > 0 {
        return Ok(());
    }
    apps::tcp(line, (segment.from, segment.to), view.skip(segment.header))
}

fn numbers(line: &mut Line<'_>, ip: &Ip, segment: &Segment, view: View<'_>) -> Result<Shown, Cut> {
    let (seq, ack) = (view.word(tcp::SEQ)?, view.word(tcp::ACK)?);
    if line.style.absolute || segment.flags & ACK == 0 {
        return Ok(Shown { seq, ack, sack_base: 0 });
    }
    let syn = segment.flags & SYN != 0;
    Ok(line.flows.show((ip.src, segment.from), (ip.dst, segment.to), syn, seq, ack))
}

fn sum(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    let found = view.half(tcp::CHECKSUM)?;
    put!(line, ", cksum 0x{found:04x}");
    match checksum::expected(found, view.captured(), checksum::pseudo(ip.src, ip.last, ip_protocol::TCP, view)) {
        Some(right) => put!(line, " (incorrect -> 0x{right:04x})"),
        None => line.put(" (correct)"),
    }
    Ok(())
}
