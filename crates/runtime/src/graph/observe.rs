//! Watching packets: an observer is told when one enters an element, leaves it, or ends there.
//! Without one, a test of a pointer is all that is left of it.
//!
//! Linked elements are one to the graph: what happens inside is not told. Who watches runs the
//! elements one after the other.

use super::{Graph, Info, Packet};

/// A port of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The element.
    pub node: usize,
    /// Its input or output.
    pub port: u32,
}

/// Who watches. Packets may be marked, in info memory; their bytes are not to be touched.
pub trait Observer: Send {
    /// A packet comes in, pushed or pulled.
    fn enters(&mut self, at: At, packet: &mut Packet, info: &Info);

    /// A packet leaves: by a wire that is there, or the one that pulled it has it now. A copy
    /// leaves before its original.
    fn leaves(&mut self, at: At, packet: &mut Packet, copy: bool, info: &Info);

    /// A packet ends for a reason: dropped, or a trap.
    fn drops(&mut self, node: usize, reason: &str, packet: &Packet, info: &Info);

    /// The element begins to do something without a packet: a timer, a task, a handler.
    fn wakes(&mut self, node: usize);
}

impl Graph {
    /// Lets somebody watch, from now on.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.watch.observer = Some(observer);
    }

    pub(super) fn watch(&mut self, tell: impl FnOnce(&mut dyn Observer, &Info)) {
        if let Some(observer) = &mut self.watch.observer {
            tell(observer.as_mut(), &self.topology.info);
        }
    }

    /// Counts a packet that ends in an element.
    pub(super) fn lose(&mut self, node: usize, reason: &str, packet: &Packet) {
        self.core.nodes[node].stats.drop(reason, 1);
        if let Some(recorder) = &mut self.watch.recorder {
            recorder.drops(packet, node, reason);
        }
        self.watch(|observer, info| observer.drops(node, reason, packet, info));
    }
}
