//! Which elements keep what they keep of packets by flow: by keys that have both addresses of the
//! packet. Their classes say so (`FLOW_STATE`), or their code does.
//!
//! ```text
//! class says so    all keys shown: replicas      a key that has no two addresses: the promise is refused, with the line      else: believed, and told
//! class is silent  all keys shown: replicas      else: one state
//! ```
//!
//! A key is shown to be of the flow if it has both addresses of the IP header in the same places
//! wherever the table is asked, in either order ([`compiler::keys`]), and if the elements before it
//! leave addresses and header as they arrived: what replicas get is decided by the frame that
//! arrives. Keys from the packet that an ICMP error quotes are shown as well where the class
//! promises that they are used for such errors only.
//!
//! Keys that have less of a packet, such as one address, or bytes at fixed places of the frame, are
//! told as [`Fields`]: replicas can get packets by these ([`super::by`]).
//!
//! Source: Maestro (NSDI 2024), section 3.3. Left out: ports, but at fixed places, without a
//! promise; tables that are keyed in different ways; with the order of flows all but both
//! addresses.

use super::captures::is_source;
use super::keys::{described, fields_shown, kept, name, pushed};
use super::ports::{Promise, promise};
use super::state::line_of;
use compiler::keys::{Access, Base, Byte, Looks, is_plain, looks};
use netil::Verified;
use netil::app::Application;
use netil::fields::ip_protocol::ICMP;
use netil::module::HandlerKind;
use runtime::graph::ring::{Fields, Flow};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes before the end of an IP header that is the first of an Ethernet frame with two tags.
const FIRST_HEADER: u32 = 33;

/// What the keys of a table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// Both addresses of the packet.
    Flow,
    /// Both addresses, on some way those that an ICMP error quotes.
    Quoted,
    /// Not known.
    Unknown,
    /// Surely not both addresses.
    Other,
}

/// A table that packets change.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub number: u32,
    pub verdict: Verdict,
    /// What its keys are made of, for people.
    pub key: String,
    /// The line that decides.
    pub line: Option<u32>,
    /// It may be asked for an ICMP error by the addresses of the error's own header.
    errors: bool,
    /// Bytes of the packet that all keys have, in the same places.
    fields: BTreeSet<Fields>,
}

/// An element that finds something in tables.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    pub tables: Vec<Table>,
    pub promised: bool,
    /// Why the IP header may be another than that of the frame that arrived.
    pub way: Option<String>,
    /// The frame may not lie as it arrived.
    moved: bool,
}

impl Keys {
    /// What refutes the promise.
    pub fn refuted(&self, program: &Verified) -> Option<String> {
        let other = self.tables.iter().find(|table| self.promised && table.verdict == Verdict::Other)?;
        let line = other.line.map_or_else(String::new, |line| format!(" (line {line})"));
        let name = name(program, other.number);
        Some(format!("FLOW_STATE does not hold: the keys of table `{name}` are {}, not both addresses{line}", other.key))
    }

    /// Why the promise is believed, not shown.
    pub fn unshown(&self, program: &Verified) -> Option<String> {
        let unknown = self.tables.iter().find(|table| table.verdict == Verdict::Unknown);
        let why = unknown.map(|table| {
            let line = table.line.map_or_else(String::new, |line| format!(", line {line}"));
            format!("the keys of table `{}` are {}{line}", name(program, table.number), table.key)
        });
        why.or_else(|| self.way.clone()).filter(|_| self.promised)
    }

    /// Bytes of the frame as it arrived that the keys of all tables have.
    fn fields(&self) -> BTreeSet<Fields> {
        let Some((first, others)) = self.tables.split_first() else { return BTreeSet::new() };
        let arrived = |fields: &&Fields| if fields.header { self.way.is_none() } else { !self.moved };
        let in_all = |fields: &&Fields| others.iter().all(|table| table.fields.contains(fields));
        first.fields.iter().filter(arrived).filter(in_all).copied().collect()
    }

    fn all_of_flow(&self) -> bool {
        !self.tables.is_empty() && self.way.is_none() && self.tables.iter().all(|table| table.verdict == Verdict::Flow)
    }
}

/// What is known of all elements of an application.
#[derive(Clone, Debug, Default)]
pub(super) struct Keyed {
    pub of: BTreeMap<usize, Keys>,
    refused: BTreeSet<usize>,
    /// What is known of promises by ports.
    pub ports: BTreeMap<usize, Promise>,
}

