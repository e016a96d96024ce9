//! How the state of a configuration is shared, one by one: each table and each variable that
//! packets change or read, what it is, on which line that is decided, and what would make it
//! cheaper.

use super::super::accesses::{Counters, MemoryLocation, Range};
use super::super::scratch::Scratch;
use super::super::table_sums::sum_tables;
use super::error::PlacementError;
use super::keyed::Verdict;
use super::keys;
use super::placement::{Placement, keeps};
use super::policy::{Policies, Policy};
use super::stage::{Order, Stage};
use super::state::line_of;
use compiler::mir::states::States;
use compiler::mir::{Extent, Func, Helper, Op, Value};
use compiler::passes;
use netil::Verified;
use netil::app::{Application, Variable};
use netil::module::HandlerKind;
use netil::table::Space;
use runtime::graph::ring::Flow;
use std::fmt;

/// What a table or a variable is to packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Packets only read it.
    ReadOnly,
    /// Each run writes it before it reads it.
    Scratch,
    /// Packets add to it and do not read it.
    Sum,
    /// Its keys have both addresses of the packet.
    Flow,
    /// Its keys are made of that.
    Keyed(String),
    /// Packets read what others wrote.
    General,
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnly => f.write_str("packets only read it"),
            Self::Scratch => f.write_str("written before it is read, by each run"),
            Self::Sum => f.write_str("a sum that packets do not read"),
            Self::Flow => f.write_str("keyed by flow"),
            Self::Keyed(key) => write!(f, "keyed by {key}"),
            Self::General => f.write_str("packets read what others wrote"),
        }
    }
}

/// A table or a variable.
#[derive(Clone, Debug)]
pub struct Item {
    /// The element's name.
    pub element: String,
    /// Its class.
    pub class: String,
    /// A table, or else a variable.
    pub is_table: bool,
    /// Its name in the class.
    pub name: String,
    /// What it is to packets.
    pub sort: Sort,
    /// The line of the class that decides it.
    pub line: Option<u32>,
    /// How replicas have it.
    pub shared: String,
    /// Why, where it is not because of what it is itself.
    pub why: Option<String>,
    /// What would let each replica have its own.
    pub cheaper: Option<String>,
}

impl Item {
    /// Whether packets leave something in it for others.
    pub fn is_kept(&self) -> bool {
        !matches!(self.sort, Sort::ReadOnly | Sort::Scratch)
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_table { "table" } else { "variable" };
        write!(f, "{} :: {}, {kind} {}: {}", self.element, self.class, self.name, self.sort)?;
        self.line.iter().try_for_each(|line| write!(f, " (line {line})"))?;
        write!(f, "; {}", self.shared)?;
        self.why.iter().try_for_each(|why| write!(f, ", because {why}"))?;
        self.cheaper.iter().try_for_each(|cheaper| write!(f, "; cheaper: {cheaper}"))
    }
}

impl Placement {
    /// Each table and variable of elements in C, in the order of elements: also what packets only
    /// read.
    pub fn items(&self, application: &Application) -> Vec<Item> {
        (0..application.instances.len()).flat_map(|at| self.items_of(application, at)).collect()
    }

    fn items_of(&self, application: &Application, at: usize) -> Vec<Item> {
        let instance = &application.instances[at];
        let Some(program) = instance.program() else { return Vec::new() };
        let kind = program.module().handler(HandlerKind::Push).map_or(HandlerKind::Pull, |_| HandlerKind::Push);
        let Ok(Some((func, _))) = compiler::optimised(program, kind, &passes::Options::default()) else { return Vec::new() };
        // Where accesses are still where the source has them.
        let written = compiler::translate::translate(program, kind).ok().flatten();
        let seen = Seen { program, kind, func: &func, written: written.as_ref() };
        let variables = application.variables.get(at).map_or(&[][..], Vec::as_slice);
        let found = self.tables(at, &seen).into_iter().chain(seen.variables(variables));
        let item = |(is_table, name, sort, line)| {
            let (shared, why) = self.how(at, &sort);
            let cheaper = self.cheaper(application, at, &sort);
            let (element, class) = (instance.name.clone(), instance.class.clone());
            Item { element, class, is_table, name, sort, line, shared, why, cheaper }
        };
        found.map(item).collect()
    }

