//! C of programs and configurations for targets that have no netvm: what processors without an
//! operating system and OpenCL have in common.

use super::walk::{Rules, Walked, fault, walk};
use super::{Drawn, Options};
use crate::Error;
use compiler::backends::c::freestanding::{self, Language, Leave, Refused, Text};
use compiler::mir::Func;
use compiler::passes;
use netil::Verified;
use netil::app::Application;
use netil::module::{HandlerKind, PortKind};
use netil::number;
use runtime::graph::{ElementError, Settings, builtin, seed_of};
use std::cell::RefCell;

/// The text of a program.
///
/// # Errors
/// The target does not admit it.
pub(super) fn of_program(
    target: &'static str,
    program: &Verified,
    options: &Options,
    language: Language,
    on: passes::Target,
) -> Result<Text, Error> {
    let refused = |reason: String| Error::Target { target, reason };
    if !options.ports.is_empty() || options.accept.is_some() || options.reject.is_some() {
        return Err(refused("actions are XDP's: whoever runs the program says what is done with packets".to_owned()));
    }
    let func = optimised(program, on).map_err(refused)?;
    freestanding::emit(program, &func, language, options.division).map_err(|why| refused(told(program, &why)))
}

/// What is made of a configuration.
pub(super) struct Made<'a> {
    pub text: Text,
    pub programs: Vec<&'a Verified>,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    /// The elements' names.
    pub names: Vec<String>,
}

fn optimised(program: &Verified, on: passes::Target) -> Result<Func, String> {
    let func = compiler::optimised(program, HandlerKind::Push, &passes::Options { target: on, ..passes::Options::default() })
        .map_err(|why| why.to_string())?;
    func.map(|(func, _)| func).ok_or_else(|| "no push handler".to_owned())
}

/// Why something is refused, with its place.
fn told(program: &Verified, why: &Refused) -> String {
    let place = why.site.map(|site| program.place(HandlerKind::Push, site) + ": ");
    format!("{}{}", place.unwrap_or_default(), why.why)
}

/// What a configuration's devices are to its program: numbers in the order in which they are met.
#[derive(Default)]
struct Devices {
    inputs: RefCell<Vec<String>>,
    outputs: RefCell<Vec<String>>,
}

impl Devices {
    fn input(&self, device: &str) -> Result<u32, ElementError> {
        let mut inputs = self.inputs.borrow_mut();
        if inputs.iter().any(|known| known == device) {
            return Err(ElementError::argument(format!("another element reads device {device} as well")));
        }
        inputs.push(device.to_owned());
        Ok(inputs.len() as u32 - 1)
    }

    fn output(&self, device: &str) -> Leave {
        let mut outputs = self.outputs.borrow_mut();
        let at = outputs.iter().position(|known| known == device).unwrap_or(outputs.len());
        if at == outputs.len() {
            outputs.push(device.to_owned());
        }
        Leave::Output(at as u32)
    }
}

/// The text of a configuration.
///
/// # Errors
/// The target does not admit an element.
pub(super) fn of_configuration<'a>(
    target: &'static str,
    app: &'a Application,
    options: &Options,
    (language, on): (Language, passes::Target),
    drawn: Drawn<'_>,
) -> Result<Made<'a>, Error> {
    if let Some(device) = options.interfaces.keys().next() {
        let reason = format!("interfaces are XDP's: device {device} is an input and output of what is built");
        return Err(Error::Target { target, reason });
    }
    let refused = |instance: usize, why: String| drawn(vec![fault(target, instance, why)]);
    let devices = Devices::default();
    let end = |class: &str, device: &str| {
        Ok(match class {
            class if builtin::facts(class).ends => Some(Leave::Discard),
            "ToHost" => Some(devices.output("host")),
            "ToDevice" => Some(devices.output(device)),
            _ => None,
        })
    };
    let rules = Rules {
        target,
        called: "a program of its own",
        entry: &|device| devices.input(device),
        end: &end,
        drop: Leave::Discard,
        copies: language != Language::OpenCl,
        process: None,
    };
    let Walked { instances, elements, ends, entries, readers, .. } = walk(app, &rules).map_err(|fault| drawn(vec![fault]))?;
    let programs: Vec<&'a Verified> = elements.iter().map(|element| element.program).collect();
    let optimised = |(program, n): (&&Verified, &usize)| optimised(program, on).map_err(|why| refused(*n, why));
    let funcs = programs.iter().zip(&instances).map(optimised).collect::<Result<Vec<_>, _>>()?;
    let linked = freestanding::Application {
        elements,
        ends: ends.into_iter().map(|(_, leave)| leave).collect(),
        entries: entries.into_iter().map(|(_, link)| link).collect(),
        inputs: devices.inputs.into_inner(),
        outputs: devices.outputs.into_inner(),
        numbers: readers.iter().map(|(_, passed)| passed.first().map_or(0, |source| number::first(*source))).collect(),
        seeds: instances.iter().map(|n| seed_of(&Settings::default(), *n)).collect(),
        division: options.division,
    };
    let text = freestanding::link(&linked, &funcs, language);
    let text = text.map_err(|why| refused(instances[why.element], told(programs[why.element], &why)))?;
    let names = linked.elements.iter().map(|element| element.name.to_owned()).collect();
    Ok(Made { text, programs, inputs: linked.inputs, outputs: linked.outputs, names })
}

/// The first port by which packets come.
pub(super) fn input(program: &Verified) -> u32 {
    program.module().all_ports().iter().find(|(_, port)| port.kind == PortKind::PushInput).map_or(0, |(id, _)| *id)
}
