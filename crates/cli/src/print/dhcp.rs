//! Options of DHCP (RFC 2132 and successors): their names and values.

use super::view::{Cut, Printed, View};
use super::{Line, escape, hex, names, put};
use std::net::Ipv4Addr;

const PAD: u8 = 0;
const MESSAGE: u8 = 53;
const WANTED: u8 = 55;
const END: u8 = 255;

/// How an option's value is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Addresses,
    Pairs,
    /// Numbers of four bytes, without and with a sign.
    Numbers,
    Signed,
    /// Numbers of two bytes.
    Shorts,
    Bytes,
    YesNo,
    Text,
    Node,
    Overload,
    Client,
    Domain,
    Agent,
    Routes,
    Classes,
    /// The option is known, its value is not.
    None,
}

use Value::{Addresses, Bytes, Numbers, Pairs, Shorts, Signed, Text, YesNo};

/// Options by their numbers: name and value.
#[rustfmt::skip]
const OPTIONS: &[(u8, (&str, Value))] = &[
    (PAD, ("PAD", Value::None)), (1, ("Subnet-Mask", Addresses)), (2, ("Time-Zone", Signed)), (3, ("Default-Gateway", Addresses)),
    (4, ("Time-Server", Addresses)), (5, ("IEN-Name-Server", Addresses)), (6, ("Domain-Name-Server", Addresses)), (7, ("LOG", Addresses)),
    (8, ("CS", Addresses)), (9, ("LPR-Server", Addresses)), (10, ("IM", Addresses)), (11, ("RL", Addresses)), (12, ("Hostname", Text)),
    (13, ("BS", Shorts)), (14, ("DP", Text)), (15, ("Domain-Name", Text)), (16, ("SS", Addresses)), (17, ("RP", Text)), (18, ("EP", Text)),
    (19, ("IPF", YesNo)), (20, ("SRT", YesNo)), (21, ("PF", Pairs)), (22, ("RSZ", Shorts)), (23, ("TTL", Bytes)), (24, ("MTU-Timeout", Numbers)),
    (25, ("MTU-Table", Shorts)), (26, ("MTU", Shorts)), (27, ("LSN", YesNo)), (28, ("BR", Addresses)), (29, ("MD", YesNo)), (30, ("MS", YesNo)),
    (31, ("Router-Discovery", YesNo)), (32, ("RSA", Addresses)), (33, ("Static-Route", Pairs)), (34, ("UT", YesNo)), (35, ("AT", Numbers)),
    (36, ("IE", YesNo)), (37, ("TT", Bytes)), (38, ("KI", Numbers)), (39, ("KG", YesNo)), (40, ("YD", Text)), (41, ("YS", Addresses)),
    (42, ("NTP", Addresses)), (43, ("Vendor-Option", Bytes)), (44, ("Netbios-Name-Server", Addresses)), (45, ("WDD", Addresses)),
    (46, ("Netbios-Node", Value::Node)), (47, ("Netbios-Scope", Text)), (48, ("XFS", Addresses)), (49, ("XDM", Addresses)),
    (50, ("Requested-IP", Addresses)), (51, ("Lease-Time", Numbers)), (52, ("OO", Value::Overload)), (MESSAGE, ("DHCP-Message", Bytes)),
    (54, ("Server-ID", Addresses)), (WANTED, ("Parameter-Request", Bytes)), (56, ("MSG", Text)), (57, ("MSZ", Shorts)), (58, ("RN", Numbers)),
    (59, ("RB", Numbers)), (60, ("Vendor-Class", Text)), (61, ("Client-ID", Value::Client)), (64, ("N+D", Shorts)), (65, ("N+S", Addresses)),
    (66, ("TFTP", Text)), (67, ("BF", Text)), (68, ("MH", Addresses)), (69, ("SMTP", Addresses)), (70, ("POP3", Addresses)),
    (71, ("NNTP", Addresses)), (72, ("WWW", Addresses)), (73, ("FG", Addresses)), (74, ("IRC", Addresses)), (75, ("STS", Addresses)),
    (76, ("STDA", Addresses)), (77, ("User-Class", Value::Classes)), (78, ("SLP-DA", Bytes)), (79, ("SLP-SCOPE", Bytes)), (80, ("SLP-NA", Text)),
    (81, ("FQDN", Value::Domain)), (82, ("Agent-Information", Value::Agent)), (83, ("ARMT", Bytes)), (88, ("TZSTR", Text)), (89, ("FQDNS", Bytes)),
    (90, ("AUTH", Bytes)), (91, ("Last-Transaction-Time", Signed)), (92, ("Associated-IP", Addresses)), (93, ("ARCH", Shorts)),
    (94, ("NDI", Bytes)), (95, ("LDAP", Text)), (97, ("GUID", Bytes)), (98, ("UAP", Text)), (100, ("POSIX-TZ", Text)), (101, ("TZ-Name", Text)),
    (112, ("NI", Addresses)), (113, ("NITAG", Text)), (114, ("URL", Text)), (116, ("NOAUTO", YesNo)), (117, ("NSSEARCH", Shorts)),
    (118, ("SUBNET", Addresses)), (121, ("Classless-Static-Route", Value::Routes)), (150, ("TFTP-Server-Address", Addresses)),
    (161, ("MUD-URL", Text)), (249, ("Classless-Static-Route-Microsoft", Value::Routes)), (END, ("END", Value::None)),
];
#[rustfmt::skip]
const MESSAGES: &[(u8, &str)] = &[
    (1, "Discover"), (2, "Offer"), (3, "Request"), (4, "Decline"), (5, "ACK"), (6, "NACK"), (7, "Release"), (8, "Inform"),
    (10, "LeaseQuery"), (11, "LeaseUnassigned"), (12, "LeaseUnknown"), (13, "LeaseActive"),
];

