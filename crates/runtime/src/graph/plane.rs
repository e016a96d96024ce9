//! Control planes: handlers of programs whose state somebody outside of the runtime knows the
//! meaning of, as that of P4 programs.
//!
//! A control plane runs between packets and has the program's state to itself meanwhile.

use super::HandlerError;
use super::handler::ElementHandler;
use netil::exec::State;
use std::fmt;
use std::sync::Arc;

/// The handlers of one element.
pub trait ControlPlane: Send {
    /// Which there are; their names have no dot.
    fn element_handlers(&self) -> Vec<ElementHandler>;

    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn read(&mut self, handler: &str, text: &str, state: &mut State) -> Result<String, HandlerError>;

    /// Writes one.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn write(&mut self, handler: &str, text: &str, state: &mut State) -> Result<(), HandlerError>;
}

/// Makes the control plane of the element of that name, if it has one.
type MakePlane = dyn Fn(&str) -> Option<Box<dyn ControlPlane>> + Send + Sync;

/// Control planes by the names of elements. Each graph has its own, as each has its own states.
#[derive(Clone)]
pub struct Planes(pub Arc<MakePlane>);

impl fmt::Debug for Planes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Planes")
    }
}
