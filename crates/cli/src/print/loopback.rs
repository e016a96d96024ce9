//! Loopback, the Configuration Testing Protocol of Ethernet version 2.0 (section 8): bytes to skip,
//! then a message.

use super::ether::Mac;
use super::view::{Printed, View};
use super::{Line, put};

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "loopback";
    line.put("Loopback");
    if view.len() < 2 {
        line.invalid();
        return Ok(());
    }
    let skipped = usize::from(view.u16(0)?.swap_bytes());
    put!(line, ", skipCount {skipped}");
    if !skipped.is_multiple_of(8) {
        line.put(" (bogus)");
    }
    let rest = view.skip(2);
    if rest.len() < skipped {
        line.invalid();
        return whole(rest);
    }
    rest.take(0, skipped)?;
    message(line, rest.skip(skipped))
}

/// A reply with its number, or whom to forward the rest to. Numbers are little-endian.
fn message(line: &mut Line<'_>, view: View<'_>) -> Printed {
    if view.len() < 2 {
        line.invalid();
        return whole(view);
    }
    let (function, rest) = (view.u16(0)?.swap_bytes(), view.skip(2));
    let size = match function {
        1 => 2,
        2 => 6,
        _ => 0,
    };
    match function {
        1 => line.put(", Reply"),
        2 => line.put(", Forward Data"),
        _ => put!(line, ",  invalid ({function})"),
    }
    if rest.len() < size {
        line.invalid();
        return whole(rest);
    }
    match function {
        1 => put!(line, ", receipt number {}", rest.u16(0)?.swap_bytes()),
        2 => put!(line, ", forwarding address {}", Mac(rest.array(0)?)),
        _ => return whole(rest),
    }
    let data = rest.skip(size);
    put!(line, ", data ({} octets)", data.len());
    whole(data)
}

fn whole(view: View<'_>) -> Printed {
    view.take(0, view.len()).map(drop)
}
