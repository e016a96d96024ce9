//! PPP (RFC 1661, RFC 1662) and PPPoE (RFC 2516).

use super::view::{Printed, View};
use super::{Line, hex, ip4, ip6, names, ppp_control, put, tunnel};

#[rustfmt::skip]
pub(super) const PROTOCOLS: &[(u16, &str)] = &[
    (0x0021, "IP"), (0x0023, "OSI"), (0x0025, "NS"), (0x0027, "DECNET"), (0x0029, "APPLE"), (0x002b, "IPX"), (0x002d, "VJC"),
    (0x002f, "VJNC"), (0x0031, "BRPDU"), (0x0033, "STII"), (0x0035, "VINES"), (0x003d, "MLPPP"), (0x0057, "IP6"), (0x00fd, "Compressed"),
    (0x0201, "HELLO"), (0x0231, "LUXCOM"), (0x0233, "SNS"), (0x0281, "MPLS"), (0x0283, "MPLS"), (0x8021, "IPCP"), (0x8023, "OSICP"),
    (0x8025, "NSCP"), (0x8027, "DECNETCP"), (0x8029, "APPLECP"), (0x802b, "IPXCP"), (0x8033, "STIICP"), (0x8035, "VINESCP"),
    (0x8057, "IP6CP"), (0x80fd, "CCP"), (0x8281, "MPLSCP"), (0xc021, "LCP"), (0xc023, "PAP"), (0xc025, "LQM"), (0xc027, "SPAP"),
    (0xc02b, "BACP"), (0xc02d, "BAP"), (0xc03d, "MLPPP-CP"), (0xc123, "Old-SPAP"), (0xc223, "CHAP"), (0xc227, "EAP"),
];

/// Prints a frame: perhaps address and control, then a protocol of one or two bytes.
pub(super) fn frame(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "ppp";
    let len = view.len();
    let view = match view.u16(0)? {
        0xff03 => view.skip(2),
        pppd @ (0x0003 | 0x0103) => {
            if line.style.link {
                line.put(if pppd == 0x0003 { "In  " } else { "Out " });
            }
            view.skip(2)
        }
        _ => view,
    };
    let (protocol, size) = match view.u8(0)? {
        short if short % 2 == 1 => (u16::from(short), 1),
        _ => (view.u16(0)?, 2),
    };
    let name = names::find(PROTOCOLS, protocol);
    if line.style.link {
        put!(line, "{} (0x{protocol:04x}), length {len}", name.unwrap_or("unknown"));
        if name.is_none() {
            return Ok(());
        }
        line.put(": ");
    }
    payload(line, protocol, name, view, size)
}

fn payload(line: &mut Line<'_>, protocol: u16, name: Option<&str>, frame: View<'_>, size: usize) -> Printed {
    let view = frame.skip(size);
    match (protocol, name) {
        (0x0021 | 0x002f | 0x0800, _) => ip4::print(line, view),
        (0x0057 | 0x86dd, _) => ip6::print(line, view),
        (0x0281 | 0x0283, _) => tunnel::mpls(line, view),
        (0x00fd, _) => {
            line.put("compressed PPP data");
            Ok(())
        }
        (0x8021 | 0x8023 | 0x8281 | 0x8057 | 0x80fd | 0xc02b | 0xc021, Some(name)) => ppp_control::print(line, protocol, name, frame),
        (0x003d, _) => ppp_control::multilink(line, view),
        (0xc023, _) => ppp_control::pap(line, view),
        (0xc223, _) => ppp_control::chap(line, view),
        (0xc02d, _) => Ok(()),
        (_, Some(name)) => {
            put!(line, "{name} ");
            hex::indented(&mut line.text, view.captured(), "\n\t");
            Ok(())
        }
        (_, None) => {
            put!(line, "unknown PPP protocol (0x{protocol:04x}) ");
            hex::indented(&mut line.text, view.captured(), "\n\t");
            Ok(())
        }
    }
}

/// Prints discovery with its tags, or a session's frame.
pub(super) fn pppoe(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "pppoe";
    let (kinds, code, session, length) = (view.u8(0)?, view.u8(1)?, view.u16(2)?, usize::from(view.u16(4)?));
    if kinds != 0x11 {
        put!(line, " [ver {}] [type {}]", kinds >> 4, kinds & 15);
    }
    match names::find(&[(0x09, "PADI"), (0x07, "PADO"), (0x19, "PADR"), (0x65, "PADS"), (0xa7, "PADT"), (0x00, "")], code) {
        Some(name) => put!(line, "PPPoE {name}"),
        None => put!(line, "PPPoE PAD-{code:x}"),
    }
    let rest = view.skip(6);
    if length > rest.len() {
        put!(line, " [len {length} > {}!]", rest.len());
    }
    if session != 0 {
        put!(line, " [ses 0x{session:x}]");
    }
    let rest = rest.first(length);
    if code != 0 {
        return tags(line, rest);
    }
    line.put(" ");
    frame(line, rest)
}

fn tags(line: &mut Line<'_>, mut view: View<'_>) -> Printed {
    #[rustfmt::skip]
    let table = [
        (0x0000, "EOL"), (0x0101, "Service-Name"), (0x0102, "AC-Name"), (0x0103, "Host-Uniq"), (0x0104, "AC-Cookie"),
        (0x0105, "Vendor-Specific"), (0x0110, "Relay-Session-ID"), (0x0120, "PPP-Max-Payload"), (0x0201, "Service-Name-Error"),
        (0x0202, "AC-System-Error"), (0x0203, "Generic-Error"),
    ];
    while view.len() > 0 {
        let (kind, len) = (view.u16(0)?, usize::from(view.u16(2)?));
        let name = names::find(&table, kind).map_or_else(|| format!("TAG-0x{kind:x}"), str::to_owned);
        put!(line, " [{name}{}]", value(view.take(4, len)?));
        if kind == 0 {
            break;
        }
        view = view.skip(4 + len);
    }
    Ok(())
}

/// A tag's value as text if it mostly is, else in hexadecimal.
fn value(bytes: &[u8]) -> String {
    let is_text = |b: &&u8| b.is_ascii_graphic() || **b == b' ';
    let readable = bytes.iter().filter(is_text).count();
    match bytes.len() {
        0 => String::new(),
        n if readable > n - readable => {
            let text: String = bytes.iter().map(|b| if is_text(&b) { char::from(*b) } else { '.' }).collect();
            format!(" \"{text}\"")
        }
        _ => bytes.iter().fold(" 0x".to_owned(), |text, b| text + &format!("{b:02X}")),
    }
}
