//! IKE (RFC 2409, RFC 7296), and what port 4500 carries (RFC 3948): ESP, IKE, and signs of life. With `-v` payloads are not shown.

use super::view::{Cut, Printed, View};
use super::{Line, names, put, tunnel};

const HEADER: usize = 28;
#[rustfmt::skip]
const EXCHANGES: &[(u8, &str)] = &[
    (0, "none"), (1, "base"), (2, "ident"), (3, "auth"), (4, "agg"), (5, "inf"), (32, "oakley-quick"), (33, "oakley-newgroup"),
    (34, "ikev2_init"), (35, "ikev2_auth"), (36, "child_sa"), (37, "inf2"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "isakmp";
    view.take(0, HEADER)?;
    line.put("isakmp");
    let (version, exchange, flags, message) = (view.u8(17)?, view.u8(18)?, view.u8(19)?, view.u32(20)?);
    if line.style.verbose > 0 {
        put!(line, " {}.{} msgid {message:08x}", version >> 4, version & 15);
    }
    if line.style.verbose > 1 {
        let cookie = |at| view.array(at).map(u64::from_be_bytes);
        put!(line, " cookie {:016x}->{:016x}", cookie(0)?, cookie(8)?);
    }
    line.put(":");
    let name = names::find(EXCHANGES, exchange).map_or_else(|| format!("#{exchange}"), str::to_owned);
    match version >> 4 {
        1 => version_1(line, view, &name, flags, message)?,
        2 => {
            let association = if message == 0 { "parent_sa" } else { "child_sa " };
            put!(line, " {association} {name}");
            shown_flags(line, flags, &[(0x08, "I"), (0x10, "V"), (0x20, "R")]);
        }
        _ => {}
    }
    Ok(())
}

/// Who began is known of the first message only: it has no cookie of the responder.
fn version_1(line: &mut Line<'_>, view: View<'_>, name: &str, flags: u8, message: u32) -> Printed {
    let phase = if message == 0 { "phase 1" } else { "phase 2/others" };
    let first = view.take(8, 8)?.iter().all(|b| *b == 0);
    put!(line, " {phase} {} {name}", if first { "I" } else { "?" });
    shown_flags(line, flags, &[(0x01, "E"), (0x02, "C")]);
    Ok(())
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
