//! Spanning tree: version, message type, flags, bridge and port; with `-v` times, roots and the
//! trees of MSTP.
//!
//! Source: IEEE 802.1D, clause 9; IEEE 802.1Q, clause 14 (MSTP), with 802.1aq's agreement.

use super::ether::Mac;
use super::view::{Cut, Printed, View};
use super::{Line, escape, names, put};

const RAPID: u8 = 2;
const MULTIPLE: u8 = 3;
const SHORTEST_PATH: u8 = 4;
const CONFIG: u8 = 0x00;
const RAPID_CONFIG: u8 = 0x02;
const TOPOLOGY_CHANGE: u8 = 0x80;
#[rustfmt::skip]
const FLAGS: &[(u16, &str)] = &[
    (0x01, "Topology change"), (0x02, "Proposal"), (0x10, "Learn"), (0x20, "Forward"), (0x40, "Agreement"), (0x80, "Topology change ACK"),
];
const ROLES: [&str; 4] = ["Unknown", "Alternate", "Root", "Designated"];
/// Bytes of a configuration message of versions 0 and 2.
const SIMPLE: usize = 35;
/// Where the trees of MSTP begin, and the bytes of each.
const TREES: usize = 102;
const TREE: usize = 16;
/// What of the length of version 3 is not trees.
const COMMON: usize = 64;
/// What version 4 adds, at least.
const AGREEMENT: usize = 87;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "stp";
    if view.len() < 4 {
        line.invalid();
        return Ok(());
    }
    if view.u16(0)? != 0 {
        put!(line, "unknown STP version, length {}", view.len());
        return Ok(());
    }
    let version = view.u8(2)?;
    let known = [(0, "802.1d"), (RAPID, "802.1w"), (MULTIPLE, "802.1s"), (SHORTEST_PATH, "802.1aq")];
    let Some(name) = names::find(&known, version) else {
        put!(line, "STP Unknown STP protocol (0x{version:02x})");
        return Ok(());
    };
    let kind = view.u8(3)?;
    let kinds = [(CONFIG, "Config"), (RAPID_CONFIG, "Rapid STP"), (TOPOLOGY_CHANGE, "Topology Change")];
    put!(line, "STP {name}, {}", names::find_or(&kinds, kind, || format!("Unknown BPDU Type (0x{kind:02x})")));
    let valid = match (kind, version) {
        (CONFIG, _) => simple(line, view, version, SIMPLE)?,
        (RAPID_CONFIG, RAPID) => simple(line, view, version, SIMPLE + 1)?,
        (RAPID_CONFIG, MULTIPLE | SHORTEST_PATH) => multiple(line, view, version)?,
        _ => true,
    };
    if !valid {
        line.invalid();
    }
    Ok(())
}

fn bridge(view: View<'_>, at: usize) -> Result<String, Cut> {
    Ok(format!("{:04x}.{}", view.u16(at)?, Mac(view.array(at + 2)?)))
}

fn role(flags: u8) -> &'static str {
    ROLES[usize::from(flags >> 2 & 3)]
}

/// One tree; false if the message is too short for it.
fn simple(line: &mut Line<'_>, view: View<'_>, version: u8, least: usize) -> Result<bool, Cut> {
    if view.len() < least {
        return Ok(false);
    }
    let flags = view.u8(4)?;
    put!(line, ", Flags [{}]", names::flags(FLAGS, flags.into(), ", "));
    put!(line, ", bridge-id {}.{:04x}, length {}", bridge(view, 17)?, view.u16(25)?, view.len());
    if line.style.verbose > 0 {
        times(line, view)?;
        put!(line, "\n\troot-id {}, root-pathcost {}", bridge(view, 5)?, view.u32(13)?);
        if version == RAPID {
            put!(line, ", port-role {}", role(flags));
        }
    }
    Ok(true)
}

fn times(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let names = ["\n\tmessage-age", ", max-age", ", hello-time", ", forwarding-delay"];
    for (name, at) in names.into_iter().zip((27..).step_by(2)) {
        // In units of 1/256 s.
        put!(line, "{name} {:.2}s", f64::from(view.u16(at)?) / 256.0);
    }
    Ok(())
}

