//! Runs the cases of a script, each on an element of its own: one by one, or linked.

use super::element::Element;
use super::linked::Together;
use super::{Action, Case, Happened, ScriptError};
use crate::application::Library;
use crate::engines::{Elements, EngineInfo, Settings};

pub(super) fn run(
    library: &Library,
    class: &str,
    cases: &[Case],
    engine: &EngineInfo,
    settings: Settings,
) -> Result<Vec<Happened>, ScriptError> {
    let make = |case: &Case| Element::new(library, class, case, engine, settings).map_err(|error| error.at(case.line));
    let mut elements = cases.iter().map(make).collect::<Result<Vec<_>, _>>()?;
    let mut together = if engine.elements == Elements::Fused { Together::link(&elements, settings)? } else { None };
    let mut step = |n: usize, action: &Action| {
        match (&mut together, action) {
            (Some(together), Action::In(port, bytes, info)) if together.takes(n, *port) => {
                let packet = elements[n].buffer(*port, bytes, info);
                together.run(&mut elements, n, *port, packet);
            }
            _ => elements[n].act(action),
        }
        std::mem::take(&mut elements[n].events)
    };
    Ok(cases.iter().enumerate().map(|(n, case)| case.steps.iter().map(|s| step(n, &s.action)).collect()).collect())
}
