//! Elements that run fused: as compiled C, or as machine code.

use crate::Error;
use crate::engines::Settings;
use crate::targets::device_of;
use aot::Fused;
use compiler::backends::c::fused::supports;
use compiler::cluster::{Member, Options};
use compiler::mir::{Func, Helper, Op};
use jit::JitEngine;
use jit::chain::{self, Chain};
use netil::app::{Application, Body, Instance};
use netil::cluster::{LinkTarget, Plan};
use netil::copro;
use netil::module::{HandlerKind, Inst};
use netil::table::Op as Instruction;
use netil::{Engine, Verified, cut_through};
use runtime::graph::{Graph, Made, builtin};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Links what elements of an application can be; `None` if that is nothing.
///
/// # Errors
/// There is no compiler of C, or it fails.
pub(super) fn link(application: &Application, settings: Settings) -> Result<Option<Made>, Error> {
    let application = &*cut_through(application);
    if too_many(application).is_some() {
        return Ok(None);
    }
    let programs: Vec<Option<&Arc<Verified>>> = application.instances.iter().map(|instance| instance.program()).collect();
    let funcs: Vec<Option<Func>> = programs.iter().map(|program| program.and_then(|p| handler(p, settings))).collect();
    let plan = plan(application, &|instance| funcs[instance as usize].is_some());
    let ways = |instance: &u32| (programs[*instance as usize], funcs[*instance as usize].clone());
    let member = |(instance, ways_of): (&u32, &Vec<_>)| {
        let (program, func) = ways(instance);
        Some((Arc::clone(program?), Member { program: program?, func: func?, links: ways_of.clone() }))
    };
    let members: Vec<_> = plan.members.iter().zip(&plan.ways).filter_map(member).collect();
    if members.is_empty() {
        return Ok(None);
    }
    let refused = |error: aot::AotError| Error::Engine { engine: "aot", reason: error.to_string() };
    let (short_bursts, numbers) = (!application.copies.is_empty(), application.keeps_numbers());
    let options = Options { short_bursts, numbers, ..settings.cluster() };
    let linked = Fused::new(&members, &plan.entries, options, &settings.options(None)).map_err(refused)?;
    Ok(Some((plan, Box::new(linked))))
}

/// The application as it is linked: with programs for queues that packets leave as soon as they
/// come.
pub(super) fn cut_through(application: &Application) -> Cow<'_, Application> {
    cut_through::applied(application, &|instance| {
        let instance = &application.instances[instance as usize];
        if let Body::BuiltIn(arguments) = &instance.body { (builtin::facts(&instance.class).role)(arguments) } else { None }
    })
}

/// Elements that are compiled as one, at most; a longer configuration runs element by element.
/// Compilers take more than linear time for one function.
const MOST_MEMBERS: usize = 2048;

/// Why the elements of a configuration are not compiled as one.
pub(super) fn too_many(application: &Application) -> Option<String> {
    let programs = application.instances.iter().filter(|instance| instance.program().is_some()).count();
    (programs > MOST_MEMBERS).then(|| format!("there are {programs} elements; up to {MOST_MEMBERS} are compiled as one"))
}

/// Which elements are linked of those that may be: each member's tables are its own, and its
/// graph's.
pub(super) fn plan(application: &Application, links: &dyn Fn(u32) -> bool) -> Plan {
    Plan::new(
        application,
        &|instance| links(instance) && !application.shares(instance) && !application.apart.contains(&instance),
        &|instance| builtin::facts(&application.instances[instance as usize].class).looks_at_annotations,
        &|instance| is_prompt(application, instance),
    )
}

/// Whether it can be told of an element when it runs, among others: it sets timers, prints, shares
/// state, or sends to a device that others send to.
fn is_prompt(application: &Application, instance: u32) -> bool {
    let Some(program) = application.instances[instance as usize].program() else {
        let device = sends_to(application, instance);
        let others = (0..application.instances.len() as u32).filter(|other| *other != instance);
        return device.is_some() && others.into_iter().any(|other| sends_to(application, other) == device);
    };
    let sets = |inst: &Inst| inst.op == Instruction::TimerSet;
    let timed = HandlerKind::ALL.iter().filter_map(|kind| program.module().handler(*kind)).any(|handler| handler.code.iter().any(sets));
    timed || prints(program, None) || program.shared_size() > 0 || application.shares(instance)
}

/// The device that an element sends packets to.
fn sends_to(application: &Application, instance: u32) -> Option<String> {
    let Instance { name, class, body } = &application.instances[instance as usize];
    let Body::BuiltIn(arguments) = body else { return None };
    builtin::WRITERS.contains(&class.as_str()).then(|| device_of(name, class, arguments))
}

/// Which elements can be fused in machine code, less some; `None` if there are none.
pub(super) fn fusible(application: &Application, graph: &Graph, but: &BTreeSet<u32>) -> Option<(Plan, Vec<chain::Member>)> {
    fusible_of(application, &|instance| graph.engine(instance), but)
}

