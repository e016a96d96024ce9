//! IKE (RFC 2409, RFC 7296), and what port 4500 carries (RFC 3948): ESP, IKE, and signs of life.
//! With `-v` payloads, which `ike1` and `ike2` print; encrypted ones stay closed.

use super::view::{Cut, Printed, View};
use super::{Line, ike1, ike2, names, put, tunnel};

const HEADER: usize = 28;
#[rustfmt::skip]
const EXCHANGES: &[(u8, &str)] = &[
    (0, "none"), (1, "base"), (2, "ident"), (3, "auth"), (4, "agg"), (5, "inf"), (32, "oakley-quick"), (33, "oakley-newgroup"),
    (34, "ikev2_init"), (35, "ikev2_auth"), (36, "child_sa"), (37, "inf2"),
];
/// The flag of encrypted messages, in both versions as tcpdump reads them.
const ENCRYPTED: u8 = 0x01;
const PAYLOADS: [&str; 14] = ["none", "sa", "p", "t", "ke", "id", "cert", "cr", "hash", "sig", "nonce", "n", "d", "vid"];
#[rustfmt::skip]
const PAYLOADS_2: [&str; 16] = [
    "v2sa", "v2ke", "v2IDi", "v2IDr", "v2cert", "v2cr", "v2auth", "v2nonce", "v2n", "v2d", "v2vid", "v2TSi", "v2TSr", "v2e", "v2cp", "v2eap",
];
const FIRST_OF_2: u8 = 33;
pub(super) const PROTOCOLS: &[&str] = &["isakmp", "ipsec-ah", "ipsec-esp", "ipcomp"];
pub(super) const ESP: &[&str] =
    &["1des-iv64", "1des", "3des", "rc5", "idea", "cast", "blowfish", "3idea", "1des-iv32", "rc4", "null", "aes"];
#[rustfmt::skip]
pub(super) const GROUPS: &[&str] = &[
    "modp768", "modp1024", "EC2N 2^155", "EC2N 2^185", "modp1536", "iana-grp06", "iana-grp07", "iana-grp08", "iana-grp09", "iana-grp10",
    "iana-grp11", "iana-grp12", "iana-grp13", "modp2048", "modp3072", "modp4096", "modp6144", "modp8192",
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "isakmp";
    view.take(0, HEADER)?;
    line.put("isakmp");
    let (version, exchange, flags, message) = (view.u8(17)?, view.u8(18)?, view.u8(19)?, view.u32(20)?);
    let verbose = line.style.verbose > 0;
    if verbose {
        put!(line, " {}.{} msgid {message:08x}", version >> 4, version & 15);
    }
    if line.style.verbose > 1 {
        put!(line, " cookie {:016x}->{:016x}", view.u64(0)?, view.u64(8)?);
    }
    line.put(":");
    let name = names::find_or(EXCHANGES, exchange, || format!("#{exchange}"));
    match version >> 4 {
        1 => {
            let side = side(line, view)?;
            put!(line, " phase {} {side} {name}", if message == 0 { "1" } else { "2/others" });
            shown_flags(line, flags, &[(0x01, "E"), (0x02, "C")]);
        }
        2 => {
            put!(line, " {} {name}", if message == 0 { "parent_sa" } else { "child_sa " });
            shown_flags(line, flags, &[(0x08, "I"), (0x10, "V"), (0x20, "R")]);
        }
        _ => return Ok(()),
    }
    if verbose { payloads(line, version >> 4, flags, view) } else { Ok(()) }
}

/// Who sends it: who sent the first message began, and that had no cookie of the other end.
fn side(line: &mut Line<'_>, view: View<'_>) -> Result<&'static str, Cut> {
    let (cookie, other) = (view.u64(0)?, view.u64(8)?);
    let ends = line.ends.addresses;
    Ok(match (line.flows.initiator(cookie), ends) {
        (Some((began, _)), Some((from, _))) if began == from => "I",
        (Some((_, answered)), Some((from, _))) if answered == from => "R",
        (None, Some(ends)) if other == 0 => {
            line.flows.began(cookie, ends);
            "I"
        }
        _ => "?",
    })
}

