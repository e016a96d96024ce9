//! RPL, routing for lossy networks (RFC 6550): the kind of message; with `-v` its fields, with
//! `-vv` the kinds of its options.

use super::view::{Cut, Printed, View};
use super::{Line, hex, ip6, names, put};

const MODES: [&str; 4] = ["nonstoring", "storing", "nonstoring-multicast", "storing-multicast"];
#[rustfmt::skip]
const OPTIONS: &[(u8, &str)] = &[
    (0, "pad1"), (1, "padN"), (2, "metrics"), (3, "routinginfo"), (4, "config"), (5, "rpltarget"), (6, "transitinfo"), (8, "destprefix"),
    (9, "rpltargetdesc"),
];
/// The fixed fields of an information object.
const OBJECT: usize = 24;
/// A DODAG's id follows.
const WITH_ID: u8 = 0x40;

/// Prints what follows the checksum.
pub(super) fn print(line: &mut Line<'_>, code: u8, view: View<'_>) -> Printed {
    if code & 0x80 != 0 {
        line.put(", (SEC) [worktodo]");
        return Ok(());
    }
    let texts = [
        "DODAG Information Solicitation",
        "DODAG Information Object",
        "Destination Advertisement Object",
        "Destination Advertisement Object Ack",
    ];
    match texts.get(usize::from(code)) {
        Some(text) => put!(line, ", (CLR){text}"),
        None => put!(line, ", (CLR)RPL message, unknown code {code}"),
    }
    if line.style.verbose == 0 {
        return Ok(());
    }
    match code {
        1 => object(line, view),
        2 | 3 => destination(line, code == 3, view),
        _ => Ok(()),
    }
}

fn object(line: &mut Line<'_>, view: View<'_>) -> Printed {
    if view.len() < OBJECT {
        line.invalid();
        return Ok(());
    }
    let modes = view.u8(4)?;
    let grounded = if modes & 0x80 != 0 { "grounded," } else { "" };
    let mode = usize::from(modes >> 3 & 7);
    let mode = MODES.get(mode).map_or_else(|| format!("mop{mode}"), |name| (*name).to_owned());
    put!(line, " [dagid:{},seq:{},instance:{}", ip6::address_at(view, 8)?, view.u8(5)?, view.u8(0)?);
    put!(line, ",rank:{},{grounded}mop:{mode},prf:{}]", view.u16(2)?, modes & 7);
    options(line, view.skip(OBJECT))
}

/// A destination's advertisement, or its acknowledgement.
fn destination(line: &mut Line<'_>, acknowledges: bool, view: View<'_>) -> Printed {
    let flags = if view.len() < 4 { 0 } else { view.u8(1)? };
    let with_id = flags & if acknowledges { 0x80 } else { WITH_ID } != 0;
    let size = if with_id { 20 } else { 4 };
    if view.len() < size {
        line.invalid();
        return Ok(());
    }
    let id = if with_id { ip6::address_at(view, 4)? } else { "<elided>".to_owned() };
    put!(line, " [dagid:{id},seq:{},instance:{}", view.u8(if acknowledges { 2 } else { 3 })?, view.u8(0)?);
    match acknowledges {
        true => put!(line, ",status:{}]", view.u8(3)?),
        false => {
            let wanted = if flags & 0x80 != 0 { ",acK" } else { "" };
            put!(line, "{wanted}{},{flags:02x}]", if with_id { ",Dagid" } else { "" });
        }
    }
    options(line, view.skip(size))
}

fn options(line: &mut Line<'_>, view: View<'_>) -> Result<(), Cut> {
    let mut rest = view;
    while line.style.verbose > 1 && rest.len() > 0 {
        let kind = rest.u8(0)?;
        if kind == 0 {
            line.put(" opt:pad1");
            rest = rest.skip(1);
            continue;
        }
        let size = usize::from(rest.u8(1)?) + 2;
        put!(line, " opt:{} len:{size} ", names::find_or(OPTIONS, kind, || format!("subopt:{kind}")));
        let option = rest.take(0, size)?;
        if line.style.verbose > 2 {
            hex::indented(&mut line.text, &option[2..], " ");
        }
        rest = rest.skip(size);
    }
    Ok(())
}
