//! Which stage each element of an application is in, and why.
//!
//! Sources are a stage. Elements may run in replicas as far as nothing of what they do depends on
//! packets that another replica has: they keep nothing, or count what nobody looks at. From the
//! first element on of which that is not so, and from queues, files and devices on, everything is
//! the last stage, which sees all packets in their order.
//!
//! Where only the order within each flow is kept ([`Placement::by_flow`]), every replica has all
//! elements, from its own sources to its own devices, and packets go to replicas by the addresses
//! of their flow. State that is not found by flow is then in common: one replica at a time runs the
//! element, under a lock. Where an element's state can be divided by ports, packets go to replicas
//! by these ([`super::ports`]).
//!
//! An element that must see all packets is in replicas, too, if the user asks for that
//! ([`Policy::Replicate`]): then all replicas have all packets ([`super::replay`]).
//!
//! Source: Maestro (NSDI 2024) and NFOS (EuroSys 2024) derive the same of sequential programs; NRTE
//! paper, section 3 (stages).

use super::super::accesses::{Counters, MemoryLocation};
use super::super::order::{Exempt, first_trace};
use super::by::By;
use super::captures::{calls, gives_captures, sources};
use super::error::PlacementError;
use super::keyed::Keyed;
use super::policy::{Policies, Policy, is_long, memory, not_again};
use super::ports::Promise;
use super::stage::{Order, Stage};
use super::state::line_of;
use super::{ports, readers};
use compiler::mir::{Func, Helper, Op, Value};
use compiler::passes;
use netil::Verified;
use netil::app::{Application, Body, ByPort, Instance, Toward, Variable};
use netil::module::{Handler, HandlerKind, Inst};
use netil::table::{Op as Instruction, Space};
use runtime::graph::builtin;
use runtime::graph::ring::Flow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Elements that answer packets with errors, of which there are few (RFC 1812, 4.3.2.8).
const ERRORS: &[&str] = &["ICMPError", "ICMP6Error"];

/// Where all elements run.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// By element.
    pub stages: Vec<Stage>,
    /// By element: why it is in the last stage, if something it does is the reason.
    pub reasons: Vec<Option<String>>,
    /// Which replica has a packet.
    pub flow: Flow,
    /// Which order is kept.
    pub order: Order,
    /// Elements whose result may differ, as the user allowed.
    pub relaxed: BTreeSet<usize>,
    /// By element whose state replicas have in common or in parts: how they share it, and why not
    /// by transactions where those were asked for.
    pub policies: BTreeMap<usize, (runtime::graph::Policy, Option<String>)>,
    /// By element whose state replicas have copies of: what reads them, for all packets that change
    /// nothing.
    pub readers: BTreeMap<usize, Arc<Verified>>,
    /// Elements in common to which few packets come: they are run by themselves, so that no lock of
    /// theirs is held for others.
    pub seldom: BTreeSet<u32>,
    /// Elements whose lock is held for runs of their own only.
    pub apart: BTreeSet<u32>,
    /// By source: the end of its packets whose port says which replica has them, where not their
    /// addresses do.
    pub ends: BTreeMap<usize, Toward>,
    /// Elements to whose state each replica does what all packets do.
    pub replayed: BTreeSet<usize>,
    /// What is known of the keys of tables.
    pub(super) keyed: Keyed,
}

impl Placement {
    /// Places an application; `relax` names elements or classes whose state may be kept by replica,
    /// each seeing its own packets only.
    ///
    /// # Errors
    /// Why it cannot be cut into stages.
    pub fn new(application: &Application, relax: &[String]) -> Result<Self, PlacementError> {
        Self::total(application, relax, &Policies::default())
    }

    /// Places an application; `policies` name elements that may be in replicas although they must
    /// see all packets ([`Policy::Replicate`]).
    ///
    /// # Errors
    /// Also a policy that is for another order; a name that there is not.
    pub fn total(application: &Application, relax: &[String], policies: &Policies) -> Result<Self, PlacementError> {
        Self::total_but(application, relax, policies, &[])
    }

