//! Payloads of IKE version 1: ISAKMP (RFC 2408), its IPsec domain (RFC 2407), and IKE (RFC 2409).
//!
//! Payloads within payloads are followed as deep as packets within packets.

use super::ike::{self, ESP, GROUPS, PROTOCOLS, digits, numbered, payload_name, some_data};
use super::view::{Cut, Printed, View};
use super::{Line, escape, ip6, put};

const PROPOSAL: u8 = 2;
const TRANSFORM: u8 = 3;
const HEAD: usize = 4;
const AH: &[&str] = &["(reserved)", "md5", "sha", "1des", "sha2-256", "sha2-384", "sha2-512"];
const IPCOMP: &[&str] = &["oui", "deflate", "lzs"];
const LIFE: &[&str] = &["sec", "kb"];
#[rustfmt::skip]
const OAKLEY: ike::Attributes = &[
    (1, ("enc", &["1des", "idea", "blowfish", "rc5", "3des", "cast", "aes"])),
    (2, ("hash", &["md5", "sha1", "tiger", "sha2-256", "sha2-384", "sha2-512"])),
    (3, ("auth", &["preshared", "dss", "rsa sig", "rsa enc", "rsa enc revised"])),
    (4, ("group desc", GROUPS)), (5, ("group type", &["MODP", "ECP", "EC2N"])), (6, ("group prime", &[])), (7, ("group gen1", &[])),
    (8, ("group gen2", &[])), (9, ("group curve A", &[])), (10, ("group curve B", &[])), (11, ("lifetype", LIFE)), (12, ("lifeduration", &[])),
    (13, ("prf", &[])), (14, ("keylen", &[])), (15, ("field", &[])), (16, ("order", &[])),
];
#[rustfmt::skip]
const IPSEC: ike::Attributes = &[
    (1, ("lifetype", LIFE)), (2, ("life", &[])), (3, ("group desc", GROUPS)), (4, ("enc mode", &["tunnel", "transport"])),
    (5, ("auth", &["hmac-md5", "hmac-sha1", "1des-mac", "keyed"])), (6, ("keylen", &[])), (7, ("rounds", &[])), (8, ("dictsize", &[])),
    (9, ("privalg", &[])),
];
#[rustfmt::skip]
const IDENTITIES: &[&str] = &[
    "IPv4", "FQDN", "user FQDN", "IPv4net", "IPv6", "IPv6net", "IPv4range", "IPv6range", "ASN1 DN", "ASN1 GN", "keyid",
];
#[rustfmt::skip]
const CERTIFICATES: &[&str] = &[
    "none", "pkcs7", "pgp", "dns", "x509sign", "x509ke", "kerberos", "crl", "arl", "spki", "x509attr",
];
#[rustfmt::skip]
const ERRORS: &[&str] = &[
    "INVALID-PAYLOAD-TYPE", "DOI-NOT-SUPPORTED", "SITUATION-NOT-SUPPORTED", "INVALID-COOKIE", "INVALID-MAJOR-VERSION",
    "INVALID-MINOR-VERSION", "INVALID-EXCHANGE-TYPE", "INVALID-FLAGS", "INVALID-MESSAGE-ID", "INVALID-PROTOCOL-ID", "INVALID-SPI",
    "INVALID-TRANSFORM-ID", "ATTRIBUTES-NOT-SUPPORTED", "NO-PROPOSAL-CHOSEN", "BAD-PROPOSAL-SYNTAX", "PAYLOAD-MALFORMED",
    "INVALID-KEY-INFORMATION", "INVALID-ID-INFORMATION", "INVALID-CERT-ENCODING", "INVALID-CERTIFICATE", "CERT-TYPE-UNSUPPORTED",
    "INVALID-CERT-AUTHORITY", "INVALID-HASH-INFORMATION", "AUTHENTICATION-FAILED", "INVALID-SIGNATURE", "ADDRESS-NOTIFICATION",
    "NOTIFY-SA-LIFETIME", "CERTIFICATE-UNAVAILABLE", "UNSUPPORTED-EXCHANGE-TYPE", "UNEQUAL-PAYLOAD-LENGTHS",
];

