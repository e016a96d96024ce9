//! Functions for the copies that fused code makes ([`crate::cluster::copies`]).

use crate::cluster::Fusion;
use crate::cluster::copies::Copies;
use netil::cluster::Way;
use std::fmt::Write as _;

/// The functions that members call.
pub(super) fn declarations(copies: &Copies) -> String {
    copies.each().map(|(n, port, _)| format!("static void {}(struct nv_graph *g, uint64_t i);\n", function(n as u32, port))).collect()
}

/// What becomes of a copy.
pub(super) fn functions(fusion: &Fusion<'_>) -> String {
    fusion.copies.each().fold(String::new(), |mut text, (n, port, way)| {
        let count = fusion.counters.at(n as u32, port).map(|count| format!("    g->counts[{count}]++;\n")).unwrap_or_default();
        let goes = match way {
            // Which coprocessors were shown the packet is known of one element at a time.
            Way::Member(to, at) => {
                format!("    const uint32_t shown = g->shown;\n    general(g, i, {to}, {at}, 0, 0);\n    g->shown = shown;\n")
            }
            Way::Exit(exit) | Way::LastExit(exit) => format!("    nv_append(&g->lists[{}], i);\n", fusion.queues.place(exit)),
            Way::AtOnce => String::new(),
        };
        let _ = write!(text, "\nstatic void {}(struct nv_graph *g, uint64_t i)\n{{\n{count}{goes}}}\n", function(n as u32, port));
        text
    })
}

/// The function for copies of a member by a port.
pub(super) fn function(n: u32, port: u32) -> String {
    format!("copied{n}_{port}")
}