    /// Places an application; elements and classes of `in_order` are kept out of replicas.
    ///
    /// # Errors
    /// Those of [`Placement::total`].
    pub fn total_but(
        application: &Application,
        relax: &[String],
        policies: &Policies,
        in_order: &[String],
    ) -> Result<Self, PlacementError> {
        let asked = named(application, in_order, "in-order")?;
        let (relaxed, sources) = (relaxed(application, relax)?, sources(application)?);
        policies.check(application, Order::Total)?;
        let all = application.instances.iter().enumerate();
        if let Some(source) = all.clone().find(|(at, instance)| sources[*at] && calls(instance)) {
            return Err(PlacementError::Application(format!("`{}` calls handlers at its end", source.1.name)));
        }
        let watched = watched(application);
        let keyed = Keyed::new(application);
        // Where all replicas have all packets, those of a flow are not one replica's.
        let gains = |at: usize| keeps(application, (at, &application.instances[at]), relaxed.contains(&at), true).is_none();
        let by_flow = By::new(application, &keyed, !policies.has(Policy::Replicate), gains);
        let need = |(at, instance): (usize, &Instance)| match sources[at] {
            true => (false, None),
            false if asked.contains(&at) => (false, Some("the placement says so".to_owned())),
            false if watched.contains(&at) => (false, Some("a script looks at it while packets flow".to_owned())),
            false => need(application, (at, instance), relaxed.contains(&at), (&by_flow, policies)),
        };
        let (again, reasons): (Vec<bool>, Vec<Option<String>>) = all.map(need).unzip();
        let stages = stages(application, &sources, &reasons);
        let in_replicas = |at: usize| stages[at] == Stage::Replica;
        let replayed: BTreeSet<usize> = (0..stages.len()).filter(|at| again[*at] && in_replicas(*at)).collect();
        let flow = match (0..stages.len()).any(|at| in_replicas(at) && by_flow.has(at)) {
            _ if !replayed.is_empty() => Flow::All,
            true => by_flow.flow().unwrap_or_default(),
            false => Flow::Any,
        };
        let placement = Self { stages, reasons, flow, relaxed, replayed, keyed, ..Self::default() };
        placement.keeps_policies(application, policies).map(|()| placement)
    }

    /// Places an application in replicas that keep the order of the packets of each flow only;
    /// `relax` names elements or classes whose state may be kept by replica.
    ///
    /// # Errors
    /// An element that must see the packets of all flows; a name that there is not.
    pub fn by_flow(application: &Application, relax: &[String], policies: &Policies) -> Result<Self, PlacementError> {
        let (relaxed, sources) = (relaxed(application, relax)?, sources(application)?);
        policies.check(application, Order::Flow)?;
        let keyed = Keyed::new(application);
        let divided = Divided::of(application, &relaxed, &sources, &keyed);
        let (mut stages, mut reasons) = (Vec::new(), Vec::new());
        for (at, _) in application.instances.iter().enumerate() {
            let (stage, reason) = match relaxed.contains(&at) {
                true => (Stage::Replica, None),
                false => stage_by_flow(application, at, &divided, &keyed)?,
            };
            stages.push(stage);
            reasons.push(reason);
        }
        let shared = stages.iter().enumerate().filter(|(_, stage)| **stage == Stage::Shared).map(|(at, _)| at);
        let asked = |at: &usize| policies.of(&application.instances[*at].name, &application.instances[*at].class) == Policy::Copies;
        let (shared, copied): (Vec<usize>, BTreeSet<usize>) = (shared.clone().collect(), shared.filter(asked).collect());
        let mut shared_by: BTreeMap<_, _> = shared.into_iter().map(|at| (at, policy(application, at, policies))).collect();
        let is_shared = |at: &u32| stages[*at as usize] == Stage::Shared;
        let seldom: BTreeSet<u32> = seldom(application, &sources).into_iter().filter(is_shared).collect();
        let mut read = BTreeMap::new();
        for (at, (policy, why)) in shared_by.iter_mut().filter(|(at, _)| copied.contains(at)) {
            if seldom.contains(&(*at as u32)) {
                continue;
            }
            match reader(application, *at) {
                Ok(reader) => {
                    *policy = runtime::graph::Policy::Noted(readers::looks_at(&reader).into());
                    read.insert(*at, reader);
                }
                Err(unread) => {
                    *why = Some(why.take().map_or_else(String::new, |why| format!("no transactions: {why}; ")) + "no copies: " + &unread)
                }
            }
        }
        shared_by.extend(divided.parts.iter().map(|of| (of.instance as usize, (runtime::graph::Policy::Parts((*of).clone()), None))));
        let (flow, order, apart) = (Flow::Addresses, Order::Flow, super::policy::apart(application, &stages, &shared_by));
        let (ends, readers) = (divided.ends, read);
        let placement =
            Self { stages, reasons, flow, order, relaxed, policies: shared_by, readers, seldom, apart, ends, keyed, ..Self::default() };
        placement.keeps_policies(application, policies).map(|()| placement)
    }

