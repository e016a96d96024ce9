//! Control protocols of PPP (RFC 1661, section 5): requests and answers with their options, for the
//! link, IPv4 (RFC 1332), IPv6 (RFC 5072), compression (RFC 1962) and bandwidth (RFC 2125); names
//! and passwords of PAP (RFC 1334) and CHAP (RFC 1994). Multilink bodies are left out.

use super::view::{Cut, Printed, View};
use super::{Line, escape, hex, names, put};

#[rustfmt::skip]
const CODES: &[(u8, &str)] = &[
    (0, "Vendor-Extension"), (1, "Conf-Request"), (2, "Conf-Ack"), (3, "Conf-Nack"), (4, "Conf-Reject"), (5, "Term-Request"),
    (6, "Term-Ack"), (7, "Code-Reject"), (8, "Prot-Reject"), (9, "Echo-Request"), (10, "Echo-Reply"),
    (11, "Disc-Req"), (12, "Ident"), (13, "Time-Rem"), (14, "Reset-Req"), (15, "Reset-Ack"),
];
const LCP: u16 = 0xc021;
const IPCP: u16 = 0x8021;
const IP6CP: u16 = 0x8057;
const CCP: u16 = 0x80fd;
const BACP: u16 = 0xc02b;
const PAP: u16 = 0xc023;
const CHAP: u16 = 0xc223;
const HEADER: usize = 4;

/// Prints a message that begins behind the protocol's number, which is the frame's first two bytes.
pub(super) fn print(line: &mut Line<'_>, protocol: u16, name: &str, frame: View<'_>) -> Printed {
    let view = frame.skip(2);
    put!(line, "{name}, ");
    if view.len() < HEADER || view.take(0, 2).is_err() {
        put!(line, "[|{name}]");
        return Ok(());
    }
    let code = view.u8(0)?;
    let what = names::find(CODES, code).unwrap_or("Unknown Opcode");
    put!(line, "{what} (0x{code:02x}), id {}, length {}", view.u8(1)?, view.len() + 2);
    if line.style.verbose == 0 {
        return Ok(());
    }
    let len = usize::from(view.u16(2)?);
    put!(line, "\n\tencoded length {len}");
    match len {
        0..HEADER => line.put(" (< 4))"),
        _ if len > view.len() => put!(line, " (> packet length {}))", view.len()),
        _ => put!(line, " (=Option(s) length {})", len - HEADER),
    }
    if len <= HEADER || len > view.len() {
        return Ok(());
    }
    if line.style.verbose > 1 {
        hex::indented(&mut line.text, frame.first(6).captured(), "\n\t");
    }
    let body = view.first(len).skip(HEADER);
    if !body_of(line, protocol, code, body)? && line.style.verbose == 1 {
        hex::indented(&mut line.text, frame.first(len + 2).captured(), "\n\t  ");
    }
    Ok(())
}

/// False: the code has no meaning here.
fn body_of(line: &mut Line<'_>, protocol: u16, code: u8, body: View<'_>) -> Result<bool, Cut> {
    match code {
        0 if body.len() >= 7 => {
            put!(line, "\n\t  Magic-Num 0x{:08x}", body.u32(0)?);
            let vendor = body.u24(4)?;
            put!(line, " Vendor: {} ({vendor})", names::organization(vendor));
        }
        1..=4 => options(line, protocol, body)?,
        8 if body.len() >= 2 => rejected(line, body)?,
        9..=11 if body.len() >= 4 => {
            put!(line, "\n\t  Magic-Num 0x{:08x}", body.u32(0)?);
            if body.len() > 4 {
                line.put("\n\t  -----trailing data-----");
                hex::indented(&mut line.text, body.take(4, body.len() - 4)?, "\n\t  ");
            }
        }
        12 if body.len() >= 4 => {
            put!(line, "\n\t  Magic-Num 0x{:08x}", body.u32(0)?);
            if body.len() > 4 {
                line.put("\n\t  Message\n\t    ");
                characters(line, body.skip(4))?;
            }
        }
        13 if body.len() >= 8 => {
            put!(line, "\n\t  Magic-Num 0x{:08x}", body.u32(0)?);
            put!(line, ", Seconds-Remaining {}s", body.u32(4)?);
        }
        0..=13 => {}
        _ => return Ok(false),
    }
    Ok(true)
}

