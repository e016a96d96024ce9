//! The way of a packet from member to member, as C: each member's handler is run, then a jump to what its port leads to.

use super::linked::Member;
use crate::mir::{Helper, Op};
use netil::cluster::Way;
use std::fmt::Write as _;

/// Where each output port leads; those that are not connected out at once.
fn all_links(member: &Member<'_>) -> Vec<(u32, Way)> {
    let outputs = member.program.module().all_ports().into_iter().filter(|(_, port)| !port.kind.is_input()).map(|(id, _)| id);
    let link = |id: u32| member.links.iter().find(|(port, _)| *port == id).map_or(Way::AtOnce, |(_, link)| *link);
    outputs.map(|id| (id, link(id))).collect()
}

/// What the ports of a member have in common that lead to as many inputs of one member, or to as many exits, all in order: the way of the first, if there are several.
pub(super) fn alike(member: &Member<'_>) -> Option<(u32, Way)> {
    let links = all_links(member);
    let (first, way) = *links.first()?;
    let follows = |by: u32, to: Way| match (way, to) {
        (Way::Member(a, port), Way::Member(b, at)) => a == b && at == port + by,
        (Way::Exit(a), Way::Exit(b)) | (Way::LastExit(a), Way::LastExit(b)) => b == a + by,
        _ => false,
    };
    let all = (0..).zip(&links).all(|(by, (port, to))| *port == first + by && follows(by, *to));
    (links.len() > 1 && all).then_some((first, way))
}

/// How the text of a way says some things.
struct Words {
    /// The packet's slot.
    slot: &'static str,
    /// That its way ends, without and with a call of the runtime.
    done: &'static str,
    called: &'static str,
}

fn words(general: bool) -> Words {
    match general {
        true => Words { slot: "&g->slots[i]", done: "return", called: "return" },
        false => Words { slot: "&k->slots[i]", done: "return 0", called: "return 1" },
    }
}

/// The end of [`step`] for such: no branch that depends on the port, which nobody could foretell.
fn all_alike(n: u32, member: &Member<'_>, counted: &[(u32, u32)], general: bool) -> Option<String> {
    let (first, way) = alike(member)?;
    let count = counted.iter().position(|c| *c == (n, first))?;
    let Words { slot, done, called } = words(general);
    let goes = match way {
        Way::Member(to, at) => format!("port = r->by - {first}u + {at}; goto at{to};"),
        Way::LastExit(exit) => format!("nv_place({slot}, r); nv_append(&g->exits[{exit} + r->by - {first}u], i); {done};"),
        Way::Exit(exit) => format!("nv_store(g, r, info, i); nv_append(&g->exits[{exit} + r->by - {first}u], i); {done};"),
        Way::AtOnce => return None,
    };
    Some(format!(
        "    switch (out) {{\n    case NV_GONE: {called};\n    case NV_ENDED: goto ended;\n    case NV_BY: break;\n    default: r->by = (uint32_t)out;\n    }}\n    g->counts[{count} + r->by - {first}u]++; {goes}\n"
    ))
}

fn has(member: &Member<'_>, what: fn(&Helper) -> bool) -> bool {
    let ops = member.func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| member.func.op(*v));
    ops.into_iter().any(|op| matches!(op, Op::Helper(helper, ..) if what(helper)))
}

/// Whether packets are run after which others may have to wait for a timer.
pub(super) fn sets_timers(member: &Member<'_>) -> bool {
    has(member, |helper| matches!(helper, Helper::SetTimer(_)))
}

/// A member's handler run on a packet, up to what follows by its result.
fn runs(n: u32, member: &Member<'_>, general: bool) -> String {
    let begin = format!("at{n}:\n    __attribute__((unused));\n");
    if !general {
        return begin + &format!("    out = f{n}(g, k, i, r, info, port);\n");
    }
    // Only the general form sets timers. When they are due depends on the packet's time as it was before.
    let [before, behind] = if sets_timers(member) {
        ["    time = g->slots[i].time_ns;\n".to_owned(), format!("    g->look(g, i, {n}, time);\n")]
    } else {
        [String::new(), String::new()]
    };
    begin + &format!("{before}    out = m{n}(g, i, r, info, port, resume, live);\n    resume = 0;\n{behind}")
}

/// One member's part of a way.
pub(super) fn step(n: u32, member: &Member<'_>, counted: &[(u32, u32)], general: bool) -> String {
    let mut text = runs(n, member, general);
    let Words { slot, done, called } = words(general);
    let copies = general && has(member, |helper| matches!(helper, Helper::SendCopy(_)));
    if let Some(text_of_all) = all_alike(n, member, counted, general).filter(|_| !copies) {
        return text + &text_of_all;
    }
    text += "    if (out == NV_BY)\n        out = r->by;\n    switch (out) {\n";
    for (port, link) in &all_links(member) {
        let leaves = format!("nv_end(r, NV_PORT, {n}, {port}, 0);");
        let _ = write!(text, "    case {port}: ");
        if copies {
            let _ = write!(text, "if (g->copies) {{ {leaves} goto at_once; }} ");
        }
        if let Some(count) = counted.iter().position(|c| *c == (n, *port)).filter(|_| *link != Way::AtOnce) {
            let _ = write!(text, "g->counts[{count}]++; ");
        }
        let _ = match link {
            Way::Member(to, at) => writeln!(text, "port = {at}; goto at{to};"),
            Way::LastExit(exit) => writeln!(text, "nv_place({slot}, r); nv_append(&g->exits[{exit}], i); {done};"),
            Way::Exit(exit) => writeln!(text, "nv_store(g, r, info, i); nv_append(&g->exits[{exit}], i); {done};"),
            Way::AtOnce => writeln!(text, "{leaves} goto at_once;"),
        };
    }
    let end = if copies { "if (g->copies) goto at_once; " } else { "" };
    text + &format!("    case NV_GONE: {called};\n    default: {end}goto ended;\n    }}\n")
}

/// Where the ways of packets end.
pub(super) fn ends(general: bool) -> String {
    let Words { done, called, .. } = words(general);
    format!(
        "at_once:
    __attribute__((unused));
    nv_store(g, r, info, i);
    nv_finish(g, i, r);
    g->leave(g, i);
    {called};
ended:
    __attribute__((unused));
    nv_finish(g, i, r);
    nv_append(&g->ended, i);
    {done};
}}
"
    )
}
