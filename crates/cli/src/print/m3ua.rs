//! M3UA, the upper layer of SS7's MTP3 over SCTP (RFC 4666), with `-vv`: the message and its
//! parameters.
//!
//! As in tcpdump, of the parameters with a value that is shown the tag and the length are.

use super::view::{Printed, View};
use super::{Line, names, put};

const HEADER: usize = 8;
/// A class of messages: its number, its name, its messages.
type Class = (u8, &'static str, &'static [(u8, &'static str)]);

#[rustfmt::skip]
const CLASSES: &[Class] = &[
    (0, "Management", &[(0, "Error"), (1, "Notify")]),
    (1, "Transfer", &[(1, "Data")]),
    (2, "SS7", &[
        (1, "Destination Unavailable"), (2, "Destination Available"), (3, "Destination State Audit"), (4, "Signalling Congestion"),
        (5, "Destination User Part Unavailable"), (6, "Destination Restricted"),
    ]),
    (3, "ASP", &[
        (1, "Up"), (2, "Down"), (3, "Heartbeat"), (4, "Up Acknowledgement"), (5, "Down Acknowledgement"), (6, "Heartbeat Acknowledgement"),
    ]),
    (4, "ASP", &[(1, "Active"), (2, "Inactive"), (3, "Active Acknowledgement"), (4, "Inactive Acknowledgement")]),
    (9, "Routing Key Management", &[
        (1, "Registration Request"), (2, "Registration Response"), (3, "Deregistration Request"), (4, "Deregistration Response"),
    ]),
];
#[rustfmt::skip]
const PARAMETERS: &[(u16, &str)] = &[
    (0x0004, "INFO String"), (0x0006, "Routing Context"), (0x0007, "Diagnostic Info"), (0x0009, "Heartbeat Data"), (0x000b, "Traffic Mode Type"),
    (0x000c, "Error Code"), (0x000d, "Status"), (0x0011, "ASP Identifier"), (0x0012, "Affected Point Code"), (0x0013, "Correlation ID"),
    (0x0200, "Network Appearance"), (0x0204, "User/Cause"), (0x0205, "Congestion Indications"), (0x0206, "Concerned Destination"),
    (0x0207, "Routing Key"), (0x0208, "Registration Result"), (0x0209, "Deregistration Result"), (0x020a, "Local Routing Key Identifier"),
    (0x020b, "Destination Point Code"), (0x020c, "Service Indicators"), (0x020e, "Originating Point Code List"), (0x0210, "Protocol Data"),
    (0x0212, "Registration Status"), (0x0213, "Deregistration Status"),
];
const ROUTING_CONTEXT: u16 = 0x0006;
const CORRELATION: u16 = 0x0013;
const NETWORK_APPEARANCE: u16 = 0x0200;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "m3ua";
    if view.len() < HEADER {
        line.invalid();
        return Ok(());
    }
    view.take(0, HEADER)?;
    if view.u8(0)? != 1 {
        return Ok(());
    }
    let (number, kind, length) = (view.u8(2)?, view.u8(3)?, view.u32(4)?);
    let class = CLASSES.iter().find(|(class, ..)| *class == number);
    put!(line, "\n\t\t{}", class.map_or_else(|| format!("Unknown message class {number}"), |(_, name, _)| (*name).to_owned()));
    if let Some((.., messages)) = class {
        put!(line, " {} Message", names::find_or(messages, kind, || format!("Unknown (0x{kind:02x})")));
    }
    if view.len() as u64 != u64::from(length) {
        put!(line, "\n\t\t\t@@@@@@ Corrupted length {length} of message @@@@@@");
        return Ok(());
    }
    parameters(line, view.skip(HEADER))
}

fn parameters(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let mut rest = view;
    while rest.len() > 0 {
        if rest.len() < 4 {
            line.invalid();
            return view.take(0, view.len()).map(drop);
        }
        let tag = rest.u16(0)?;
        put!(line, "\n\t\t\t{}: ", names::find_or(PARAMETERS, tag, || format!("Unknown Parameter (0x{tag:04x})")));
        let length = usize::from(rest.u16(2)?);
        if length < 4 {
            line.invalid();
            return view.take(0, view.len()).map(drop);
        }
        let padded = (view.len() - rest.len() + length).next_multiple_of(4) + rest.len() - view.len();
        rest.take(0, padded)?;
        value(line, rest, tag, length)?;
        rest = rest.skip(padded);
    }
    Ok(())
}

fn value(line: &mut Line<'_>, parameter: View<'_>, tag: u16, length: usize) -> Printed {
    match tag {
        NETWORK_APPEARANCE | ROUTING_CONTEXT | CORRELATION if length < 8 => line.invalid(),
        NETWORK_APPEARANCE | ROUTING_CONTEXT | CORRELATION => put!(line, "0x{:08x}", parameter.u32(0)?),
        _ => put!(line, "(length {length})"),
    }
    Ok(())
}
