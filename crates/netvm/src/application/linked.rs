//! Elements that run as one, as compiled C.

use crate::Error;
use aot::Linked;
use compiler::backends::c::linked::{LARGE, Member, supports};
use compiler::mir::{Func, Helper, Op};
use compiler::passes;
use netil::Verified;
use netil::app::Application;
use netil::cluster::Plan;
use netil::module::HandlerKind;
use runtime::graph::{Graph, native};
use std::sync::Arc;

/// Links what elements of an application can be, and gives their number.
///
/// # Errors
/// There is no compiler of C, or it fails.
pub(super) fn link(graph: &mut Graph, application: &Application, options: &aot::Options) -> Result<usize, Error> {
    let programs: Vec<Option<&Arc<Verified>>> = application.instances.iter().map(|instance| instance.program()).collect();
    let funcs: Vec<Option<Func>> = programs.iter().map(|program| program.and_then(|p| handler(p))).collect();
    let plan = Plan::new(application, &|instance| funcs[instance as usize].is_some(), &|instance| {
        native::looks_at_annotations(&application.instances[instance as usize].class)
    });
    let ways = |instance: &u32| (programs[*instance as usize], funcs[*instance as usize].clone());
    let member = |(instance, ways_of): (&u32, &Vec<_>)| {
        let (program, func) = ways(instance);
        Some((Arc::clone(program?), Member { program: program?, func: func?, links: ways_of.clone() }))
    };
    let members: Vec<_> = plan.members.iter().zip(&plan.ways).filter_map(member).collect();
    if members.is_empty() {
        return Ok(0);
    }
    let linked =
        Linked::new(&members, &plan.entries, LARGE, options).map_err(|e| Error::Engine { engine: "aot", reason: e.to_string() })?;
    let count = members.len();
    graph.link(application, plan, Box::new(linked));
    Ok(count)
}

/// A program's push handler, if C can be made of it and the graph need not look at what each of its runs has left: timers, and text for people.
pub(crate) fn handler(program: &Verified) -> Option<Func> {
    let (func, _) = compiler::optimised(program, HandlerKind::Push, &passes::Options::default()).ok()??;
    let mut ops = func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| func.op(*v));
    let plain = !ops.any(|op| matches!(op, Op::Helper(Helper::SetTimer(_) | Helper::CoproInvoke(..), ..)));
    (plain && supports(program, &func).is_ok()).then_some(func)
}