impl Keyed {
    pub fn new(application: &Application) -> Self {
        let promised = |at: usize| application.by_flow.contains(&(at as u32));
        let mut keyed = Self::default();
        let mut all = BTreeMap::new();
        for (at, instance) in application.instances.iter().enumerate() {
            let Some(tables) = instance.program().filter(|program| promised(at) || has_tables(program)).and_then(|program| tables(program))
            else {
                continue;
            };
            // What is before an element matters only where its own keys are those of flows.
            let of_packet = |table: &Table| table.verdict == Verdict::Flow || !table.fields.is_empty();
            let matters = promised(at) || tables.iter().all(of_packet) && !tables.is_empty();
            let way = if matters { way(application, at, &mut all) } else { None };
            let moved = matters && moved(application, at, &mut all);
            let keys = Keys { tables, promised: promised(at), way, moved };
            if instance.program().is_some_and(|program| keys.refuted(program).is_some()) {
                keyed.refused.insert(at);
            }
            keyed.of.insert(at, keys);
        }
        keyed.ports = application.by_port.iter().map(|of| (of.instance as usize, promise(application, of))).collect();
        keyed
    }

    /// Whether an element's class says that it keeps things by flow, and nothing refutes it.
    pub fn promised(&self, application: &Application, at: usize) -> bool {
        application.by_flow.contains(&(at as u32)) && !self.refused.contains(&at)
    }

    /// Whether its code shows that; `by_quotes`: ICMP errors come to the replica of what they
    /// quote, not to that of their own addresses.
    pub fn shown(&self, at: usize, by_quotes: bool) -> bool {
        self.of.get(&at).is_some_and(|keys| keys.all_of_flow() && !(by_quotes && keys.tables.iter().any(|table| table.errors)))
    }

    /// Bytes of the frame as it arrived by which an element finds all that it keeps of packets.
    pub fn fields(&self, at: usize) -> BTreeSet<Fields> {
        self.of.get(&at).map(Keys::fields).unwrap_or_default()
    }

    /// What refutes its promise.
    pub fn refused(&self, application: &Application, at: usize) -> Option<String> {
        self.of.get(&at).filter(|_| self.refused.contains(&at))?.refuted(application.instances[at].program()?)
    }

    /// How an element in replicas is known to keep things by flow, for people.
    pub fn told(&self, application: &Application, at: usize, flow: Flow) -> Option<String> {
        let keys = self.of.get(&at)?;
        let program = application.instances[at].program()?;
        if let Some(why) = keys.refuted(program) {
            return Some(why);
        }
        match keys.unshown(program) {
            Some(why) => Some(format!("FLOW_STATE promised, not shown: {why}")),
            None if keys.promised => Some("FLOW_STATE promised, shown".to_owned()),
            None => match flow {
                Flow::Fields(fields) => {
                    keys.fields().contains(&fields).then(|| format!("keyed by {}: shown without a promise", fields_shown(fields)))
                }
                _ if keys.all_of_flow() => Some("keyed by flow: shown without a promise".to_owned()),
                _ => None,
            },
        }
    }
}

fn has_tables(program: &Verified) -> bool {
    !program.module().tables.is_empty()
}

/// Tables that packets change, but for those that they only add to, or whose entries lookups make
/// younger; none if the handler is too large.
fn tables(program: &Verified) -> Option<Vec<Table>> {
    let func = pushed(program)?;
    let kept = kept(program, &func);
    if kept.is_empty() {
        return Some(Vec::new());
    }
    let found = looks(program.module(), &func);
    let table = |number: u32| match &found {
        Some(found) => judged(program, number, &found.accesses.iter().filter(|access| access.table == number).collect::<Vec<_>>()),
        None => Table {
            number,
            verdict: Verdict::Unknown,
            key: "not known, as there are too many ways to them".to_owned(),
            line: None,
            errors: true,
            fields: BTreeSet::new(),
        },
    };
    Some(kept.into_iter().map(table).collect())
}

/// Where a key has the two ends of a packet: the places of the bytes of one and of the other.
type Ends = BTreeSet<Vec<usize>>;

/// The places in a key of so many bytes of the packet from one on.
fn places(key: &[Byte], base: Base, from: u32, len: u32) -> Option<Vec<usize>> {
    (from..from + len).map(|at| key.iter().position(|byte| *byte == Byte::Packet(base, at))).collect()
}