    /// Whether elements keep what they keep as policies say that leave no choice.
    pub(super) fn keeps_policies(&self, application: &Application, policies: &Policies) -> Result<(), PlacementError> {
        for (at, instance) in application.instances.iter().enumerate() {
            let policy = policies.of(&instance.name, &instance.class);
            if !matches!(policy, Policy::Affinity | Policy::Shard) {
                continue;
            }
            let refused = |why: &str| {
                Err(PlacementError::Asked(format!("--state {}: `{}` ({}): {why}", policy.word(), instance.name, instance.class)))
            };
            if let (Stage::Rest | Stage::Ordered(_) | Stage::Shared, Some(why)) = (self.stages[at], &self.reasons[at]) {
                // Elements of the runtime, such as queues, are no state of packets.
                if instance.program().is_some() {
                    return refused(why);
                }
            }
            let more = |item: &Item| item.is_kept() && item.sort != Sort::Sum;
            let items = if policy == Policy::Shard { self.items_of(application, at) } else { Vec::new() };
            if let Some(item) = items.into_iter().find(more) {
                return refused(&format!("`{}` is more than a sum: {}", item.name, item.sort));
            }
        }
        Ok(())
    }

    fn tables(&self, at: usize, seen: &Seen<'_>) -> Vec<Found> {
        let changed = keys::changed(seen.program, seen.func);
        let (keys, sums) = (self.keyed.of.get(&at), sum_tables(seen.program, seen.func));
        let found = |number: u32| {
            let name = keys::name(seen.program, number).to_owned();
            let keys = keys.and_then(|keys| keys.tables.iter().find(|table| table.number == number));
            let sum = sums.iter().find(|table| table.number == number);
            let added = sum.and_then(|table| line_of(seen.program, seen.kind, table.site));
            let keyed = added.or_else(|| keys.and_then(|keys| keys.line));
            let line = keyed.or_else(|| seen.line_of_table(number)).or_else(|| seen.line_of_lookup(number));
            let sort = match keys {
                _ if !changed.contains(&number) => Sort::ReadOnly,
                _ if sum.is_some() => Sort::Sum,
                Some(keys) if keys.verdict <= Verdict::Quoted => Sort::Flow,
                Some(_) if self.is_by_fields(at) => Sort::Flow,
                Some(keys) => Sort::Keyed(keys.key.clone()),
                None => Sort::Keyed("something not known".to_owned()),
            };
            (true, name, sort, line)
        };
        (0..seen.program.module().tables.len() as u32).map(found).collect()
    }

    /// Whether packets go to replicas by bytes that the keys of all its tables have.
    fn is_by_fields(&self, at: usize) -> bool {
        matches!(self.flow, Flow::Fields(fields) if self.keyed.fields(at).contains(&fields))
    }

    /// How replicas have what an element keeps, and why.
    fn how(&self, at: usize, sort: &Sort) -> (String, Option<String>) {
        let plain = match sort {
            Sort::ReadOnly | Sort::Scratch => "each replica has its own",
            Sort::Sum => "each replica has its own, and they are added when they are read",
            _ if self.relaxed.contains(&at) => "each replica has its own, as asked",
            _ if self.replayed.contains(&at) => "each replica has it as all packets leave it",
            _ => "each replica has that of its flows",
        };
        match self.stages[at] {
            Stage::Replica if self.policies.contains_key(&at) => (self.policy_shown(at), None),
            Stage::Replica | Stage::Source => (plain.to_owned(), None),
            Stage::Shared => (format!("one for all replicas: {}", self.policy_shown(at)), self.reasons[at].clone()),
            Stage::Rest if self.order == Order::Flow => ("in the first replica".to_owned(), self.reasons[at].clone()),
            Stage::Rest | Stage::Ordered(_) => {
                let behind = || "elements before it run in order".to_owned();
                ("on one thread, in order".to_owned(), Some(self.reasons[at].clone().unwrap_or_else(behind)))
            }
        }
    }

    fn cheaper(&self, application: &Application, at: usize, sort: &Sort) -> Option<String> {
        if self.stages[at] == Stage::Replica || self.stages[at] == Stage::Source || self.reasons[at].is_none() {
            return None;
        }
        let is_by_port = || application.by_port.iter().any(|of| of.instance as usize == at);
        let locked = "--order flow, where replicas have one state under a lock or by transactions";
        // It would not be in replicas all the same.
        let despite = || keeps(application, (at, &application.instances[at]), false, true).filter(|_| matches!(sort, Sort::Keyed(_)));
        if let (false, Some(why)) = (is_by_port(), despite()) {
            let told = || format!("{locked}; keys by flow would not be enough, because {why}");
            return (self.order == Order::Total).then(told);
        }
        match sort {
            // Its keys have ports, not both addresses.
            Sort::Flow | Sort::Keyed(_) | Sort::General if is_by_port() => (self.order == Order::Total)
                .then(|| "--order flow, where each replica has a part of the ports, and nothing is in common".to_owned()),
            Sort::Keyed(key) if key.contains("address") && !key.contains("quoted") => {
                Some("keys with both addresses of the packet, so that each replica has the entries of its flows".to_owned())
            }
            Sort::Keyed(key) if key.contains("not known") => {
                Some("FLOW_STATE(ADDRESSES) in the class, if the keys always have both addresses of the flow".to_owned())
            }
            Sort::Keyed(_) if self.order == Order::Flow => Some("keys with both addresses".to_owned()),
            Sort::Keyed(_) => Some(format!("keys with both addresses; else {locked}")),
            Sort::General => Some("a sum that packets do not read, or an entry of a table by flow".to_owned()),
            _ => None,
        }
    }
}

