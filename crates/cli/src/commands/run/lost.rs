//! What is told of a run of which nothing came out: how many packets ended where, and why.

use crate::commands::shared::grouped;
use crate::failure;
use netvm::application::{Application, Library, Stats, builtin};
use std::collections::BTreeSet;

/// Reasons that are told one by one.
const REASONS: usize = 6;

/// Warns if packets arrived, and none of them was written where the configuration writes any, or
/// all of them were dropped where it does not.
pub(super) fn warn(application: &Application, stats: &Stats) {
    let dropped: u64 = stats.nodes.iter().map(|(_, _, node)| node.drops.values().sum::<u64>()).sum();
    let mut writers = stats.nodes.iter().filter(|(_, class, _)| writes(class)).peekable();
    let is_lost = match writers.peek() {
        Some(_) => writers.all(|(_, _, node)| node.packets == 0),
        None => dropped >= stats.arrivals,
    };
    // Traps have been told, with their place.
    let trapped: u64 = stats.nodes.iter().map(|(_, _, node)| node.traps).sum();
    if stats.arrivals == 0 || !is_lost || trapped >= stats.arrivals {
        return;
    }
    let ends = ends(application, stats);
    let mut text = match dropped >= stats.arrivals {
        true => format!("{} of {} packets dropped", grouped(stats.arrivals), grouped(stats.arrivals)),
        false => format!("none of {} packets came out", grouped(stats.arrivals)),
    };
    for (count, why) in ends.iter().take(REASONS) {
        text += &format!("\n  {} {why}", grouped(*count));
    }
    if ends.len() > REASONS {
        text += &format!("\n  {} for other reasons (--stats tells all)", grouped(ends[REASONS..].iter().map(|(count, _)| count).sum()));
    }
    failure::warning(text);
}

/// Whether elements of a class hand packets on to captures and devices.
fn writes(class: &str) -> bool {
    builtin::facts(class).writes.is_some()
}

/// Where packets ended, the most first: dropped for a reason, or in an element without outputs.
fn ends(application: &Application, stats: &Stats) -> Vec<(u64, String)> {
    let leads_on = |at: usize| application.application().wires.iter().any(|wire| wire.from.instance as usize == at);
    let mut ends = Vec::new();
    for (at, (name, class, node)) in stats.nodes.iter().enumerate() {
        let element =
            if name.ends_with(class.as_str()) || name.contains(&format!("{class}@")) { name.clone() } else { format!("{name} :: {class}") };
        ends.extend(node.drops.iter().map(|(reason, count)| (*count, format!("{element}: {}", in_words(reason)))));
        let is_end = !leads_on(at) && node.drops.is_empty() && !writes(class);
        ends.extend((is_end && node.packets > 0).then(|| (node.packets, format!("ended in {element}{}", before(application, at)))));
    }
    ends.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    ends
}

/// What leads to an element, if that is one output.
fn before(application: &Application, at: usize) -> String {
    let wires: Vec<_> = application.application().wires.iter().filter(|wire| wire.to.instance as usize == at).collect();
    match wires[..] {
        [only] => application
            .application()
            .instances
            .get(only.from.instance as usize)
            .map_or_else(String::new, |from| format!(", behind output {} of {}", only.from.port, from.name)),
        _ => String::new(),
    }
}

/// `BAD_CHECKSUM` as `bad checksum`; other reasons as they are.
fn in_words(reason: &str) -> String {
    let is_constant = !reason.is_empty() && reason.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if is_constant { reason.to_ascii_lowercase().replace('_', " ") } else { reason.to_owned() }
}

/// What helps an element that trapped because no header is marked; none where something before it
/// marks one, or it needs none.
pub(super) fn unmarked(application: &Application, library: &Library, at: usize) -> Option<String> {
    let app = application.application();
    let class = &app.instances.get(at)?.class;
    let (_, source) = library.class(class)?;
    let needs = source.contains("must be marked") || source.contains("network_offset()");
    let (mut seen, mut left) = (BTreeSet::from([at]), vec![at]);
    while let Some(to) = left.pop() {
        for wire in app.wires.iter().filter(|wire| wire.to.instance as usize == to) {
            let from = wire.from.instance as usize;
            if seen.insert(from) {
                left.push(from);
            }
        }
    }
    if !needs || seen.iter().any(|element| marks(application, library, *element)) {
        return None;
    }
    let marker = if class.contains("IP6") { "CheckIP6Header" } else { "CheckIPHeader, or MarkIPHeader" };
    Some(format!("{class} needs a marked header, and nothing before it marks one: put {marker} before it, behind Strip(14) for Ethernet"))
}

/// Whether an element may mark the network header.
fn marks(application: &Application, library: &Library, at: usize) -> bool {
    let Some(instance) = application.application().instances.get(at) else { return false };
    let of_source =
        |(_, source): (String, String)| ["set_network_header(", "mark_ip(", "check_ip.h"].iter().any(|word| source.contains(word));
    let arguments = application.flat().elements.iter().find(|element| element.name == instance.name).map(|element| &element.arguments);
    library.class(&instance.class).is_some_and(of_source)
        || builtin::facts(&instance.class).marks_headers()
        || arguments.is_some_and(|all| all.iter().any(|argument| argument.contains("FORCE_IP")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn reasons_are_told_in_words() {
        assert_eq!(super::in_words("BAD_CHECKSUM"), "bad checksum");
        assert_eq!(super::in_words("the address is another's"), "the address is another's");
    }
}