    /// The elements of a stage.
    pub fn of(&self, stage: Stage) -> impl Iterator<Item = usize> {
        self.stages.iter().enumerate().filter(move |(_, its)| **its == stage).map(|(at, _)| at)
    }

    /// Why there are always as many replicas as at the start, if so.
    pub fn keeps_replicas(&self) -> Option<&'static str> {
        if self.order == Order::Flow {
            return Some("each has the whole configuration");
        }
        (self.flow == Flow::All).then_some("each has the state of all packets, which a new one would lack")
    }

    /// Why packets always go to replicas by the same function, if so.
    pub fn keeps_flow(&self) -> Option<&'static str> {
        match self.order {
            Order::Flow => Some("each has the whole configuration, and receives its packets itself"),
            Order::Total if self.flow == Flow::All => Some("each has all packets"),
            Order::Total => self.has_flows().then_some(ELSEWHERE),
        }
    }

    /// Whether elements keep things by flow.
    fn has_flows(&self) -> bool {
        self.flow != Flow::Any
    }
}

/// What would be where flows go to other replicas.
const ELSEWHERE: &str = "elements keep state by flow, and flows would come to replicas that do not have theirs";

/// The elements that `relax` names.
fn relaxed(application: &Application, relax: &[String]) -> Result<BTreeSet<usize>, PlacementError> {
    named(application, relax, "--relax")
}

/// Elements that have one of those names, or are of a class with one.
pub(super) fn named(application: &Application, names: &[String], what: &str) -> Result<BTreeSet<usize>, PlacementError> {
    let has = |name: &String, instance: &Instance| *name == instance.name || *name == instance.class;
    if let Some(unknown) = names.iter().find(|name| !application.instances.iter().any(|instance| has(name, instance))) {
        return Err(PlacementError::Asked(format!("{what} {unknown}: no element has that name or class")));
    }
    let all = application.instances.iter().enumerate();
    Ok(all.filter(|(_, instance)| names.iter().any(|name| has(name, instance))).map(|(at, _)| at).collect())
}

/// Elements whose state is divided by ports.
#[derive(Default)]
struct Divided<'a> {
    parts: Vec<&'a ByPort>,
    /// By source, the end that counts.
    ends: BTreeMap<usize, Toward>,
    /// Why the others are not.
    others: BTreeMap<usize, String>,
}

