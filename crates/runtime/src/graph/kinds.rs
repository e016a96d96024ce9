//! Which ports are pushed and which pulled, from what programs and built-in classes say of theirs.
//!
//! The application has been checked: here the kinds that are said spread over wires and through
//! agnostic elements until nothing changes; what is then still open is push.

use super::builtin;
use netil::app::{Application, Body, End};
use netil::module::PortKind;

/// By element: inputs and outputs, true for pull.
pub(super) struct Kinds {
    ports: Vec<[Vec<Option<bool>>; 2]>,
}

impl Kinds {
    pub(super) fn input_is_pull(&self, node: usize, port: usize) -> bool {
        self.get(node, 0, port)
    }

    pub(super) fn output_is_pull(&self, node: usize, port: usize) -> bool {
        self.get(node, 1, port)
    }

    fn get(&self, node: usize, side: usize, port: usize) -> bool {
        self.ports.get(node).and_then(|sides| sides[side].get(port)).copied().flatten().unwrap_or(false)
    }

    fn slot(&mut self, end: End, side: usize) -> Option<&mut Option<bool>> {
        self.ports.get_mut(end.instance as usize)?[side].get_mut(end.port as usize)
    }
}

pub(super) fn solve(application: &Application) -> Kinds {
    let ends = super::ends(application);
    let counts = ends.iter().map(|(outputs, inputs)| [inputs.len(), outputs.len()]);
    let mut kinds = Kinds { ports: counts.enumerate().map(|(index, counts)| said(application, index, counts)).collect() };
    while wires(application, &mut kinds) | agnostic(application, &mut kinds) {}
    kinds
}

/// What an element says itself.
fn said(application: &Application, index: usize, [inputs, outputs]: [usize; 2]) -> [Vec<Option<bool>>; 2] {
    match &application.instances[index].body {
        Body::Program(program) => {
            let ports = &program.module().all_ports();
            let of = |wanted: [PortKind; 2]| {
                ports.iter().filter(|(_, p)| wanted.contains(&p.kind)).map(|(_, p)| Some(p.kind == wanted[1])).collect()
            };
            [of([PortKind::PushInput, PortKind::PullInput]), of([PortKind::PushOutput, PortKind::PullOutput])]
        }
        Body::BuiltIn(_) => {
            let code = builtin::find(&application.instances[index].class).map_or("a/a", |class| class.processing);
            let (before, behind) = code.split_once('/').unwrap_or((code, code));
            [letters(before, inputs), letters(behind, outputs)]
        }
    }
}

fn letters(code: &str, ports: usize) -> Vec<Option<bool>> {
    let letter = |port: usize| code.chars().nth(port).or(code.chars().last());
    (0..ports).map(|port| letter(port).filter(|c| *c != 'a').map(|c| c == 'l')).collect()
}

/// Makes the ends of each wire one kind; true if something became known.
fn wires(application: &Application, kinds: &mut Kinds) -> bool {
    let mut changed = false;
    for wire in &application.wires {
        let from = kinds.slot(wire.from, 1).copied().flatten();
        let to = kinds.slot(wire.to, 0).copied().flatten();
        let (end, side, kind) = match (from, to) {
            (Some(kind), None) => (wire.to, 0, kind),
            (None, Some(kind)) => (wire.from, 1, kind),
            _ => continue,
        };
        if let Some(slot) = kinds.slot(end, side) {
            (*slot, changed) = (Some(kind), true);
        }
    }
    changed
}

/// Makes the agnostic ports of each built-in element one kind.
fn agnostic(application: &Application, kinds: &mut Kinds) -> bool {
    let mut changed = false;
    for (index, instance) in application.instances.iter().enumerate() {
        let Body::BuiltIn(_) = instance.body else { continue };
        let code = builtin::find(&instance.class).map_or("a/a", |class| class.processing);
        let (before, behind) = code.split_once('/').unwrap_or((code, code));
        let is_agnostic = |code: &str, port: usize| code.chars().nth(port).or(code.chars().last()) == Some('a');
        let sides = &mut kinds.ports[index];
        let mut open = Vec::new();
        let mut known = None;
        for (side, code) in [before, behind].into_iter().enumerate() {
            for (port, kind) in sides[side].iter().enumerate().filter(|(port, _)| is_agnostic(code, *port)) {
                match kind {
                    Some(kind) => known = Some(*kind),
                    None => open.push((side, port)),
                }
            }
        }
        if let Some(kind) = known {
            changed |= !open.is_empty();
            open.iter().for_each(|(side, port)| sides[*side][*port] = Some(kind));
        }
    }
    changed
}
