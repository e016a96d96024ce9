//! The Xelerated X11, of which there is a model: the program of its pipeline as a listing.

use super::walk::{Rules, Walked, fault, walk};
use super::{Drawn, File, Options, Target};
use crate::Error;
use machine::x11::{self, Element, Made, Refused};
use netil::Verified;
use netil::app::Application;
use netil::module::{HandlerKind, PortKind};
use runtime::graph::builtin;
use std::fmt::Write as _;
use std::sync::Arc;

pub(super) const TARGET: Target = Target {
    name: "x11",
    about: "the Xelerated X11 of the NetVM paper: a systolic pipeline of four-slot instructions; a model, see docs/machines.md",
    files: "NAME.x11, a listing that netvm simulate --machine x11 runs",
    admits: &[
        "filters, NetIL modules that push packets on, and Click configurations of one device that packets come in by",
        "packets read and written in place; values of any width, in words of 16 bits, of which zeros cost nothing",
        "loops that count to a constant, unrolled; sets and switches (one lookup in a TCAM each)",
        "tables of up to 16,384 entries with keys of up to 144 bits, looked up and changed by packets; data and shared memory of up to 65,535 bytes",
        "a number that is read, added to and written: one operation; what other packets may come between is warned of",
    ],
    refuses: &[
        "loops that do not count to a constant; divisions, multiplications and shifts by what is no constant",
        "words at places in the packet that are computed and may be odd; checksums, searches and copies over ranges of bytes",
        "packets made, copied or held, or whose ends move by computed numbers of bytes; time, timers, random numbers, coprocessors",
        "more than 400 stages, 128 registers or 16 flags; netvm machines x11 shows these numbers",
    ],
    divides: None,
    build,
    configuration,
};

/// A program for the pipeline: one, or elements of a configuration, with the instances that they
/// are.
#[derive(Clone, Debug)]
pub struct X11 {
    /// What was made.
    pub made: Made,
    /// The elements' programs, in the order in which the program numbers them.
    pub elements: Vec<Arc<Verified>>,
    /// Their names.
    pub names: Vec<String>,
}

/// The pipeline's program for a module by itself; its ports keep their numbers.
///
/// # Errors
/// The machine does not admit it.
pub fn compile(program: &Arc<Verified>, machine: &x11::Machine) -> Result<X11, Error> {
    let made = of_module(program, machine).map_err(|refused| told(program, &refused))?;
    Ok(X11 { made, elements: vec![Arc::clone(program)], names: vec![program.module().name.clone()] })
}

fn of_module(program: &Verified, machine: &x11::Machine) -> Result<Made, Refused> {
    let ports = program.module().all_ports();
    let inputs: Vec<u32> = ports.iter().filter(|(_, port)| port.kind == PortKind::PushInput).map(|(id, _)| *id).collect();
    let entry = if let [only] = inputs[..] { Some(only) } else { None };
    let ways = ports.iter().map(|(id, _)| (*id, x11::Link::Port(*id))).collect();
    x11::compile(&[Element { program, ways }], entry, machine)
}