/// Where a key has these bytes, if it has them.
fn fixed(access: &Access, fields: Fields) -> Option<Ends> {
    let base = if fields.header { Base::Network } else { Base::Start };
    let of = |at: u16| places(&access.key, base, at.into(), fields.len.into());
    let mut found = BTreeSet::from([of(fields.at)?]);
    found.extend(fields.other.map(of).map_or(Some(None), |other| other.map(Some))?);
    Some(found)
}

/// Whether a key has what only a header of IPv6 has there: the second half of its addresses.
fn is_of_ipv6(key: &[Byte]) -> bool {
    key.iter().any(|byte| matches!(byte, Byte::Packet(Base::Network, 20..40)))
}

/// Places where fields begin or end: in IP headers addresses of both versions; in frames Ethernet's
/// addresses, and those of IP headers behind them.
const EDGES: [&[u16]; 2] = [&[0, 6, 12, 22, 26, 30, 34, 38, 54], &[8, 12, 16, 20, 24, 40]];
/// Pairs of fields that may come in either order: how they begin, and their length.
const PAIRS: [&[(u16, u16, u16)]; 2] = [&[(0, 6, 6), (26, 30, 4), (22, 38, 16)], &[(12, 16, 4), (8, 24, 16)]];
/// The most bytes of one field.
const LONGEST: u16 = 40;

/// Bytes of the packet that all keys have in the same places.
fn fields(accesses: &[&Access]) -> BTreeSet<Fields> {
    let Some((first, others)) = accesses.split_first() else { return BTreeSet::new() };
    let same = |fields: &Fields| {
        let at = fixed(first, *fields);
        at.is_some() && others.iter().all(|access| fixed(access, *fields) == at)
    };
    [false, true].into_iter().flat_map(|header| candidates(&first.key, header)).filter(same).collect()
}

/// Rows of bytes of the packet that a key has, whole and up to where fields end, and pairs of
/// fields.
fn candidates(key: &[Byte], header: bool) -> Vec<Fields> {
    let wanted = if header { Base::Network } else { Base::Start };
    let at = |byte: &Byte| if let Byte::Packet(base, at) = byte { u16::try_from(*at).ok().filter(|_| *base == wanted) } else { None };
    let bytes: BTreeSet<u16> = key.iter().filter_map(at).collect();
    let pair = |(at, other, len): &(u16, u16, u16)| Fields { header, at: *at, len: *len, other: Some(*other) };
    let mut found: Vec<Fields> = PAIRS[usize::from(header)].iter().map(pair).collect();
    let is_edge = |at: u16| EDGES[usize::from(header)].contains(&at);
    let begins = bytes.iter().copied().filter(|at| is_edge(*at) || at.checked_sub(1).is_none_or(|before| !bytes.contains(&before)));
    for begin in begins {
        let end = (begin..begin.saturating_add(LONGEST)).find(|at| !bytes.contains(at)).unwrap_or(begin + LONGEST);
        let ends = (begin + 1..=end).filter(|at| *at == end || is_edge(*at));
        found.extend(ends.map(|end| Fields { header, at: begin, len: end - begin, other: None }));
    }
    found
}

fn judged(program: &Verified, number: u32, accesses: &[&Access]) -> Table {
    // A key of one address of IPv6 has the bytes, too, where IPv4 has both.
    let own = |access: &Access| match is_of_ipv6(&access.key) {
        true => fixed(access, Fields { header: true, at: 8, len: 16, other: Some(24) }),
        false => fixed(access, Fields { header: true, at: 12, len: 4, other: Some(16) }),
    };
    let quoted = |access: &Access| {
        let start = compiler::keys::QUOTED.start;
        Some(BTreeSet::from([places(&access.key, Base::Transport, start, 4)?, places(&access.key, Base::Transport, start + 4, 4)?]))
    };
    let verdict = |access: &Access| match (own(access), quoted(access)) {
        (Some(_), _) => Verdict::Flow,
        (None, Some(_)) => Verdict::Quoted,
        _ if access.key.iter().all(|byte| is_plain(*byte) || is_address(*byte)) => Verdict::Other,
        _ => Verdict::Unknown,
    };
    let fields = fields(accesses);
    // Where keys of two operations have the ends in different places, those of two flows may be
    // equal.
    let places: BTreeSet<Ends> = accesses.iter().filter_map(|access| own(access).or_else(|| quoted(access))).collect();
    let worst = accesses.iter().max_by_key(|access| verdict(access));
    let line = worst.and_then(|access| line_of(program, HandlerKind::Push, access.site));
    let errors = accesses.iter().any(|access| own(access).is_some() && access.protocol.is_none_or(|protocol| protocol == ICMP));
    match worst.map_or(Verdict::Unknown, |access| verdict(access)) {
        Verdict::Flow | Verdict::Quoted if places.len() > 1 => Table {
            number,
            verdict: Verdict::Unknown,
            key: "both addresses, but not in the same places everywhere".to_owned(),
            line,
            errors,
            fields,
        },
        verdict => {
            let key = worst.map_or_else(|| "not known".to_owned(), |access| described(&access.key));
            Table { number, verdict, key, line, errors, fields }
        }
    }
}