/// Whether it is a table; its name, what it is, and the line.
type Found = (bool, String, Sort, Option<u32>);

/// A handler, as it is run and as it is written.
struct Seen<'a> {
    program: &'a Verified,
    kind: HandlerKind,
    func: &'a Func,
    written: Option<&'a Func>,
}

impl Seen<'_> {
    fn line_of_table(&self, number: u32) -> Option<u32> {
        let of = |op: &Op| match op {
            Op::Helper(helper, _, site) => {
                let changes = helper.table() == Some(number) && helper.row().writes.meets(States::TABLE.and(States::ENTRIES));
                changes.then_some(*site)
            }
            _ => None,
        };
        let site = ops(self.func).find_map(|(_, op)| of(op))?;
        line_of(self.program, self.kind, site)
    }

    /// The line on which a table is first asked.
    fn line_of_lookup(&self, number: u32) -> Option<u32> {
        let of = |op: &Op| match op {
            Op::Helper(Helper::Find(table) | Helper::Peek(table), _, site) => (*table == number).then_some(*site),
            _ => None,
        };
        let site = ops(self.func).find_map(|(_, op)| of(op))?;
        line_of(self.program, self.kind, site)
    }

    fn variables(&self, variables: &[Variable]) -> Vec<Found> {
        let counters = Counters::of(self.program, self.func);
        let (sums, scratch) = (counters.sums(self.func), Scratch::of(self.program));
        let found = |variable: &Variable| {
            let accesses: Vec<(bool, Option<MemoryLocation>)> =
                accesses(&counters, self.func).filter(|(_, place)| place.is_none_or(|place| reaches(&place, variable))).collect();
            if accesses.is_empty() {
                return None;
            }
            let whole = MemoryLocation {
                space: Space::Data,
                order: compiler::mir::Order::Little,
                bytes: variable.len.into(),
                at: one(variable.at),
            };
            let sort = match () {
                () if !accesses.iter().any(|(stores, _)| *stores) => Sort::ReadOnly,
                () if scratch.holds(&whole) => Sort::Scratch,
                () if accesses.iter().all(|(_, place)| place.is_some_and(|place| sums.contains(&place))) => Sort::Sum,
                () => Sort::General,
            };
            let line = self.line_of(variable);
            Some((false, variable.name.clone(), sort, line))
        };
        variables.iter().filter_map(found).collect()
    }

    /// The line of the first store to a variable.
    fn line_of(&self, variable: &Variable) -> Option<u32> {
        let func = self.written?;
        let counters = Counters::of(self.program, func);
        let stores =
            ops(func).filter_map(|(value, op)| if let Op::Store(Space::Data, .., token) = op { Some((value, *token)) } else { None });
        let mut here = stores.filter(|(value, _)| counters.place(*value).is_some_and(|place| reaches(&place, variable)));
        let (_, token) = here.next()?;
        match func.op(token) {
            Some(Op::Check(_, extents) | Op::Proved(_, extents)) => {
                extents.first().and_then(|Extent { site, .. }| line_of(self.program, self.kind, *site))
            }
            _ => None,
        }
    }
}

fn ops(func: &Func) -> impl Iterator<Item = (Value, &Op)> {
    func.blocks.iter().flat_map(|block| &block.ops).filter_map(|value| Some((*value, func.op(*value)?)))
}

/// Accesses to data memory: whether each stores, and where, if that is known.
fn accesses<'a>(counters: &'a Counters, func: &'a Func) -> impl Iterator<Item = (bool, Option<MemoryLocation>)> + 'a {
    ops(func).filter_map(|(value, op)| match op {
        Op::Load(Space::Data, ..) => Some((false, counters.place(value))),
        Op::Store(Space::Data, ..) => Some((true, counters.place(value))),
        Op::Helper(Helper::Copy(_, Space::Data), ..) => Some((true, counters.copied(value)[1])),
        Op::Helper(Helper::Copy(Space::Data, _), ..) => Some((false, counters.copied(value)[0])),
        _ => None,
    })
}

fn reaches(place: &MemoryLocation, variable: &Variable) -> bool {
    place.at.low < u64::from(variable.at + variable.len) && u64::from(variable.at) < place.at.high.saturating_add(place.bytes)
}

fn one(at: u32) -> Range {
    Range { low: at.into(), high: at.into(), step: 0 }
}
