//! ATA over Ethernet (AoEr11): version and flags; with `-v` the command.

use super::ether::Mac;
use super::view::{Cut, Printed, View};
use super::{Line, escape, names, put};

const HEADER: usize = 10;
const FLAGS: &[(u16, &str)] = &[(8, "Response"), (4, "Error"), (2, "MBZ-1"), (1, "MBZ-0")];
const COMMANDS: [&str; 4] = ["Issue ATA Command", "Query Config Information", "MAC Mask List", "Reserve/Release"];
#[rustfmt::skip]
const ERRORS: &[(u8, &str)] = &[
    (1, "Unrecognized command code"), (2, "Bad argument parameter"), (3, "Device unavailable"), (4, "Config string present"),
    (5, "Unsupported version"), (6, "Target is reserved"),
];
#[rustfmt::skip]
const ATA_FLAGS: &[(u16, &str)] = &[
    (0x80, "MBZ-7"), (0x40, "Ext48"), (0x20, "MBZ-5"), (0x10, "Device"), (0x08, "MBZ-3"), (0x04, "MBZ-2"), (0x02, "Async"), (0x01, "Write"),
];
/// Longer configurations there are not.
const MAX_CONFIGURATION: usize = 1024;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "aoe";
    put!(line, "AoE length {}", view.len());
    if view.len() < 1 {
        line.invalid();
        return Ok(());
    }
    let first = view.u8(0)?;
    put!(line, ", Ver {}", first >> 4);
    match (first >> 4, view.len()) {
        (1, ..HEADER) => line.invalid(),
        (1, _) => put!(line, ", Flags: [{}]", names::flags(FLAGS, (first & 15).into(), ", ")),
        _ => return Ok(()),
    }
    if view.len() < HEADER {
        return view.take(0, view.len()).map(drop);
    }
    if line.style.verbose > 0 { command(line, first, view) } else { Ok(()) }
}

fn command(line: &mut Line<'_>, flags: u8, view: View<'_>) -> Printed {
    if flags & 4 != 0 {
        let error = view.u8(1)?;
        put!(line, "\n\tError: {}", names::find_or(ERRORS, error, || format!("Invalid ({error})")));
    }
    let command = view.u8(5)?;
    put!(line, "\n\tMajor: 0x{:04x}, Minor: 0x{:02x}", view.u16(2)?, view.u8(4)?);
    match COMMANDS.get(usize::from(command)) {
        Some(name) => put!(line, ", Command: {name}"),
        None => put!(line, ", Command: Unknown (0x{command:02x})"),
    }
    put!(line, ", Tag: 0x{:08x}", view.u32(6)?);
    let rest = view.skip(HEADER);
    let valid = match command {
        0 => issue(line, rest)?,
        1 => query(line, rest)?,
        2 => masks(line, rest)?,
        3 => reserve(line, rest)?,
        _ => true,
    };
    if !valid {
        line.invalid();
        view.take(0, view.len())?;
    }
    Ok(())
}

fn issue(line: &mut Line<'_>, rest: View<'_>) -> Result<bool, Cut> {
    if rest.len() < 12 {
        return Ok(false);
    }
    let [flags, error, sectors, status] = rest.array(0)?;
    put!(line, "\n\tAFlags: [{}], Err/Feature: {error}", names::flags(ATA_FLAGS, flags.into(), ", "));
    put!(line, ", Sector Count: {sectors}, Cmd/Status: {status}\n\t");
    for (i, byte) in rest.take(4, 6)?.iter().enumerate() {
        put!(line, "{}lba{i}: {byte}", if i == 0 { "" } else { ", " });
    }
    rest.take(10, 2)?;
    if rest.len() > 12 {
        put!(line, "\n\tData: {} bytes", rest.len() - 12);
    }
    Ok(true)
}

fn query(line: &mut Line<'_>, rest: View<'_>) -> Result<bool, Cut> {
    if rest.len() < 8 {
        return Ok(false);
    }
    put!(line, "\n\tBuffer Count: {}, Firmware Version: {}", rest.u16(0)?, rest.u16(2)?);
    let last = rest.u8(5)?;
    let commands =
        ["read config string", "test config string", "test config string prefix", "set config string", "force set config string"];
    // The blank format is tcpdump's.
    let name = commands.get(usize::from(last & 15)).unwrap_or(&"Unknown (0x02x)");
    put!(line, ", Sector Count: {}, AoE: {}, CCmd: {name}", rest.u8(4)?, last >> 4);
    let length = usize::from(rest.u16(6)?);
    if length > MAX_CONFIGURATION || length > rest.len() - 8 {
        return Ok(false);
    }
    if length > 0 {
        put!(line, "\n\tConfig String (length {length}): ");
        escape::text(&mut line.text, rest.take(8, length)?);
    }
    Ok(true)
}

fn masks(line: &mut Line<'_>, rest: View<'_>) -> Result<bool, Cut> {
    if rest.len() < 4 {
        return Ok(false);
    }
    let [_, command, error, count] = rest.array(0)?;
    let unknown = |number: u8| format!("Unknown (0x{number:02x})");
    let commands = [(0, "Read Mac Mask List"), (1, "Edit Mac Mask List")];
    let errors = [(1, "Unspecified Error"), (2, "Bad DCmd directive"), (3, "Mask list full")];
    put!(line, "\n\tMCmd: {}", names::find_or(&commands, command, || unknown(command)));
    put!(line, ", MError: {}, Dir Count: {count}", names::find_or(&errors, error, || unknown(error)));
    if usize::from(count) * 8 > rest.len() - 4 {
        return Ok(false);
    }
    let directives = [(0, "No Directive"), (1, "Add mac address to mask list"), (2, "Delete mac address from mask list")];
    for at in (4..).step_by(8).take(count.into()) {
        let directive = rest.u8(at + 1)?;
        let name = names::find_or(&directives, directive, || unknown(directive));
        put!(line, "\n\t DCmd: {name}, Ethernet Address: {}", Mac(rest.array(at + 2)?));
    }
    Ok(true)
}

fn reserve(line: &mut Line<'_>, rest: View<'_>) -> Result<bool, Cut> {
    if rest.len() < 2 || !(rest.len() - 2).is_multiple_of(6) {
        return Ok(false);
    }
    let [command, count] = rest.array(0)?;
    let commands = [(0, "Read reserve list"), (1, "Set reserve list"), (2, "Force set reserve list")];
    put!(line, "\n\tRCmd: {}", names::find_or(&commands, command, || format!("Unknown (0x{command:02x})")));
    put!(line, ", NMacs: {count}");
    if usize::from(count) * 6 != rest.len() - 2 {
        return Ok(false);
    }
    for i in 0..usize::from(count) {
        put!(line, "\n\tEthernet Address {i}: {}", Mac(rest.array(2 + 6 * i)?));
    }
    Ok(true)
}