impl<'a> Divided<'a> {
    fn of(application: &'a Application, relaxed: &BTreeSet<usize>, sources: &[bool], keyed: &Keyed) -> Self {
        let mut divided = Self::default();
        for of in application.by_port.iter().filter(|of| !relaxed.contains(&(of.instance as usize))) {
            let program = application.instances[of.instance as usize].program();
            let refuted = keyed.ports.get(&(of.instance as usize)).and_then(Promise::refuted);
            let together = application.shares(of.instance).then(|| TOGETHER.to_owned()).or(refuted);
            match together.or_else(|| keeps_beyond_flows(program?, variables(application, of.instance as usize), Keys::Ports)) {
                None => divided.parts.push(of),
                Some(why) => drop(divided.others.insert(of.instance as usize, why)),
            }
        }
        match ports::ends(application, &divided.parts, sources) {
            Ok(ends) => divided.ends = ends,
            Err(why) => divided.others.extend(divided.parts.drain(..).map(|of| (of.instance as usize, why.clone()))),
        }
        divided
    }

    fn is(&self, at: usize) -> bool {
        self.parts.iter().any(|of| of.instance as usize == at)
    }
}

/// The reader of an element, or why it has none.
fn reader(application: &Application, at: usize) -> Result<Arc<Verified>, String> {
    let program = application.instances[at].program().filter(|_| !application.shares(at as u32)).ok_or(TOGETHER)?;
    if sets_timers(program) { Err(TIMERS.to_owned()) } else { readers::reader(program) }
}

/// Elements that few packets come to: those that make errors, and what nothing comes to but by
/// them.
fn seldom(application: &Application, sources: &[bool]) -> BTreeSet<u32> {
    let is_error = |at: u32| ERRORS.contains(&application.instances[at as usize].class.as_str());
    let all = || (0..sources.len() as u32).filter(|at| !is_error(*at));
    let mut often: BTreeSet<u32> = all().filter(|at| sources[*at as usize]).collect();
    loop {
        let enters = |wire: &&netil::app::Wire| {
            often.contains(&wire.from.instance) && !often.contains(&wire.to.instance) && !is_error(wire.to.instance)
        };
        match application.wires.iter().find(enters).map(|wire| wire.to.instance) {
            Some(at) => often.insert(at),
            None => return (0..sources.len() as u32).filter(|at| !often.contains(at)).collect(),
        };
    }
}

/// Where an element runs if only the order of flows is kept, and why its state is in common if it
/// is.
fn stage_by_flow(
    application: &Application,
    at: usize,
    divided: &Divided<'_>,
    keyed: &Keyed,
) -> Result<(Stage, Option<String>), PlacementError> {
    let instance = &application.instances[at];
    let alone = |why: &str| Err(PlacementError::Application(format!("`{}` ({}) {why}", instance.name, instance.class)));
    if application.files.iter().any(|(of, _)| *of as usize == at) {
        return alone("prints into a file");
    }
    let Body::Program(program) = &instance.body else {
        return match builtin::facts(&instance.class).shared {
            builtin::Shared::Own => Ok((Stage::Replica, None)),
            builtin::Shared::First => Ok((Stage::Rest, None)),
            builtin::Shared::Never => alone("must see the packets of all flows"),
        };
    };
    if divided.is(at) {
        return Ok((Stage::Replica, None));
    }
    let by_flow = keyed.promised(application, at) || keyed.shown(at, true);
    let keys = if by_flow && divided.ends.is_empty() { Keys::Addresses } else { Keys::Other };
    let together = application.shares(at as u32).then(|| TOGETHER.to_owned());
    let reason =
        together.or_else(|| divided.others.get(&at).cloned()).or_else(|| keeps_beyond_flows(program, variables(application, at), keys));
    let Some(reason) = reason.map(|reason| keyed.refused(application, at).unwrap_or(reason)) else { return Ok((Stage::Replica, None)) };
    let reason = if by_flow && keys == Keys::Other { format!("packets go to replicas by ports, and {reason}") } else { reason };
    match program.module().handler(HandlerKind::Pull).is_some_and(asks) {
        true => alone(&format!("asks for packets while it runs, and its state cannot be each replica's: {reason}")),
        false => Ok((Stage::Shared, Some(reason))),
    }
}

