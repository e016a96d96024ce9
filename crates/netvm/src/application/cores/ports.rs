//! Elements whose state is divided by ports: each replica has that of some ports, and packets go to
//! the replica of their port.
//!
//! A source's packets go by the port that the nearest such element looks at on the input that they
//! reach it by, along the wires: those from inside by their source, those from outside by their
//! destination, where an element translates sources. What the element gives out are ports of the
//! replica's own part, so answers come back to it.
//!
//! Packets that come to the element on other ways, led back or from queues, are looked at one by
//! one ([`runtime::graph`] says how). Left out: elements that change ports before such an element
//! and divide them in another way.
//!
//! What a promise by ports says of keys is looked at, too ([`promise`]): a key that is made of
//! other bytes of the packet only refutes it.
//!
//! Source: Maestro (NSDI 2024) looks for keys by which a network card's hash keeps all state apart;
//! NFOS (EuroSys 2024) gives each core a part of a translator's ports.

use super::keys::{changed, described, name, pushed};
use super::state::line_of;
use compiler::keys::{Access, Base, Byte, looks_by_input};
use netil::app::{Application, ByPort, Toward};
use netil::module::HandlerKind;
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

/// What is known of a promise by ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// All keys have the port of the end that counts, or what stands for it.
    Shown,
    /// It is believed.
    Unshown(String),
    /// It does not hold.
    Refuted(String),
}

impl Promise {
    /// What refutes it.
    pub(super) fn refuted(&self) -> Option<String> {
        if let Self::Refuted(why) = self { Some(why.clone()) } else { None }
    }

    /// For people.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Shown => "FLOW_STATE promised, shown".to_owned(),
            Self::Unshown(why) => format!("FLOW_STATE promised, not shown: {why}"),
            Self::Refuted(why) => why.clone(),
        }
    }
}

/// Looks at the keys of the tables that packets change. Ports that an element gives out itself are
/// numbers of its own, of which nothing is known.
pub(super) fn promise(application: &Application, of: &ByPort) -> Promise {
    let unknown = || Promise::Unshown("there are too many ways to its keys".to_owned());
    let Some(program) = application.instances[of.instance as usize].program() else { return unknown() };
    let Some(func) = pushed(program) else { return unknown() };
    let changed = changed(program, &func);
    let Some(found) = looks_by_input(program.module(), &func) else { return unknown() };
    let accesses: Vec<&Access> = found.accesses.iter().filter(|access| changed.contains(&access.table)).collect();
    let told = |access: &Access| {
        let line = line_of(program, HandlerKind::Push, access.site).map_or_else(String::new, |line| format!(" (line {line})"));
        format!("the keys of table `{}` are {}{line}", name(program, access.table), described(&access.key))
    };
    if let Some(other) = accesses.iter().find(|access| has_other_bytes_only(&access.key)) {
        return Promise::Refuted(format!("FLOW_STATE does not hold: {}, without a port", told(other)));
    }
    // Where the way does not depend on the input, packets of each come that way.
    let ends = |access: &Access| match access.input {
        Some(input) => of.inputs.get(input as usize).into_iter().copied().collect(),
        None => of.inputs.clone(),
    };
    let shows = |access: &Access| {
        let ends: Vec<Toward> = ends(access);
        !ends.is_empty() && ends.iter().all(|end| has_port(&access.key, *end))
    };
    match accesses.iter().find(|access| !shows(access)) {
        Some(unshown) => Promise::Unshown(told(unshown)),
        None => Promise::Shown,
    }
}

/// Whether a key is made of bytes of the packet none of which are behind its IP header: all of them
/// say which packets have it, and no port does.
fn has_other_bytes_only(key: &[Byte]) -> bool {
    let is_header = |byte: &Byte| matches!(byte, Byte::Packet(Base::Network, _));
    key.iter().any(is_header) && key.iter().all(|byte| is_header(byte) || *byte == Byte::Zero)
}

/// Whether it has the port of that end, the identifier of an ICMP query, or the port of the other
/// end of the packet that an ICMP error quotes.
fn has_port(key: &[Byte], end: Toward) -> bool {
    let has = |at: u32| (at..at + 2).all(|at| key.contains(&Byte::Packet(Base::Transport, at)));
    let (own, quoted) = if end == Toward::Source { (0, 30) } else { (2, 28) };
    has(own) || has(4) || has(quoted)
}