/// Prints options, the first of them behind their cookie.
pub(super) fn options(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put("\n\t  Vendor-rfc1048 Extensions");
    put!(line, "\n\t    Magic Cookie 0x{:08x}", view.u32(0)?);
    let mut rest = view.skip(4);
    while !rest.captured().is_empty() {
        let number = rest.u8(0)?;
        rest = rest.skip(1);
        match number {
            PAD | END if line.style.verbose > 2 => {
                put!(line, "\n\t    {} ({number}), length 0", if number == PAD { "PAD" } else { "END" });
                let more = rest.captured().iter().take_while(|byte| **byte == PAD).count();
                if number == PAD && more > 0 {
                    put!(line, ", occurs {}", more + 1);
                    rest = rest.skip(more);
                }
            }
            PAD => {}
            END => return Ok(()),
            _ => {
                let length = usize::from(rest.u8(0)?);
                option(line, number, rest.skip(1), length)?;
                rest = rest.skip(1 + length);
            }
        }
    }
    Ok(())
}

fn option(line: &mut Line<'_>, number: u8, rest: View<'_>, length: usize) -> Printed {
    let known = names::find_any(OPTIONS, number);
    put!(line, "\n\t    {} ({number}), length {length}", known.map_or("Unknown", |(name, _)| name));
    line.put(if length > 0 { ": " } else { "" });
    let value = View::new(rest.take(0, length)?, length);
    if number == MESSAGE && length == 1 {
        let kind = value.u8(0)?;
        line.put(&names::find_or(MESSAGES, kind, || format!("Unknown ({kind})")));
        return Ok(());
    }
    if number == WANTED {
        for (i, wanted) in value.captured().iter().enumerate() {
            let name = names::find_any(OPTIONS, *wanted).map_or("Unknown", |(name, _)| name);
            put!(line, "{}{name} ({wanted})", if i % 4 == 0 { "\n\t      " } else { ", " });
        }
        return Ok(());
    }
    let how = known.map_or_else(|| [Numbers, Bytes, Shorts, Bytes][length % 4], |(_, how)| how);
    let read = contents(line, how, value)?;
    if read < length {
        put!(line, "\n\t  trailing data length {}", length - read);
    }
    Ok(())
}

/// Prints a value; how many bytes of it were read.
fn contents(line: &mut Line<'_>, how: Value, value: View<'_>) -> Result<usize, Cut> {
    let length = value.len();
    let size = match how {
        Addresses | Numbers | Signed => 4,
        Pairs => 8,
        Shorts => 2,
        YesNo | Bytes => 1,
        _ => {
            special(line, how, value)?;
            return Ok(match how {
                Value::Node | Value::Overload => length.min(1),
                Value::Agent => agent(line, value)?,
                _ => length,
            });
        }
    };
    for at in (0..length - length % size).step_by(size) {
        line.put(match (at, how) {
            (0, _) => "",
            (_, Bytes) => ".",
            _ => ",",
        });
        match how {
            Addresses => put!(line, "{}", value.v4(at)?),
            Numbers => put!(line, "{}", value.u32(at)?),
            Signed => put!(line, "{}", value.u32(at)?.cast_signed()),
            Pairs => put!(line, "({}:{})", value.v4(at)?, value.v4(at + 4)?),
            Shorts => put!(line, "{}", value.u16(at)?),
            YesNo => match value.u8(at)? {
                0 => line.put("N"),
                1 => line.put("Y"),
                other => put!(line, "{other}?"),
            },
            _ => put!(line, "{}", value.u8(at)?),
        }
    }
    Ok(length - length % size)
}

fn quoted(line: &mut Line<'_>, bytes: &[u8]) {
    line.put("\"");
    escape::text(&mut line.text, bytes);
    line.put("\"");
}

