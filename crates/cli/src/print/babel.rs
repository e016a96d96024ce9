//! Babel (RFC 8966): the kinds of its TLVs, in the body and in the trailer; with `-v` their fields,
//! by `babel_fields`.

use super::babel_fields::Prefixes;
use super::view::{Cut, Printed, View};
use super::{Line, babel_fields, names, put};

#[rustfmt::skip]
const KINDS: &[(u8, &str)] = &[
    (1, "padN"), (2, "ack-req"), (3, "ack"), (4, "hello"), (5, "ihu"), (6, "router-id"), (7, "nh"), (8, "update"), (9, "route-request"),
    (10, "seqno-request"), (11, "tspc"), (12, "hmac"), (13, "ss-update"), (14, "ss-request"), (15, "ss-mh-request"), (16, "mac"), (17, "pc"),
    (18, "challenge_request"), (19, "challenge_reply"),
];
const UPDATE: u8 = 8;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "babel";
    line.put("babel");
    let [magic, version, _, _] = view.array(0)?;
    match (magic, version) {
        (42, 2) => line.put(" 2"),
        (42, _) => put!(line, " {version} unknown version"),
        _ => line.put(" invalid header"),
    }
    if (magic, version) != (42, 2) {
        return Ok(());
    }
    let body = usize::from(view.u16(2)?);
    put!(line, " ({body})");
    let rest = view.skip(4);
    if rest.len() < body {
        line.invalid();
        return Ok(());
    }
    if tlvs(line, rest.first(body))? && rest.len() > body {
        line.put(if line.style.verbose > 0 { "\n\t----" } else { " |" });
        tlvs(line, rest.skip(body))?;
    }
    Ok(())
}

/// Prints what TLVs there are; false after one that is wrong.
fn tlvs(line: &mut Line<'_>, mut rest: View<'_>) -> Result<bool, Cut> {
    let verbose = line.style.verbose > 0;
    let mut prefixes = Prefixes::default();
    while rest.len() > 0 {
        let kind = rest.u8(0)?;
        if kind == 0 {
            line.put(if verbose { "\n\tPad 1" } else { " pad1" });
            rest = rest.skip(1);
            continue;
        }
        if rest.len() < 2 || rest.len() < 2 + usize::from(rest.u8(1)?) {
            line.invalid();
            return Ok(false);
        }
        let len = usize::from(rest.u8(1)?);
        let value = View::new(&rest.take(0, 2 + len)?[2..], len);
        if verbose {
            if !babel_fields::print(line, kind, value, &mut prefixes)? {
                line.invalid();
                return Ok(false);
            }
            rest = rest.skip(2 + len);
            continue;
        }
        put!(line, " {}", names::find(KINDS, kind).unwrap_or("unknown"));
        if kind == UPDATE {
            if len < 10 {
                line.invalid();
                return Ok(false);
            }
            let flags = rest.u8(3)?;
            for (bits, text) in [(0x80, "/prefix"), (0x40, "/id"), (0x3f, "/unknown")] {
                line.put(if flags & bits != 0 { text } else { "" });
            }
        }
        rest = rest.skip(2 + len);
    }
    Ok(true)
}
