//! DHCPv6 (RFC 8415): the kind of message; with `-v` its options and those within them.
//!
//! Options within options, and messages within relayed ones, are followed as deep as packets within
//! packets.

use super::view::{Cut, Printed, View};
use super::{Line, dns_name, escape, ip6, names, put};

const RELAY_FORWARD: u8 = 12;
const RELAY_REPLY: u8 = 13;
const KINDS: [&str; 15] = [
    "solicit",
    "advertise",
    "request",
    "confirm",
    "renew",
    "rebind",
    "reply",
    "release",
    "decline",
    "reconfigure",
    "inf-req",
    "relay-fwd",
    "relay-reply",
    "leasequery",
    "leasequery-reply",
];
const HEAD: usize = 4;

/// How an option's value is printed.
#[derive(Clone, Copy)]
enum Value {
    Identity,
    Wanted,
    Byte,
    Short,
    Number,
    Message,
    Authentication,
    /// Some of its bytes, behind as many that are a number or an address.
    Bytes(usize),
    Reconfigure,
    Addresses,
    Domains,
    Status,
    /// Numbers or an address, then options.
    Association(usize),
    Address,
    Prefix,
    Query,
    Times,
    Name,
    Text,
    None,
}

use Value::{Addresses, Association, Bytes, Domains, Identity, Number};

/// Options by their numbers: name and value.
#[rustfmt::skip]
const OPTIONS: &[(u16, (&str, Value))] = &[
    (1, ("client-ID", Identity)), (2, ("server-ID", Identity)), (3, ("IA_NA", Association(12))), (4, ("IA_TA", Association(4))),
    (5, ("IA_ADDR", Value::Address)), (6, ("option-request", Value::Wanted)), (7, ("preference", Value::Byte)),
    (8, ("elapsed-time", Value::Short)), (9, ("relay-message", Value::Message)), (11, ("authentication", Value::Authentication)),
    (12, ("server-unicast", Value::None)), (13, ("status-code", Value::Status)), (14, ("rapid-commit", Value::None)),
    (15, ("user-class", Value::None)), (16, ("vendor-class", Value::None)), (17, ("vendor-specific-info", Value::None)),
    (18, ("interface-ID", Bytes(0))), (19, ("reconfigure-message", Value::Reconfigure)), (20, ("reconfigure-accept", Value::None)),
    (21, ("SIP-servers-domain", Domains)), (22, ("SIP-servers-address", Addresses)), (23, ("DNS-server", Addresses)),
    (24, ("DNS-search-list", Domains)), (25, ("IA_PD", Association(12))), (26, ("IA_PD-prefix", Value::Prefix)),
    (27, ("NIS-server", Addresses)), (28, ("NIS+-server", Addresses)), (29, ("NIS-domain-name", Value::None)),
    (30, ("NIS+-domain-name", Value::None)), (31, ("SNTP-servers", Addresses)), (32, ("lifetime", Number)),
    (33, ("BCMCS-domain-name", Value::None)), (34, ("BCMCS-server", Addresses)), (36, ("Geoconf-Civic", Value::None)),
    (37, ("Remote-ID", Bytes(4))), (38, ("Subscriber-ID", Bytes(0))), (39, ("Client-FQDN", Value::None)), (40, ("PANA-agent", Addresses)),
    (41, ("POSIX-timezone", Value::Text)), (42, ("POSIX-tz-database", Value::Text)), (43, ("Echo-request-option", Value::Wanted)),
    (44, ("Lease-query", Value::Query)), (45, ("LQ-client-data", Association(0))), (46, ("Clt-time", Number)),
    (47, ("LQ-relay-data", Bytes(16))), (48, ("LQ-client-link", Addresses)), (56, ("NTP-server", Value::Times)),
    (64, ("AFTR-Name", Value::Name)), (112, ("MUD-URL", Value::Text)),
];
const STATUSES: [&str; 11] = [
    "Success",
    "UnspecFail",
    "NoAddrsAvail",
    "NoBinding",
    "NotOnLink",
    "UseMulticast",
    "NoPrefixAvail",
    "UnknownQueryType",
    "MalformedQuery",
    "NotConfigured",
    "NotAllowed",
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "dhcp6";
    line.put("dhcp6");
    view.take(0, HEAD)?;
    let kind = view.u8(0)?;
    match KINDS.get(usize::from(kind).wrapping_sub(1)) {
        Some(name) => put!(line, " {name}"),
        None => put!(line, " msgtype-{kind}"),
    }
    if line.style.verbose == 0 {
        return Ok(());
    }
    line.put(" (");
    match kind {
        RELAY_FORWARD | RELAY_REPLY => {
            put!(line, "linkaddr={} peeraddr={}", ip6::address_at(view, 2)?, ip6::address_at(view, 18)?);
            options(line, view.skip(34))?;
        }
        _ => {
            put!(line, "xid={:x}", view.u24(1)?);
            options(line, view.skip(HEAD))?;
        }
    }
    line.put(")");
    Ok(())
}