/// Prints payloads, the first of that kind; how many bytes they have, or nothing if they are cut.
pub(super) fn chain(line: &mut Line<'_>, first: u8, protocol: u8, view: View<'_>, depth: usize) -> Result<Option<usize>, Cut> {
    let (mut kind, mut rest) = (first, view);
    while kind != 0 {
        let length = rest.u16(2).map_or(HEAD, usize::from);
        if rest.take(0, HEAD.max(length)).is_err() {
            ike::cut(line, &payload_name(kind));
            return Ok(None);
        }
        ike::open(line, depth + 1);
        let mut read = None;
        line.nested(|line| {
            read = if length > HEAD { payload(line, kind, protocol, rest, length, depth + 1)? } else { None };
            Ok(())
        })?;
        line.put(")");
        let Some(size) = read else { return Ok(None) };
        kind = rest.u8(0)?;
        rest = rest.skip(size);
    }
    Ok(Some(view.len() - rest.len()))
}

/// Prints a payload of `length` bytes; where the next begins, or nothing if this is cut.
fn payload(line: &mut Line<'_>, kind: u8, protocol: u8, rest: View<'_>, length: usize, depth: usize) -> Result<Option<usize>, Cut> {
    let name = payload_name(kind);
    if !(1..=13).contains(&kind) {
        line.put(&name);
        return Ok(Some(length));
    }
    put!(line, "{name}:");
    let body = rest.first(length);
    let read = match kind {
        1 => association(line, protocol, rest, depth),
        PROPOSAL => proposal(line, rest, depth),
        12 => deletion(line, rest).map(Some),
        _ => simple(line, kind, protocol, body, rest).map(|()| Some(length)),
    };
    match read {
        Err(Cut) => {
            ike::cut(line, &name);
            Ok(None)
        }
        read => read,
    }
}

fn association(line: &mut Line<'_>, protocol: u8, rest: View<'_>, depth: usize) -> Result<Option<usize>, Cut> {
    let (domain, situation) = (rest.u32(4)?, rest.u32(8)?);
    if domain != 1 {
        put!(line, " doi={domain} situation={situation}");
        return Ok(Some(12));
    }
    let set: Vec<&str> =
        [(1, "identity"), (2, "secrecy"), (4, "integrity")].iter().filter(|(bit, _)| situation & bit != 0).map(|(_, name)| *name).collect();
    put!(line, " doi=ipsec situation={}", set.join("+"));
    let mut fixed = 12;
    if situation != 1 {
        put!(line, " ident={}", rest.u32(4)?);
        fixed += 4;
    }
    rest.take(fixed, HEAD)?;
    Ok(chain(line, PROPOSAL, protocol, rest.skip(fixed), depth)?.map(|size| fixed + size))
}

fn proposal(line: &mut Line<'_>, rest: View<'_>, depth: usize) -> Result<Option<usize>, Cut> {
    let [number, protocol, size, transforms] = rest.array(HEAD)?;
    put!(line, " #{number} protoid={} transform={transforms}", numbered(PROTOCOLS, protocol.into()));
    let fixed = 8 + usize::from(size);
    if size > 0 {
        line.put(" spi=");
        digits(line, rest.take(8, size.into())?);
    }
    rest.take(fixed, HEAD)?;
    Ok(chain(line, TRANSFORM, protocol, rest.skip(fixed), depth)?.map(|size| fixed + size))
}

/// A payload without others within; `body` is it, `rest` goes on to the packet's end.
fn simple(line: &mut Line<'_>, kind: u8, protocol: u8, body: View<'_>, rest: View<'_>) -> Printed {
    let (data, size) = (body.skip(HEAD), body.len() - HEAD);
    match kind {
        TRANSFORM => return transform(line, protocol, body),
        5 => return identity(line, body),
        11 => return notification(line, body, rest),
        4 => put!(line, " key len={size}"),
        6 | 7 => {
            let encoding = body.u8(4)?;
            let name = CERTIFICATES.get(usize::from(encoding)).map_or_else(|| format!("#{encoding}"), |name| (*name).to_owned());
            put!(line, " len={size} type={name}");
        }
        10 => put!(line, " n len={size}"),
        _ => put!(line, " len={size}"),
    }
    if line.style.verbose > 2 {
        line.put(" ");
        digits(line, data.captured());
    } else if kind == 10 && line.style.verbose > 1 {
        line.put(" ");
        some_data(line, rest.skip(HEAD));
    }
    Ok(())
}

fn transform(line: &mut Line<'_>, protocol: u8, body: View<'_>) -> Printed {
    let [number, id, ..] = body.array::<4>(HEAD)?;
    let (name, known) = match protocol {
        1 => (numbered(&["ike"], id.into()), OAKLEY),
        2 => (numbered(AH, id.into()), IPSEC),
        3 => (numbered(ESP, id.into()), IPSEC),
        4 => (numbered(IPCOMP, id.into()), IPSEC),
        _ => (id.to_string(), [].as_slice()),
    };
    put!(line, " #{number} id={name} ");
    ike::attributes(line, known, body.skip(8))
}

