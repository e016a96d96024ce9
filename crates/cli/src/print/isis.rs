//! IS-IS (ISO 10589): the kind of packet and who sent it; with `-v` its header, and its fields by
//! `isis_fields`. Of other network layers the number is shown.

use super::view::{Cut, Printed, View};
use super::{Line, hex, isis_fields, names, put};

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
    let verbose = line.style.verbose > 0;
    let name = names::find(KINDS, kind);
    match verbose {
        true => {
            let name = name.map_or_else(|| format!("unknown, type {kind}"), str::to_owned);
            put!(line, "{comma}length {}\n\t{name}, hlen: {header}, v: {version}, pdu-v: {pdu_version}", view.len());
            put!(line, ", sys-id-len: 6 ({id_len}), max-area: {} ({areas})", if areas == 0 { 3 } else { areas });
            bytes(line, view, 0, COMMON, "\n\t");
        }
        false => match name {
            Some(name) => put!(line, "{comma}{name}"),
            None => put!(line, "{comma}unknown PDU-Type {kind}"),
        },
    }
    // What comes before the TLVs has a size of its own.
    let size = match kind {
        15 | 16 | 18 | 20 => 27,
        17 => 20,
        24 | 25 => 33,
        26 | 27 => 17,
        _ if verbose => {
            hex::indented(&mut line.text, view.skip(COMMON).captured(), "\n\t  ");
            return Ok(());
        }
        _ => {
            put!(line, ", length {}", view.len());
            return Ok(());
        }
    };
    if header != size {
        let comma = if matches!(kind, 26 | 27) { "- " } else { ", " };
        let should = if matches!(kind, 18 | 20) { size - COMMON } else { size };
        put!(line, "{comma}bogus fixed header length {header} should be {should}");
        return Ok(());
    }
    view.take(0, size)?;
    if verbose {
        return packet(line, kind, size, view);
    }
    who(line, kind, view)?;
    put!(line, ", length {}", view.len());
    Ok(())
}

/// Bytes of the header, with `-vv`.
fn bytes(line: &mut Line<'_>, view: View<'_>, at: usize, size: usize, indent: &str) {
    if line.style.verbose > 1 {
        hex::indented(&mut line.text, view.skip(at).first(size).captured(), indent);
    }
}

/// The header of that size, and the fields behind it.
fn packet(line: &mut Line<'_>, kind: u8, size: usize, view: View<'_>) -> Printed {
    let at = match kind {
        15..=17 => 17,
        _ => 8,
    };
    let length = usize::from(view.u16(at)?);
    match kind {
        15..=17 => hello(line, kind, length, view)?,
        18 | 20 => link_state(line, length, view)?,
        _ => {
            put!(line, "\n\t  source-id:    {}, PDU length: {length}", id(view.take(10, 7)?));
            if matches!(kind, 24 | 25) {
                put!(line, "\n\t  start lsp-id: {}", id(view.take(17, 8)?));
                put!(line, "\n\t  end lsp-id:   {}", id(view.take(25, 8)?));
            }
        }
    }
    bytes(line, view, COMMON, size - COMMON, "\n\t  ");
    let view = view.first(length);
    if view.len() < size {
        put!(line, " [packet length {} < {size}]", view.len());
        line.invalid();
        return Ok(());
    }
    isis_fields::print(line, view, size)
}

fn hello(line: &mut Line<'_>, kind: u8, length: usize, view: View<'_>) -> Printed {
    let levels = [(1, "Level 1 only"), (2, "Level 2 only"), (3, "Level 1, Level 2")];
    let circuit = view.u8(8)?;
    let circuit = names::find_or(&levels, circuit, || format!("unknown circuit type 0x{circuit:02x}"));
    let blank = if kind == 17 { "" } else { " " };
    put!(line, "\n\t  source-id: {}, {blank}holding time: {}s, Flags: [{circuit}]", id(view.take(9, 6)?), view.u16(15)?);
    match kind {
        17 => put!(line, "\n\t  circuit-id: 0x{:02x}, PDU length: {length}", view.u8(19)?),
        _ => put!(line, "\n\t  lan-id:    {}, Priority: {}, PDU length: {length}", id(view.take(20, 7)?), view.u8(19)? & 0x7f),
    }
    Ok(())
}

fn link_state(line: &mut Line<'_>, length: usize, view: View<'_>) -> Printed {
    let (sequence, lifetime, sum, flags) = (view.u32(20)?, view.u16(10)?, view.u16(24)?, view.u8(26)?);
    put!(line, "\n\t  lsp-id: {}, seq: 0x{sequence:08x}, lifetime: {lifetime:>5}s", id(view.take(12, 8)?));
    put!(line, "\n\t  chksum: 0x{sum:04x}");
    checksum(line, view.first(length).skip(12), sum, 12);
    put!(line, ", PDU length: {length}, Flags: [ {}", if flags & 0x04 != 0 { "Overload bit set, " } else { "" });
    if flags & 0x78 != 0 {
        for (bit, name) in [(0x08, "default "), (0x10, "delay "), (0x20, "expense "), (0x40, "error ")] {
            line.put(if flags & bit != 0 { name } else { "" });
        }
        line.put("ATT bit set, ");
    }
    let kinds = ["Unused 0x0 (invalid)", "L1 IS", "Unused 0x2 (invalid)", "L2 IS"];
    put!(line, "{}{} ]", if flags & 0x80 != 0 { "P bit set, " } else { "" }, kinds[usize::from(flags & 3)]);
    Ok(())
}

/// Whether Fletcher's checksum (ISO 8473, annex C) at that place is right.
pub(super) fn checksum(line: &mut Line<'_>, covered: View<'_>, found: u16, at: usize) {
    let bytes = covered.captured();
    if found == 0 || !covered.is_whole() || at + 2 > bytes.len() {
        line.put(" (unverified)");
        return;
    }
    let (mut sum, mut weighted) = (0_i64, 0_i64);
    for (i, byte) in bytes.iter().enumerate() {
        sum += if i == at || i == at + 1 { 0 } else { i64::from(*byte) };
        sum %= 255;
        weighted = (weighted + sum) % 255;
    }
    let left = (bytes.len() - at) as i64;
    // Zero stands for no checksum.
    let digit = |value: i64| if value.rem_euclid(255) == 0 { 255 } else { value.rem_euclid(255) };
    let right = digit((left - 1) * sum - weighted) << 8 | digit(weighted - left * sum);
    match i64::from(found) == right {
        true => line.put(" (correct)"),
        false => put!(line, " (incorrect should be 0x{right:04x})"),
    }
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
pub(super) fn id(bytes: &[u8]) -> String {
    let separator = |at: usize| match at {
        2 | 4 | 6 => ".",
        7 => "-",
        _ => "",
    };
    bytes.iter().enumerate().map(|(at, byte)| format!("{}{byte:02x}", separator(at))).collect()
}