/// Options up to the end; one that is cut ends them, not what they are part of.
fn options(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.nested(|line| {
        let mut rest = view;
        while !rest.captured().is_empty() {
            let Ok(head) = rest.array::<HEAD>(0) else {
                line.cut();
                return Ok(());
            };
            let [a, b, c, d] = head;
            let (kind, length) = (u16::from_be_bytes([a, b]), usize::from(u16::from_be_bytes([c, d])));
            if rest.len() < HEAD + length {
                line.cut();
                return Ok(());
            }
            put!(line, " ({}", name(kind));
            let Ok(bytes) = rest.take(HEAD, length) else {
                line.cut();
                return Ok(());
            };
            let how = names::find_any(OPTIONS, kind).map_or(Value::None, |(_, how)| how);
            match valid(how, length) {
                true => contents(line, how, View::new(bytes, length))?,
                false => line.put(" ?"),
            }
            line.put(")");
            rest = rest.skip(HEAD + length);
        }
        Ok(())
    })
}

fn name(kind: u16) -> String {
    names::find_any(OPTIONS, kind).map_or_else(|| format!("opt_{kind}"), |(name, _)| name.to_owned())
}

/// Whether a value can have that length.
fn valid(how: Value, length: usize) -> bool {
    match how {
        Identity | Value::Status => length >= 2,
        Value::Wanted => length.is_multiple_of(2),
        Value::Byte | Value::Reconfigure => length == 1,
        Value::Short => length == 2,
        Number => length == 4,
        Value::Authentication => length >= 11,
        Bytes(before) | Association(before) => length >= before,
        Addresses => length.is_multiple_of(16),
        Value::Address => length >= 24,
        Value::Prefix => length >= 25,
        Value::Query => length >= 17,
        Value::Times => length >= 4,
        Value::Name => length >= 3,
        Value::Text => length >= 5,
        _ => true,
    }
}

fn contents(line: &mut Line<'_>, how: Value, value: View<'_>) -> Printed {
    match how {
        Identity => identity(line, value)?,
        Value::Wanted => {
            for at in (0..value.len()).step_by(2) {
                put!(line, " {}", name(value.u16(at)?));
            }
        }
        Value::Byte => put!(line, " {}", value.u8(0)?),
        Value::Short => put!(line, " {}", value.u16(0)?),
        Number => put!(line, " {}", value.u32(0)?),
        Value::Message => {
            line.put(" (");
            // The bracket that closes the option closes the message, too.
            line.nested(|line| print(line, value))?;
        }
        Value::Authentication => authentication(line, value)?,
        Bytes(before) => some(line, before, value)?,
        Value::Reconfigure => match value.u8(0)? {
            5 => line.put(" for renew"),
            11 => line.put(" for inf-req"),
            other => put!(line, " for ???({other:02x})"),
        },
        Addresses => {
            for at in (0..value.len()).step_by(16) {
                put!(line, " {}", ip6::address_at(value, at)?);
            }
        }
        Domains => {
            let mut at = 0;
            while at < value.len() {
                line.put(" ");
                at = dns_name::print(line, value, at)?;
            }
        }
        Value::Status => {
            let code = value.u16(0)?;
            match STATUSES.get(usize::from(code)) {
                Some(name) => put!(line, " {name}"),
                None if code > 255 => line.put(" INVALID code"),
                None => put!(line, " code{code}"),
            }
        }
        Association(_) | Value::Address | Value::Prefix | Value::Query => association(line, how, value)?,
        Value::Times => times(line, value)?,
        Value::Name => tunnel(line, value)?,
        Value::Text => {
            line.put(" ");
            escape::until_zero(&mut line.text, value.captured());
        }
        Value::None => {}
    }
    Ok(())
}

fn digits(line: &mut Line<'_>, bytes: &[u8]) {
    for byte in bytes {
        put!(line, "{byte:02x}");
    }
}

/// A unique identifier (RFC 8415, section 11).
fn identity(line: &mut Line<'_>, value: View<'_>) -> Printed {
    match (value.u16(0)?, value.len()) {
        (1, 8..) => {
            put!(line, " hwaddr/time type {} time {} ", value.u16(2)?, value.u32(4)?);
            digits(line, value.skip(8).captured());
        }
        (2, 10..) => {
            line.put(" vid ");
            digits(line, value.take(2, 8)?);
        }
        (3, 4..) => {
            put!(line, " hwaddr type {} ", value.u16(2)?);
            digits(line, value.skip(4).captured());
        }
        (1..=3, _) => line.put(" ?"),
        (kind, _) => put!(line, " type {kind}"),
    }
    Ok(())
}

