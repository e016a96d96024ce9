//! The program of an element that is in another language than the element language, as what reads
//! it has made it.

use netil::Module;
use runtime::graph::ControlPlane;
use std::sync::Arc;

/// Makes the control plane of an element for one graph.
pub(crate) type MakePlane = Arc<dyn Fn() -> Option<Box<dyn ControlPlane>> + Send + Sync>;

/// A program, and who knows the meaning of its state.
pub(crate) struct Made {
    pub module: Module,
    pub plane: Option<MakePlane>,
    /// What was done to make it fast, a sentence each.
    pub notes: Vec<String>,
    /// What it keeps of packets, a sentence for each object.
    pub kept: Vec<String>,
}
