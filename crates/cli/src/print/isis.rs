//! IS-IS (ISO 10589): the kind of packet and who sent it. With `-v` its fields are not shown; of other network layers the number is.

use super::view::{Cut, Printed, View};
use super::{Line, names, put};

/// The network layer's number.
const ISIS: u8 = 0x83;
const COMMON: usize = 8;
#[rustfmt::skip]
const KINDS: &[(u8, &str)] = &[
    (15, "L1 Lan IIH"), (16, "L2 Lan IIH"), (17, "p2p IIH"), (18, "L1 LSP"), (20, "L2 LSP"), (24, "L1 CSNP"), (25, "L2 CSNP"),
    (26, "L1 PSNP"), (27, "L2 PSNP"),
];

/// Prints what has a network layer's number before it; false if it has no printer.
pub(super) fn nlpid(line: &mut Line<'_>, view: View<'_>) -> Result<bool, Cut> {
    if view.u8(0)? != ISIS {
        return Ok(false);
    }
    if line.style.link {
        line.put("OSI NLPID IS-IS (0x83): ");
    }
    print(line, view).map(|()| true)
}

fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "isis";
    let [_, header, version, id_len, kind, pdu_version, _, areas] = view.array(0)?;
    if !line.style.link {
        line.put("IS-IS");
    }
    let header = usize::from(header);
    let fault = match () {
        () if version != 1 => Some(format!("version {version} packet not supported")),
        () if !matches!(id_len, 0 | 6) => Some(format!("system ID length of {id_len} is not supported")),
        () if pdu_version != 1 => Some(format!("version {pdu_version} packet not supported")),
        () if header > view.len() => Some(format!("fixed header length {header} > packet length {}", view.len())),
        () if header < COMMON => Some(format!("fixed header length {header} < minimum header size {COMMON}")),
        () if areas == 255 => Some("bad packet -- 255 areas".to_owned()),
        () => None,
    };
    if let Some(fault) = fault {
        line.put(&fault);
        return Ok(());
    }
    let comma = if line.style.link { "" } else { ", " };
    match names::find(KINDS, kind) {
        Some(name) => put!(line, "{comma}{name}"),
        None => put!(line, "{comma}unknown PDU type {kind}"),
    }
    // What comes before the TLVs has a size of its own.
    let size = match kind {
        15 | 16 | 18 | 20 => 27,
        17 => 20,
        24 | 25 => 33,
        26 | 27 => 17,
        _ => return Ok(()),
    };
    if header != size {
        put!(line, ", bogus fixed header length {header} should be {size}");
        return Ok(());
    }
    view.take(0, size)?;
    who(line, kind, view)?;
    put!(line, ", length {}", view.len());
    Ok(())
}

fn who(line: &mut Line<'_>, kind: u8, view: View<'_>) -> Printed {
    match kind {
        15 | 16 => put!(line, ", src-id {}, lan-id {}, prio {}", id(view.take(9, 6)?), id(view.take(20, 7)?), view.u8(19)?),
        17 => put!(line, ", src-id {}", id(view.take(9, 6)?)),
        18 | 20 => {
            put!(line, ", lsp-id {}, seq 0x{:08x}, lifetime {:5}s", id(view.take(12, 8)?), view.u32(20)?, view.u16(10)?);
        }
        _ => put!(line, ", src-id {}", id(view.take(10, 7)?)),
    }
    Ok(())
}

/// `1111.1111.1111`, of a node `.01`, of a link state packet `-00`.
fn id(bytes: &[u8]) -> String {
    let separator = |at: usize| match at {
        2 | 4 | 6 => ".",
        7 => "-",
        _ => "",
    };
    bytes.iter().enumerate().map(|(at, byte)| format!("{}{byte:02x}", separator(at))).collect()
}
