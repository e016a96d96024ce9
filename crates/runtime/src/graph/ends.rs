//! The ends of an application's wires, by element.

use super::WireTarget;
use netil::app::{Application, End};

/// The wires of an element, by output and by input.
pub(super) type Ends = (Vec<Vec<WireTarget>>, Vec<Vec<End>>);

pub(super) fn ends(application: &Application) -> Vec<Ends> {
    let mut ends: Vec<Ends> = application.instances.iter().map(|_| Default::default()).collect();
    for wire in &application.wires {
        if let Some((outputs, _)) = ends.get_mut(wire.from.instance as usize) {
            at(outputs, wire.from.port).push(WireTarget { to: wire.to, recirculates: wire.recirculates });
        }
        if let Some((_, inputs)) = ends.get_mut(wire.to.instance as usize) {
            at(inputs, wire.to.port).push(wire.from);
        }
    }
    ends
}

/// The most ports that an element of an application has.
const MAX_PORTS: u32 = 65_536;

fn at<T>(ports: &mut Vec<Vec<T>>, port: u32) -> &mut Vec<T> {
    let port = port.min(MAX_PORTS) as usize;
    while ports.len() <= port {
        ports.push(Vec::new());
    }
    &mut ports[port]
}