fn shown_flags(line: &mut Line<'_>, flags: u8, table: &[(u8, &str)]) {
    if flags == 0 {
        return;
    }
    line.put("[");
    for (_, letter) in table.iter().filter(|(bit, _)| flags & bit != 0) {
        line.put(letter);
    }
    line.put("]");
}

fn payloads(line: &mut Line<'_>, version: u8, flags: u8, view: View<'_>) -> Printed {
    let first = view.u8(16)?;
    line.put(":");
    if flags & ENCRYPTED != 0 {
        put!(line, " [encrypted {}]", payload_name(first));
    } else if version == 1 {
        ike1::chain(line, first, 0, view.skip(HEADER), 0)?;
    } else {
        ike2::chain(line, first, view.skip(HEADER))?;
    }
    let told = view.u32(24)?;
    if told as usize != view.len() {
        put!(line, " (len mismatch: isakmp {told}/ip {})", view.len());
    }
    Ok(())
}

pub(super) fn payload_name(kind: u8) -> String {
    let name = match kind.checked_sub(FIRST_OF_2) {
        Some(at) => PAYLOADS_2.get(usize::from(at)).copied(),
        None => PAYLOADS.get(usize::from(kind)).copied(),
    };
    match (name, kind) {
        (Some(name), _) => name.to_owned(),
        (None, 14..FIRST_OF_2) => format!("pay{kind}"),
        (None, _) => format!("#{kind}"),
    }
}

/// The name of a number from 1 on.
pub(super) fn numbered(names: &[&str], number: u16) -> String {
    let name = usize::from(number).checked_sub(1).and_then(|at| names.get(at));
    name.map_or_else(|| format!("#{number}"), |name| (*name).to_owned())
}

/// Says that a payload is cut.
pub(super) fn cut(line: &mut Line<'_>, name: &str) {
    put!(line, " [|{name}]");
}

pub(super) fn digits(line: &mut Line<'_>, bytes: &[u8]) {
    for byte in bytes {
        put!(line, "{byte:02x}");
    }
}

/// The first ten bytes, and the last twenty of what is left.
pub(super) fn some_data(line: &mut Line<'_>, view: View<'_>) {
    let bytes = view.captured();
    let (first, rest) = bytes.split_at(bytes.len().min(10));
    line.put(" data=(");
    digits(line, first);
    line.put("...");
    digits(line, &rest[rest.len().saturating_sub(20)..]);
    line.put(")");
}

/// A new line for a payload that deep.
pub(super) fn open(line: &mut Line<'_>, depth: usize) {
    put!(line, "\n{}(", "    ".repeat(depth));
}

/// Attributes that are known: number, name, names of its values from 1 on.
pub(super) type Attributes = &'static [(u16, (&'static str, &'static [&'static str]))];

/// Prints attributes up to the end of their payload.
pub(super) fn attributes(line: &mut Line<'_>, known: Attributes, view: View<'_>) -> Printed {
    let mut rest = view;
    while rest.len() > 0 {
        let first = rest.u16(0)?;
        let (number, short) = (first & 0x7fff, first & 0x8000 != 0);
        let size = if short { 0 } else { usize::from(rest.u16(2)?) };
        if rest.len() < 4 + size {
            line.put("[|attr]");
            break;
        }
        let found = names::find_any(known, number);
        match found {
            Some((name, _)) => put!(line, "(type={name} "),
            None => put!(line, "(type=#{number} "),
        }
        match short {
            true => {
                let value = rest.u16(2)?;
                let name = usize::from(value).checked_sub(1).and_then(|at| found.and_then(|(_, names)| names.get(at)));
                match name {
                    Some(name) => put!(line, "value={name}"),
                    None => put!(line, "value={value:04x}"),
                }
            }
            false => {
                put!(line, "len={size} value=");
                digits(line, rest.take(4, size)?);
            }
        }
        line.put(")");
        rest = rest.skip(4 + size);
    }
    Ok(())
}

pub(super) fn encapsulated(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "isakmp_rfc3948";
    if view.len() == 1 && view.u8(0)? == 0xff {
        line.put("isakmp-nat-keep-alive");
        return Ok(());
    }
    if view.len() < 4 {
        return Err(Cut);
    }
    if view.u32(0)? == 0 {
        line.put("NONESP-encap: ");
        return print(line, view.skip(4));
    }
    line.put("UDP-encap: ");
    tunnel::esp(line, view)
}