/// A number or an address, and the first ten bytes of what follows.
fn some(line: &mut Line<'_>, before: usize, value: View<'_>) -> Printed {
    match before {
        4 => put!(line, " {} ", value.u32(0)?),
        16 => put!(line, " {} ", ip6::address_at(value, 0)?),
        _ => line.put(" "),
    }
    digits(line, value.skip(before).first(10).captured());
    line.put("...");
    Ok(())
}

/// Options behind numbers or an address.
fn association(line: &mut Line<'_>, how: Value, value: View<'_>) -> Printed {
    let fixed = match how {
        Association(size) => {
            for (name, at) in [(" IAID", 0), (" T1", 4), (" T2", 8)] {
                if at < size {
                    put!(line, "{name}:{}", value.u32(at)?);
                }
            }
            size
        }
        Value::Address => {
            put!(line, " {} pltime:{} vltime:{}", ip6::address_at(value, 0)?, value.u32(16)?, value.u32(20)?);
            24
        }
        Value::Prefix => {
            put!(line, " {}/{}", ip6::address_at(value, 9)?, value.u8(8)?);
            put!(line, " pltime:{} vltime:{}", value.u32(0)?, value.u32(4)?);
            25
        }
        _ => {
            let kind = value.u8(0)?;
            put!(line, " {}", names::find_or(&[(1, "by-address"), (2, "by-clientID")], kind, || format!("type_{kind}")));
            put!(line, " {}", ip6::address_at(value, 1)?);
            17
        }
    };
    if value.len() > fixed { options(line, value.skip(fixed)) } else { Ok(()) }
}

fn words(line: &mut Line<'_>, value: View<'_>, at: usize) -> Printed {
    for at in (at..at + 16).step_by(4) {
        put!(line, " {:08x}", value.u32(at)?);
    }
    Ok(())
}

fn authentication(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let [protocol, algorithm, detection] = value.array(0)?;
    put!(line, " proto: {}", names::find_or(&[(2, "delayed"), (3, "reconfigure")], protocol, || protocol.to_string()));
    put!(line, ", alg: {}", names::find_or(&[(1, "HMAC-MD5")], algorithm, || algorithm.to_string()));
    put!(line, ", RDM: {}, RD:", names::find_or(&[(0, "mono")], detection, || detection.to_string()));
    for at in (3..11).step_by(2) {
        put!(line, " {:04x}", value.u16(at)?);
    }
    match (protocol, value.len() - 11) {
        (2, 0) => {}
        (2, length @ 20..) => {
            let realm = length - 20;
            line.put(if realm > 0 { ", realm: " } else { "" });
            digits(line, value.take(11, realm)?);
            put!(line, ", key ID: {:08x}, HMAC-MD5:", value.u32(11 + realm)?);
            words(line, value, 15 + realm)?;
        }
        (3, 17) => {
            line.put(match value.u8(11)? {
                1 => " reconfig-key value:",
                2 => " type: HMAC-MD5 value:",
                _ => " type: ?? value:",
            });
            words(line, value, 12)?;
        }
        _ => line.put(" ??"),
    }
    Ok(())
}

/// Servers of the time (RFC 5908).
fn times(line: &mut Line<'_>, value: View<'_>) -> Result<(), Cut> {
    let mut rest = value;
    while rest.len() > 4 {
        let (kind, length) = (rest.u16(0)?, usize::from(rest.u16(2)?));
        let part = View::new(rest.take(4, length)?, length);
        put!(line, " subopt:{kind}");
        match (kind, length) {
            (1 | 2, 16) => put!(line, " {}", ip6::address_at(part, 0)?),
            (3, _) => {
                line.put(" ");
                dns_name::print(line, part, 0)?;
            }
            _ => line.put(" ?"),
        }
        rest = rest.skip(4 + length);
    }
    Ok(())
}

/// The name of a tunnel's end (RFC 6334), label by label.
fn tunnel(line: &mut Line<'_>, value: View<'_>) -> Printed {
    line.put(" ");
    let mut rest = value;
    while rest.len() > 0 && rest.u8(0)? != 0 {
        let length = usize::from(rest.u8(0)?);
        if length >= rest.len() - 1 {
            line.put(" ?");
            break;
        }
        escape::until_zero(&mut line.text, rest.take(1, length)?);
        rest = rest.skip(1 + length);
        line.put(if rest.u8(0)? != 0 { "." } else { "" });
    }
    Ok(())
}