fn rejected(line: &mut Line<'_>, body: View<'_>) -> Printed {
    let protocol = body.u16(0)?;
    let name = names::find(super::ppp::PROTOCOLS, protocol).unwrap_or("unknown");
    put!(line, "\n\t  Rejected {name} Protocol (0x{protocol:04x})");
    if body.len() > 2 {
        line.put("\n\t  Rejected Packet");
        hex::indented(&mut line.text, body.skip(2).captured(), "\n\t    ");
    }
    Ok(())
}

/// Prints characters as far as they are captured.
fn characters(line: &mut Line<'_>, view: View<'_>) -> Printed {
    escape::text(&mut line.text, view.captured());
    view.take(0, view.len()).map(drop)
}

fn options(line: &mut Line<'_>, protocol: u16, body: View<'_>) -> Printed {
    let total = body.len() + HEADER;
    let mut rest = body;
    while rest.len() > 0 {
        let Some((short, table)) = kinds(protocol) else { return Ok(()) };
        if rest.take(0, rest.len().min(2)).is_err() {
            put!(line, "[|{short}]");
            return Ok(());
        }
        // tcpdump reads an option's length behind the message's last byte; what is there is not
        // this message's.
        let Ok(len) = rest.u8(1) else { return Ok(()) };
        let (kind, len) = (rest.u8(0)?, usize::from(len));
        if len > total {
            return Ok(());
        }
        head(line, protocol, table, kind, len);
        if len < 2 {
            return Ok(());
        }
        let known = protocol != LCP || usize::from(kind) < LINK.len();
        if known && !option(line, protocol, kind, rest, len)? {
            return Ok(());
        }
        if len > rest.len() {
            put!(line, " [remaining options length {} < {len}]", rest.len());
            line.invalid();
            return Ok(());
        }
        rest = rest.skip(len);
    }
    Ok(())
}

type Names = &'static [(u8, &'static str)];

fn kinds(protocol: u16) -> Option<(&'static str, Names)> {
    Some(match protocol {
        LCP => ("lcp", &[]),
        IPCP => ("ipcp", INTERNET),
        IP6CP => ("ip6cp", &[(1, "Interface-ID")]),
        CCP => ("ccp", COMPRESSION),
        BACP => ("bacp", &[(1, "Favored-Peer")]),
        _ => return None,
    })
}

fn head(line: &mut Line<'_>, protocol: u16, table: Names, kind: u8, len: usize) {
    let name = match protocol {
        LCP => match LINK.get(usize::from(kind)) {
            Some(name) => name,
            None => return put!(line, "\n\tunknown LCP option 0x{kind:02x}"),
        },
        CCP | BACP => names::find(table, kind).unwrap_or("Unknown"),
        _ => names::find(table, kind).unwrap_or("unknown"),
    };
    let bogus = if len < 2 { " (length bogus, should be >= 2)" } else { "" };
    put!(line, "\n\t  {name} Option (0x{kind:02x}), length {len}{bogus}");
}

#[rustfmt::skip]
const LINK: &[&str] = &[
    "Vend-Ext", "MRU", "ACCM", "Auth-Prot", "Qual-Prot", "Magic-Num", "deprecated(6)", "PFC", "ACFC", "FCS-Alt", "SDP", "Num-Mode",
    "deprecated(12)", "Call-Back", "deprecated(14)", "deprecated(15)", "deprecated(16)", "MRRU", "12-Bit seq #", "End-Disc",
    "Proprietary", "DCE-Id", "MP+", "Link-Disc", "LCP-Auth-Opt", "COBS", "Prefix-elision", "Multilink-header-Form", "I18N",
    "SDL-over-SONET/SDH", "PPP-Muxing",
];
#[rustfmt::skip]
const INTERNET: Names = &[
    (1, "IP-Addrs"), (2, "IP-Comp"), (3, "IP-Addr"), (4, "Home-Addr"), (129, "Pri-DNS"), (130, "Pri-NBNS"), (131, "Sec-DNS"), (132, "Sec-NBNS"),
];
#[rustfmt::skip]
const COMPRESSION: Names = &[
    (0, "OUI"), (1, "Pred-1"), (2, "Pred-2"), (3, "Puddle"), (16, "HP-PPC"), (17, "Stac-LZS"), (18, "MPPC"), (19, "Gand-FZA"),
    (20, "V.42bis"), (21, "BSD-Comp"), (23, "LZS-DCP"), (24, "MVRCA"), (25, "DEC"), (26, "Deflate"), (255, "Reserved"),
];