/// What an element's program runs in, if it has one.
type EngineOf<'e> = dyn Fn(usize) -> Option<&'e dyn Engine> + 'e;

fn fusible_of(application: &Application, engine_of: &EngineOf<'_>, but: &BTreeSet<u32>) -> Option<(Plan, Vec<chain::Member>)> {
    if too_many(application).is_some() {
        return None;
    }
    let application = cut_through(application);
    let through: Vec<JitEngine> = match &application {
        Cow::Borrowed(_) => Vec::new(),
        Cow::Owned(_) => cut_through::programs().filter_map(|program| JitEngine::new(Arc::clone(program)).ok()).collect(),
    };
    let application = &*application;
    let member = |instance: u32, ways: &[(u32, LinkTarget)]| {
        let program = application.instances[instance as usize].program()?;
        let own = engine_of(instance as usize);
        let passes = || through.iter().map(|engine| engine as &dyn Engine).find(|engine| Arc::ptr_eq(engine.program(), program));
        let member = chain::Member::of(own.or_else(passes)?, ways)?;
        (!prints(program, Some(member.func())) && untimely(program, member.func()).is_none()).then_some(member)
    };
    let mut plan = plan(application, &|instance| !but.contains(&instance) && member(instance, &[]).is_some());
    plan.admit_singles(application);
    let members: Option<Vec<_>> = plan.members.iter().zip(&plan.ways).map(|(instance, ways)| member(*instance, ways)).collect();
    Some((plan, members.filter(|members| !members.is_empty())?))
}

/// Elements fused in machine code; `None` if there are none. Those that turn out to be too large
/// run alone.
pub(super) fn fused_code(application: &Application, graph: &Graph, settings: Settings) -> Option<Made> {
    fused_of(application, &|instance| graph.engine(instance), settings).map(|(plan, chain)| -> Made { (plan, Box::new(chain)) })
}

/// Elements fused in machine code, be they in a graph or not yet; `None` if there are none.
pub(super) fn fused_of(application: &Application, engine_of: &EngineOf<'_>, settings: Settings) -> Option<(Plan, Chain)> {
    let mut alone = BTreeSet::new();
    loop {
        let (plan, members) = fusible_of(application, engine_of, &alone)?;
        match Chain::new(members, &plan.entries, settings.cluster().prefetch_above) {
            Ok(chain) => return Some((plan, chain)),
            Err(member) => _ = alone.insert(plan.members[member]),
        }
    }
}

/// A program's push handler, if it can be linked.
pub(crate) fn handler(program: &Verified, settings: Settings) -> Option<Func> {
    linkable(program, settings).ok()
}

/// A program's push handler, or why it cannot be linked: C cannot be made of it, or the graph must
/// look at what each of its runs has left: text for people, or timers where more than the run tells
/// when they are due.
pub(super) fn linkable(program: &Verified, settings: Settings) -> Result<Func, String> {
    let optimised = compiler::optimised_with_copies(program, HandlerKind::Push, &settings.passes()).map_err(|error| error.to_string())?;
    let func = optimised.ok_or("packets are not pushed through it")?;
    if prints(program, Some(&func)) {
        return Err("it prints".to_owned());
    }
    if let Some(why) = untimely(program, &func) {
        return Err(why.to_owned());
    }
    supports(program, &func).map_err(|error| error.to_string())?;
    Ok(func)
}

/// Why the graph must look at what each run of a program has left of its timers, if it must.
fn untimely(program: &Verified, push: &Func) -> Option<&'static str> {
    if has(push, |helper| matches!(helper, Helper::SetTimer(_))) && has(push, |helper| matches!(helper, Helper::SetTime)) {
        return Some("it sets timers and the packet's time");
    }
    let sets = |inst: &Inst| inst.op == Instruction::TimerSet;
    let init = program.module().handler(HandlerKind::Init);
    init.is_some_and(|init| init.code.iter().any(sets)).then_some("it sets timers before there are packets")
}

/// Whether a program uses a coprocessor that prints: at all, or in a handler.
fn prints(program: &Verified, handler: Option<&Func>) -> bool {
    let mut units = program.module().coprocessors.iter().zip(0..);
    let is_used = |unit: u32| handler.is_none_or(|func| has(func, |helper| matches!(helper, Helper::CoproInvoke(of, _) if *of == unit)));
    units.any(|(unit, number)| copro::find(&unit.name).is_some_and(|known| known.prints) && is_used(number))
}

fn has(func: &Func, what: impl Fn(&Helper) -> bool) -> bool {
    let mut ops = func.blocks.iter().flat_map(|block| &block.ops).filter_map(|value| func.op(*value));
    ops.any(|op| matches!(op, Op::Helper(helper, ..) if what(helper)))
}
