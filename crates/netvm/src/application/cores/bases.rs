//! What elements are before there are packets, from which what replicas say together is counted.

use super::Graph;
use std::collections::HashMap;

/// What elements of replicas are before there are packets.
#[derive(Default)]
pub(super) struct Bases {
    /// What handlers say, by their names, as far as these are numbers.
    pub numbers: HashMap<String, u64>,
    /// Data memories, by element.
    pub memories: HashMap<String, Vec<u8>>,
}

impl Bases {
    pub(super) fn extend(&mut self, other: Self) {
        self.numbers.extend(other.numbers);
        self.memories.extend(other.memories);
    }
}

/// What some elements are before there are packets: handlers that say numbers, and memories.
/// Entries of tables are none, and there may be many.
pub(super) fn numbers(graph: &mut Graph, of: impl Fn(&str) -> bool) -> Bases {
    let lists = |handler: &str| handler.ends_with(".list") || handler.ends_with(".dump");
    let is_one = |name: &String| name.split_once('.').is_some_and(|(element, handler)| of(element) && !lists(handler));
    let handlers = graph.readable().into_iter().filter(is_one);
    let number = |name: String| {
        let value = graph.read(&name, "", None).ok()?.trim().parse().ok()?;
        Some((name, value))
    };
    let numbers = handlers.collect::<Vec<_>>().into_iter().filter_map(number).collect();
    let names = graph.elements().into_iter().map(|it| it.name).filter(|name| of(name));
    let memories = names
        .filter_map(|name| {
            graph.kept_by(&name, &[]).map(|kept| kept.memory).filter(|memory| !memory.is_empty()).map(|memory| (name, memory))
        })
        .collect();
    Bases { numbers, memories }
}
