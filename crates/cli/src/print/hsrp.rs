//! HSRP (RFC 2281).

use super::view::{Printed, View};
use super::{Line, escape, names, put, time};

const STATES: &[(u8, &str)] = &[(0, "initial"), (1, "learn"), (2, "listen"), (4, "speak"), (8, "standby"), (16, "active")];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "hsrp";
    line.put("HSRP");
    let version = view.u8(0)?;
    put!(line, "v{version}");
    if version != 0 {
        return Ok(());
    }
    let (operation, state) = (view.u8(1)?, view.u8(2)?);
    let operation =
        ["hello", "coup", "resign"].get(usize::from(operation)).map_or_else(|| format!("unknown ({operation})"), |s| (*s).into());
    let state = names::find(STATES, state).map_or_else(|| format!("Unknown ({state})"), str::to_owned);
    put!(line, "-{operation} {}: state={state} group={} ", view.len(), view.u8(6)?);
    if view.u8(7)? != 0 {
        put!(line, "[reserved={}!] ", view.u8(7)?);
    }
    put!(line, "addr={}", view.v4(16)?);
    if line.style.verbose > 0 {
        put!(line, " hellotime={} holdtime={}", time::span(view.u8(3)?.into()), time::span(view.u8(4)?.into()));
        put!(line, " priority={} auth=\"", view.u8(5)?);
        escape::until_zero(&mut line.text, view.take(8, 8)?);
        line.put("\"");
    }
    Ok(())
}