fn is_address(byte: Byte) -> bool {
    matches!(byte, Byte::Packet(Base::Network, 8..40))
}

/// Why the IP header that an element sees may not be the one by which frames are given to replicas;
/// `all` is what was found out about elements.
fn way(application: &Application, at: usize, all: &mut BTreeMap<usize, Option<Looks>>) -> Option<String> {
    let before = before(application, at);
    let program = |of: usize| application.instances[of].program();
    for of in before.iter().filter(|of| program(**of).is_some()) {
        all.entry(*of).or_insert_with(|| program(*of).and_then(|program| looks(program.module(), &pushed(program)?)));
    }
    let of = |at: &usize| all.get(at).and_then(Option::as_ref);
    let shown = |at: usize| format!("`{}` ({})", application.instances[at].name, application.instances[at].class);
    for at in before.iter().filter(|at| all.contains_key(at)) {
        match of(at) {
            None => return Some(format!("{} before it cannot be looked at", shown(*at))),
            Some(looks) if looks.readdresses => return Some(format!("{} before it may change addresses", shown(*at))),
            Some(looks) if looks.encapsulates => return Some(format!("{} before it makes a header of its own", shown(*at))),
            Some(_) => {}
        }
    }
    let marks = |at: &&usize| of(at).is_some_and(|looks| looks.marks);
    let twice = before.iter().filter(marks).find(|at| self::before(application, **at).iter().filter(marks).any(|other| other != *at));
    if let Some(twice) = twice {
        return Some(format!("{} before it marks another IP header than elements before that did", shown(*twice)));
    }
    let takes = |at: usize| if all.contains_key(&at) { of(&at).map_or(Some(0), |looks| looks.takes) } else { Some(0) };
    let far = distance(application, &before, at, &takes) > FIRST_HEADER;
    far.then(|| "elements before it take away more than the headers before the first IP header may have".to_owned())
}

/// Whether frames may not lie at an element as they arrived: an element before moves their heads or
/// changes them behind Ethernet's addresses, or is one of the runtime that is no source.
fn moved(application: &Application, at: usize, all: &mut BTreeMap<usize, Option<Looks>>) -> bool {
    before(application, at).into_iter().any(|of| match application.instances[of].program() {
        None => !is_source(&application.instances[of]),
        Some(program) => {
            let found = all.entry(of).or_insert_with(|| looks(program.module(), &pushed(program)?));
            found.as_ref().is_none_or(|looks| looks.moves || looks.readdresses || looks.stores)
        }
    })
}

/// The elements that packets may come from to an element.
fn before(application: &Application, at: usize) -> BTreeSet<usize> {
    let (mut found, mut open) = (BTreeSet::new(), vec![at]);
    while let Some(to) = open.pop() {
        let from = application.wires.iter().filter(|wire| wire.to.instance as usize == to).map(|wire| wire.from.instance as usize);
        open.extend(from.filter(|from| *from != at && found.insert(*from)));
    }
    found
}

/// How many bytes are taken away at the heads of packets on the way to an element, up to one more
/// than there may be.
fn distance(application: &Application, before: &BTreeSet<usize>, at: usize, takes: &dyn Fn(usize) -> Option<u32>) -> u32 {
    let mut far: BTreeMap<usize, u32> = before.iter().map(|of| (*of, 0)).collect();
    far.insert(at, 0);
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for wire in &application.wires {
            let (from, to) = (wire.from.instance as usize, wire.to.instance as usize);
            let Some(so_far) = far.get(&from).filter(|_| before.contains(&from)) else { continue };
            let reached = takes(from).map_or(FIRST_HEADER + 1, |bytes| (so_far + bytes).min(FIRST_HEADER + 1));
            if let Some(known) = far.get_mut(&to).filter(|known| **known < reached) {
                *known = reached;
                changed = true;
            }
        }
    }
    far.get(&at).copied().unwrap_or(0)
}
