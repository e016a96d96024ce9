//! Pragmatic General Multicast (RFC 3208): the IP protocol, and with `-T pgm` over UDP. With `-v`
//! what the message says and its options; with `-T pgm_zmtp1` the frames of ZMTP in its data.
//!
//! Four things are as in tcpdump, and not as in the RFC, so that lines are alike: the address
//! family of a NAK's group is looked for behind it, the length of options without a fixed length is
//! counted from behind their first two bytes, a list of NAKs does not count its own header, and
//! options of messages without a body are looked for in the header.

use super::transport::Ip;
use super::view::{Cut, Printed, View};
use super::{Carried, Line, ip6, put, zmtp};
use std::net::Ipv6Addr;

pub(super) const PROTOCOL: u8 = 113;
const HEADER: usize = 16;
/// A message has options.
const PRESENT: u8 = 1;
const LAST: u8 = 0x80;
const LEAST: usize = 4;

/// An option of one length: its type, what faults call it, its length, and what is printed before
/// each number that it has behind its first four bytes.
type Fixed = (u8, &'static str, usize, &'static [&'static str]);

#[rustfmt::skip]
const FIXED: &[Fixed] = &[
    (0x01, "FRAGMENT", 16, &[" FRAG seq ", " off ", " len "]),
    (0x03, "JOIN", 8, &[" JOIN "]),
    (0x04, "NAK_BO_IVL", 12, &[" BACKOFF ivl ", " ivlseq "]),
    (0x05, "NAK_BO_RNG", 12, &[" BACKOFF max ", " min "]),
    (0x08, "PARITY_PRM", 8, &[" PARITY MAXTGS "]),
    (0x09, "PARITY_GRP", 8, &[" PARITY GROUP "]),
    (0x0a, "CURR_TGSIZE", 8, &[" PARITY ATGS "]),
    (0x0b, "NBR_UNREACH", 4, &[" NBR_UNREACH"]),
    (0x0d, "SYN", 4, &[" SYN"]),
    (0x0e, "FIN", 4, &[" FIN"]),
    (0x0f, "RST", 4, &[" RST"]),
    (0x11, "CRQST", 4, &[" CRQST"]),
];

pub(super) fn print(line: &mut Line<'_>, ip: &Ip, native: bool, view: View<'_>) -> Printed {
    line.protocol = "pgm";
    let Ok(ports) = view.u32(0) else {
        ip.named_addresses(line);
        return Err(Cut);
    };
    let (from, to) = (ports >> 16, ports & 0xffff);
    match native {
        true => ip.named(line, &from.to_string(), &to.to_string()),
        false => put!(line, "{from} > {to}: "),
    }
    let header = view.take(0, HEADER)?;
    let length = view.u16(14)?;
    put!(line, "PGM, length {length}");
    if line.style.verbose == 0 {
        return Ok(());
    }
    line.put(" 0x");
    header[8..14].iter().for_each(|byte| put!(line, "{byte:02x}"));
    line.put(" ");
    let kind = view.u8(4)?;
    let mut rest = message(line, kind, view.skip(HEADER))?.map_or(view, |size| view.skip(HEADER + size));
    if view.u8(5)? & PRESENT != 0 {
        match options(line, rest)? {
            Some(size) => rest = rest.skip(size),
            None => return Ok(()),
        }
    }
    put!(line, " [{}]", view.len());
    match line.style.carried {
        Some(Carried::PgmZmtp1) if matches!(kind, 4 | 5) => zmtp::datagram(line, rest, length.into()),
        _ => Ok(()),
    }
}

/// Prints a message; how long it is. Behind those that have nothing but the header tcpdump looks
/// for options in the header.
fn message(line: &mut Line<'_>, kind: u8, view: View<'_>) -> Result<Option<usize>, Cut> {
    let size = match kind {
        0x00 => path(line, view)?,
        0x01 => poll(line, view)?,
        0x02 => {
            view.take(0, 8)?;
            put!(line, "POLR seq {} round {}", view.u32(0)?, view.u16(4)?);
            8
        }
        0x04 | 0x05 => {
            view.take(0, 8)?;
            put!(line, "{} trail {} seq {}", if kind == 4 { "ODATA" } else { "RDATA" }, view.u32(4)?, view.u32(0)?);
            8
        }
        0x08..=0x0a => missing(line, kind, view)?,
        0x0b => {
            view.take(0, 8)?;
            put!(line, "ACK seq {}", view.u32(0)?);
            8
        }
        0x0c => {
            line.put("SPMR");
            return Ok(None);
        }
        _ => {
            put!(line, "UNKNOWN type 0x{kind:02x}");
            return Ok(None);
        }
    };
    Ok(Some(size))
}

/// The address of that family, and its length.
fn address(view: View<'_>, family: u16, at: usize) -> Result<(String, usize), Cut> {
    match family {
        1 => Ok((view.v4(at)?.to_string(), 4)),
        2 => Ok((ip6::address(Ipv6Addr::from(view.array::<16>(at)?)), 16)),
        _ => Err(Cut),
    }
}

fn path(line: &mut Line<'_>, view: View<'_>) -> Result<usize, Cut> {
    view.take(0, 16)?;
    let (layer, size) = address(view, view.u16(12)?, 16)?;
    put!(line, "SPM seq {} trail {} lead {} nla {layer}", view.u32(0)?, view.u32(4)?, view.u32(8)?);
    Ok(16 + size)
}

fn poll(line: &mut Line<'_>, view: View<'_>) -> Result<usize, Cut> {
    view.take(0, 12)?;
    let (layer, size) = address(view, view.u16(8)?, 12)?;
    let at = 12 + size;
    let (interval, random, mask) = (view.u32(at)?, view.u32(at + 4)?, view.u32(at + 8)?);
    put!(line, "POLL seq {} round {} nla {layer} ivl {interval} rnd 0x{random:08x} mask 0x{mask:08x}", view.u32(0)?, view.u16(4)?);
    Ok(at + 12)
}

fn missing(line: &mut Line<'_>, kind: u8, view: View<'_>) -> Result<usize, Cut> {
    view.take(0, 8)?;
    let (source, size) = address(view, view.u16(4)?, 8)?;
    let at = 8 + size + 4;
    let (group, more) = address(view, view.u16(at)?, at)?;
    let name = ["NAK", "NNAK", "NCF"][usize::from(kind - 8)];
    put!(line, "{name} ({source} -> {group}), seq {}", view.u32(0)?);
    Ok(at + more)
}

/// What follows an option.
enum Next {
    /// Another one so many bytes on; of the length of all so many bytes are used up.
    More { step: usize, counted: usize },
    /// What is behind the options.
    Behind,
    /// Nothing that is printed.
    Nothing,
}

/// Prints options; how long they are, unless nothing more is to be printed.
fn options(line: &mut Line<'_>, view: View<'_>) -> Result<Option<usize>, Cut> {
    let first = view.take(0, LEAST)?;
    let (kind, length, all) = (first[0] & !LAST, first[1], usize::from(view.u16(2)?));
    match (kind, length) {
        (1.., _) => put!(line, "[First option bad, should be PGM_OPT_LENGTH, is {kind}]"),
        (_, 4) if all < 4 => put!(line, "[Bad total option length {all} < 4]"),
        (_, 4) => {
            put!(line, " OPTS LEN {all}");
            return rest_of_options(line, view, all - 4);
        }
        _ => put!(line, "[Bad OPT_LENGTH option, length {length} != 4]"),
    }
    Ok(None)
}

fn rest_of_options(line: &mut Line<'_>, view: View<'_>, mut left: usize) -> Result<Option<usize>, Cut> {
    let mut at = 4;
    while left > 0 {
        if left < LEAST {
            line.put("[Total option length leaves no room for final option]");
            return Ok(None);
        }
        let kind = view.u8(at)?;
        match option(line, view.skip(at), left)? {
            Next::More { step, counted } => (at, left) = (at + step, left - counted),
            Next::Behind => return Ok(Some(at + 2)),
            Next::Nothing => return Ok(None),
        }
        if kind & LAST != 0 {
            break;
        }
    }
    Ok(Some(at))
}

fn option(line: &mut Line<'_>, view: View<'_>, left: usize) -> Result<Next, Cut> {
    let (kind, length) = (view.u8(0)?, usize::from(view.u8(1)?));
    if length < LEAST {
        put!(line, "[Bad option, length {length} < {LEAST}]");
        return Ok(Next::Behind);
    }
    if left < length {
        line.put("[Total option length leaves no room for final option]");
        return Ok(Next::Nothing);
    }
    view.take(0, length)?;
    let number = kind & !LAST;
    match number {
        0x00 if length != 4 => put!(line, "[Bad OPT_LENGTH option, length {length} != 4]"),
        0x00 => {
            put!(line, " OPTS LEN (extra?) {}", view.u16(2)?);
            return Ok(Next::More { step: 4, counted: 4 });
        }
        0x02 => return list(line, view, length),
        0x07 => return with_address(line, view, length, &REDIRECT),
        0x12 => return with_address(line, view, length, &CONGESTION_DATA),
        0x13 => return with_address(line, view, length, &CONGESTION_FEEDBACK),
        _ => return other(line, view, kind, length),
    }
    Ok(Next::Nothing)
}

/// Options of one length, and those whose bytes are not looked at.
fn other(line: &mut Line<'_>, view: View<'_>, kind: u8, length: usize) -> Result<Next, Cut> {
    let number = kind & !LAST;
    if let Some((_, name, wanted, texts)) = FIXED.iter().find(|(known, ..)| *known == number) {
        if length != *wanted {
            put!(line, "[Bad OPT_{name} option, length {length} != {wanted}]");
            return Ok(Next::Nothing);
        }
        for (n, text) in texts.iter().enumerate() {
            line.put(text);
            if *wanted > 4 {
                put!(line, "{}", view.u32(4 + 4 * n)?);
            }
        }
        return Ok(Next::More { step: length, counted: length });
    }
    match number {
        0x0c => put!(line, " PATH_NLA [{length}]"),
        0x10 => line.put(" CR"),
        _ => put!(line, " OPT_{kind:02X} [{length}] "),
    }
    Ok(Next::More { step: 2 + length, counted: length })
}

/// Numbers of packets that are missing.
fn list(line: &mut Line<'_>, view: View<'_>, length: usize) -> Result<Next, Cut> {
    line.put(" NAK LIST");
    for at in (4..length).step_by(4) {
        if length - at < 4 {
            line.put("[Option length not a multiple of 4]");
            return Ok(Next::Nothing);
        }
        put!(line, " {}", view.u32(at)?);
    }
    Ok(Next::More { step: length, counted: length - 4 })
}

/// An option with an address: what faults call it where it is too short, and elsewhere; its length
/// without the address; what is printed; whether there is a number before the family.
struct WithAddress {
    short: &'static str,
    name: &'static str,
    fixed: usize,
    text: &'static str,
    numbered: bool,
}

const REDIRECT: WithAddress = WithAddress { short: "OPT_REDIRECT", name: "OPT_REDIRECT", fixed: 8, text: " REDIRECT ", numbered: false };
const CONGESTION_DATA: WithAddress =
    WithAddress { short: "OPT_PGMCC_DATA", name: "OPT_PGMCC_DATA", fixed: 12, text: " PGMCC DATA ", numbered: true };
const CONGESTION_FEEDBACK: WithAddress =
    WithAddress { short: "PGM_OPT_PGMCC_FEEDBACK", name: "OPT_PGMCC_FEEDBACK", fixed: 12, text: " PGMCC FEEDBACK ", numbered: true };

fn with_address(line: &mut Line<'_>, view: View<'_>, length: usize, option: &WithAddress) -> Result<Next, Cut> {
    let WithAddress { short, name, fixed, text, numbered } = option;
    if length < *fixed {
        put!(line, "[Bad {short} option, length {length} < {fixed}]");
        return Ok(Next::Nothing);
    }
    let family = view.u16(fixed - 4)?;
    let size = match family {
        1 => 4,
        2 => 16,
        _ => return Err(Cut),
    };
    if length != fixed + size {
        put!(line, "[Bad {name} option, length {length} != {fixed} + address size]");
        return Ok(Next::Nothing);
    }
    let (address, _) = address(view, family, *fixed)?;
    line.put(text);
    if *numbered {
        put!(line, "{} ", view.u32(4)?);
    }
    line.put(&address);
    Ok(Next::More { step: length, counted: length })
}
