//! Cisco NetFlow (versions 1, 5 and 6, as in Cisco's NetFlow Collection Engine 3.6 user guide),
//! with `-T cnfp`.
//!
//! Differs from tcpdump 4.99.3, which takes the number of records from four bytes instead of two,
//! and records of version 5 for 52 bytes instead of 48.

use super::view::{Printed, View};
use super::{Line, names, put, tcp};

/// Bytes of a header and of a record, where the protocol, the type of service and the flags are in
/// it; whether it has masks and AS numbers.
struct RecordLayout {
    header: usize,
    record: usize,
    protocol: usize,
    tos: usize,
    flags: usize,
    routes: bool,
}

const ONE: RecordLayout = RecordLayout { header: 16, record: 48, protocol: 38, tos: 39, flags: 40, routes: false };
const FIVE: RecordLayout = RecordLayout { header: 24, record: 48, protocol: 38, tos: 39, flags: 37, routes: true };
const SIX: RecordLayout = RecordLayout { record: 52, ..FIVE };

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "cnfp";
    let version = view.u16(0)?;
    let shape = match version {
        1 => ONE,
        5 => FIVE,
        6 => SIX,
        _ => {
            put!(line, "NetFlow v{version:x}");
            return Ok(());
        }
    };
    let (count, uptime) = (view.u16(2)?, view.u32(4)?);
    put!(line, "NetFlow v{version:x}, {} uptime, {}.{:09}, ", seconds(uptime), view.u32(8)?, view.u32(12)?);
    if shape.routes {
        put!(line, "#{}, ", view.u32(16)?);
        view.take(0, shape.header)?;
    }
    put!(line, "{count:2} recs");
    for n in 0..usize::from(count) {
        record(line, version, &shape, view.skip(shape.header + n * shape.record))?;
    }
    Ok(())
}

fn seconds(milliseconds: u32) -> String {
    format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000)
}

fn record(line: &mut Line<'_>, version: u16, shape: &RecordLayout, view: View<'_>) -> Printed {
    put!(line, "\n  started {}, last {}", seconds(view.u32(24)?), seconds(view.u32(28)?));
    line.put("\n    ");
    end(line, shape, view, [0, 44, 40, 32])?;
    line.put("> ");
    end(line, shape, view, [4, 45, 42, 34])?;
    put!(line, ">> {}\n    ", view.v4(8)?);
    let protocol = view.u8(shape.protocol)?;
    put!(line, "{protocol} ");
    let flags = view.u8(shape.flags)?;
    if protocol == 6 && flags != 0 {
        put!(line, "{} ", names::flags(tcp::FLAGS, flags.into(), ""));
    }
    put!(line, "tos {}, {} ({} octets)", view.u8(shape.tos)?, view.u32(16)?, view.u32(20)?);
    if version == 6 {
        put!(line, " ({}<>{} encaps)", view.u8(46)?, view.u8(47)?);
    }
    view.take(0, shape.record).map(drop)
}

/// An address with its mask, AS number and port, which are at those places.
fn end(line: &mut Line<'_>, shape: &RecordLayout, view: View<'_>, [address, mask, system, port]: [usize; 4]) -> Printed {
    let (address, port) = (view.v4(address)?, view.u16(port)?);
    match shape.routes {
        true => put!(line, "{address}/{}:{}:{port} ", view.u8(mask)?, view.u16(system)?),
        false => put!(line, "{address}:{port} "),
    }
    Ok(())
}