/// What a length must be, and whether options follow one that is another.
enum Length {
    Is(usize, bool),
    Least(usize, bool),
}

/// Prints an option's value; false if it ends the list.
fn option(line: &mut Line<'_>, protocol: u16, kind: u8, option: View<'_>, len: usize) -> Result<bool, Cut> {
    let (bogus, goes_on) = match length_of(protocol, kind) {
        Length::Is(right, goes_on) => ((len != right).then(|| format!("= {right}")), goes_on),
        Length::Least(right, goes_on) => ((len < right).then(|| format!(">= {right}")), goes_on),
    };
    if let Some(bogus) = bogus {
        put!(line, " (length bogus, should be {bogus})");
        return Ok(goes_on);
    }
    let value = option.claiming(len).skip(2);
    let shown = match protocol {
        LCP => link(line, kind, value)?,
        IPCP => match internet(line, kind, value) {
            Ok(shown) => shown,
            Err(Stop::Cut) => return Err(Cut),
            Err(Stop::End) => return Ok(false),
        },
        IP6CP if kind == 1 => {
            let parts: Vec<String> = value.take(0, 8)?.chunks(2).map(|pair| format!("{:02x}{:02x}", pair[0], pair[1])).collect();
            put!(line, ": {}", parts.join(":"));
            true
        }
        CCP => compression(line, kind, value)?,
        BACP if kind == 1 => {
            put!(line, ": Magic-Num 0x{:08x}", value.u32(0)?);
            true
        }
        _ => false,
    };
    if !shown || line.style.verbose > 1 {
        hex::indented(&mut line.text, value.captured(), "\n\t    ");
    }
    Ok(true)
}

fn length_of(protocol: u16, kind: u8) -> Length {
    match (protocol, kind) {
        (LCP, 0) => Length::Least(6, true),
        (LCP, 1) => Length::Is(4, true),
        (LCP, 2) => Length::Is(6, true),
        (LCP, 3) => Length::Least(4, true),
        (LCP, 4) => Length::Least(4, false),
        (LCP, 5) => Length::Is(6, false),
        (LCP, 13 | 19) => Length::Least(3, false),
        (LCP, 17 | 23) => Length::Is(4, false),
        (IPCP, 1) | (IP6CP, 1) => Length::Is(10, true),
        (IPCP, 2) => Length::Least(4, false),
        (IPCP, 3 | 4 | 129..=132) => Length::Is(6, false),
        (CCP, 21) => Length::Least(3, true),
        (CCP, 24 | 26) => Length::Least(4, true),
        (BACP, 1) => Length::Is(6, true),
        _ => Length::Least(2, true),
    }
}

