//! OpenFlow (ONF TS-001, TS-006): the headers of the messages in a segment. With `-v` messages are
//! not shown.

use super::view::{Printed, View};
use super::{Line, names, put};

const HEADER: usize = 8;
const VERSIONS: &[(u8, &str)] = &[(1, "1.0"), (2, "1.1"), (3, "1.2"), (4, "1.3"), (5, "1.4"), (6, "1.5")];
#[rustfmt::skip]
const KINDS_10: &[&str] = &[
    "HELLO", "ERROR", "ECHO_REQUEST", "ECHO_REPLY", "VENDOR", "FEATURES_REQUEST", "FEATURES_REPLY", "GET_CONFIG_REQUEST",
    "GET_CONFIG_REPLY", "SET_CONFIG", "PACKET_IN", "FLOW_REMOVED", "PORT_STATUS", "PACKET_OUT", "FLOW_MOD", "PORT_MOD", "STATS_REQUEST",
    "STATS_REPLY", "BARRIER_REQUEST", "BARRIER_REPLY", "QUEUE_GET_CONFIG_REQUEST", "QUEUE_GET_CONFIG_REPLY",
];
#[rustfmt::skip]
const KINDS_13: &[&str] = &[
    "HELLO", "ERROR", "ECHO_REQUEST", "ECHO_REPLY", "EXPERIMENTER", "FEATURES_REQUEST", "FEATURES_REPLY", "GET_CONFIG_REQUEST",
    "GET_CONFIG_REPLY", "SET_CONFIG", "PACKET_IN", "FLOW_REMOVED", "PORT_STATUS", "PACKET_OUT", "FLOW_MOD", "GROUP_MOD", "PORT_MOD",
    "TABLE_MOD", "MULTIPART_REQUEST", "MULTIPART_REPLY", "BARRIER_REQUEST", "BARRIER_REPLY", "QUEUE_GET_CONFIG_REQUEST",
    "QUEUE_GET_CONFIG_REPLY", "ROLE_REQUEST", "ROLE_REPLY", "GET_ASYNC_REQUEST", "GET_ASYNC_REPLY", "SET_ASYNC", "METER_MOD",
];

pub(super) fn print(line: &mut Line<'_>, mut rest: View<'_>) -> Printed {
    line.protocol = "openflow";
    line.put(": OpenFlow");
    while rest.len() > 0 {
        let version = rest.u8(0)?;
        match names::find(VERSIONS, version) {
            Some(name) => put!(line, "\n\tversion {name}"),
            None => put!(line, "\n\tversion unknown (0x{version:02x})"),
        }
        let there = rest.len();
        if there < 2 {
            return partial(line, rest.skip(1));
        }
        kind(line, version, rest.u8(1)?);
        if there < 4 {
            return partial(line, rest.skip(2));
        }
        let length = usize::from(rest.u16(2)?);
        put!(line, ", length {length}{}", if length < HEADER { " (too short!)" } else { "" });
        if there < HEADER {
            return partial(line, rest.skip(4));
        }
        put!(line, ", xid 0x{:08x}", rest.u32(4)?);
        if length < HEADER {
            line.invalid();
            return Ok(());
        }
        rest.take(0, length)?;
        rest = rest.skip(length);
    }
    Ok(())
}

fn kind(line: &mut Line<'_>, version: u8, kind: u8) {
    let table = match version {
        1 => KINDS_10,
        4 => KINDS_13,
        _ => &[],
    };
    match table.get(usize::from(kind)) {
        Some(name) => put!(line, ", type {name}"),
        None => put!(line, ", type unknown (0x{kind:02x})"),
    }
}

fn partial(line: &mut Line<'_>, rest: View<'_>) -> Printed {
    line.put(" (end of TCP payload)");
    rest.take(0, rest.len()).map(drop)
}