/// The common tree and the others; false if a length is wrong.
fn multiple(line: &mut Line<'_>, view: View<'_>, version: u8) -> Result<bool, Cut> {
    if view.len() < TREES || view.u8(SIMPLE)? != 0 {
        return Ok(false);
    }
    let length = usize::from(view.u16(36)?);
    if view.len() < SIMPLE + 1 + length + 2 {
        return Ok(false);
    }
    let flags = view.u8(4)?;
    put!(line, ", CIST Flags [{}], length {}", names::flags(FLAGS, flags.into(), ", "), view.len());
    if line.style.verbose > 0 {
        common(line, view, flags, length)?;
        trees(line, view.skip(TREES), length.saturating_sub(COMMON))?;
    }
    match version {
        SHORTEST_PATH => agreement(line, view.skip(SIMPLE + 1 + length + 2)),
        _ => Ok(true),
    }
}

fn name(line: &mut Line<'_>, view: View<'_>, at: usize) -> Printed {
    escape::until_zero(&mut line.text, view.take(at, 32)?);
    Ok(())
}

fn digits(line: &mut Line<'_>, bytes: &[u8]) {
    for byte in bytes {
        put!(line, "{byte:02x}");
    }
}

fn common(line: &mut Line<'_>, view: View<'_>, flags: u8, length: usize) -> Printed {
    put!(line, "\n\tport-role {}, CIST root-id {}, CIST ext-pathcost {}", role(flags), bridge(view, 5)?, view.u32(13)?);
    put!(line, "\n\tCIST regional-root-id {}, CIST port-id {:04x},", bridge(view, 17)?, view.u16(25)?);
    times(line, view)?;
    put!(line, "\n\tv3len {length}, MCID Name ");
    name(line, view, 39)?;
    put!(line, ", rev {},\n\t\tdigest ", view.u16(71)?);
    digits(line, view.take(73, 16)?);
    put!(line, ", CIST int-root-pathcost {},", view.u32(89)?);
    put!(line, "\n\tCIST bridge-id {}, CIST remaining-hops {}", bridge(view, 93)?, view.u8(101)?);
    Ok(())
}

fn trees(line: &mut Line<'_>, view: View<'_>, length: usize) -> Printed {
    for i in 0..length / TREE {
        let tree = view.skip(i * TREE);
        let flags = tree.u8(0)?;
        put!(line, "\n\tMSTI {}, Flags [{}]", tree.u16(1)? & 0xfff, names::flags(FLAGS, flags.into(), ", "));
        put!(line, ", port-role {}\n\t\tMSTI regional-root-id {}, pathcost {}", role(flags), bridge(tree, 1)?, tree.u32(9)?);
        put!(line, "\n\t\tMSTI bridge-prio {}, port-prio {}, hops {}", tree.u8(13)? >> 4, tree.u8(14)? >> 4, tree.u8(15)?);
    }
    Ok(())
}

/// What 802.1aq adds: it begins with its length.
fn agreement(line: &mut Line<'_>, rest: View<'_>) -> Result<bool, Cut> {
    let length = usize::from(rest.u16(0)?);
    if rest.len() < length + 2 || length + 2 < AGREEMENT {
        return Ok(false);
    }
    if line.style.verbose == 0 {
        return Ok(true);
    }
    put!(line, "\n\tv4len {length}, AUXMCID Name ");
    name(line, rest, 3)?;
    put!(line, ", Rev {},\n\t\tdigest ", rest.u16(35)?);
    digits(line, rest.take(37, 16)?);
    let (number, format, convention) = (rest.u8(53)?, rest.u8(55)?, rest.u8(56)?);
    put!(line, "\n\tAgreement num {}, Discarded Agreement num {}", number >> 6, number >> 4 & 3);
    put!(line, ", Agreement valid-flag {},\n\tRestricted role-flag: {}", number >> 3 & 1, number >> 2 & 1);
    put!(line, ", Format id {} cap {format}, Convention id {} cap {convention}", format >> 4, convention >> 4);
    put!(line, ",\n\tEdge count {}, Agreement digest ", rest.u16(57)?);
    digits(line, rest.take(67, 20)?);
    Ok(true)
}