fn identity(line: &mut Line<'_>, body: View<'_>) -> Printed {
    let (kind, protocol) = (body.u8(4)?, body.u8(5)?);
    put!(line, " idtype={} protoid={protocol} port={}", numbered(IDENTITIES, kind.into()), body.u16(6)?);
    let data = body.skip(8);
    let size = data.len();
    if size == 0 {
        return Ok(());
    }
    put!(line, " len={size}");
    let least = match kind {
        1 => 4,
        4 | 7 => 8,
        5 => 16,
        6 | 8 => 32,
        _ => 0,
    };
    if size < least {
        put!(line, " [bad: < {least}]");
        return Ok(());
    }
    match kind {
        1 => put!(line, " {}", data.v4(0)?),
        2 | 3 => {
            line.put(" ");
            escape::text(&mut line.text, data.captured());
        }
        4 => put!(line, " {}/{}", data.v4(0)?, data.v4(4)?),
        5 => put!(line, " {}", ip6::address_at(data, 0)?),
        6 => {
            put!(line, " {}/0x", ip6::address_at(data, 0)?);
            digits(line, data.take(16, 16)?);
        }
        7 => put!(line, " {}-{}", data.v4(0)?, data.v4(4)?),
        8 => put!(line, " {}-{}", ip6::address_at(data, 0)?, ip6::address_at(data, 16)?),
        _ if line.style.verbose > 2 => {
            line.put(" ");
            digits(line, data.captured());
        }
        _ => {}
    }
    Ok(())
}

fn notification(line: &mut Line<'_>, body: View<'_>, rest: View<'_>) -> Printed {
    let (domain, protocol, size, kind) = (body.u32(4)?, body.u8(8)?, usize::from(body.u8(9)?), body.u16(10)?);
    let ipsec = domain == 1;
    match ipsec {
        true => put!(line, " doi=ipsec proto={}", numbered(PROTOCOLS, protocol.into())),
        false => put!(line, " doi={domain} proto={protocol}"),
    }
    let name = match kind {
        0..8192 => numbered(ERRORS, kind),
        8192 if ipsec => "RESERVED".to_owned(),
        8192..16_384 if ipsec => format!("#{}", kind - 8192),
        16_384 => "CONNECTED".to_owned(),
        16_385..24_576 => format!("#{}", kind - 16_384),
        24_576..32_768 if ipsec => {
            let names = ["RESPONDER-LIFETIME", "REPLAY-STATUS", "INITIAL-CONTACT"];
            let at = kind - 24_576;
            names.get(usize::from(at)).map_or_else(|| format!("#{at}"), |name| (*name).to_owned())
        }
        _ => format!("#{kind}"),
    };
    put!(line, " type={name}");
    if size > 0 {
        line.put(" spi=");
        digits(line, rest.take(12, size)?);
    }
    let data = rest.skip(12 + size);
    if !ipsec || data.len() == 0 {
        return Ok(());
    }
    match kind {
        24_576 => {
            line.put(" attrs=(");
            ike::attributes(line, OAKLEY, body.skip(12 + size))?;
            line.put(")");
        }
        24_577 => put!(line, " status=(replay detection {}abled)", if data.u32(0)? != 0 { "en" } else { "dis" }),
        _ if line.style.verbose > 3 => {
            line.put(" data=(");
            digits(line, data.captured());
            line.put(")");
        }
        _ => some_data(line, data),
    }
    Ok(())
}

/// Deleted associations; how many bytes were read.
fn deletion(line: &mut Line<'_>, rest: View<'_>) -> Result<usize, Cut> {
    let (domain, protocol, size, count) = (rest.u32(4)?, rest.u8(8)?, usize::from(rest.u8(9)?), rest.u16(10)?);
    match domain {
        1 => put!(line, " doi=ipsec proto={}", numbered(PROTOCOLS, protocol.into())),
        _ => put!(line, " doi={domain} proto={protocol}"),
    }
    put!(line, " spilen={size} nspi={count} spi=");
    // Empty ones take no bytes: no more of them than the packet has.
    let shown = if size == 0 { usize::from(count).min(rest.len()) } else { count.into() };
    for i in 0..shown {
        line.put(if i > 0 { "," } else { "" });
        digits(line, rest.take(12 + i * size, size)?);
    }
    Ok(12 + shown * size)
}
