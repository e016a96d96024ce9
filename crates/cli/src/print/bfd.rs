//! BFD control packets (RFC 5880); with `-v` their timers and authentication.

use super::view::{Printed, View};
use super::{Line, escape, hex, names, put};

const HEADER: usize = 24;
/// The flag of packets that have authentication behind the header.
const AUTHENTICATED: u8 = 0x04;
#[rustfmt::skip]
const FLAGS: &[(u16, &str)] = &[
    (0x20, "Poll"), (0x10, "Final"), (0x08, "Control Plane Independent"), (0x04, "Authentication Present"), (0x02, "Demand"),
    (0x01, "Multipoint"),
];
#[rustfmt::skip]
const FLAGS_0: &[(u16, &str)] = &[
    (0x80, "I Hear You"), (0x40, "Demand"), (0x20, "Poll"), (0x10, "Final"), (0x08, "Control Plane Independent"),
    (0x04, "Authentication Present"), (0x02, "Reserved"), (0x01, "Reserved"),
];
const STATES: [&str; 4] = ["AdminDown", "Down", "Init", "Up"];
const DIAGNOSTICS: [&str; 9] = [
    "No Diagnostic",
    "Control Detection Time Expired",
    "Echo Function Failed",
    "Neighbor Signaled Session Down",
    "Forwarding Plane Reset",
    "Path Down",
    "Concatenated Path Down",
    "Administratively Down",
    "Reverse Concatenated Path Down",
];
#[rustfmt::skip]
const AUTHENTICATIONS: &[(u8, &str)] = &[
    (1, "Simple Password"), (2, "Keyed MD5"), (3, "Meticulous Keyed MD5"), (4, "Keyed SHA1"), (5, "Meticulous Keyed SHA1"),
];

pub(super) fn control(line: &mut Line<'_>, view: View<'_>) -> Printed {
    print(line, view, "Control")
}

pub(super) fn multihop(line: &mut Line<'_>, view: View<'_>) -> Printed {
    print(line, view, "Multihop")
}

pub(super) fn lag(line: &mut Line<'_>, view: View<'_>) -> Printed {
    print(line, view, "Lag")
}

pub(super) fn echo(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "bfd";
    put!(line, "BFD, Echo, length: {}", view.len());
    if line.style.verbose > 0 {
        hex::indented(&mut line.text, view.captured(), "\n\t");
    }
    Ok(())
}

fn print(line: &mut Line<'_>, view: View<'_>, kind: &str) -> Printed {
    line.protocol = "bfd";
    view.take(0, HEADER)?;
    let (first, flags) = (view.u8(0)?, view.u8(1)?);
    let about = match first >> 5 {
        0 => format!("Control, Flags: [{}]", names::flags(FLAGS_0, flags.into(), ", ")),
        1 => {
            let set = names::flags(FLAGS, (flags & 0x3f).into(), ", ");
            format!("{kind}, State {}, Flags: [{set}]", STATES[usize::from(flags >> 6)])
        }
        version => {
            put!(line, "BFDv{version}, Control, length: {}", view.len());
            if line.style.verbose > 0 {
                hex::indented(&mut line.text, view.captured(), "\n\t");
            }
            return Ok(());
        }
    };
    put!(line, "BFDv{}", first >> 5);
    if line.style.verbose == 0 {
        put!(line, ", {about}, length: {}", view.len());
        return Ok(());
    }
    let diagnostic = first & 31;
    put!(line, ", length: {}\n\t{about}", view.len());
    put!(line, ", Diagnostic: {} (0x{diagnostic:02x})", DIAGNOSTICS.get(usize::from(diagnostic)).unwrap_or(&"unknown"));
    timers(line, view)?;
    if flags & AUTHENTICATED != 0 { authentication(line, view.skip(HEADER)) } else { Ok(()) }
}

fn timers(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let (multiplier, interval) = (view.u8(2)?, view.u32(12)?);
    // Microseconds, multiplied as tcpdump does it.
    let detection = u32::from(multiplier).wrapping_mul(interval) / 1000;
    put!(line, "\n\tDetection Timer Multiplier: {multiplier} ({detection} ms Detection time), BFD Length: {}", view.u8(3)?);
    put!(line, "\n\tMy Discriminator: 0x{:08x}, Your Discriminator: 0x{:08x}", view.u32(4)?, view.u32(8)?);
    put!(line, "\n\t  Desired min Tx Interval:    {:>4} ms", interval / 1000);
    put!(line, "\n\t  Required min Rx Interval:   {:>4} ms", view.u32(16)? / 1000);
    put!(line, "\n\t  Required min Echo Interval: {:>4} ms", view.u32(20)? / 1000);
    Ok(())
}

fn authentication(line: &mut Line<'_>, view: View<'_>) -> Printed {
    view.take(0, 2)?;
    let (kind, length) = (view.u8(0)?, view.u8(1)?);
    let name = names::find(AUTHENTICATIONS, kind).unwrap_or("Unknown");
    put!(line, "\n\tAuthentication: {name} ({kind}), length: {length}\n\t  Auth Key ID: {}", view.u8(2)?);
    let (name, size) = match (kind, length) {
        (1, 4..=19) => {
            line.put(", Password: ");
            escape::text(&mut line.text, view.take(3, usize::from(length) - 3)?);
            return Ok(());
        }
        (2 | 3, 24) => ("Digest", 16),
        (4 | 5, 28) => ("Hash", 20),
        (1..=5, _) => {
            put!(line, "[invalid length {length}]");
            return Ok(());
        }
        _ => return Ok(()),
    };
    put!(line, ", Sequence Number: 0x{:08x}", view.u32(4)?);
    let digest = view.take(8, size)?;
    put!(line, "\n\t  {name}: ");
    for byte in digest {
        put!(line, "{byte:02x}");
    }
    Ok(())
}