/// How replicas share the state of an element.
fn policy(application: &Application, at: usize, policies: &Policies) -> (runtime::graph::Policy, Option<String>) {
    let instance = &application.instances[at];
    let asked = policies.of(&instance.name, &instance.class);
    let wanted = |program: &&Arc<Verified>| asked == Policy::Transaction || asked == Policy::Auto && is_long(program);
    let Some(program) = instance.program().filter(wanted) else { return (runtime::graph::Policy::Lock, None) };
    let together = application.shares(at as u32).then(|| Err(TOGETHER.to_owned()));
    match together.unwrap_or_else(|| memory(program)) {
        Ok(memory) => (runtime::graph::Policy::Transaction(Arc::new(memory)), None),
        Err(why) => (runtime::graph::Policy::Lock, Some(why)),
    }
}

const TOGETHER: &str = "it has a table or a variable together with others";

/// Whether a handler asks for packets itself.
fn asks(handler: &Handler) -> bool {
    handler.code.iter().any(|inst| inst.op == Instruction::PktAsk)
}

/// What the keys have by which a program finds what it keeps of packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Addresses,
    /// And random numbers may choose among those that are its own.
    Ports,
    Other,
}

/// Why a program's state cannot be each replica's own; none if it can. A pull handler counts where
/// packets are pulled through it: of one that they are pushed through, it is what people's handlers
/// run.
fn keeps_beyond_flows(program: &Verified, variables: &[Variable], keys: Keys) -> Option<String> {
    if sets_timers(program) {
        return Some(TIMERS.to_owned());
    }
    let kind = program.module().handler(HandlerKind::Push).map_or(HandlerKind::Pull, |_| HandlerKind::Push);
    let optimised = compiler::optimised(program, kind, &passes::Options::default());
    let Ok(Some((func, _))) = optimised else { return Some("its handler is too large to be looked at".to_owned()) };
    let exempt = Exempt::of(program, &func, (keys != Keys::Other, keys == Keys::Ports));
    let trace = first_trace(program, &func, &exempt)?;
    Some(described(program, kind, &func, trace, variables))
}

/// Elements that scripts may ask while packets flow: all that they name, unless they first wait for
/// the end and then for nothing.
pub(super) fn watched(application: &Application) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for instance in application.instances.iter().filter(|instance| builtin::facts(&instance.class).calls_handlers) {
        let Body::BuiltIn(arguments) = &instance.body else { continue };
        let waits = |step: &&String| ["wait", "pause", "goto", "loop"].iter().any(|word| step.trim_start().starts_with(word));
        let is_end = |step: &String| matches!(step.trim(), "wait" | "wait_stop" | "pause");
        if arguments.first().is_some_and(is_end) && arguments.iter().filter(waits).count() == 1 {
            continue;
        }
        let names = |at: &usize| arguments.iter().any(|step| mentions(step, &application.instances[*at].name));
        found.extend((0..application.instances.len()).filter(names));
    }
    found
}

/// Whether a text names an element: `name.`, or its last part, as scripts in compounds do.
fn mentions(text: &str, name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '@';
    text.match_indices(last)
        .any(|(at, _)| !text[..at].chars().next_back().is_some_and(is_part) && !text[at + last.len()..].chars().next().is_some_and(is_part))
}

