//! C for hosts that run vectors of packets through a graph of nodes, as VPP does: which elements
//! are in a node, what a packet may be dropped with there, and the functions by which it comes in
//! and goes on.
//!
//! A node runs a packet from one element of its own to the next. A packet that is sent into
//! another node ends with `NETVM_GOES`, the element and its port; the host takes `struct nv_run`
//! and the info memory along. Drops are told by the numbers of counters, by node.
//!
//! Source: the vectors and nodes of the PVPP paper, sections 2 and 3.2.

use super::division::NodePartition;
use super::needs::Needs;
use super::{Emitted, Part, element, quoted};
use std::fmt::Write as _;

/// What a packet may be dropped with that is no element's reason: an interface that is no device's,
/// an output that leads nowhere, a packet in several buffers whose end would move, a device that
/// leads nowhere, no room before the packet for what it takes along.
const COMMON: [&str; 5] = ["not from a device", "output not mapped", "in several buffers", "discarded", "no room in the buffer"];

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its elements and pieces of elements: the element's number, the piece's, and the number by
    /// which packets are sent there.
    pub units: Vec<(usize, usize, usize)>,
    /// The name of its first element, with the table that it begins with.
    pub name: String,
    /// Operations of its elements.
    pub operations: usize,
    /// What its counters count.
    pub counters: Vec<String>,
    /// By counter the element and the value that it is for; traps have no value.
    ends: Vec<(usize, Option<String>)>,
}