fn special(line: &mut Line<'_>, how: Value, value: View<'_>) -> Printed {
    let least = match how {
        Value::Node | Value::Overload | Value::Client => 1,
        Value::Domain => 3,
        Value::Routes => 5,
        Value::Classes => 2,
        _ => 0,
    };
    if value.len() < least {
        put!(line, "[ERROR: length < {least} bytes]");
        return Ok(());
    }
    match how {
        Text => quoted(line, value.captured()),
        Value::Node => {
            let node = value.u8(0)?;
            line.put(&names::find_or(&[(1, "b-node"), (2, "p-node"), (4, "m-node"), (8, "h-node")], node, || format!("#{node}")));
        }
        Value::Overload => {
            let what = value.u8(0)?;
            line.put(&names::find_or(&[(1, "file"), (2, "sname"), (3, "file+sname")], what, || format!("#{what}")));
        }
        Value::Client => client(line, value)?,
        Value::Domain => domain(line, value)?,
        Value::Routes => routes(line, value)?,
        Value::Classes => classes(line, value)?,
        _ => {}
    }
    Ok(())
}

/// A client's name or hardware address.
fn client(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let (kind, rest) = (value.u8(0)?, value.skip(1).captured());
    if kind == 0 {
        quoted(line, rest);
        return Ok(());
    }
    let kinds = [(0x01, "ether"), (0x06, "ieee802"), (0x07, "arcnet"), (0x0f, "frelay"), (0x17, "strip"), (0x18, "ieee1394")];
    put!(line, "{} ", names::find_or(&kinds, kind, || format!("hardware-type {kind},")));
    let bytes: Vec<String> = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    line.put(&bytes.join(":"));
    Ok(())
}

/// The name of a client (RFC 4702).
fn domain(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let [flags, first, second] = value.array(0)?;
    if flags & 0xf0 != 0 {
        put!(line, "[ERROR: MBZ nibble 0x{:x} != 0] ", flags >> 4);
    }
    if flags & 0x0f != 0 {
        let table = [(1, "S"), (2, "O"), (4, "E"), (8, "N")];
        put!(line, "[{}] ", names::flags(&table, (flags & 0x0f).into(), ""));
    }
    if (first, second) != (0, 0) {
        put!(line, "{first}/{second} ");
    }
    quoted(line, value.skip(3).captured());
    Ok(())
}

/// Routes with as many bytes of their destination as they need (RFC 3442).
fn routes(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let mut rest = value;
    while rest.len() > 0 {
        line.put(if rest.len() < value.len() { "," } else { "" });
        let width = rest.u8(0)?;
        if width > 32 {
            put!(line, "[ERROR: Mask width ({width}) > 32]");
            break;
        }
        let size = usize::from(width.div_ceil(8));
        let left = rest.len() - 1;
        if left < size + 4 {
            put!(line, "[ERROR: Remaining length ({left}) < {} bytes]", size + 4);
            break;
        }
        let mut octets = [0; 4];
        octets[..size].copy_from_slice(rest.take(1, size)?);
        match width {
            0 => line.put("(default"),
            _ => put!(line, "({}/{width}", Ipv4Addr::from(octets)),
        }
        put!(line, ":{})", rest.v4(1 + size)?);
        rest = rest.skip(1 + size + 4);
    }
    Ok(())
}

/// Classes of users (RFC 3004).
fn classes(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let (mut rest, mut number) = (value, 1);
    while rest.len() > 0 {
        let length = usize::from(rest.u8(0)?);
        put!(line, "\n\t      instance#{number}: ");
        if length == 0 || length > rest.len() - 1 {
            line.put(if length == 0 { "[ERROR: suboption length must be non-zero]" } else { "[ERROR: invalid option]" });
            break;
        }
        quoted(line, rest.take(1, length)?);
        put!(line, ", length {length}");
        rest = rest.skip(1 + length);
        number += 1;
    }
    Ok(())
}

/// What a relay agent adds (RFC 3046); how many bytes were read.
fn agent(line: &mut Line<'_>, value: View<'_>) -> Result<usize, Cut> {
    let mut rest = value;
    while rest.len() >= 2 {
        let (kind, length) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        let name = names::find(&[(1, "Circuit-ID"), (2, "Remote-ID"), (6, "Subscriber-ID")], kind);
        put!(line, "\n\t      {} SubOption {kind}, length {length}: ", name.unwrap_or("Unknown"));
        if length > rest.len() - 2 {
            line.put("length goes past end of option");
            return Ok(value.len());
        }
        let bytes = rest.take(2, length)?;
        match name {
            Some(_) => escape::text(&mut line.text, bytes),
            None => hex::indented(&mut line.text, bytes, "\n\t\t"),
        }
        rest = rest.skip(2 + length);
    }
    Ok(value.len() - rest.len())
}