/// Options of the link. False: the value is not shown.
fn link(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Result<bool, Cut> {
    match kind {
        0 => put!(line, ": Vendor: {} ({})", names::organization(value.u24(0)?), value.u24(0)?),
        1 | 17 => put!(line, ": {}", value.u16(0)?),
        2 | 5 => put!(line, ": 0x{:08x}", value.u32(0)?),
        3 => authentication(line, value)?,
        4 => line.put(if value.u16(0)? == 0xc025 { ": LQR" } else { ": unknown" }),
        7 | 8 => {}
        13 => {
            let how = value.u8(0)?;
            let table = [(0, "UserAuth"), (1, "DialString"), (2, "LocalID"), (3, "E.164"), (4, "X.500"), (6, "CBCP")];
            put!(line, ": : Callback Operation {} ({how})", names::find(&table, how).unwrap_or("Unknown"));
        }
        19 => endpoint(line, value)?,
        23 => put!(line, ": 0x{:04x}", value.u16(0)?),
        _ => return Ok(false),
    }
    Ok(true)
}

fn authentication(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let protocol = value.u16(0)?;
    put!(line, ": {}", names::find(super::ppp::PROTOCOLS, protocol).unwrap_or("Unknown Auth Proto (0x04x)"));
    match protocol {
        CHAP => {
            let algorithm = value.u8(2)?;
            let table = [(5, "MD5"), (128, "MS-CHAPv1"), (129, "MS-CHAPv2")];
            put!(line, ", {}", names::find_or(&table, algorithm, || format!("Unknown Auth Alg {algorithm}")));
        }
        PAP | 0xc227 | 0xc027 | 0xc123 => {}
        _ => {
            let head = [3, (value.len() + 2) as u8];
            let bytes = [&head, value.captured()].concat();
            hex::indented(&mut line.text, &bytes, "\n\t");
        }
    }
    Ok(())
}

/// The end of a multilink bundle (RFC 1990, section 5.1.3). tcpdump stops at a wrong length; here
/// the next option follows.
fn endpoint(line: &mut Line<'_>, value: View<'_>) -> Printed {
    match value.u8(0)? {
        0 => line.put(": Null"),
        1 => line.put(": Local"),
        2 if value.len() != 5 => line.put(" (length bogus, should be = 7)"),
        2 => put!(line, ": IPv4 {}", value.v4(1)?),
        3 if value.len() != 7 => line.put(" (length bogus, should be = 9)"),
        3 => put!(line, ": MAC {}", super::ether::Mac(value.array(1)?)),
        4 => line.put(": Magic-Num-Block"),
        5 => line.put(": PSNDN"),
        class => put!(line, ": Unknown class {class}"),
    }
    Ok(())
}

enum Stop {
    Cut,
    End,
}

impl From<Cut> for Stop {
    fn from(_: Cut) -> Self {
        Self::Cut
    }
}

fn internet(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Result<bool, Stop> {
    match kind {
        1 => put!(line, ": src {}, dst {}", value.v4(0)?, value.v4(4)?),
        2 => headers(line, value)?,
        3 | 4 | 129..=132 => put!(line, ": {}", value.v4(0)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// How headers are compressed (RFC 2509).
fn headers(line: &mut Line<'_>, value: View<'_>) -> Result<(), Stop> {
    let protocol = value.u16(0)?;
    let name = names::find(&[(0x2d, "VJ-Comp"), (0x61, "IP Header Compression")], protocol).unwrap_or("Unknown");
    put!(line, ": {name} (0x{protocol:02x}):");
    if protocol != 0x61 {
        return Ok(());
    }
    if value.len() < 12 {
        line.put(" (length bogus, should be >= 14)");
        return Err(Stop::End);
    }
    put!(line, "\n\t    TCP Space {}, non-TCP Space {}", value.u16(2)?, value.u16(4)?);
    put!(line, ", maxPeriod {}, maxTime {}, maxHdr {}", value.u16(6)?, value.u16(8)?, value.u16(10)?);
    let mut rest = value.skip(12);
    if rest.len() > 0 {
        put!(line, "\n\t      Suboptions, length {}", rest.len());
    }
    while rest.len() >= 2 {
        let (kind, len) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        if kind == 0 || len == 0 {
            break;
        }
        let name = names::find(&[(1, "RTP-Compression"), (2, "Enhanced RTP-Compression")], kind).unwrap_or("Unknown");
        put!(line, "\n\t\t{name} Suboption #{kind}, length {len}");
        if len > rest.len() {
            put!(line, " [remaining suboptions length {} < {len}]", rest.len());
            line.invalid();
            break;
        }
        rest = rest.skip(len);
    }
    Ok(())
}

fn compression(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Result<bool, Cut> {
    match kind {
        21 => put!(line, ": Version: {}, Dictionary Bits: {}", value.u8(0)? >> 5, value.u8(0)? & 31),
        24 => {
            let features = value.u8(0)?;
            let enabled = if features & 0x20 != 0 { "Enabled" } else { "Disabled" };
            put!(line, ": Features: {}, PxP: {enabled}, History: {}, #CTX-ID: {}", features >> 6, features & 31, value.u8(1)?);
        }
        26 => {
            let [how, check] = value.array(0)?;
            let name = if how & 15 == 8 { "zlib" } else { "unknown" };
            put!(line, ": Window: {}K, Method: {name} (0x{:x}), MBZ: {}, CHK: {}", how >> 4, how & 15, check >> 2, check & 3);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Challenges and answers.
pub(super) fn chap(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let names = [(1, "Challenge"), (2, "Response"), (3, "Success"), (4, "Fail")];
    let Some((code, len)) = start(line, "CHAP", &names, view)? else { return Ok(()) };
    let rest = view.skip(HEADER);
    match code {
        1 | 2 if rest.len() > 0 => {
            let size = usize::from(rest.u8(0)?);
            if size >= rest.len() {
                return Ok(());
            }
            line.put(", Value ");
            for byte in rest.take(1, size)? {
                put!(line, "{byte:02x}");
            }
            line.put(", Name ");
            characters(line, claimed(rest.skip(1 + size), len.checked_sub(HEADER + 1 + size)))
        }
        3 | 4 => {
            line.put(", Msg ");
            characters(line, claimed(rest, len.checked_sub(HEADER)))
        }
        _ => Ok(()),
    }
}

/// What has this length; without one, more than there is.
fn claimed(view: View<'_>, len: Option<usize>) -> View<'_> {
    view.claiming(len.unwrap_or(usize::MAX / 2))
}

/// Prints protocol, code and identifier, and returns the code and the message's length.
fn start(line: &mut Line<'_>, name: &str, names: &[(u8, &'static str)], view: View<'_>) -> Result<Option<(u8, usize)>, Cut> {
    let short = name.to_lowercase();
    if view.len() == 0 {
        put!(line, "[|{short}]");
        return Ok(None);
    }
    let code = view.u8(0)?;
    if view.len() < HEADER {
        put!(line, "[|{short} 0x{code:02x}]");
        return Ok(None);
    }
    put!(line, "{name}, {} (0x{code:02x})", names::find(names, code).unwrap_or("unknown"));
    put!(line, ", id {}", view.u8(1)?);
    Ok(Some((code, view.u16(2)?.into())))
}

/// Names and passwords.
pub(super) fn pap(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let names = [(1, "Auth-Req"), (2, "Auth-ACK"), (3, "Auth-NACK")];
    let Some((code, len)) = start(line, "PAP", &names, view)? else { return Ok(()) };
    if len > view.len() || len < HEADER {
        match len > view.len() {
            true => put!(line, ", length {len} > packet size"),
            false => put!(line, ", length {len} < PAP header length"),
        }
        return Ok(());
    }
    let (parts, least): (&[&str], usize) = match code {
        1 => (&["Peer", "Name"], 6),
        2 | 3 => (&["Msg"], 5),
        _ => return Ok(()),
    };
    if len < least {
        line.put("[|pap]");
        return Ok(());
    }
    let mut rest = view.first(len).skip(HEADER);
    for part in parts {
        if rest.len() == 0 {
            break;
        }
        let size = usize::from(rest.u8(0)?);
        if size >= rest.len() {
            break;
        }
        put!(line, ", {part} ");
        characters(line, rest.skip(1).first(size))?;
        rest = rest.skip(1 + size);
    }
    Ok(())
}

/// A fragment of a multilink bundle (RFC 1990): its number and place.
pub(super) fn multilink(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put(if line.style.link { "" } else { "MLPPP, " });
    let Ok(head) = view.u16(0) else {
        line.put("[|mlppp]");
        return Ok(());
    };
    let flags = names::flags(&[(0x8000, "begin"), (0x4000, "end")], head & 0xc000, ", ");
    put!(line, "seq 0x{:03x}, Flags [{flags}], length {}", head & 0xfff, view.len());
    Ok(())
}
