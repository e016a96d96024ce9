//! Which elements are sources: those that give packets as captures have them.

use super::error::PlacementError;
use netil::app::{Application, Body, Instance};
use runtime::graph::builtin;

/// For each element whether it is a source.
pub(super) fn sources(application: &Application) -> Result<Vec<bool>, PlacementError> {
    let sources: Vec<bool> = application.instances.iter().map(is_source).collect();
    if sources.contains(&true) {
        Ok(sources)
    } else {
        Err(PlacementError::Application("no element reads packets from captures or devices".to_owned()))
    }
}

/// Whether a class of sources gives packets as captures have them, so that each of several graphs
/// may have one.
pub(super) fn gives_captures(class: &str) -> bool {
    let facts = builtin::facts(class);
    facts.reads.is_some() && facts.shared == builtin::Shared::Own
}

pub(super) fn is_source(instance: &Instance) -> bool {
    matches!(instance.body, Body::BuiltIn(_)) && gives_captures(&instance.class)
}

/// Whether a source calls handlers.
pub(super) fn calls(instance: &Instance) -> bool {
    let Body::BuiltIn(arguments) = &instance.body else { return false };
    arguments.iter().any(|argument| argument.trim_start().starts_with("END_CALL"))
}