/// The nodes.
pub(super) fn nodes(texts: &[Emitted], parts: &[Part<'_>], plan: &NodePartition) -> Vec<Node> {
    let count = plan.nodes.iter().max().map_or(1, |last| last + 1);
    let common = || COMMON.iter().map(|name| (*name).to_owned()).collect();
    let none = || COMMON.iter().map(|_| (usize::MAX, None)).collect();
    let mut nodes: Vec<Node> = (0..count).map(|_| Node { counters: common(), ends: none(), ..Node::default() }).collect();
    for (unit, (n, piece)) in plan.units.iter().enumerate() {
        let (node, part) = (&mut nodes[plan.nodes[unit]], &parts[*n]);
        if node.units.is_empty() {
            node.name = named(part, plan, *piece);
        }
        node.units.push((*n, *piece, unit));
        node.operations += plan.pieces[*n].size(*piece);
        for (_, value) in texts[*n].ends.iter().filter(|(of, _)| of == piece) {
            if !node.ends.contains(&(*n, value.clone())) {
                let why = value.as_ref().map_or_else(|| "trapped".to_owned(), |value| reason(part, value));
                node.counters.push(if part.ways.is_none() { why } else { format!("{}: {why}", part.name) });
                node.ends.push((*n, value.clone()));
            }
        }
    }
    nodes
}

/// What a node is called by its first element or piece.
fn named(part: &Part<'_>, plan: &NodePartition, piece: usize) -> String {
    let table = plan.pieces[part.n].pieces[piece].table.and_then(|table| part.program.module().tables.get(table as usize));
    table.map_or_else(|| part.name.to_owned(), |table| format!("{}-{}", part.name, table.name))
}

/// What an element calls a reason.
fn reason(part: &Part<'_>, value: &str) -> String {
    let known = match value {
        "NETVM_NOWHERE" => Some("output not connected"),
        "NETVM_ROUNDS" => Some("led back too often"),
        "NETVM_DISCARDED" => Some("discarded"),
        _ => None,
    };
    let number = value.trim_end_matches('u').parse().unwrap_or(0);
    let named = || part.program.module().reasons.iter().find(|reason| reason.at == number).map(|reason| reason.name.clone());
    let plain = || if number == 0 { "dropped".to_owned() } else { format!("code {number}") };
    known.map(str::to_owned).or_else(named).unwrap_or_else(plain)
}

/// Where a packet comes in that no host takes along.
///
/// A small program is there twice for processors that load only what is aligned: for packets of
/// which what follows an Ethernet header is.
pub(super) fn arrive(info: u32, small: bool) -> String {
    let mut text = String::from("\nstatic void nv_arrive(struct netvm_packet *k)\n{\n");
    text += "    struct nv_run run = { k->buffer, k->size, k->at, k->len, k->wire_len - k->len, 0, 0, 0, k->time_ns, 0 };\n";
    let _ = writeln!(text, "    uint8_t info[{}] __attribute__((aligned(8))) = {{ 0 }};", info.max(1));
    if small {
        text += include_str!("aligned.c");
    }
    text + "    nv_first(k, &run, info);\n}\n"
}

/// How packets go on in each node, and the node of each element and piece.
pub(super) fn resume(nodes: &[Node], plan: &NodePartition) -> String {
    let mut text = format!("\nNV_INLINE void nv_resume(uint32_t node{}\n{{\n", element::PARAMETERS.replace('(', ", "));
    text += "#ifdef NV_NUMBER_AT\n    r->number = nv_le(info + NV_NUMBER_AT, 8);\n#endif\n    switch (node) {\n";
    for (n, node) in nodes.iter().enumerate().skip(1) {
        let _ = writeln!(text, "    case {n}u:\n        switch (k->element) {{");
        for (element, piece, unit) in &node.units {
            let piece = if *piece == 0 { String::new() } else { format!("_{piece}") };
            let _ = writeln!(text, "        case {unit}u: e{element}{piece}(k, r, info, port); return;");
        }
        text += "        }\n        break;\n";
    }
    text += "    }\n    (void)info, (void)port;\n    nv_end(k, r, NETVM_DROPPED, NETVM_NONE, NETVM_NOWHERE, 0);\n}\n";
    let all: Vec<String> = plan.nodes.iter().map(usize::to_string).collect();
    text + &format!("\nstatic const uint16_t nv_nodes[] __attribute__((unused)) = {{ {} }};\n", all.join(", "))
}

/// What the queues of groups are made of: how many there are, which keep something from packet to
/// packet, and what an entry takes along.
pub(super) fn groups(nodes: &[Node], plan: &NodePartition, needs: Needs) -> String {
    let atomic = |node: &Node| u32::from(node.units.iter().any(|(element, piece, _)| plan.pieces[*element].keeps(*piece)));
    let all: Vec<String> = nodes.iter().map(|node| atomic(node).to_string()).collect();
    let (count, bytes) = (nodes.len(), needs.info + needs.kept + 1);
    let mut text = format!("\nenum {{ NV_GROUPS = {count}, NV_INFO_BYTES = {bytes} }};\n");
    let _ = writeln!(
        text,
        "\n/* Groups that keep something from packet to packet. */\nstatic const uint8_t nv_atomic[] = {{ {} }};",
        all.join(", ")
    );
    text
}

/// Which elements each group has, for people; a group that keeps something has an atomic tag.
#[must_use]
pub fn listing(nodes: &[Node], notes: &[String]) -> String {
    let mut text = String::new();
    for (n, node) in nodes.iter().enumerate() {
        let what = if n == 0 { "packets come in" } else { node.name.as_str() };
        let _ = writeln!(text, "group {n} ({what}): {} elements or pieces, {} operations", node.units.len(), node.operations);
    }
    notes.iter().for_each(|note| _ = writeln!(text, "{note}"));
    text
}

/// The counter of a packet that goes no further.
pub(super) fn counter(nodes: &[Node]) -> String {
    let mut text = String::from("\nenum { NV_NO_DEVICE, NV_NO_OUTPUT, NV_CHAINED, NV_NOWHERE, NV_FULL };\n");
    text += "\n/* What counts a packet that goes no further in a node. */\n";
    text +=
        "static uint16_t nv_counter(uint32_t node, const struct netvm_packet *k)\n{\n    const int trapped = k->end == NETVM_TRAPPED;\n";
    text += "    const uint64_t why = (uint64_t)k->element << 32 | (trapped ? 0 : k->value);\n    switch (node) {\n";
    for (n, node) in nodes.iter().enumerate() {
        let own = || node.ends.iter().enumerate().filter(|(_, (element, _))| *element != usize::MAX);
        let _ = writeln!(text, "    case {n}u:\n        if (trapped)\n            switch (k->element) {{");
        for (at, (element, _)) in own().filter(|(_, (_, value))| value.is_none()) {
            let _ = writeln!(text, "            case {element}u: return {at};");
        }
        text += "            }\n        switch (why) {\n";
        for (at, (element, value)) in own().filter_map(|(at, (element, value))| Some((at, (element, value.as_ref()?)))) {
            let _ = writeln!(text, "        case {:#x}ull | {value}: return {at};", (*element as u64) << 32);
        }
        text += "        }\n        break;\n";
    }
    text + "    }\n    return NV_NOWHERE;\n}\n"
}

/// C with what counters count, by node.
#[must_use]
pub fn counters(nodes: &[Node]) -> String {
    let mut text = String::from("/* What counters count. Made by netvm. */\n");
    for (n, node) in nodes.iter().enumerate() {
        let all: String = node.counters.iter().map(|name| format!("    {},\n", quoted::string(name.as_bytes()))).collect();
        let _ = write!(text, "\nstatic char *nv_counters{n}[] = {{\n{all}}};\n");
    }
    let all: Vec<String> = (0..nodes.len()).map(|n| format!("nv_counters{n}")).collect();
    let _ = write!(
        text,
        "\nstatic const char *nv_counter_name(uint32_t node, const struct netvm_packet *k)\n{{\n    static char **const all[] = {{ {} }};\n",
        all.join(", ")
    );
    text + "    return all[node][nv_counter(node, k)];\n}\n"
}