fn stages(application: &Application, sources: &[bool], reasons: &[Option<String>]) -> Vec<Stage> {
    let mut rest: Vec<bool> = reasons.iter().map(Option::is_some).collect();
    // What is behind the last stage is in it, and so is what packets are led back from into it.
    loop {
        let is_in = |at: u32| rest[at as usize];
        let enters = |wire: &&netil::app::Wire| is_in(wire.from.instance) && !is_in(wire.to.instance);
        let led = |wire: &&netil::app::Wire| wire.recirculates && is_in(wire.to.instance) && !is_in(wire.from.instance);
        let next = application.wires.iter().find(enters).map(|wire| wire.to.instance);
        match next.or_else(|| application.wires.iter().find(led).map(|wire| wire.from.instance)) {
            Some(at) => rest[at as usize] = true,
            None => break,
        }
    }
    let stage = |(source, rest): (&bool, &bool)| match (source, rest) {
        (true, _) => Stage::Source,
        (_, true) => Stage::Rest,
        _ => Stage::Replica,
    };
    sources.iter().zip(&rest).map(stage).collect()
}

/// Whether an element is in replicas because all of them do to its state what all packets do, and
/// why it must see all packets in their order otherwise; none if it need not.
fn need(
    application: &Application,
    (at, instance): (usize, &Instance),
    relaxed: bool,
    (by_flow, policies): (&By<'_>, &Policies),
) -> (bool, Option<String>) {
    let Some(kept) = keeps(application, (at, instance), relaxed, by_flow.has(at)) else { return (false, None) };
    let kept = by_flow.keyed.refused(application, at).unwrap_or(kept);
    if policies.of(&instance.name, &instance.class) != Policy::Replicate {
        return (false, Some(kept));
    }
    match cannot_be_replayed(application, at, instance) {
        None => (true, None),
        Some(why) if why == kept => (false, Some(kept)),
        Some(why) => (false, Some(format!("{kept}; it cannot be replicated, because {why}"))),
    }
}

/// Why replicas cannot do to an element's state what the packets of others do.
fn cannot_be_replayed(application: &Application, at: usize, instance: &Instance) -> Option<String> {
    does_more(application, (at, instance), sets_timers)
}

/// Why an element cannot be in a stage before the last one: it does something else than what it
/// does when a packet comes.
pub(super) fn cannot_be_early(application: &Application, at: usize, instance: &Instance) -> Option<String> {
    does_more(application, (at, instance), |program| has(program, &[Instruction::TimerSet, Instruction::TDue]))
}

fn does_more(application: &Application, (at, instance): (usize, &Instance), timers: fn(&Verified) -> bool) -> Option<String> {
    let Body::Program(program) = &instance.body else { return Some(format!("{} is an element of the runtime", instance.class)) };
    if application.shares(at as u32) {
        return Some(TOGETHER.to_owned());
    }
    if program.module().handler(HandlerKind::Pull).is_some_and(asks) {
        return Some("it asks for packets itself".to_owned());
    }
    if timers(program) { Some(TIMERS.to_owned()) } else { not_again(program) }
}

/// Why an element must see all packets in their order; none if it need not.
pub(super) fn keeps(application: &Application, (at, instance): (usize, &Instance), relaxed: bool, by_flow: bool) -> Option<String> {
    match &instance.body {
        Body::BuiltIn(_) if builtin::facts(&instance.class).ends && !behind_pull(application, at) => None,
        Body::BuiltIn(_) => Some(format!("{} is an element of the runtime", instance.class)),
        Body::Program(program) => {
            if application.shares(at as u32) {
                return Some(TOGETHER.to_owned());
            }
            program_keeps(program, variables(application, at), relaxed, by_flow)
        }
    }
}

/// Whether an element pulls: what is before it is then a queue's.
fn behind_pull(application: &Application, at: usize) -> bool {
    let before = application.wires.iter().filter(|wire| wire.to.instance as usize == at).map(|wire| wire.from.instance);
    let pulled = |from: u32| match &application.instances[from as usize].body {
        Body::Program(program) => program.module().handler(HandlerKind::Push).is_none(),
        Body::BuiltIn(_) => !gives_captures(&application.instances[from as usize].class),
    };
    before.into_iter().any(pulled)
}

fn program_keeps(program: &Verified, variables: &[Variable], relaxed: bool, by_flow: bool) -> Option<String> {
    let optimised = compiler::optimised(program, HandlerKind::Push, &passes::Options::default());
    let Ok(Some((func, _))) = optimised else { return Some("packets are pulled through it".to_owned()) };
    if program.module().handler(HandlerKind::Pull).is_some_and(asks) {
        return Some("it asks for packets itself".to_owned());
    }
    if sets_timers(program) {
        return Some(TIMERS.to_owned());
    }
    if relaxed {
        return None;
    }
    let exempt = Exempt::of(program, &func, (by_flow, false));
    let trace = first_trace(program, &func, &exempt)?;
    Some(described(program, HandlerKind::Push, &func, trace, variables))
}

const TIMERS: &str = "it sets timers, or walks over a table";

/// Whether it does what only the whole of it can do.
fn sets_timers(program: &Verified) -> bool {
    has(program, &[Instruction::TimerSet, Instruction::TWalk, Instruction::TDue])
}

/// Whether a handler of it has one of these instructions.
fn has(program: &Verified, instructions: &[Instruction]) -> bool {
    let is_so = |inst: &Inst| instructions.contains(&inst.op);
    HandlerKind::ALL.into_iter().any(|kind| program.module().handler(kind).is_some_and(|handler| handler.code.iter().any(is_so)))
}

/// The variables of an element.
fn variables(application: &Application, at: usize) -> &[Variable] {
    application.variables.get(at).map_or(&[], Vec::as_slice)
}

/// The variable that an access is to, with its name.
fn accessed(program: &Verified, func: &Func, access: Value, variables: &[Variable]) -> String {
    let place = Counters::of(program, func).place(access).filter(|place| place.space == Space::Data);
    let holds =
        |variable: &&Variable, place: &MemoryLocation| (variable.at.into()..u64::from(variable.at + variable.len)).contains(&place.at.low);
    let named = place.and_then(|place| variables.iter().find(|variable| holds(variable, &place)));
    named.map_or("a variable".to_owned(), |variable| format!("variable `{}`", variable.name))
}

/// What an operation keeps, with the line of the source where it stands.
fn described(program: &Verified, kind: HandlerKind, func: &Func, at: Value, variables: &[Variable]) -> String {
    let Some(op) = func.op(at) else { return String::new() };
    let table = |n: u32| program.module().tables.get(n as usize).map_or("?", |table| table.name.as_str());
    let (what, site) = match op {
        Op::Random(site) => ("it asks for random numbers".to_owned(), Some(*site)),
        Op::Load(..) => (format!("it looks at {}, which packets change", accessed(program, func, at, variables)), None),
        Op::Store(..) => (format!("it changes {}", accessed(program, func, at, variables)), None),
        Op::Helper(helper, _, site) => {
            let what = match *helper {
                Helper::Find(n) | Helper::Peek(n) => format!("a lookup in table `{}` depends on when it is made", table(n)),
                Helper::Insert(n) => format!("it inserts into table `{}`", table(n)),
                Helper::DeleteEntry(n) => format!("it deletes from table `{}`", table(n)),
                Helper::Walk(n) | Helper::Due(n) | Helper::NextKey(n) | Helper::WalkedKey(n) | Helper::Deadline(n) => {
                    format!("it walks over table `{}`", table(n))
                }
                Helper::EntryStore(n, _) => format!("it writes into entries of table `{}`", table(n)),
                Helper::Hold | Helper::Take => "it holds packets".to_owned(),
                Helper::CoproIn(..) | Helper::CoproOut(..) | Helper::CoproInvoke(..) | Helper::CoproShow(_) => {
                    "it uses a coprocessor".to_owned()
                }
                _ => "it changes a variable".to_owned(),
            };
            (what, Some(*site))
        }
        _ => ("it keeps something of packets".to_owned(), None),
    };
    match site.and_then(|site| line_of(program, kind, site)) {
        Some(line) => format!("{what} (line {line})"),
        None => what,
    }
}
