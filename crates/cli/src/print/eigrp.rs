//! EIGRP (RFC 7868): the kind of packet. With `-v` its fields are not shown.

use super::view::{Printed, View};
use super::{Line, names, put};

const HEADER: usize = 20;
const KINDS: &[(u8, &str)] = &[(1, "Update"), (3, "Query"), (4, "Reply"), (5, "Hello"), (6, "IPX SAP"), (7, "Probe")];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "eigrp";
    let kind = || view.u8(1).map(|kind| names::find(KINDS, kind).map_or_else(|| format!("unknown ({kind})"), str::to_owned));
    if view.len() < HEADER {
        put!(line, "EIGRP {}, length: {} (too short, < {HEADER})", kind()?, view.len());
        return Ok(());
    }
    match view.u8(0)? {
        2 => put!(line, "EIGRP {}, length: {}", kind()?, view.len()),
        version => put!(line, "EIGRP version {version} packet not supported"),
    }
    Ok(())
}
