//! Ethernet frames in UDP: VXLAN (RFC 7348) and Geneve (RFC 8926).

use super::view::{Printed, View};
use super::{Line, ether, names, put};

const HEADER: usize = 8;

pub(super) fn vxlan(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "vxlan";
    line.put("VXLAN");
    if view.len() < HEADER {
        line.invalid();
        return Ok(());
    }
    let flags = view.u8(0)?;
    let name = if flags & 0x08 != 0 { "I" } else { "invalid" };
    put!(line, ", flags [{name}] (0x{flags:02x}), ");
    put!(line, "vni {}\n", view.u32(4)? >> 8);
    view.take(0, HEADER)?;
    line.nested(|line| ether::print(line, view.skip(HEADER), &mut 0))
}

pub(super) fn geneve(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "geneve";
    line.put("Geneve");
    let [first, flags] = view.array(0)?;
    if view.len() < HEADER || first >> 6 != 0 {
        if first >> 6 != 0 {
            put!(line, " ERROR: unknown-version {}", first >> 6);
        }
        line.invalid();
        return Ok(());
    }
    let (protocol, vni) = (view.u16(2)?, view.u32(4)?);
    // No separator between flags: they are letters.
    let flags = names::flags(&[(0x80, "O"), (0x40, "C")], flags.into(), "");
    put!(line, ", Flags [{flags}], vni 0x{:x}", vni >> 8);
    if vni & 0xff != 0 {
        put!(line, ", rsvd 0x{:x}", vni & 0xff);
    }
    if line.style.link {
        let name = names::ethertype(protocol);
        put!(line, ", proto {} (0x{protocol:04x})", if name == "Unknown" { "unknown" } else { name });
    }
    let options = usize::from(first & 0x3f) * 4;
    geneve_payload(line, view.skip(HEADER), protocol, options)
}

fn geneve_payload(line: &mut Line<'_>, view: View<'_>, protocol: u16, options: usize) -> Printed {
    if view.len() < options {
        put!(line, " (opts_len {options} > {}", view.len());
        line.invalid();
        return Ok(());
    }
    if options > 0 {
        view.take(0, options)?;
        match line.style.verbose {
            0 => put!(line, ", options [{options} bytes]"),
            _ => geneve_options(line, view.first(options))?,
        }
    }
    line.put(if line.style.verbose > 0 { "\n\t" } else { ": " });
    let inner = view.skip(options);
    if ether::payload(line, protocol, inner)? {
        return Ok(());
    }
    match protocol {
        0x6558 => line.nested(|line| ether::print(line, inner, &mut 0)),
        _ => {
            put!(line, "geneve-proto-0x{protocol:x}");
            Ok(())
        }
    }
}

fn geneve_options(line: &mut Line<'_>, mut rest: View<'_>) -> Printed {
    let known = [
        (0x0100, "Linux"),
        (0x0101, "Open vSwitch"),
        (0x0102, "Open Virtual Networking (OVN)"),
        (0x0103, "In-band Network Telemetry (INT)"),
        (0x0104, "VMware"),
    ];
    line.put(", options [");
    let mut separator = "";
    while rest.len() > 0 {
        let (class, kind, len) = (rest.u16(0)?, rest.u8(2)?, 4 + usize::from(rest.u8(3)? & 0x1f) * 4);
        let name = match class {
            0..0x0100 => "Standard",
            0xfff0.. => "Experimental",
            _ => names::find(&known, class).unwrap_or("Unknown"),
        };
        let critical = if kind & 0x80 != 0 { "(C)" } else { "" };
        put!(line, "{separator}class {name} (0x{class:x}) type 0x{kind:x}{critical} len {len}");
        separator = ", ";
        if len > rest.len() {
            line.put(" [bad length]");
            break;
        }
        if line.style.verbose > 1 && len > 4 {
            line.put(" data");
            for word in rest.take(4, len - 4)?.chunks(4) {
                line.put(" ");
                word.iter().for_each(|byte| put!(line, "{byte:02x}"));
            }
        }
        rest = rest.skip(len);
    }
    line.put("]");
    Ok(())
}
