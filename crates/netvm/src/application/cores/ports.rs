//! Elements whose state is divided by ports: each replica has that of some ports, and packets go to the replica of their port.
//!
//! A source's packets go by the port that the nearest such element looks at on the input that they reach it by, along the wires: those from inside by their source, those from outside
//! by their destination, where an element translates sources. What the element gives out are ports of the replica's own part, so answers come back to it.
//!
//! Packets that come to the element on other ways, led back or from queues, are looked at one by one ([`runtime::graph`] says how). Left out: elements that change ports before such an
//! element and divide them in another way.
//!
//! Source: Maestro (NSDI 2024) looks for keys by which a network card's hash keeps all state apart; NFOS (EuroSys 2024) gives each core a part of a translator's ports.

use netil::app::{Application, ByPort, Toward};
use std::collections::{BTreeMap, BTreeSet};

/// Built-in elements that find what they keep by addresses.
const BY_ADDRESSES: &[&str] = &["IPReassembler"];

/// For each source that reaches one of these elements, the end whose port counts.
///
/// # Errors
/// Why the elements' states cannot be divided.
pub(super) fn ends(application: &Application, divided: &[&ByPort], sources: &[bool]) -> Result<BTreeMap<usize, Toward>, String> {
    if let Some(other) = application.instances.iter().find(|instance| BY_ADDRESSES.contains(&instance.class.as_str())) {
        return Err(format!("packets go to replicas by addresses: `{}` ({}) finds flows by these", other.name, other.class));
    }
    let mut ends = BTreeMap::new();
    for source in (0..sources.len()).filter(|at| sources[*at]) {
        let found = nearest(application, divided, source as u32);
        match (found.first(), found.len()) {
            (Some(end), 1) => drop(ends.insert(source, *end)),
            (None, _) => {}
            _ => return Err(format!("packets of `{}` reach it by inputs of both kinds, equally near", application.instances[source].name)),
        }
    }
    Ok(ends)
}

/// What the nearest inputs of such elements look at.
fn nearest(application: &Application, divided: &[&ByPort], source: u32) -> BTreeSet<Toward> {
    let (mut seen, mut edge, mut found) = (BTreeSet::from([source]), vec![source], BTreeSet::new());
    while found.is_empty() && !edge.is_empty() {
        let wires = application.wires.iter().filter(|wire| !wire.recirculates && edge.contains(&wire.from.instance));
        let reached: Vec<_> = wires.map(|wire| wire.to).collect();
        let end = |to: &netil::app::End| divided.iter().find(|of| of.instance == to.instance)?.inputs.get(to.port as usize).copied();
        found = reached.iter().filter_map(end).collect();
        edge = reached.into_iter().map(|to| to.instance).filter(|to| seen.insert(*to)).collect();
    }
    found
}
