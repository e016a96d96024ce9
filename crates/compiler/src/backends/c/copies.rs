//! Functions for the copies that fused code makes ([`crate::cluster::copies`]).

use crate::cluster::Fusion;
use crate::cluster::copies::Copies;
use netil::cluster::LinkTarget;
use std::fmt::Write as _;

/// The functions that members call.
pub(super) fn declarations(copies: &Copies) -> String {
    copies.each().fold(String::new(), |mut text, (n, port, way)| {
        let made = match way {
            _ if copies.is_shared(n) => "nv_share",
            LinkTarget::LastExit(_) => "nv_copy_last",
            _ => "nv_copy",
        };
        let [copy, copied] = [maker(n as u32, port), function(n as u32, port)];
        let _ = write!(text, "NV_INLINE uint64_t {copy}(struct nv_graph *g, uint64_t i, struct nv_run *r, const uint8_t *info)\n{{\n    return {made}(g, i, r, info);\n}}\n");
        let _ = writeln!(text, "static void {copied}(struct nv_graph *g, uint64_t i);");
        text
    })
}

/// What becomes of a copy.
pub(super) fn functions(fusion: &Fusion<'_>) -> String {
    fusion.copies.each().fold(String::new(), |mut text, (n, port, way)| {
        let count = fusion.counters.at(n as u32, port).map(|count| format!("    g->counts[{count}]++;\n")).unwrap_or_default();
        let goes = match way {
            // Which coprocessors were shown the packet is known of one element at a time.
            LinkTarget::Member(to, at) => {
                format!("    const uint32_t shown = g->shown;\n    general(g, i, {to}, {at}, 0, 0);\n    g->shown = shown;\n")
            }
            LinkTarget::Exit(exit) | LinkTarget::LastExit(exit) => format!("    nv_append(&g->lists[{}], i);\n", fusion.queues.place(exit)),
            LinkTarget::AtOnce => String::new(),
        };
        let _ = write!(text, "\nstatic void {}(struct nv_graph *g, uint64_t i)\n{{\n{count}{goes}}}\n", function(n as u32, port));
        text
    })
}

/// The function that makes copies of a member by a port.
pub(super) fn maker(n: u32, port: u32) -> String {
    format!("copy{n}_{port}")
}

/// The function for copies of a member by a port.
pub(super) fn function(n: u32, port: u32) -> String {
    format!("copied{n}_{port}")
}