/// The pipeline's program for a configuration; packets leave by the number of their device.
pub(crate) fn of_configuration(app: &Application, devices: &[String], machine: &x11::Machine) -> Result<X11, Vec<runtime::graph::Fault>> {
    use compiler::backends::graph::Link;
    let number = |device: &str| devices.iter().position(|known| known == device).map_or(0, |n| n as u32);
    let entry = |device: &str| Ok(number(device));
    let end = |class: &str, device: &str| {
        Ok(match class {
            class if builtin::facts(class).ends => Some(None),
            "ToDevice" => Some(Some(number(device))),
            _ => None,
        })
    };
    let rules = Rules { target: TARGET.name, called: "the pipeline", entry: &entry, end: &end, drop: None, copies: false, process: None };
    let Walked { instances, elements, ends, entries, .. } = walk(app, &rules).map_err(|fault| vec![fault])?;
    let alone = |what: &str| vec![fault(TARGET.name, usize::MAX, what)];
    let (input, first) = match entries[..] {
        [(_, Link::Element(first, input))] => (input, first),
        [_] => return Err(alone("no element in C: there is nothing to compile")),
        _ => return Err(alone("packets of several devices: the pipeline begins with one element")),
    };
    // The first element is where the pipeline begins.
    let place = |n: usize| if n == first { 0 } else { n + usize::from(n < first) };
    let link = |to: Link| match to {
        Link::Element(n, port) => Some(x11::Link::Element(place(n), port)),
        Link::End(n) => ends[n].1.map(x11::Link::Port),
    };
    let mut order: Vec<usize> = (0..elements.len()).collect();
    order.sort_by_key(|n| place(*n));
    if let Some(again) = order.iter().find(|n| elements[**n].ways.iter().any(|way| way.again)) {
        return Err(vec![fault(TARGET.name, instances[*again], "packets come back to it, and the pipeline leads forward only")]);
    }
    let all: Vec<Element<'_>> = order
        .iter()
        .map(|n| {
            let ways = elements[*n].ways.iter().filter_map(|way| Some((way.port, link(way.to)?))).collect();
            Element { program: elements[*n].program, ways }
        })
        .collect();
    let made = x11::compile(&all, Some(input), machine).map_err(|refused| {
        let at = instances[order[refused.element]];
        let site = refused.site.map(|site| all[refused.element].program.place(HandlerKind::Push, site) + ": ");
        vec![fault(TARGET.name, at, site.unwrap_or_default() + &refused.reason)]
    })?;
    let own = order.iter().filter_map(|n| app.instances[instances[*n]].program().cloned()).collect();
    let names = order.iter().map(|n| elements[*n].name.to_owned()).collect();
    Ok(X11 { made, elements: own, names })
}

/// The devices that packets leave by, and come in by, in the order of the configuration.
pub(crate) fn devices(app: &Application) -> Vec<String> {
    let mut all = Vec::new();
    for instance in &app.instances {
        let netil::app::Body::BuiltIn(arguments) = &instance.body else { continue };
        let device = super::device_of(&instance.name, &instance.class, arguments);
        if ["FromDevice", "PollDevice", "ToDevice"].contains(&instance.class.as_str()) && !all.contains(&device) {
            all.push(device);
        }
    }
    all
}

fn build(program: &Verified, options: &Options) -> Result<Vec<File>, Error> {
    let made = of_module(program, &x11::Machine::built_in()).map_err(|refused| told(program, &refused))?;
    Ok(vec![listing(&made, &[program.module().name.clone()], &options.name)])
}

fn configuration(app: &Application, options: &Options, drawn: Drawn<'_>) -> Result<Vec<File>, Error> {
    let x11 = of_configuration(app, &devices(app), &x11::Machine::built_in()).map_err(drawn)?;
    Ok(vec![listing(&x11.made, &x11.names, &options.name)])
}

fn listing(made: &Made, names: &[String], name: &str) -> File {
    let size = made.program.size();
    let mut text = format!("; {} operations in {} instructions, {} stages\n", size.operations, size.instructions, size.stages);
    for hazard in hazards(made, names) {
        let _ = writeln!(text, "; warning: {hazard}");
    }
    text += &made.program.to_string();
    let about = format!("{} instructions in {} stages, {} warnings", size.instructions, size.stages, made.hazards.len());
    File { name: format!("{name}.x11"), bytes: text.into_bytes(), about }
}

/// Hazards in words.
pub fn hazards(made: &Made, names: &[String]) -> Vec<String> {
    let told = |hazard: &x11::hazards::Hazard| {
        let of = names.get(hazard.element).filter(|name| !name.is_empty()).map_or_else(String::new, |name| format!(" of {name}"));
        let (from, to) = hazard.stages;
        format!(
            "{}{of} is read at stage {from} and written at stage {to}: within {} packets one may read what another is about to change",
            hazard.what, hazard.packets
        )
    };
    made.hazards.iter().map(told).collect()
}

fn told(program: &Verified, why: &Refused) -> Error {
    let place = why.site.map_or_else(String::new, |site| program.place(HandlerKind::Push, site) + ": ");
    Error::Target { target: TARGET.name, reason: place + &why.reason }
}
