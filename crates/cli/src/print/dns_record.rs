//! Questions and resource records of DNS, and what their numbers are called.

use super::dns::Message;
use super::view::{Cut, Printed, View};
use super::{Line, dns_name, escape, ip6, names, put, time};
use std::net::Ipv4Addr;

/// Options of the message itself (RFC 6891).
pub(super) const OPT: u16 = 41;
/// The class of nearly all records.
const INTERNET: u16 = 1;
/// Multicast: a unicast answer is wanted, or the record replaces others.
const TOP_BIT: u16 = 0x8000;

#[rustfmt::skip]
const TYPES: &[(u16, &str)] = &[
    (1, "A"), (2, "NS"), (3, "MD"), (4, "MF"), (5, "CNAME"), (6, "SOA"), (7, "MB"), (8, "MG"), (9, "MR"), (10, "NULL"), (11, "WKS"),
    (12, "PTR"), (13, "HINFO"), (14, "MINFO"), (15, "MX"), (16, "TXT"), (17, "RP"), (18, "AFSDB"), (19, "X25"), (20, "ISDN"),
    (21, "RT"), (22, "NSAP"), (23, "NSAP_PTR"), (24, "SIG"), (25, "KEY"), (26, "PX"), (27, "GPOS"), (28, "AAAA"), (29, "LOC"),
    (30, "NXT"), (31, "EID"), (32, "NIMLOC"), (33, "SRV"), (34, "ATMA"), (35, "NAPTR"), (36, "KX"), (37, "CERT"), (38, "A6"),
    (39, "DNAME"), (40, "SINK"), (OPT, "OPT"), (42, "APL"), (43, "DS"), (44, "SSHFP"), (45, "IPSECKEY"), (46, "RRSIG"), (47, "NSEC"),
    (48, "DNSKEY"), (49, "DHCID"), (50, "NSEC3"), (51, "NSEC3PARAM"), (52, "TLSA"), (53, "SMIMEA"), (55, "HIP"), (56, "NINFO"),
    (57, "RKEY"), (58, "TALINK"), (59, "CDS"), (60, "CDNSKEY"), (61, "OPENPGPKEY"), (62, "CSYNC"), (63, "ZONEMD"), (64, "SVCB"),
    (65, "HTTPS"), (99, "SPF"), (100, "UINFO"), (101, "UID"), (102, "GID"), (103, "UNSPEC"), (104, "NID"), (105, "L32"),
    (106, "L64"), (107, "LP"), (108, "EUI48"), (109, "EUI64"), (249, "TKEY"), (250, "TSIG"), (251, "IXFR"), (252, "AXFR"),
    (253, "MAILB"), (254, "MAILA"), (255, "ANY"), (256, "URI"), (257, "CAA"), (258, "AVC"), (259, "DOA"), (260, "AMTRELAY"),
    (32768, "TA"), (32769, "DLV"),
];
#[rustfmt::skip]
const RESULTS: &[(u16, &str)] = &[
    (0, ""), (1, " FormErr"), (2, " ServFail"), (3, " NXDomain"), (4, " NotImp"), (5, " Refused"), (6, " YXDomain"), (7, " YXRRSet"),
    (8, " NXRRSet"), (9, " NotAuth"), (10, " NotZone"), (15, " NoChange"), (16, " BadVers"), (23, " BadCookie"),
];

/// How a result is shown; nothing if all is well.
pub(super) fn result(code: u16) -> String {
    names::find(RESULTS, code).map_or_else(|| format!(" Resp{code}"), str::to_owned)
}

fn kind(number: u16) -> String {
    names::find(TYPES, number).map_or_else(|| format!("Type{number}"), str::to_owned)
}

fn class(line: &mut Line<'_>, class: u16) {
    match class {
        INTERNET => {}
        3 => line.put(" CHAOS"),
        4 => line.put(" HS"),
        255 => line.put(" ANY"),
        other => put!(line, " (Class {other})"),
    }
}

/// Prints the question at `at`; where it ends.
pub(super) fn question(line: &mut Line<'_>, message: Message<'_>, at: usize) -> Result<usize, Cut> {
    let after = dns_name::skip(message.view, at)?;
    let (number, number_of_class) = (message.view.u16(after)?, message.view.u16(after + 2)?);
    put!(line, " {}", kind(number));
    let mask = if message.multicast { !TOP_BIT } else { u16::MAX };
    class(line, number_of_class & mask);
    if message.multicast {
        line.put(if number_of_class & TOP_BIT != 0 { " (QU)" } else { " (QM)" });
    }
    line.put("? ");
    Ok(dns_name::print(line, message.view, at)? + 4)
}

/// Prints the record at `at`; where it ends. Of one that is cut before its data nothing is shown.
pub(super) fn record(line: &mut Line<'_>, message: Message<'_>, at: usize) -> Result<usize, Cut> {
    let view = message.view;
    let at = match line.style.verbose {
        0 => dns_name::skip(view, at),
        _ => {
            line.put(" ");
            Ok(dns_name::print(line, view, at)?)
        }
    };
    let end = view.captured().len();
    let Some(at) = at.ok().filter(|at| view.take(*at, 10).is_ok()) else { return Ok(end) };
    let (number, number_of_class) = (view.u16(at)?, view.u16(at + 2)?);
    let mask = if message.multicast { !TOP_BIT } else { u16::MAX };
    if number != OPT {
        class(line, number_of_class & mask);
    }
    if message.multicast && number_of_class & TOP_BIT != 0 {
        line.put(" (Cache flush)");
    }
    if number != OPT && line.style.verbose > 2 {
        put!(line, " [{}]", time::span(view.u32(at + 4)?));
    }
    put!(line, " {}", kind(number));
    let (len, data) = (usize::from(view.u16(at + 8)?), at + 10);
    view.take(data, len)?;
    match number {
        OPT => options(line, number_of_class & mask, view.u16(at + 6)?),
        _ => contents(line, view, number, data, len)?,
    }
    Ok(data + len)
}

fn options(line: &mut Line<'_>, size: u16, flags: u16) {
    let dnssec = if flags & 0x8000 != 0 { " DO" } else { "" };
    put!(line, " UDPsize={size}{dnssec}");
}

fn contents(line: &mut Line<'_>, view: View<'_>, number: u16, at: usize, len: usize) -> Printed {
    match number {
        1 => put!(line, " {}", Ipv4Addr::from(view.u32(at)?)),
        28 => put!(line, " {}", ip6::address(view.array::<16>(at)?.into())),
        2 | 5 | 12 | 39 => {
            line.put(" ");
            dns_name::print(line, view, at)?;
        }
        6 if line.style.verbose > 0 => authority(line, view, at)?,
        15 => {
            line.put(" ");
            let preference = view.u16(at)?;
            dns_name::print(line, view, at + 2)?;
            put!(line, " {preference}");
        }
        16 => strings(line, view, at, at + len)?,
        33 => {
            line.put(" ");
            let (priority, weight, port) = (view.u16(at)?, view.u16(at + 2)?, view.u16(at + 4)?);
            dns_name::print(line, view, at + 6)?;
            put!(line, ":{port} {priority} {weight}");
        }
        256 if len < 4 => put!(line, " len {len} is too short (< 4)"),
        256 => {
            put!(line, " {} {} ", view.u16(at)?, view.u16(at + 2)?);
            escape::text(&mut line.text, view.take(at + 4, len - 4)?);
        }
        _ => {}
    }
    Ok(())
}

fn authority(line: &mut Line<'_>, view: View<'_>, at: usize) -> Printed {
    line.put(" ");
    let at = dns_name::print(line, view, at)?;
    line.put(" ");
    let at = dns_name::print(line, view, at)?;
    view.take(at, 20)?;
    for i in 0..5 {
        put!(line, " {}", view.u32(at + 4 * i)?);
    }
    Ok(())
}

fn strings(line: &mut Line<'_>, view: View<'_>, mut at: usize, end: usize) -> Printed {
    while at < end {
        let len = usize::from(view.u8(at)?);
        let rest = view.captured().get(at + 1..).unwrap_or(&[]);
        line.put(" \"");
        escape::text(&mut line.text, &rest[..rest.len().min(len)]);
        view.take(at + 1, len)?;
        line.put("\"");
        at += 1 + len;
    }
    Ok(())
}
